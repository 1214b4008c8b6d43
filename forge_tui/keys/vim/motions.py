"""Vim's motions, with Vim's behaviour at the ends of lines and of the text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

from rich.cells import cell_len

from forge_tui.keys.vim.text import Lines, Position, Walk, at, first_non_blank

TAB = 4
"""Cells between the positions that a tab reaches, as in the composer."""
END_OF_LINE = 1 << 30
"""The wanted cell after `$`."""


class Extent(Enum):
    """What an operator does with the two ends of a motion."""

    EXCLUSIVE = "without the character at the end"
    INCLUSIVE = "with the character at the end"
    LINES = "whole lines"


@dataclass(frozen=True, slots=True)
class Search:
    """The last f, F, t or T."""

    character: str
    is_forward: bool
    is_till: bool

    @property
    def reversed(self) -> Search:
        return replace(self, is_forward=not self.is_forward)


@dataclass(frozen=True, slots=True)
class MotionRequest:
    """A motion from a position."""

    lines: Lines
    start: Position
    count: int | None = None
    operator: str = ""
    """The operator that waits for the motion; empty for none."""
    is_visual: bool = False
    wanted: int | None = None
    """The cell that j and k aim at; None for that of the start."""

    @property
    def times(self) -> int:
        return self.count or 1


@dataclass(frozen=True, slots=True)
class Target:
    """Where a motion ends."""

    position: Position
    extent: Extent = Extent.EXCLUSIVE
    wanted: int | None = None
    """The cell that j and k aim at from here, if it is not that of the position."""
    has_failed: bool = False
    """Whether it was stopped by the beginning or the end: an operator is not run."""


# By character and line


def left(request: MotionRequest) -> Target:
    row, column = request.start
    return Target(
        Position(row, max(column - request.times, 0)), has_failed=column == 0 and not request.operator
    )


def right(request: MotionRequest) -> Target:
    row, column = request.start
    length = len(request.lines[row])
    last = length if request.operator or request.is_visual else max(length - 1, 0)
    target = Position(row, min(column + request.times, last))
    return Target(target, has_failed=target == request.start and not request.operator)


def down(request: MotionRequest) -> Target:
    return _vertical(request, request.times)


def up(request: MotionRequest) -> Target:
    return _vertical(request, -request.times)


def _vertical(request: MotionRequest, by: int) -> Target:
    row = min(max(request.start.row + by, 0), len(request.lines) - 1)
    line, wanted = request.lines[row], request.wanted
    if wanted is None:
        wanted = _cells(request.lines[request.start.row])[request.start.column]
    last = len(line) if request.is_visual and wanted == END_OF_LINE else max(len(line) - 1, 0)
    column = min(max(bisect_right(_begins(line), wanted) - 1, 0), last)
    return Target(Position(row, column), Extent.LINES, wanted, row == request.start.row)


def _line_text(target: Target, request: MotionRequest) -> Target:
    position = first_non_blank(request.lines, target.position.row)
    return Target(position, Extent.LINES, has_failed=target.has_failed)


def _begins(line: list[str]) -> list[int]:
    """Return the cell in which each character begins, and that of the end."""
    begins = [0]
    for one in line:
        begins.append(begins[-1] + (TAB - begins[-1] % TAB if one == "\t" else cell_len(one)))
    return begins


def _cells(line: list[str]) -> list[int]:
    """Return the cell in which the cursor is on each character: the last one of a tab."""
    begins = _begins(line)
    return [
        begins[column + 1] - 1 if one == "\t" else begins[column] for column, one in enumerate(line)
    ] + begins[-1:]


def line_start(request: MotionRequest) -> Target:
    return Target(Position(request.start.row, 0))


def line_text(request: MotionRequest) -> Target:
    return Target(first_non_blank(request.lines, request.start.row))


def line_end(request: MotionRequest) -> Target:
    row = request.start.row + request.times - 1
    has_failed = request.times > 1 and request.start.row == len(request.lines) - 1
    row = min(row, len(request.lines) - 1)
    length = len(request.lines[row])
    column = length if request.is_visual else max(length - 1, 0)
    return Target(
        Position(row, column),
        Extent.INCLUSIVE if length or request.is_visual or request.times > 1 else Extent.EXCLUSIVE,
        END_OF_LINE,
        has_failed,
    )


def first_line(request: MotionRequest) -> Target:
    return _to_row(request, request.times - 1)


def last_line(request: MotionRequest) -> Target:
    return _to_row(request, (request.count or len(request.lines)) - 1)


def _to_row(request: MotionRequest, row: int) -> Target:
    return Target(first_non_blank(request.lines, min(row, len(request.lines) - 1)), Extent.LINES)


# By word


def word(request: MotionRequest, *, is_big: bool = False) -> Target:
    """w, W. The change operator on a word ends with the word."""
    here = at(request.lines, request.start)
    if request.operator == "c" and here not in ("", " ", "\t"):
        return word_end(request, is_big=is_big, may_stay=True)
    walk = Walk(request.lines, request.start, is_big=is_big)
    is_done = _words_forward(walk, request.times, stops_at_line_end=bool(request.operator))
    position, extent = walk.position, Extent.EXCLUSIVE
    if not request.is_visual and _is_past_end(request, position):
        position, extent = position.to_column(position.column - 1), Extent.INCLUSIVE
    return Target(position, extent, has_failed=not is_done and not request.operator)


def _is_past_end(request: MotionRequest, position: Position) -> bool:
    return bool(position > request.start and position.column and not at(request.lines, position))


def _words_forward(walk: Walk, count: int, *, stops_at_line_end: bool) -> bool:
    for remaining in reversed(range(count)):
        is_end = stops_at_line_end and remaining == 0
        kind, is_last_line = walk.kind, walk.is_on_last_line
        step = walk.forward()
        if step == -1 or (step >= 1 and is_last_line):
            return False
        if step >= 1 and is_end:
            return True
        while kind != 0 and walk.kind == kind:
            step = walk.forward()
            if step == -1 or (step >= 1 and is_end):
                return True
        while walk.kind == 0 and not walk.is_on_empty_line:
            step = walk.forward()
            if step == -1 or (step >= 1 and is_last_line):
                return True
    return True


def word_end(request: MotionRequest, *, is_big: bool = False, may_stay: bool = False) -> Target:
    """e, E. With `may_stay`, the end of the word at the start counts, although the cursor is there."""
    walk = Walk(request.lines, request.start, is_big=is_big)
    is_done = _word_ends_forward(walk, request.times, may_stay=may_stay)
    position = walk.position
    if not request.is_visual and _is_past_end(request, position):
        position = position.to_column(position.column - 1)
    return Target(position, Extent.INCLUSIVE, has_failed=not is_done and not request.operator)


def _word_ends_forward(walk: Walk, count: int, *, may_stay: bool) -> bool:
    for _ in range(count):
        kind = walk.kind
        if walk.forward() == -1:
            return False
        if walk.kind == kind and kind != 0:
            if not walk.skip_forward(kind):
                return False
        elif (not may_stay or kind == 0) and not (walk.skip_forward(0) and walk.skip_forward(walk.kind)):
            return False
        walk.back()
        may_stay = False
    return True


def word_back(request: MotionRequest, *, is_big: bool = False) -> Target:
    """b, B."""
    walk = Walk(request.lines, request.start, is_big=is_big)
    for _ in range(request.times):
        if walk.back() == -1:
            return Target(walk.position, has_failed=True)
        while walk.kind == 0 and not walk.is_on_empty_line:
            if walk.back() == -1:
                return Target(walk.position)
        if walk.is_on_empty_line:
            continue
        if not walk.skip_back(walk.kind):
            return Target(walk.position)
        walk.forward()
    return Target(walk.position)


def word_end_back(request: MotionRequest, *, is_big: bool = False) -> Target:
    """ge, gE."""
    walk = Walk(request.lines, request.start, is_big=is_big)
    for _ in range(request.times):
        kind = walk.kind
        if walk.back() == -1:
            return Target(walk.position, Extent.INCLUSIVE, has_failed=True)
        if kind != 0 and not walk.skip_back(kind):
            return Target(walk.position, Extent.INCLUSIVE)
        while walk.kind == 0 and not walk.is_on_empty_line:
            if walk.back() == -1:
                return Target(walk.position, Extent.INCLUSIVE)
    return Target(walk.position, Extent.INCLUSIVE)


# By paragraph and bracket


def paragraph_forward(request: MotionRequest) -> Target:
    return _paragraph(request, 1)


def paragraph_back(request: MotionRequest) -> Target:
    return _paragraph(request, -1)


def _paragraph(request: MotionRequest, direction: int) -> Target:
    lines, row = request.lines, request.start.row
    for remaining in reversed(range(request.times)):
        was_text, is_first = False, True
        while True:
            was_text = was_text or bool(lines[row])
            if not is_first and was_text and not lines[row]:
                break
            is_first = False
            if not 0 <= row + direction < len(lines):
                if remaining:
                    return Target(request.start, has_failed=True)
                break
            row += direction
    if row == len(lines) - 1 and direction > 0 and lines[row]:
        return Target(Position(row, len(lines[row]) - 1), Extent.INCLUSIVE)
    return Target(Position(row, 0))


PAIRS = {"(": ")", "[": "]", "{": "}"}
_OPENING = {closing: opening for opening, closing in PAIRS.items()}


def matching_bracket(request: MotionRequest) -> Target | None:
    """%; with a count the line at so many hundredths of the text."""
    if request.count is not None:
        if request.count > 100:
            return None
        return _to_row(request, max((request.count * len(request.lines) + 99) // 100 - 1, 0))
    row, column = request.start
    line = request.lines[row]
    for index in range(column, len(line)):
        if line[index] in PAIRS or line[index] in _OPENING:
            found = match_of(request.lines, Position(row, index))
            return found and Target(found, Extent.INCLUSIVE)
    return None


def match_of(lines: Lines, bracket: Position) -> Position | None:
    """Return the bracket that belongs to the one at the position, or None."""
    one = at(lines, bracket)
    is_forward = one in PAIRS
    other = PAIRS[one] if is_forward else _OPENING[one]
    walk, depth = Walk(lines, bracket), 1
    while (walk.forward() if is_forward else walk.back()) != -1:
        here = at(lines, walk.position)
        depth += (here == one) - (here == other)
        if depth == 0:
            return walk.position
    return None


# By searching in a line


def search(request: MotionRequest, wanted: Search, *, is_repeated: bool = False) -> Target | None:
    """f, F, t, T, and their repetition by ; and , which moves even from directly before the character."""
    row, column = request.start
    line, step = request.lines[row], 1 if wanted.is_forward else -1
    counts_first = not (is_repeated and wanted.is_till and request.times == 1)
    for _ in range(request.times):
        while True:
            column += step
            if not 0 <= column < len(line):
                return None
            if line[column] == wanted.character and counts_first:
                break
            counts_first = True
    return Target(
        Position(row, column - step if wanted.is_till else column),
        Extent.INCLUSIVE if wanted.is_forward else Extent.EXCLUSIVE,
    )


MOTIONS: dict[str, Callable[[MotionRequest], Target | None]] = {
    "h": left,
    "backspace": left,
    "l": right,
    " ": right,
    "j": down,
    "k": up,
    "+": lambda request: _line_text(down(request), request),
    "enter": lambda request: _line_text(down(request), request),
    "-": lambda request: _line_text(up(request), request),
    "0": line_start,
    "^": line_text,
    "$": line_end,
    "w": word,
    "W": lambda request: word(request, is_big=True),
    "e": word_end,
    "E": lambda request: word_end(request, is_big=True),
    "b": word_back,
    "B": lambda request: word_back(request, is_big=True),
    "ge": word_end_back,
    "gE": lambda request: word_end_back(request, is_big=True),
    "gg": first_line,
    "G": last_line,
    "{": paragraph_back,
    "}": paragraph_forward,
    "%": matching_bracket,
}
SEARCHES = {"f": (True, False), "F": (False, False), "t": (True, True), "T": (False, True)}
"""Whether each searches forward, and whether it ends before the character."""
