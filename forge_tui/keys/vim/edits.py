"""Changes to lines, in place, as Vim makes them."""

from __future__ import annotations

from dataclasses import dataclass

from forge_tui.keys.vim.text import Lines, Position, first_non_blank, indent, limited

SHIFT = 4
"""The number of spaces by which > and < move a line."""


@dataclass(frozen=True, slots=True)
class Register:
    """Yanked or deleted text."""

    lines: Lines
    is_lines: bool = False
    """Whether it is whole lines, which are put above or below the cursor's line."""


def copy(lines: Lines, start: Position, stop: Position) -> Lines:
    """Return the text from `start` up to `stop`, which is not part of it."""
    if start.row == stop.row:
        return [lines[start.row][start.column : stop.column]]
    between = [line[:] for line in lines[start.row + 1 : stop.row]]
    return [lines[start.row][start.column :], *between, lines[stop.row][: stop.column]]


def delete(lines: Lines, start: Position, stop: Position) -> None:
    """Delete the text from `start` up to `stop`."""
    lines[start.row : stop.row + 1] = [lines[start.row][: start.column] + lines[stop.row][stop.column :]]


def insert(lines: Lines, position: Position, text: Lines) -> Position:
    """Insert text; return the position after it."""
    row, column = position
    before, after = lines[row][:column], lines[row][column:]
    new = [line[:] for line in text]
    new[0] = before + new[0]
    stop = Position(row + len(new) - 1, len(new[-1]))
    new[-1] = new[-1] + after
    lines[row : row + 1] = new
    return stop


def shift(lines: Lines, first: int, last: int, by: int) -> None:
    """Indent the lines that are not empty by `by` steps, or less if it is negative."""
    for row in range(first, last + 1):
        line = lines[row]
        if line:
            blanks = indent(line)
            width = sum(SHIFT if one == "\t" else 1 for one in line[:blanks])
            lines[row] = [" "] * max(width + by * SHIFT, 0) + line[blanks:]


def fill(lines: Lines, start: Position, stop: Position, character: str) -> None:
    """Replace each character from `start` up to `stop`."""
    for row in range(start.row, stop.row + 1):
        first = start.column if row == start.row else 0
        last = min(stop.column if row == stop.row else len(lines[row]), len(lines[row]))
        lines[row][first:last] = [character] * (last - first)


def change_case(lines: Lines, start: Position, stop: Position, verb: str) -> None:
    """Change the case of letters: gu makes them small, gU capital, g~ swaps. A character remains one."""
    for row in range(start.row, stop.row + 1):
        line = lines[row]
        first = start.column if row == start.row else 0
        last = stop.column if row == stop.row else len(line)
        for column in range(first, min(last, len(line))):
            line[column] = cased(line[column], verb)


def cased(character: str, verb: str) -> str:
    """Return the character in another case, if that is one character."""
    if len(character) > 1:
        return character
    change = {"gu": character.lower, "gU": character.upper, "g~": character.swapcase}[verb]
    return changed if len(changed := change()) == 1 else character


def join(lines: Lines, row: int, count: int) -> int:
    """Join `count` lines with single spaces; return the column where the last two meet."""
    joined, column = lines[row], 0
    for following in lines[row + 1 : row + count]:
        column = len(joined)
        rest = following[indent(following) :]
        has_space = bool(rest) and rest[0] != ")" and bool(joined) and joined[-1] not in " \t"
        joined = joined + [" "] * has_space + rest
    lines[row : row + count] = [joined]
    return column


def put(lines: Lines, cursor: Position, register: Register, times: int, *, is_after: bool) -> Position:
    """Insert a register at the cursor; return where the cursor is then."""
    row, column = cursor
    if register.is_lines:
        row += is_after
        lines[row:row] = [line[:] for _ in range(times) for line in register.lines]
        return first_non_blank(lines, row)
    start = stop = Position(row, min(column + is_after, len(lines[row])))
    for _ in range(times):
        stop = insert(lines, stop, register.lines)
    is_one_row = len(register.lines) == 1
    return limited(lines, stop.to_column(max(stop.column - 1, 0)) if is_one_row else start)


def put_over(
    lines: Lines, start: Position, stop: Position, register: Register, *, is_lines: bool
) -> Position:
    """Replace a selection by a register; return where the cursor is then."""
    delete(lines, start, stop)
    if register.is_lines and is_lines:
        lines[start.row : start.row + 1] = [line[:] for line in register.lines]
        return first_non_blank(lines, start.row)
    if register.is_lines:
        insert(lines, start, [[], *register.lines, []])
        return first_non_blank(lines, start.row + 1)
    after = insert(lines, start, register.lines)
    if is_lines:
        return first_non_blank(lines, start.row)
    return after.to_column(max(after.column - 1, 0)) if len(register.lines) == 1 else start


def inserted(before: Lines, after: Lines, began: Position) -> Lines:
    """Return what was inserted at a position; [[]] if the text around it has changed too."""
    row, column = began
    tail_rows = len(before) - row - 1
    last = len(after) - tail_rows - 1
    if last < row or before[:row] != after[:row] or after[last + 1 :] != before[row + 1 :]:
        return [[]]
    rest = before[row][column:]
    stop = Position(last, len(after[last]) - len(rest))
    if after[row][:column] != before[row][:column] or stop < began or after[last][stop.column :] != rest:
        return [[]]
    return copy(after, began, stop)
