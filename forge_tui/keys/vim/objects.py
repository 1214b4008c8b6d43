"""Vim's text objects: the part of the text that `iw`, `a"`, `i(` or `ap` names."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from forge_tui.keys.vim.motions import PAIRS, Extent, match_of
from forge_tui.keys.vim.text import Lines, Position, Walk, at, character_class, indent

BRACKETS = {name: opening for opening, closing in PAIRS.items() for name in (opening, closing)} | {
    "b": "(",
    "B": "{",
}
NAMES = frozenset("wWp\"'`") | BRACKETS.keys()


@dataclass(frozen=True, slots=True)
class Area:
    """A part of the text; `end` belongs to it if the extent is inclusive."""

    start: Position
    end: Position
    extent: Extent


def text_object(lines: Lines, cursor: Position, name: str, *, is_around: bool, count: int) -> Area | None:
    """Return the object at the cursor, or None if there is none."""
    if name in "wW":
        return _words(lines, cursor, count, is_around=is_around, is_big=name == "W")
    if name == "p":
        return _paragraphs(lines, cursor.row, count, is_around=is_around)
    if name in BRACKETS:
        return _block(lines, cursor, BRACKETS[name], count, is_around=is_around)
    return _quoted(lines, cursor, name, is_around=is_around)


def adjusted(lines: Lines, verb: str, area: Area) -> Area:
    """Apply Vim's rules for operators over several lines (`:help exclusive-linewise`, `:help d-special`)."""
    start, end, extent = area.start, area.end, area.extent
    is_at_indent = start.column <= indent(lines[start.row])
    if extent is Extent.EXCLUSIVE and end.column == 0 and end.row > start.row:
        row = end.row - 1
        if is_at_indent:
            return Area(start, Position(row, 0), Extent.LINES)
        end = Position(row, max(len(lines[row]) - 1, 0))
        extent = Extent.INCLUSIVE if lines[row] else Extent.EXCLUSIVE
    if verb == "d" and extent is not Extent.LINES and end.row > start.row and is_at_indent:
        rest = lines[end.row][end.column + (extent is Extent.INCLUSIVE) :]
        if indent(rest) == len(rest):
            return Area(start, end, Extent.LINES)
    return Area(start, end, extent)


def _words(lines: Lines, cursor: Position, count: int, *, is_around: bool, is_big: bool) -> Area | None:
    """Words and the blanks between them; those of one line."""
    row, column = cursor
    kinds = [character_class(one, is_big=is_big) for one in lines[row]]
    if not kinds:
        return None if is_around else Area(cursor, cursor, Extent.EXCLUSIVE)
    column = min(column, len(kinds) - 1)

    def run_end(begin: int) -> int:
        return next((index for index in range(begin, len(kinds)) if kinds[index] != kinds[begin]), len(kinds))

    start = column
    while start and kinds[start - 1] == kinds[column]:
        start -= 1
    end, has_white = start, False
    for _ in range(count):
        if end >= len(kinds):
            return None
        was_white = kinds[end] == 0
        end = run_end(end)
        if is_around and end < len(kinds) and (was_white or kinds[end] == 0):
            end = run_end(end)
        elif is_around and was_white:
            return None
    has_white = kinds[start] == 0 or kinds[end - 1] == 0
    if is_around and not has_white:
        before = start
        while before and kinds[before - 1] == 0:
            before -= 1
        start = before or start  # the indentation stays
    return Area(Position(row, start), Position(row, end - 1), Extent.INCLUSIVE)


