"""The code of a diff in colours: those of the language under those of the change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from rich.style import Style

from forge_tui.widgets.blockview.code import Token, highlight, language_of
from forge_tui.widgets.blockview.styles import TranscriptStyles
from forge_tui.widgets.blockview.wrapping import Span
from forge_tui.widgets.diff.words import Ranges


@lru_cache(maxsize=256)
def language_of_file(path: str) -> str:
    """The language that a file's name tells, or ""."""
    return language_of(path)


def tokens_of(lines: Sequence[str], language: str) -> list[list[Token]]:
    """The tokens of each line, read as one piece of code."""
    plain: list[list[Token]] = [[("", line)] for line in lines]
    if not language or not lines:
        return plain
    tokens, _ = highlight("\n".join(lines), language)
    # A lexer may drop or change characters; then the line is shown plain, but it is shown.
    return [
        found if "".join(text for _, text in found) == line else whole
        for line, found, whole in zip(lines, [*tokens, *plain[len(tokens) :]], plain, strict=False)
    ]


def code_spans(
    tokens: Sequence[Token], changed: Ranges, under: Style, strong: Style, styles: TranscriptStyles
) -> Iterator[Span]:
    """The spans of one line: `under` all of it, `strong` under the ranges that changed.

    A language's colours are made for the plain ground: what stands on `strong`, and quiet comments on any
    ground but that, are in the colour of text.
    """
    is_plain = under.bgcolor is None
    edges = [edge for span in changed for edge in span]
    at = 0
    for kind, text in tokens:
        style = under + styles.syntax[kind] if kind and (is_plain or kind != "comment") else under
        end = at + len(text)
        start = at
        for stop in (*(edge for edge in edges if at < edge < end), end):
            is_changed = any(first <= start and stop <= last for first, last in changed)
            yield text[start - at : stop - at], under + strong if is_changed else style
            start = stop
        at = end
