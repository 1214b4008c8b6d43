"""A text by its lines, and how the lines of one text become those of another."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TypeAlias

from forge_core.tools.editing.text import TERMINATOR

Opcode: TypeAlias = "tuple[str, int, int, int, int]"
"""As difflib has them: what, from and to in the old lines, from and to in the new."""

_MAX_COMPARED = 1_000_000
"""Lines times lines: above it, lines that are unique on both sides part the texts first."""
_MAX_PAIRS = 200_000
"""Pairs of equal lines: above it, a changed region counts as all old, then all new."""


class Lines:
    """The lines of a part of a text without their terminators, and where each stands in the whole of it."""

    def __init__(self, whole: str, part: range) -> None:
        self.whole = whole
        self.part = part
        self.bare, self.ends = split_lines(whole[part.start : part.stop])
        lengths = (len(line) + len(end) for line, end in zip(self.bare, (*self.ends, ""), strict=True))
        self.starts = [*accumulate(lengths, initial=part.start)]
        self.has_final_newline = not self.bare[-1] and bool(self.ends)
        if not self.bare[-1]:  # what follows the last terminator is no line
            self.bare.pop()
            self.starts.pop()

    def number(self, index: int) -> int:
        """The number of a line in the whole text, from 1."""
        return len(split_lines(self.whole[: self.starts[index]])[0])

    @cached_property
    def usual_step(self) -> int:
        """By how many blanks a line mostly stands deeper than the one before it, in the whole text; 0 when
        none does."""
        steps: Counter[int] = Counter()
        before = 0
        for line in split_lines(self.whole)[0]:
            rest = line.lstrip(" \t")
            if rest:
                depth = len(line) - len(rest)
                if depth > before:
                    steps[depth - before] += 1
                before = depth
        return steps.most_common(1)[0][0] if steps else 0

    def content_end(self, index: int) -> int:
        """Where the terminator of a line stands, or the text's end."""
        return self.starts[index] + len(self.bare[index])


def split_lines(text: str) -> tuple[list[str], list[str]]:
    """What stands between the terminators, and the terminators: one fewer. "a\\nb\\n" has three parts."""
    if "\r" not in text:
        parts = text.split("\n")
        return parts, ["\n"] * (len(parts) - 1)
    return TERMINATOR.split(text), TERMINATOR.findall(text)


def line_opcodes(old: Sequence[str], new: Sequence[str]) -> list[Opcode]:
    """Like SequenceMatcher.get_opcodes, but common lines at both ends are taken off first, and never
    quadratic: what would take too long counts as one change."""
    codes: list[Opcode] = []
    for tag, a, b, c, d in _opcodes(old, new, 0, len(old), 0, len(new)):
        if codes and codes[-1][0] == tag == "equal":
            _, first, _, third, _ = codes.pop()
            codes.append(("equal", first, b, third, d))
        else:
            codes.append((tag, a, b, c, d))
    return codes


def _opcodes(old: Sequence[str], new: Sequence[str], a: int, b: int, c: int, d: int) -> Iterator[Opcode]:
    head = 0
    while head < min(b - a, d - c) and old[a + head] == new[c + head]:
        head += 1
    if head:
        yield ("equal", a, a + head, c, c + head)
    a, c, tail = a + head, c + head, 0
    while tail < min(b - a, d - c) and old[b - 1 - tail] == new[d - 1 - tail]:
        tail += 1
    b, d = b - tail, d - tail
    if a < b and c < d:
        yield from _middle(old, new, a, b, c, d)
    elif a < b or c < d:
        yield ("delete" if a < b else "insert", a, b, c, d)
    if tail:
        yield ("equal", b, b + tail, d, d + tail)


def _middle(old: Sequence[str], new: Sequence[str], a: int, b: int, c: int, d: int) -> Iterator[Opcode]:
    ours, theirs = old[a:b], new[c:d]
    counts = Counter(theirs)
    if not any(line in counts for line in ours):
        yield ("replace", a, b, c, d)
    elif (b - a) * (d - c) <= _MAX_COMPARED:
        if sum(counts[line] for line in ours) > _MAX_PAIRS:
            yield ("replace", a, b, c, d)
            return
        for tag, i, j, k, m in difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
            yield (tag, i + a, j + a, k + c, m + c)
    else:
        anchors = _anchors(ours, theirs, counts)
        if not anchors:
            yield ("replace", a, b, c, d)
            return
        i, k = a, c
        for at, its in (*anchors, (b - a, d - c)):
            yield from _opcodes(old, new, i, a + at, k, c + its)
            i, k = a + at, c + its


def _anchors(old: Sequence[str], new: Sequence[str], counts: Counter[str]) -> list[tuple[int, int]]:
    """Lines that stand once on either side, in an order that both sides share: the longest such list."""
    places = {line: at for at, line in enumerate(new) if counts[line] == 1}
    once = Counter(old)
    pairs = [(at, places[line]) for at, line in enumerate(old) if once[line] == 1 and line in places]
    tops: list[int] = []
    best: list[int] = []
    before: list[int] = []
    for number, (_, its) in enumerate(pairs):
        at = bisect_left(tops, its)
        before.append(best[at - 1] if at else -1)
        tops[at : at + 1] = [its]
        best[at : at + 1] = [number]
    chain: list[tuple[int, int]] = []
    number = best[-1] if best else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]
