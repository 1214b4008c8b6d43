"""Breaking styled text into rows by the cells that characters take, never by their count."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from rich.cells import cell_len, split_graphemes
from rich.segment import Segment
from rich.style import Style

Span: TypeAlias = tuple[str, Style]
"""A run of text in one style."""

_WIDE = "\u1100-\u115f\u2e80-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60"
_WORDS = re.compile(rf"[{_WIDE}]\s*|[^\s{_WIDE}]+\s*|\s+")
"""A word with the space after it; scripts written without spaces may break after each sign."""


def cells(text: str) -> int:
    """The cells that `text` takes; text without line ends."""
    return len(text) if text.isascii() else cell_len(text)


def without_tabs(spans: Iterable[Span], stop: int = 4) -> list[Span]:
    """`spans` of one line with tabs as spaces up to the next multiple of `stop` cells."""
    expanded: list[Span] = []
    column = 0
    for text, style in spans:
        first, *rest = text.split("\t")
        shown = first
        for part in rest:
            shown += " " * (stop - (column + cells(shown)) % stop) + part
        column += cells(shown)
        expanded.append((shown, style))
    return expanded


def wrap_words(text: str, width: int) -> list[tuple[int, int]]:
    """Character ranges of the rows that `text` takes in `width` cells, broken at spaces where there are any.

    The space at a break belongs to no row. There is always at least one range.
    """
    width = max(1, width)
    if cells(text) <= width:
        return [(0, len(text))]
    rows: list[tuple[int, int]] = []
    start = end = column = 0
    for match in _WORDS.finditer(text):
        word = match.group()
        bare = cells(word.rstrip())
        if column + bare > width and (column or end > start):
            rows.append((start, end))
            start, column = match.start(), 0
        if bare > width:
            *full, last = wrap_cells(word.rstrip(), width)
            rows.extend((match.start() + a, match.start() + b) for a, b in full)
            start, column = match.start() + last[0], cells(word.rstrip()[last[0] : last[1]])
            column += cells(word) - bare
        else:
            column += cells(word)
        end = match.start() + len(word.rstrip())
    rows.append((start, end))
    return rows


def wrap_cells(text: str, width: int) -> list[tuple[int, int]]:
    """Character ranges of the rows that `text` takes, broken at the last cell that fits (for code)."""
    width = max(1, width)
    if text.isascii():
        return [(at, min(len(text), at + width)) for at in range(0, max(1, len(text)), width)]
    rows: list[tuple[int, int]] = []
    start = column = 0
    for begin, _end, size in split_graphemes(text)[0]:
        if column + size > width and begin > start:
            rows.append((start, begin))
            start, column = begin, 0
        column += size
    rows.append((start, len(text)))
    return rows


def cut_middle(text: str, width: int) -> str:
    """`text` in at most `width` cells, the middle replaced by an ellipsis; the end keeps the larger half."""
    if cells(text) <= width:
        return text
    if width <= 1:
        return "…"[:width]
    head = crop(text, (width - 1) // 3)
    graphemes = split_graphemes(text)[0]
    room = width - 1 - cells(head)
    start = len(text)
    for begin, _end, size in reversed(graphemes):
        if size > room:
            break
        room -= size
        start = begin
    return f"{head}…{text[start:]}"


def cut_end(text: str, width: int) -> str:
    """`text` in at most `width` cells, with an ellipsis where something was cut."""
    return text if cells(text) <= width else crop(text, max(0, width - 1)) + "…"[:width]


def crop(text: str, width: int) -> str:
    """As much of the beginning of `text` as fits into `width` cells."""
    if width <= 0:
        return ""
    if text.isascii():
        return text[:width]
    start, end = wrap_cells(text, width)[0]
    return text[start:end] if cells(text[start:end]) <= width else ""


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
