"""Where the text to replace stands in a file: on a view of the file that can be mapped back to it.

A tier is a way to look at both texts; the first tier with hits decides, and it must have exactly one. Today
there is one view, on which line ends count as equal. Further tiers are further views: nothing else changes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from forge_core.tools.editing.text import with_newlines

Tier: TypeAlias = Literal["exact", "line ends"]


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of the file's text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Match:
    """Every place where the old text stands, in order and not overlapping, and by which tier."""

    spans: tuple[Span, ...]
    tier: Tier = "exact"


@dataclass(frozen=True, slots=True)
class View:
    """A text with some characters left out, and the way back."""

    text: str
    dropped: Sequence[int] = ()
    """For each character left out, in order: the position in the view of the character it precedes."""

    def source(self, index: int) -> int:
        """The position in the source of position `index` of the view, after what was left out before it."""
        return index + bisect_right(self.dropped, index - 1)


def find(text: str, old: str) -> Match:
    """All places of `old` in `text`, maybe none. Line ends of any kind match each other."""
    view = newline_view(text)
    wanted = with_newlines(old)
    spans: list[Span] = []
    at = view.text.find(wanted)
    while at >= 0:
        spans.append(Span(view.source(at), view.source(at + len(wanted))))
        at = view.text.find(wanted, at + len(wanted))
    is_exact = all(text[span.start : span.end] == old for span in spans)
    return Match(tuple(spans), "exact" if is_exact else "line ends")


def count_overlapping(text: str, old: str) -> int:
    """How often `old` stands in `text` when hits may overlap: 2 for "aa" in "aaa"."""
    view, wanted = newline_view(text).text, with_newlines(old)
    count, at = 0, view.find(wanted)
    while at >= 0:
        count += 1
        at = view.find(wanted, at + 1)
    return count


def newline_view(text: str) -> View:
    """The text with every line end as \\n."""
    if "\r" not in text:
        return View(text)
    dropped: list[int] = []
    at = text.find("\r\n")
    while at >= 0:
        dropped.append(at - len(dropped))
        at = text.find("\r\n", at + 2)
    return View(with_newlines(text), dropped)
