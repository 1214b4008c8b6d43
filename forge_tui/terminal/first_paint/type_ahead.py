"""Reads the terminal while the app is still being imported, so that what is typed shows at once.

Standard library only. Nothing that is read gets lost: `stop()` hands it over.
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
"""How long a terminal that takes no output may hold up the end of it."""
_INTERRUPT = b"\x03"
_TWICE_S = 2.0
"""Ctrl+C again within this time leaves, as in the app."""
_PASTE_START, _PASTE_END = b"\x1b[200~", b"\x1b[201~"
_WORD_EDGE = r"(?<=\W)(?=\w)|(?<=\w)(?=\W)"
"""As Textual's TextArea has it."""
_IDEOGRAPHIC_SPACE = "\u3000"
"""Every Japanese keyboard writes it, and `str.isprintable` denies it."""


class TypeAhead:
    """A thread that owns the screen and the keys from `start()` to `stop()`."""

    def __init__(self, fd: int, make: MakeSkeleton, write: Callable[[str], None]) -> None:
        self._fd = fd
        self._make = make
        self._write = write
        self._skeleton = Skeleton(())
        self._line = TypedLine(0)
        self._cooked = 0
        """Bytes to come that the tty had translated before it was told not to."""
        self._interrupted_at = float("-inf")
        self._has_ended = False
        self._wake_in, self._wake_out = os.pipe()
        os.set_blocking(self._wake_out, False)
        self._thread = threading.Thread(target=self._run, name="forge-type-ahead", daemon=True)

    def start(self, opening: str, cooked: int = 0) -> None:
        """Paints, after the sequences `opening`, and reads from now on. In the first `cooked` bytes Enter
        arrives as a line feed."""
        self._cooked = cooked
        self._line = TypedLine(self._paint(opening))
        self._thread.start()

    def resized(self) -> None:
        """The terminal has another size. For a signal's handler: the thread does the work."""
        self._wake()

    def stop(self) -> tuple[str, bytes]:
        """Ends reading and drawing. The text that shows, and the bytes that came after it."""
        if not self._has_ended:
            self._has_ended = True
            self._wake()
            with contextlib.suppress(RuntimeError):  # a signal came before the thread was started
                self._thread.join(_STOP_S)
            if not self._thread.is_alive():  # else it needs them to notice
                os.close(self._wake_in)
                os.close(self._wake_out)
        typed = self._line.text, self._line.rest
        self._line = TypedLine(0)
        return typed

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):  # it has not even taken the last call
            os.write(self._wake_out, b"!")

    def _run(self) -> None:
        while not self._has_ended:
            ready = select.select([self._fd, self._wake_in], [], [])[0]
            if self._wake_in in ready:
                os.read(self._wake_in, _READ_BYTES)
                if not self._has_ended:
                    self._follow_size()
            elif not self._read():
                return

    def _read(self) -> bool:
        """Takes what was typed; whether more may come."""
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
        """Ctrl+C: the app will see to the first one; the second must not wait for it."""
        rest = self._line.rest
        if rest.rfind(_PASTE_START) > rest.rfind(_PASTE_END):
            return
        now = time.monotonic()
        is_second = data == _INTERRUPT and now - self._interrupted_at <= _TWICE_S
        if is_second or data.endswith(2 * _INTERRUPT):
            os.kill(os.getpid(), signal.SIGINT)
        self._interrupted_at = now

    def _follow_size(self) -> None:
        self._line.resize(self._paint())

    def _paint(self, opening: str = "") -> int:
        """Draws everything for the size that the terminal has; the room for text."""
        self._skeleton = self._make(*terminal_size())
        room = self._skeleton.line.room if self._skeleton.line else 0
        # Text that needs more than one row is for the app to show.
        text = self._line.text if cell_len(self._line.text) <= room else None
        self._write(opening + self._skeleton.painted(text))
        return room


def terminal_size() -> tuple[int, int]:
    """Width and height as Textual takes them to be: a terminal may not know, and the environment decides."""
    try:
        size: tuple[int, int] = os.get_terminal_size(1)
    except OSError:
        size = (0, 0)
    asked = (_whole(os.environ.get("COLUMNS", "")), _whole(os.environ.get("LINES", "")))
    return asked[0] or size[0] or 80, asked[1] or size[1] or 24


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


class TypedLine:
    """One line of text with the cursor at its end. It closes at the first key that does more than write or
    delete there; from then on bytes are only kept."""

    def __init__(self, room: int) -> None:
        """`room` is the width in cells that text may take; 0 for a line that shows nothing."""
        self._room = room
        self.text = ""
        self.rest = b""
        """Bytes that come after the text, in order."""
        self.is_open = room > 0

    def feed(self, data: bytes) -> None:
        """Takes bytes as they were read; a character may be cut anywhere."""
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

    def resize(self, room: int) -> bool:
        """There is more or less room now; whether the text still fits. If not, the line closes."""
        self._room = room
        fits = cell_len(self.text) <= room
        self.is_open = self.is_open and fits and room > 0
        return fits

    def _after(self, character: str) -> str | None:
        """The text once this has been typed; None where that is not known here."""
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


def _is_plain(character: str, before: str) -> bool:
    """Whether it is text to the app and shows alike in all terminals: not what joins or colours emoji."""
    if not (character.isprintable() or character == _IDEOGRAPHIC_SPACE):
        return False
    return bool(cell_len(character)) or (bool(before) and bool(combining(character)))


def _size(data: bytes) -> int:
    """How many bytes the first character takes."""
    lead = data[0]
    return 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
