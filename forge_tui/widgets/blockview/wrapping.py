"""Breaking styled text into rows by the cells that characters take, never by their count."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from rich.segment import Segment
from rich.style import Style

from forge_core.text_width import cell_len, wrap_cells

Span: TypeAlias = tuple[str, Style]
"""A run of text in one style."""

_WIDE = "\u1100-\u115f\u2e80-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60"
_WORDS = re.compile(rf"[{_WIDE}]\s*|[^\s{_WIDE}]+\s*|\s+")
"""A word with the space after it; scripts written without spaces may break after each sign."""


def without_tabs(spans: Iterable[Span], stop: int = 4) -> list[Span]:
    """`spans` of one line with tabs as spaces up to the next multiple of `stop` cells."""
    expanded: list[Span] = []
    column = 0
    for text, style in spans:
        first, *rest = text.split("\t")
        shown = first
        for part in rest:
            shown += " " * (stop - (column + cell_len(shown)) % stop) + part
        column += cell_len(shown)
        expanded.append((shown, style))
    return expanded


def wrap_words(text: str, width: int) -> list[tuple[int, int]]:
    """Character ranges of the rows that `text` takes in `width` cells, broken at spaces where there are any.

    The space at a break belongs to no row. There is always at least one range.
    """
    width = max(1, width)
    if cell_len(text) <= width:
        return [(0, len(text))]
    rows: list[tuple[int, int]] = []
    start = end = column = 0
    for match in _WORDS.finditer(text):
        word = match.group()
        bare = cell_len(word.rstrip())
        if column + bare > width and (column or end > start):
            rows.append((start, end))
            start, column = match.start(), 0
        if bare > width:
            *full, last = wrap_cells(word.rstrip(), width)
            rows.extend((match.start() + a, match.start() + b) for a, b in full)
            start, column = match.start() + last[0], cell_len(word.rstrip()[last[0] : last[1]])
            column += cell_len(word) - bare
        else:
            column += cell_len(word)
        end = match.start() + len(word.rstrip())
    rows.append((start, end))
    return rows


def slice_spans(spans: Sequence[Span], start: int, end: int) -> Iterator[Segment]:
    """The part of `spans` between two character offsets, as segments."""
    at = 0
    for text, style in spans:
        stop = at + len(text)
        if stop > start and at < end and text:
            yield Segment(text[max(0, start - at) : end - at], style)
        if stop >= end:
            return
        at = stop
