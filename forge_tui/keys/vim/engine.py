"""Vim's modes and commands over lines and a cursor; knows no terminal and no widget.

The lines are changed in place. In insert mode the caller changes the text; the engine is asked again for Esc.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from forge_tui.keys.vim import edits, objects
from forge_tui.keys.vim.command import OPERATORS, WHOLE_LINES, InvalidKeysError, VimCommand, parse
from forge_tui.keys.vim.edits import Register
from forge_tui.keys.vim.motions import MOTIONS, SEARCHES, Extent, MotionRequest, Search, Target, search
from forge_tui.keys.vim.objects import Area, adjusted, text_object
from forge_tui.keys.vim.text import (
    Lines,
    Position,
    first_non_blank,
    indent,
    limited,
    to_lines,
    to_text,
)

LARGEST_PUT = 1_000_000
"""The most characters that p inserts."""


class Mode(StrEnum):
    """A mode; its value is the word for it on the screen."""

    INSERT = ""
    NORMAL = "NORMAL"
    VISUAL = "VISUAL"
    VISUAL_LINE = "V-LINE"

    @property
    def is_visual(self) -> bool:
        return self in (Mode.VISUAL, Mode.VISUAL_LINE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the caller must do after a key, besides showing the text."""

    undo: int = 0
    """How many steps to undo; redo, if negative."""
    has_failed: bool = False


@dataclass(frozen=True, slots=True)
class _Change:
    """The last change, for `.`"""

    command: VimCommand
    inserted: Lines = ()  # type: ignore[assignment]
    """What was typed in insert mode after it."""
    size: tuple[int, int] | None = None
    """Rows beyond the first, and characters in the last one, of the selection that it changed."""
    mode: Mode = Mode.NORMAL


DONE, FAILED = Outcome(), Outcome(has_failed=True)


