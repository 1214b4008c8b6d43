"""A unified diff between two texts, cheap also when little changes in a long file."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal, TypeAlias

from forge_core.result import FileDiff
from forge_core.tools.editing.text import split_keeping_ends

CONTEXT_LINES = 3
MAX_DIFF_LINES = 2_000

Opcode: TypeAlias = "tuple[Literal['replace', 'delete', 'insert', 'equal'], int, int, int, int]"
"""As difflib has them: what, from and to in the old lines, from and to in the new."""

_MAX_COMPARED = 1_000_000
"""Lines times lines: above it, lines that are unique on both sides part the texts first."""
_MAX_PAIRS = 200_000
"""Pairs of equal lines: above it, a changed region counts as all old, then all new."""


def file_diff(path: str, before: str, after: str) -> FileDiff:
    """Return the change from `before` to `after`; lines differ when their line ends do."""
    old, new = split_keeping_ends(before), split_keeping_ends(after)
    opcodes = line_opcodes(old, new)
    shown = list(islice(_rows(old, new, opcodes, CONTEXT_LINES, "\r\n"), MAX_DIFF_LINES + 1))
    if len(shown) > MAX_DIFF_LINES:
        shown = [*shown[:MAX_DIFF_LINES], "\\ The rest of the change is not shown"]
    return FileDiff(path, "\n".join(shown), *_counts(opcodes))


def unified_diff(path: str, before: str, after: str, context: int = CONTEXT_LINES) -> FileDiff:
    """Return the whole change as git would write it: only \\n ends a line, a carriage return belongs to
    it."""
    old, new = newline_lines(before), newline_lines(after)
    opcodes = line_opcodes(old, new)
    return FileDiff(path, "\n".join(_rows(old, new, opcodes, context, "\n")), *_counts(opcodes))


def newline_lines(text: str) -> list[str]:
    """Return the lines with their ends, as git splits them: only \\n ends a line."""
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop().removesuffix("\n")
    return [*lines, last] if last else lines


def grouped_opcodes(
    old: Sequence[str], new: Sequence[str], context: int = CONTEXT_LINES
) -> Iterator[list[tuple[str, int, int, int, int]]]:
    """Yield the opcodes of each hunk, with those of the unchanged lines around it."""
    yield from _Opcodes(line_opcodes(old, new)).get_grouped_opcodes(context)


def _counts(opcodes: Sequence[Opcode]) -> tuple[int, int]:
    """Return lines added and removed."""
    added = sum(end - start for tag, _, _, start, end in opcodes if tag != "equal")
    removed = sum(end - start for tag, start, end, _, _ in opcodes if tag != "equal")
    return added, removed


def _rows(
    old: Sequence[str], new: Sequence[str], opcodes: Sequence[Opcode], context: int, ends: str
) -> Iterator[str]:
    """Yield the rows of a unified diff, without the characters `ends` that end the lines."""
    for group in _Opcodes(opcodes).get_grouped_opcodes(context):
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@"
        for tag, old_from, old_to, new_from, new_to in group:
            removed = [(" " if tag == "equal" else "-", line) for line in old[old_from:old_to]]
            added = [("+", line) for line in new[new_from:new_to]] if tag != "equal" else []
            for mark, line in removed + added:
                bare = line.rstrip(ends)
                yield mark + bare
                if bare == line:
                    yield "\\ No newline at end of file"


class _Opcodes(difflib.SequenceMatcher[str]):
    """Opcodes, already known, to be grouped with the context around them."""

    def __init__(self, opcodes: Sequence[Opcode]) -> None:
        super().__init__()
        self._known = list(opcodes)

    def get_opcodes(self) -> list[Opcode]:
        return self._known


def _range(start: int, stop: int) -> str:
    length = stop - start
    if length == 1:
        return str(start + 1)
    return f"{start if length == 0 else start + 1},{length}"


def line_opcodes(old: Sequence[str], new: Sequence[str]) -> list[Opcode]:
    """Return opcodes as SequenceMatcher.get_opcodes does, but never in quadratic time.

    Common lines at both ends are set aside first; a region that would take too long counts as one change.
    """
    codes: list[Opcode] = []
    for tag, a, b, c, d in _opcodes(old, new, 0, len(old), 0, len(new)):
        if codes and codes[-1][0] == tag == "equal":
            _, first, _, third, _ = codes.pop()
            codes.append(("equal", first, b, third, d))
        else:
            codes.append((tag, a, b, c, d))
    return codes


def _opcodes(old: Sequence[str], new: Sequence[str], a: int, b: int, c: int, d: int) -> Iterator[Opcode]:
    # Common lines at both ends first: most edits change little, and this is linear.
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
    pairs = sum(counts[line] for line in ours)
    is_large = len(ours) * len(theirs) > _MAX_COMPARED
    # Patience diff for a large region: unique common lines divide it, and each part is compared on its own.
    anchors = _anchors(ours, theirs, counts) if pairs and is_large else []
    # SequenceMatcher's time grows with the pairs of equal lines: 200,000 take about 0.1 s.
    if not is_large and 0 < pairs <= _MAX_PAIRS:
        for tag, i, j, k, m in difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
            yield (tag, i + a, j + a, k + c, m + c)
    elif not anchors:
        yield ("replace", a, b, c, d)
    else:
        i, k = a, c
        for at, its in (*anchors, (b - a, d - c)):
            yield from _opcodes(old, new, i, a + at, k, c + its)
            i, k = a + at, c + its


def _anchors(old: Sequence[str], new: Sequence[str], counts: Counter[str]) -> list[tuple[int, int]]:
    """Return the longest sequence of lines, unique on both sides, that both sides have in the same order."""
    places = {line: at for at, line in enumerate(new) if counts[line] == 1}
    once = Counter(old)
    pairs = [(at, places[line]) for at, line in enumerate(old) if once[line] == 1 and line in places]
    # Longest increasing subsequence in O(n log n). tops[k] is the smallest position at which a chain of k + 1
    # pairs can end, best[k] the pair that ends that chain, and before[n] the pair before pair n in its chain.
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
