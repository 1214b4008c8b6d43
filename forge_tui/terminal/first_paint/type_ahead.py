"""Reads the terminal while the app is still being imported, so that typed text shows at once.

Standard library only, but for the widths of characters beyond ASCII. `stop()` returns everything that was
read.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import threading
import time
from collections.abc import Callable
from unicodedata import combining

from forge_core.text_width import cell_len
from forge_tui.terminal.first_paint.skeleton import MakeSkeleton, Skeleton

_READ_BYTES = 65536
_STOP_S = 1.0
"""How long a terminal that accepts no output may delay the end."""
_INTERRUPT = b"\x03"
TWICE_S = 2.0
"""Ctrl+C again within this time leaves Forge."""
_PASTE_START, _PASTE_END = b"\x1b[200~", b"\x1b[201~"
_WORD_EDGE = r"(?<=\W)(?=\w)|(?<=\w)(?=\W)"
"""As Textual's TextArea has it."""
_IDEOGRAPHIC_SPACE = "\u3000"
"""Japanese keyboards write it, but for `str.isprintable` it is not printable."""


class TypeAhead:
    """A thread that owns the screen and the keys from `start()` to `stop()`."""

    def __init__(self, fd: int, make: MakeSkeleton, write: Callable[[str], None]) -> None:
        self._fd = fd
        self._make = make
        self._write = write
        self._skeleton = Skeleton(())
        self._line = TypedLine(0)
        self._cooked = 0
        """Bytes still to be read that came before the settings of the tty were changed."""
        self._interrupted_at = float("-inf")
        self._has_ended = False
        self._wake_in, self._wake_out = os.pipe()
        os.set_blocking(self._wake_out, False)
        self._thread = threading.Thread(target=self._run, name="forge-type-ahead", daemon=True)

    def start(self, opening: str, cooked: int = 0, text: str = "") -> None:
        """Write `opening`, paint, and start reading. In the first `cooked` bytes Enter is a line feed.

        The line begins with `text`; where it cannot show all of that, it stays empty until the app comes.
        """
        self._cooked = cooked
        self._line = TypedLine(0, text)  # for `_paint`
        self._line = TypedLine(self._paint(opening), text)
        self._thread.start()

    def stop(self) -> tuple[str, bytes]:
        """Stop reading and painting; return the text that shows and the bytes after it."""
        if not self._has_ended:
            self._has_ended = True
            self.wake()
            with contextlib.suppress(RuntimeError):  # a signal came before the thread was started
                self._thread.join(_STOP_S)
            if not self._thread.is_alive():  # a running thread still needs them
                os.close(self._wake_in)
                os.close(self._wake_out)
        typed = self._line.text, self._line.rest
        self._line = TypedLine(0)
        return typed

    def wake(self) -> None:
        """Let the thread repaint for a new size, or end. For a signal handler: it does nothing else."""
        with contextlib.suppress(BlockingIOError):  # the pipe is full: the thread will wake
            os.write(self._wake_out, b"!")

    def _run(self) -> None:
        while not self._has_ended:
            ready = select.select([self._fd, self._wake_in], [], [])[0]
            if self._wake_in in ready:
                os.read(self._wake_in, _READ_BYTES)
                if not self._has_ended:
                    self._line.resize(self._paint())
            elif not self._read():
                return

    def _read(self) -> bool:
        """Read what was typed; return whether more may come."""
        try:
            data = os.read(self._fd, _READ_BYTES)
        except OSError:
            return False
        if self._cooked:
            early, data = data[: self._cooked], data[self._cooked :]
            self._cooked -= len(early)
            data = early.replace(b"\n", b"\r") + data
        before = self._line.text
        self._line.feed(data)
        if self._line.text != before and self._skeleton.line is not None:
            self._write(self._skeleton.line.painted(self._line.text))
        if data.endswith(_INTERRUPT):
            self._interrupted(data)
        else:
            self._interrupted_at = float("-inf")
        return bool(data)

    def _interrupted(self, data: bytes) -> None:
        """Handle Ctrl+C: the first is left to the app, the second must not wait for it."""
        rest = self._line.rest
        if rest.rfind(_PASTE_START) > rest.rfind(_PASTE_END):
            return
        now = time.monotonic()
        is_second = data == _INTERRUPT and now - self._interrupted_at <= TWICE_S
        if is_second or data.endswith(2 * _INTERRUPT):
            os.kill(os.getpid(), signal.SIGINT)
        self._interrupted_at = now

    def _paint(self, opening: str = "") -> int:
        """Paint everything for the current size; return the room for text."""
        self._skeleton = self._make(*terminal_size())
        room = self._skeleton.line.room if self._skeleton.line else 0
        # Text that needs more than one row is left to the app.
        text = self._line.text if fits(self._line.text, room) else None
        self._write(opening + self._skeleton.painted(text))
        return room


def terminal_size() -> tuple[int, int]:
    """Return width and height as Textual determines them: the environment takes precedence."""
    try:
        size: tuple[int, int] = os.get_terminal_size(1)
    except OSError:
        size = (0, 0)
    asked = (_whole(os.environ.get("COLUMNS", "")), _whole(os.environ.get("LINES", "")))
    return asked[0] or size[0] or 80, asked[1] or size[1] or 24


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


class TypedLine:
    """A line of text with the cursor at its end.

    It closes at the first key that does more than insert or delete there; further bytes are only kept.
    """

    def __init__(self, room: int, text: str = "") -> None:
        """`room` is the width in cells that text may take; 0 if nothing is shown."""
        self._room = room
        self.text = text
        self.rest = b""
        """The bytes after the text."""
        self.is_open = room > 0 and fits(text, room)

    def feed(self, data: bytes) -> None:
        """Process bytes as they were read; a character may be split."""
        self.rest += data
        while self.is_open and self.rest:
            size = _size(self.rest)
            if len(self.rest) < size:
                return
            try:
                text = self._after(self.rest[:size].decode())
            except UnicodeDecodeError:
                text = None
            if text is None:
                self.is_open = False
                return
            self.text, self.rest = text, self.rest[size:]

    def resize(self, room: int) -> None:
        """Change the room. The line closes if the text no longer fits."""
        self._room = room
        self.is_open = self.is_open and room > 0 and fits(self.text, room)

    def _after(self, character: str) -> str | None:
        """Return the text after this character; None if only the app knows."""
        match character:
            case "\x7f":  # Backspace
                return self.text[:-1]
            case "\x15":  # Ctrl+U
                return ""
            case "\x17":  # Ctrl+W
                edges = list(re.finditer(_WORD_EDGE, self.text.rstrip()))
                return self.text[: edges[-1].start()] if edges else ""
        text = self.text + character
        return text if _is_plain(character, self.text) and cell_len(text) <= self._room else None


def fits(text: str, room: int) -> bool:
    """Return whether a row with this many cells shows the whole text."""
    return cell_len(text) <= room and all(_is_plain(one, text[:at]) for at, one in enumerate(text))


def _is_plain(character: str, before: str) -> bool:
    """Return whether all terminals show the character alike: not if it joins or colours emoji."""
    if not (character.isprintable() or character == _IDEOGRAPHIC_SPACE):
        return False
    return bool(cell_len(character)) or (bool(before) and bool(combining(character)))


def _size(data: bytes) -> int:
    """Return how many bytes the first character takes."""
    lead = data[0]
    return 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
