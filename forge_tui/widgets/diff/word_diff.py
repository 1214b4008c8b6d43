"""Which old line became which new one, and the words in them that differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import TypeAlias

from forge_tui.widgets.diff.unified_diff import Stretch

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Character ranges of a line that differ from its counterpart."""
RowPair: TypeAlias = "tuple[int | None, int | None]"
"""The indices of an old and a new line in the same row of two columns."""

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_LONGEST_COMPARED = 400
"""Characters; the words of longer lines are not compared (quadratic in the worst case)."""
_LEAST_ALIKE = 0.5
"""The similarity below which two lines are not one changed line."""
_LONGEST_RUN = 12
"""Lines of a stretch that are compared, each with each."""


def counterparts(stretch: Stretch) -> list[tuple[int, int]]:
    """Return the pairs of an old line and the new line most similar to it, in order."""
    if stretch.is_same:
        return [(at, at) for at in range(len(stretch.old))]
    return list(_alike(stretch.old, stretch.new))


def row_pairs(stretch: Stretch, alike: Sequence[tuple[int, int]]) -> Iterator[RowPair]:
    """Yield the rows of two columns: counterparts side by side, the other lines in the rows between."""
    if stretch.is_same:
        yield from alike
        return
    old = new = 0
    for next_old, next_new in (*alike, (len(stretch.old), len(stretch.new))):
        rows = max(next_old - old, next_new - new)
        for at in range(rows):
            yield (
                old + at if old + at < next_old else None,
                new + at if new + at < next_new else None,
            )
        if next_old < len(stretch.old) and next_new < len(stretch.new):
            yield next_old, next_new
        old, new = next_old + 1, next_new + 1


def changed_words(old: str, new: str) -> tuple[Ranges, Ranges]:
    """Return the character ranges of `old` and of `new` that differ."""
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    removed: list[tuple[int, int]] = []
    added: list[tuple[int, int]] = []
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "equal":
            _add_range(removed, before, a, b)
            _add_range(added, after, c, d)
    return _joined(old, removed), _joined(new, added)


def _alike(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    first = 0
    for number, line in enumerate(old[:_LONGEST_RUN]):
        # At most 12 × 12 comparisons per stretch. Pairs stay in order: the search goes on after the last
        # match.
        ratios = [_alikeness(line, other) for other in new[first : first + _LONGEST_RUN]]
        best = max(range(len(ratios)), key=lambda at: ratios[at], default=-1)
        if best >= 0 and ratios[best] >= _LEAST_ALIKE:
            yield number, first + best
            first += best + 1


def _alikeness(old: str, new: str) -> float:
    if max(len(old), len(new)) > _LONGEST_COMPARED:
        return 0.0
    matcher = SequenceMatcher(None, _WORDS.findall(old.strip()), _WORDS.findall(new.strip()), autojunk=False)
    # Upper bounds first: they are linear, the ratio is quadratic.
    if matcher.real_quick_ratio() < _LEAST_ALIKE or matcher.quick_ratio() < _LEAST_ALIKE:
        return 0.0
    return matcher.ratio()


def _add_range(ranges: list[tuple[int, int]], words: Sequence[str], first: int, last: int) -> None:
    if first < last:
        start = sum(map(len, words[:first]))
        ranges.append((start, start + sum(map(len, words[first:last]))))


def _joined(text: str, ranges: Sequence[tuple[int, int]]) -> Ranges:
    """Return ranges with only blanks between them as one."""
    joined: list[tuple[int, int]] = []
    for start, end in ranges:
        if joined and not text[joined[-1][1] : start].strip():
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return tuple(joined)
