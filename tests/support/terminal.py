"""A program in a terminal of its own: a pty, and an emulator that shows what a person would see."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyte

from tests.support import preloaded
from tests.support.grapheme_screen import GraphemeScreen

_SEQUENCE = re.compile(
    r"\x1b\](?P<osc>[^\x07\x1b]*)(?:\x07|\x1b\\)"
    r"|\x1b[P_^X][^\x1b]*\x1b\\"
    r"|\x1b\[(?P<prefix>[<=>?]?)(?P<parameters>[0-9;:]*)(?P<between>[ !\"#$%&'()*+,\-./]*)(?P<final>[@-~])"
)
_UNFINISHED = re.compile(
    r"\x1b(?:\[[0-9;:<=>?]*[ !\"#$%&'()*+,\-./]*|[\]P_^X](?:[^\x07\x1b]|\x1b(?!\\))*\x1b?)?\Z"
    r"|[^\x00-\x7f]+\Z"  # more of what stands in one cell may come
)
_NOT_INHERITED = ("COLUMNS", "LINES", "NO_COLOR", "PYTHONDONTWRITEBYTECODE")
"""A program that compiles all of its modules starts several times slower than the installed one."""
_ANSWERS = {"2026": "\x1b[?2026;2$y"}
"""Private mode → the reply to the question whether it is known."""

_ATTRIBUTES = b"\x1b[?62;22c"
"""The reply to DA1."""


class Emulator:
    """pyte, with the alternate screen and without the sequences that it would print as text."""

    def __init__(self, width: int, height: int, reply: Callable[[bytes], None] | None = None) -> None:
        self.screen = GraphemeScreen(width, height)
        self.modes: set[str] = set()
        """Private modes that are on, by number; "kitty" while its keyboard protocol is pushed, and "modified keys"."""
        self.titles: list[str] = []
        self.cursor_shape = "0"
        """The parameter of the last DECSCUSR."""
        self.background = ""
        """The reply to OSC 11, as "rgb:0000/0000/0000"; none if it is empty."""
        self._stream = pyte.Stream(self.screen)
        self._reply = reply or (lambda _: None)
        self._rest = ""
        self._main: list[dict[int, Any]] | None = None

    def feed(self, text: str) -> None:
        text = self._rest + text
        unfinished = _UNFINISHED.search(text[-4096:])
        self._rest = unfinished.group() if unfinished else ""
        if self._rest:
            text = text[: -len(self._rest)]
        at = 0
        for match in _SEQUENCE.finditer(text):
            self._text(text[at : match.start()])
            at = match.end()
            self._sequence(match)
        self._text(text[at:])

    def lines(self) -> list[str]:
        """The rows as text."""
        self._draw_rest()
        return self.screen.display

    def cells(self) -> list[list[tuple[Any, ...]]]:
        """Every cell with its character, colours and attributes."""
        self._draw_rest()
        screen = self.screen
        return [[tuple(screen.buffer[y][x]) for x in range(screen.columns)] for y in range(screen.lines)]

    def resize(self, width: int, height: int) -> None:
        self.screen.resize(height, width)

    def _draw_rest(self) -> None:
        """Draws text that was kept for what might have belonged to its last cell."""
        if self._rest and self._rest[0] != "\x1b":
            self._stream.feed(self._rest)
            self._rest = ""

    def _text(self, text: str) -> None:
        if text and text.isprintable():
            self.screen.draw(text)  # what pyte's parser would do, sooner
        else:
            self._stream.feed(text)

    def _sequence(self, match: re.Match[str]) -> None:
        final = match["final"]
        if final == "m" and not match["prefix"] and not match["between"]:
            self.screen.choose_style(match["parameters"])
            return
        if final == "m" and match["prefix"] == ">":
            is_on = match["parameters"].startswith("4;")
            (self.modes.add if is_on else self.modes.discard)("modified keys")
            return
        if final is None:
            if (match["osc"] or "").startswith(("0;", "2;")):
                self.titles.append(match["osc"][2:])
            elif match["osc"] == "11;?" and self.background:
                self._reply(f"\x1b]11;{self.background}\x1b\\".encode())
            return
        prefix, parameters = match["prefix"], match["parameters"]
        if prefix == "?" and final in "hl" and not match["between"]:
            for mode in parameters.split(";"):
                self._set_mode(mode, final == "h")
        elif prefix == "?" and match["between"] == "$" and final == "p":
            self._reply(_ANSWERS.get(parameters, f"\x1b[?{parameters};0$y").encode())
        elif final == "q" and match["between"] == " ":
            self.cursor_shape = parameters
        elif final == "c" and not prefix:
            self._reply(_ATTRIBUTES)
        elif final == "u" and prefix in "<>":
            (self.modes.add if prefix == ">" else self.modes.discard)("kitty")
        elif not prefix and not match["between"] and final != "u":
            self._stream.feed(match.group())

    def _set_mode(self, mode: str, is_on: bool) -> None:
        if mode == "1049" and is_on != (mode in self.modes):
            self._switch_screen(is_on)
        (self.modes.add if is_on else self.modes.discard)(mode)
        if mode in ("7", "25"):
            self._stream.feed(f"\x1b[?{mode}{'h' if is_on else 'l'}")

    def _switch_screen(self, to_alternate: bool) -> None:
        screen = self.screen
        if to_alternate:
            self._main = [dict(screen.buffer[y]) for y in range(screen.lines)]
            screen.erase_in_display(2)
        elif self._main is not None:
            screen.erase_in_display(2)
            for y, row in enumerate(self._main):
                screen.buffer[y].update(row)
            self._main = None


class Terminal:
    """Runs a command; what it writes is read whenever something is waited for."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        size: tuple[int, int] = (80, 24),
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        is_preloaded: bool = False,
    ) -> None:
        """If `is_preloaded`, a program of Forge need not import: see `tests.support.preloaded`."""
        self.output = bytearray()
        """Every byte that the program has written."""
        self.exit_code: int | None = None
        """As a shell shows it: 128 + n for a program that signal n ended."""
        self.first_settings: list[Any]
        """The tty's settings before the program changes them."""
        inherited = {key: value for key, value in os.environ.items() if key not in _NOT_INHERITED}
        base = {**inherited, "TERM": "xterm-256color", "COLORTERM": "truecolor", **(environment or {})}
        if is_preloaded and preloaded.can_copy(command, base):
            self._fd, theirs = pty.openpty()
            self.first_settings = self.settings
            self._pid = preloaded.copy(command, base, folder or Path.cwd(), [theirs] * 3, has_terminal=True)
            os.close(theirs)
        else:
            self._pid, self._fd = pty.fork()
            if self._pid == 0:
                _become(command, base, folder)
            self.first_settings = self.settings
        self._decoder = __import__("codecs").getincrementaldecoder("utf-8")("replace")
        self.emulator = Emulator(*size, reply=self._answer)
        self._set_size(*size)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return self._pid

    @property
    def text(self) -> str:
        """The screen, one line per row."""
        return "\n".join(line.rstrip() for line in self.emulator.lines())

    @property
    def settings(self) -> list[Any]:
        """The tty's settings."""
        return termios.tcgetattr(self._fd)

    def send(self, keys: str) -> None:
        os.write(self._fd, keys.encode())

    def signal(self, number: int) -> None:
        os.kill(self._pid, number)

    def resize(self, width: int, height: int) -> None:
        self.emulator.resize(width, height)
        self._set_size(width, height)

    def wait_for(self, wanted: str | Callable[[Self], bool], timeout_s: float = 60.0) -> None:
        """Reads until the text is on the screen or the condition holds. Raises AssertionError otherwise."""
        is_there = (lambda terminal: wanted in terminal.text) if isinstance(wanted, str) else wanted
        end = time.monotonic() + timeout_s
        while not is_there(self):
            # Not until the next output: a condition may come true while the program writes nothing.
            wait_s = min(end - time.monotonic(), 0.05)
            if wait_s <= 0 or (self._has_output(wait_s) and not self._read(0.0)):
                if is_there(self):
                    return
                raise AssertionError(f"{wanted!r} did not come; the screen shows:\n{self.text}")

    def wait_until_quiet(self, quiet_s: float = 0.15, timeout_s: float = 60.0) -> None:
        """Reads until the program has written nothing for `quiet_s`."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end and select.select([self._fd], [], [], quiet_s)[0]:
            if not self._read(0.0):
                return

    def wait_for_exit(self, timeout_s: float = 60.0) -> int:
        """Reads until the program has ended; its exit code."""
        end = time.monotonic() + timeout_s
        while self.exit_code is None:
            if time.monotonic() > end:
                raise AssertionError(f"the program did not end; the screen shows:\n{self.text}")
            self._read(0.05)
            self._reap(os.WNOHANG)
        while self._read(0.0):
            pass
        return self.exit_code

    def close(self) -> None:
        """Ends the program, if it has not ended, and frees the pty."""
        if self.exit_code is None:
            self._reap(os.WNOHANG)
        if self.exit_code is None:
            os.kill(self._pid, signal.SIGKILL)
            self._reap(0)
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def hang_up(self) -> None:
        """Closes the terminal, as when its window is closed."""
        os.close(self._fd)
        self._fd = -1

    def _has_output(self, timeout_s: float) -> bool:
        """Whether there is something to read, or nothing can come any more."""
        return self._fd < 0 or bool(select.select([self._fd], [], [], timeout_s)[0])

    def _read(self, timeout_s: float) -> bool:
        """Takes what the program has written; whether it may still write."""
        if self._fd < 0 or not self._has_output(timeout_s):
            return False
        try:
            data = os.read(self._fd, 65536)
        except OSError:
            return False
        self.output += data
        self.emulator.feed(self._decoder.decode(data))
        return bool(data)

    def _reap(self, options: int) -> None:
        pid, status = os.waitpid(self._pid, options)
        if pid:
            code = os.waitstatus_to_exitcode(status)
            self.exit_code = 128 - code if code < 0 else code

    def _answer(self, data: bytes) -> None:
        os.write(self._fd, data)

    def _set_size(self, width: int, height: int) -> None:
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))


def _become(command: Sequence[str], environment: Mapping[str, str], folder: Path | None) -> None:
    """Turns the forked child into the command."""
    try:
        if folder is not None:
            os.chdir(folder)
        os.execvpe(command[0], list(command), environment)
    finally:
        os._exit(127)


def descriptors_on(terminal: int) -> int:
    """How many descriptors this process has open on the terminal of the descriptor `terminal`."""
    device, found = os.fstat(terminal).st_rdev, 0
    for descriptor in range(256):
        with contextlib.suppress(OSError):
            found += os.fstat(descriptor).st_rdev == device
    return found


def python(*arguments: str) -> list[str]:
    """A command that runs this Python."""
    return [sys.executable, *arguments]