class Vim:
    """The state of one input."""

    def __init__(
        self,
        read_clipboard: Callable[[], str] = lambda: "",
        write_clipboard: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.mode = Mode.INSERT
        self.lines: Lines = [[]]
        self.cursor = Position(0, 0)
        self.anchor = Position(0, 0)
        """The other end of the selection in visual mode."""
        self._read_clipboard = read_clipboard
        self._write_clipboard = write_clipboard
        self._keys: list[str] = []
        self._wanted: int | None = None
        self._search: Search | None = None
        self._register = Register([[]])
        self._last: _Change | None = None
        self._inserting: VimCommand | None = None
        """The command that began insert mode; None if the input itself did."""
        self._before: Lines = [[]]
        self._began = Position(0, 0)

    @property
    def pending(self) -> str:
        """The keys of a command that is not complete."""
        return "".join(self._keys)

    def reset(self, unfold: Callable[[str], str]) -> None:
        """Begin a new text in insert mode; `unfold` returns text of the register for another text."""
        self.mode = Mode.INSERT
        self.forget_keys()
        self._inserting = self._last = None
        text = to_text(self._register.lines)
        if not text.isascii():
            self._register = replace(self._register, lines=to_lines(unfold(text)))

    def forget_keys(self) -> None:
        """Drop a command that is not complete."""
        self._keys.clear()

    def move_to(self, position: Position) -> None:
        """Note that the cursor was moved by something else."""
        if position != self.cursor:
            self.cursor, self._wanted = position, None

    def return_to(self, position: Position) -> None:
        """Put the cursor of normal mode on the nearest character."""
        self.cursor, self._wanted = limited(self.lines, position), None

    def press(self, key: str) -> Outcome:
        """Handle a key: a character, "escape", "ctrl+r", "enter", "backspace" or "delete"."""
        if key == "escape":
            return self._escape()
        self._keys.append(key)
        try:
            command = parse(self._keys, is_visual=self.mode.is_visual)
        except InvalidKeysError:
            self._keys.clear()
            return FAILED
        if command is None:
            return DONE
        self._keys.clear()
        return self._run(command)

    def _escape(self) -> Outcome:
        if self._keys:
            self._keys.clear()
        elif self.mode is Mode.INSERT:
            self._end_insert()
        else:
            self._to_normal()
        return DONE

    def _to_normal(self) -> None:
        self.mode, self.cursor = Mode.NORMAL, limited(self.lines, self.cursor)

    # Running commands

    def _run(self, command: VimCommand) -> Outcome:
        if self.mode.is_visual:
            return self._run_visual(command)
        if not command.verb:
            return self._move(command)
        if command.verb in OPERATORS:
            area = self._area(command)
            if area is None:
                return FAILED
            self._remember(command)
            self._operate(command, area)
            return DONE
        return self._run_simple(command)

    def _move(self, command: VimCommand) -> Outcome:
        target = self._target(command)
        if target is None:
            return FAILED
        self._go(target)
        return FAILED if target.has_failed else DONE

    def _go(self, target: Target) -> None:
        position = target.position
        self.cursor = position if self.mode.is_visual else limited(self.lines, position)
        self._wanted = target.wanted

    def _target(self, command: VimCommand) -> Target | None:
        request = MotionRequest(
            self.lines, self.cursor, command.count, command.verb, self.mode.is_visual, self._wanted
        )
        if command.motion in SEARCHES:
            is_forward, is_till = SEARCHES[command.motion]
            self._search = Search(command.character, is_forward, is_till)
            return search(request, self._search)
        if command.motion in ";,":
            if self._search is None:
                return None
            wanted = self._search if command.motion == ";" else self._search.reversed
            return search(request, wanted, is_repeated=True)
        return MOTIONS[command.motion](request)

    def _remember(self, command: VimCommand, size: tuple[int, int] | None = None) -> None:
        if command.verb != "y":
            self._last = _Change(command, size=size, mode=self.mode if size else Mode.NORMAL)

    def _run_simple(self, command: VimCommand) -> Outcome:
        match command.verb:
            case "u":
                return Outcome(undo=command.times)
            case "ctrl+r":
                return Outcome(undo=-command.times)
            case "v" | "V":
                self.mode = Mode.VISUAL if command.verb == "v" else Mode.VISUAL_LINE
                self.anchor = self.cursor
                return DONE
            case ".":
                return self._repeat(command)
            case "i" | "a" | "I" | "A" | "o" | "O":
                self._remember(command)
                self._begin_insert(command)
                return DONE
        changes = {
            "p": self._put,
            "P": self._put,
            "J": self._join,
            "r": self._replace,
            "~": self._swap_case,
        }
        if command.verb not in changes or not changes[command.verb](command):
            return FAILED
        self._remember(command)
        return DONE

    def _repeat(self, dot: VimCommand) -> Outcome:
        last = self._last
        if last is None:
            return FAILED
        command = replace(last.command, count=dot.count) if dot.count else last.command
        if last.size is not None:
            rows, columns = last.size
            row = min(self.cursor.row + rows, len(self.lines) - 1)
            column = columns - 1 if rows else self.cursor.column + columns - 1
            self.mode, self.anchor = last.mode, self.cursor
            self.cursor = Position(row, max(min(column, len(self.lines[row]) - 1), 0))
        outcome = self._run(command)
        if self.mode is Mode.INSERT and not outcome.has_failed:
            if last.inserted:
                self.cursor = edits.insert(self.lines, self.cursor, last.inserted)
            self._end_insert()
        if self._last is not None:
            self._last = replace(self._last, inserted=last.inserted, size=last.size, mode=last.mode)
        return outcome

    # Insert mode

    def _begin_insert(self, command: VimCommand) -> None:
        row, column = self.cursor
        line = self.lines[row]
        match command.verb:
            case "a":
                column = min(column + 1, len(line))
            case "A":
                column = len(line)
            case "I":
                column = indent(line)
            case "o" | "O":
                row, column = row + (command.verb == "o"), 0
                self.lines.insert(row, [])
        self.cursor = Position(row, column)
        self._enter_insert(command)

    def _enter_insert(self, command: VimCommand) -> None:
        self.mode, self._inserting = Mode.INSERT, command
        self._before = [line[:] for line in self.lines]
        self._began = self.cursor

    def _end_insert(self) -> None:
        """Leave insert mode; repeat what was typed, for the count and for `.`."""
        command, self._inserting = self._inserting, None
        if command is not None and self._last is not None:
            inserted = edits.inserted(self._before, self.lines, self._began)
            self._last = replace(self._last, inserted=inserted)
            if command.verb in ("i", "a", "I", "A", "o", "O"):
                text = [[], *inserted] if command.verb in ("o", "O") else inserted
                for _ in range(command.times - 1):
                    if command.verb in ("o", "O"):
                        self.cursor = self.cursor.to_column(len(self.lines[self.cursor.row]))
                    self.cursor = edits.insert(self.lines, self.cursor, text)
        self.mode = Mode.NORMAL
        self.cursor = limited(self.lines, self.cursor.to_column(max(self.cursor.column - 1, 0)))
        self._wanted = None

    # Operators

    def _area(self, command: VimCommand) -> Area | None:
        """Return what an operator acts on."""
        start = self.cursor
        if command.motion == WHOLE_LINES:
            if command.times > 1 and start.row == len(self.lines) - 1:
                return None
            row = min(start.row + command.times - 1, len(self.lines) - 1)
            if command.verb == "y":
                return Area(start, Position(row, start.column), Extent.LINES)
            return Area(min(start, first_non_blank(self.lines, row)), Position(row, 0), Extent.LINES)
        if command.motion[0] in "ia":
            area = self._object(command, start)
            return area and adjusted(self.lines, command.verb, area)
        target = self._target(command)
        if target is None or target.has_failed:
            return None
        first, last = sorted((start, target.position))
        return adjusted(self.lines, command.verb, Area(first, last, target.extent))

    def _operate(self, command: VimCommand, area: Area) -> None:
        verb, start, end = command.verb, area.start, area.end
        is_lines = area.extent is Extent.LINES
        stop = end
        if is_lines:
            stop = Position(end.row, len(self.lines[end.row]))
        elif area.extent is Extent.INCLUSIVE:
            stop = self._after(end)
        begin = start.to_column(0) if is_lines else start
        self.cursor = start
        if verb in ("d", "c", "y"):
            if begin != stop or is_lines:
                self._store(command, Register(edits.copy(self.lines, begin, stop), is_lines))
            if verb == "y":
                pass
            elif is_lines and verb == "d":
                self._delete_lines(start.row, end.row)
            else:
                edits.delete(self.lines, begin, stop)
                self.cursor = begin
        elif verb in (">", "<"):
            steps = command.times if self.mode.is_visual else 1
            edits.shift(self.lines, start.row, end.row, steps if verb == ">" else -steps)
            self.cursor = first_non_blank(self.lines, start.row)
        else:
            edits.change_case(self.lines, begin, stop, verb)
        if verb == "c":
            self._enter_insert(command)
            return
        self._to_normal()
        self._wanted = None

    def _after(self, end: Position) -> Position:
        """Return the position after the one that an inclusive area ends with; a selected line end counts."""
        if end.column >= len(self.lines[end.row]) and self.mode.is_visual and end.row + 1 < len(self.lines):
            return Position(end.row + 1, 0)
        return Position(end.row, min(end.column + 1, len(self.lines[end.row])))

    def _delete_lines(self, first: int, last: int) -> None:
        del self.lines[first : last + 1]
        if not self.lines:
            self.lines.append([])
        self.cursor = first_non_blank(self.lines, min(first, len(self.lines) - 1))

    # Registers

    def _store(self, command: VimCommand, register: Register) -> None:
        if command.register in ("+", "*"):
            self._write_clipboard(to_text(register.lines) + "\n" * register.is_lines)
        if command.register != "_":
            self._register = register

    def _load(self, command: VimCommand) -> Register:
        if command.register not in ("+", "*"):
            return self._register
        text = self._read_clipboard()
        if len(text) > 1 and text.endswith("\n"):
            return Register(to_lines(text[:-1]), is_lines=True)
        return Register(to_lines(text))

    def _put(self, command: VimCommand) -> bool:
        register = self._load(command)
        if not register.is_lines and register.lines == [[]]:
            return False
        if len(to_text(register.lines)) * command.times > LARGEST_PUT:
            return False
        is_after = command.verb == "p"
        self.cursor = edits.put(self.lines, self.cursor, register, command.times, is_after=is_after)
        self._wanted = None
        return True

    # Other changes

    def _join(self, command: VimCommand) -> bool:
        row, count = self.cursor.row, max(command.times, 2)
        if row + count > len(self.lines):
            if count == 2:
                return False
            count = len(self.lines) - row
        if count > 1:
            self.return_to(Position(row, edits.join(self.lines, row, count)))
        return True

    def _replace(self, command: VimCommand) -> bool:
        row, column = self.cursor
        line = self.lines[row]
        if column + command.times > len(line) or (
            len(command.character) > 1 and command.character != "enter"
        ):
            return False
        stop = Position(row, column + command.times)
        edits.delete(self.lines, self.cursor, stop)
        if command.character == "enter":
            edits.insert(self.lines, self.cursor, [[], []])
            self.cursor = Position(row + 1, 0)
        else:
            edits.insert(self.lines, self.cursor, [[command.character] * command.times])
            self.cursor = Position(row, stop.column - 1)
        self._wanted = None
        return True

    def _swap_case(self, command: VimCommand) -> bool:
        row, column = self.cursor
        stop = Position(row, min(column + command.times, len(self.lines[row])))
        if stop == self.cursor:
            return False
        edits.change_case(self.lines, self.cursor, stop, "g~")
        self.cursor = limited(self.lines, stop)
        self._wanted = None
        return True

    # Visual mode

    def _run_visual(self, command: VimCommand) -> Outcome:
        start, end = sorted((self.anchor, self.cursor))
        is_lines = self.mode is Mode.VISUAL_LINE or command.motion == WHOLE_LINES
        if not command.verb and command.motion[0] in "ia" and len(command.motion) == 2:
            return self._select(command)
        if not command.verb:
            return self._move(command)
        match command.verb:
            case "o":
                self.anchor, self.cursor = self.cursor, self.anchor
                self._wanted = None
                return DONE
            case "v" | "V":
                mode = Mode.VISUAL if command.verb == "v" else Mode.VISUAL_LINE
                if self.mode is mode:
                    self._to_normal()
                else:
                    self.mode = mode
                return DONE
        if is_lines:
            start = start.to_column(0)
        columns = end.column + 1 - (start.column if start.row == end.row else 0)
        self._remember(command, (end.row - start.row, columns))
        area = Area(start, end, Extent.LINES if is_lines else Extent.INCLUSIVE)
        if command.verb in OPERATORS:
            self._operate(command, area)
            return DONE
        return self._change_selection(command, area)

    def _object(self, command: VimCommand, cursor: Position, *, more: int = 0) -> Area | None:
        around, name = command.motion[0], command.motion[1]
        return text_object(self.lines, cursor, name, is_around=around == "a", count=command.times + more)

    def _select(self, command: VimCommand) -> Outcome:
        """Select a text object; with a selection, extend that by one."""
        is_new, cursor = self.anchor == self.cursor, self.cursor
        name = command.motion[1]
        if not is_new and cursor > self.anchor and name in "wWp":
            row, column = cursor
            cursor = Position(row + 1, 0) if name == "p" else Position(row, column + 1)
            if row >= len(self.lines) or (name != "p" and column + 1 >= len(self.lines[row])):
                return FAILED
        area = self._object(command, cursor) if cursor.row < len(self.lines) else None
        is_same = area is not None and not is_new and area.start >= min(self.anchor, self.cursor)
        if is_same and name in objects.BRACKETS:
            area = self._object(command, cursor, more=1) or area
        if area is None:
            return FAILED
        if is_new or name not in "wWp" or self.cursor < self.anchor:
            self.anchor = area.start
        self.cursor = area.end
        self.mode = Mode.VISUAL_LINE if area.extent is Extent.LINES else Mode.VISUAL
        if area.extent is Extent.EXCLUSIVE and area.end > area.start:
            self.cursor = area.end.to_column(max(area.end.column - 1, 0))
        self._wanted = None
        return DONE

    def _change_selection(self, command: VimCommand, area: Area) -> Outcome:
        start, end = area.start, area.end
        is_lines = area.extent is Extent.LINES
        stop = Position(end.row, len(self.lines[end.row])) if is_lines else self._after(end)
        match command.verb:
            case "J":
                self.cursor = start
                self._to_normal()
                is_done = self._join(VimCommand("J", count=end.row - start.row + 1))
                return DONE if is_done else FAILED
            case "r":
                if len(command.character) > 1:
                    return FAILED
                edits.fill(self.lines, start, stop, command.character)
                self.cursor = start
            case "I" | "A":
                self.cursor = start if command.verb == "I" else stop
                self._last = None
                self._enter_insert(command)
                return DONE
            case _:
                old = Register(edits.copy(self.lines, start, stop), is_lines)
                self.cursor = edits.put_over(self.lines, start, stop, self._load(command), is_lines=is_lines)
                if command.verb == "p":  # P keeps the register
                    self._register = old
        self._to_normal()
        self._wanted = None
        return DONE
