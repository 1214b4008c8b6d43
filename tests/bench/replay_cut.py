"""Cuts the way from one text to another into edits as a model would send them: applied in order, each unique."""

from __future__ import annotations

import difflib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from forge_core.tools.editing.text import split_keeping_ends, with_newlines

Style: TypeAlias = Literal["lines", "no last line end", "part of a line"]
STYLES: tuple[Style, ...] = ("lines", "no last line end", "part of a line")


@dataclass(frozen=True, slots=True)
class Hunk:
    """`old` lines give way to `new` ones at line `at` of the text as it stands when its turn comes."""

    at: int
    old: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One edit, with the whole text before and after it."""

    before: str
    after: str
    old: str
    new: str
    line: int | None
    """From 1: the line that `old` begins with; None when it is a part of a line."""
    changed: range
    """Indices of those lines of `after` that the commit changed; all others are to stay byte for byte."""


def hunks(before: str, after: str) -> list[Hunk]:
    """The differing runs of lines; positions hold when they are applied from the first to the last."""
    old, new = split_keeping_ends(before), split_keeping_ends(after)
    head = _shared(old, new)
    tail = _shared(old[head:][::-1], new[head:][::-1])
    old_middle, new_middle = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(old_middle) + len(new_middle) > 6_000:
        return [Hunk(head, tuple(old_middle), tuple(new_middle))]
    matcher = difflib.SequenceMatcher(None, old_middle, new_middle, autojunk=False)
    return [
        Hunk(head + new_from, tuple(old_middle[old_from:old_to]), tuple(new_middle[new_from:new_to]))
        for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes()
        if tag != "equal"
    ]


def steps(before: str, after: str, style: Style, rng: random.Random) -> Iterator[Step]:
    """One step a hunk, in order; what they make of `before` in the end is `after`."""
    lines = split_keeping_ends(before)
    for hunk in hunks(before, after):
        end = hunk.at + len(hunk.old)
        done = lines[: hunk.at] + list(hunk.new) + lines[end:]
        text = "".join(lines)
        start, stop = _window(lines, hunk, rng, style == "no last line end")
        old = "".join(lines[start:stop])
        new = "".join(done[start : stop + len(hunk.new) - len(hunk.old)])
        part = None
        if style == "no last line end":
            old, new = _without_last_end(old, new)
        elif style == "part of a line" and len(hunk.old) == len(hunk.new) == 1:
            part = _part(text, hunk.old[0], hunk.new[0])
        changed = range(hunk.at, hunk.at + len(hunk.new))
        yield Step(text, "".join(done), *(part or (old, new)), None if part else start + 1, changed)
        lines = done


def _window(lines: list[str], hunk: Hunk, rng: random.Random, bare: bool) -> tuple[int, int]:
    """The lines to quote: zero to three of context on each side, then more until the quote is unique."""
    start = max(hunk.at - rng.randint(0, 3), 0)
    stop = min(hunk.at + len(hunk.old) + rng.randint(0, 3), len(lines))
    text = with_newlines("".join(lines))
    while True:
        quote = with_newlines("".join(lines[start:stop]))
        quote = quote.removesuffix("\n") if bare else quote
        if (start, stop) == (0, len(lines)) or (quote and occurrences(text, quote, 2) == 1):
            return start, stop
        start, stop = max(start - 1, 0), min(stop + 1, len(lines))


def _without_last_end(old: str, new: str) -> tuple[str, str]:
    """Both without their last line end, when it is the same and something is left."""
    bare_old, bare_new = old.rstrip("\r\n"), new.rstrip("\r\n")
    for end in ("\r\n", "\n", "\r"):
        if old.endswith(end) or new.endswith(end):
            if old.endswith(end) and new.endswith(end) and bare_old and bare_new:
                return old.removesuffix(end), new.removesuffix(end)
            break
    return old, new


def _part(text: str, old_line: str, new_line: str) -> tuple[str, str] | None:
    """Only what differs within one line, widened until it is unique in the text; None when it never is."""
    old, new = (
        with_newlines(old_line).removesuffix("\n"),
        with_newlines(new_line).removesuffix("\n"),
    )
    if old_line.removeprefix(old) != new_line.removeprefix(new):
        return None
    head = _shared(old, new)
    tail = _shared(old[head:][::-1], new[head:][::-1])
    while True:
        quote = old[head : len(old) - tail]
        if len(quote.strip()) >= 3 and occurrences(text, quote, 2) == 1:
            return quote, new[head : len(new) - tail]
        if not head and not tail:
            return None
        head, tail = max(head - 1, 0), max(tail - 1, 0)


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many items both begin with."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def occurrences(text: str, quote: str, enough: int) -> int:
    """How often `quote` stands in `text`, overlaps counted, up to `enough`."""
    count, at = 0, text.find(quote)
    while at >= 0 and count < enough:
        count += 1
        at = text.find(quote, at + 1)
    return count