def _paragraphs(lines: Lines, row: int, count: int, *, is_around: bool) -> Area | None:
    def is_blank(index: int) -> bool:
        return indent(lines[index]) == len(lines[index])

    def run_end(begin: int) -> int:
        blank = is_blank(begin)
        return next((at for at in range(begin, len(lines)) if is_blank(at) != blank), len(lines))

    start = row
    while start and is_blank(start - 1) == is_blank(row):
        start -= 1
    end = start
    for _ in range(count):
        if end >= len(lines):
            return None
        was_blank = is_blank(end)
        end = run_end(end)
        if is_around and end < len(lines):
            end = run_end(end)
        elif is_around and was_blank:
            return None
    if is_around and not is_blank(start) and not is_blank(end - 1):
        while start and is_blank(start - 1):
            start -= 1
    return Area(Position(start, 0), Position(end - 1, 0), Extent.LINES)


def _block(lines: Lines, cursor: Position, opening: str, count: int, *, is_around: bool) -> Area | None:
    start = cursor
    if at(lines, cursor) == PAIRS[opening]:
        start = match_of(lines, cursor) or cursor
        count -= 1
        if start == cursor:
            return None
    elif at(lines, cursor) == opening:
        count -= 1
    for _ in range(count):
        before = _enclosing(lines, start, opening) or (
            _next(lines, start, opening) if start == cursor else None
        )
        if before is None:
            return None
        start = before
    end = match_of(lines, start)
    if end is None:
        return None
    if is_around:
        return Area(start, end, Extent.INCLUSIVE)
    return _inside(lines, start, end, is_lines=opening == "{")


def _enclosing(lines: Lines, position: Position, opening: str) -> Position | None:
    walk, depth = Walk(lines, position), 0
    while walk.back() != -1:
        here = at(lines, walk.position)
        if here == opening:
            if depth == 0:
                return walk.position
            depth -= 1
        elif here == PAIRS[opening]:
            depth += 1
    return None


def _next(lines: Lines, position: Position, opening: str) -> Position | None:
    walk = Walk(lines, position)
    while walk.forward() != -1:
        if at(lines, walk.position) == opening:
            return walk.position
    return None


def _inside(lines: Lines, opening: Position, closing: Position, *, is_lines: bool) -> Area:
    """Return what is between two brackets, without the line break after the first."""
    first = Walk(lines, opening)
    if first.forward() == 2 and not first.is_on_last_line:
        first.forward()
    start = first.position
    walk = Walk(lines, closing)

    def back() -> int:
        step = walk.back()
        return walk.back() if step == 1 and walk.column else step

    is_at_line_start = closing.column == 0
    back()
    while is_lines and indent(lines[walk.row]) >= walk.column + 1:
        is_at_line_start = True
        if back() != 0:
            break
    end = walk.position
    if is_at_line_start:
        if walk.forward() == 2 and not walk.is_on_last_line:
            walk.forward()
        return Area(start, max(start, walk.position), Extent.EXCLUSIVE)
    if start <= end:
        return Area(start, end, Extent.INCLUSIVE)
    return Area(start, start, Extent.EXCLUSIVE)


def _quoted(lines: Lines, cursor: Position, quote: str, *, is_around: bool) -> Area | None:
    row, column = cursor
    line = lines[row]
    quotes, index = [], 0
    while index < len(line):
        if line[index] == "\\":
            index += 1
        elif line[index] == quote:
            quotes.append(index)
        index += 1
    if column < len(line) and line[column] == quote:
        pairs = list(zip(quotes[::2], quotes[1::2], strict=False))
    else:  # any two that enclose the cursor, else the next two
        pairs = list(itertools.pairwise(quotes))
    pair = next((pair for pair in pairs if column <= pair[1]), None)
    if pair is None:
        return None
    start, end = pair
    if not is_around:
        if end == start + 1:
            return Area(Position(row, end), Position(row, end), Extent.EXCLUSIVE)
        return Area(Position(row, start + 1), Position(row, end - 1), Extent.INCLUSIVE)
    after = end + 1
    while after < len(line) and line[after] in " \t":
        after += 1
    if after == end + 1:
        while start and line[start - 1] in " \t":
            start -= 1
    return Area(Position(row, start), Position(row, after - 1), Extent.INCLUSIVE)
