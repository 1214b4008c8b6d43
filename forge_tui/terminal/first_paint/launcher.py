"""Paints the first frame before anything heavy is imported, and restores the terminal at the end.

Standard library only. `paint()` shows the frame and what is typed into it, until `driver.py` takes over with
all keys in order. `restore()` undoes the changes of both, however the program ends.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import fcntl
import os
import signal
import sys
import termios
import threading
from typing import NamedTuple

from forge_tui.terminal import signals
from forge_tui.terminal.cursor_shape import RESET_SHAPE
from forge_tui.terminal.first_paint.skeleton import MakeSkeleton
from forge_tui.terminal.first_paint.type_ahead import TypeAhead
from forge_tui.terminal.terminal_file import write_all

_ENTER = "\x1b[22;0t\x1b[?1049h\x1b[?25l\x1b[?2004h"  # bracketed paste: an early paste must not count as keys
_LEAVE_MODES = (
    "\x1b[?2026l"  # an unfinished synchronized frame
    "\x1b[r"  # a scroll region
    "\x1b[>4m"  # modified keys; some terminals take it for an underline
    "\x1b[0m"
    "\x1b]8;;\x1b\\"  # an open link
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"  # mouse
    "\x1b[?1004l"  # focus reports
    "\x1b[?2004l"  # bracketed paste
    "\x1b[?2031l"  # reports of the colour scheme
    "\x1b[?2048l"  # resize reports
    "\x1b[?7h"  # line wrap
    f"{RESET_SHAPE}"  # the shape of the cursor
    "\x1b[23;0t"  # the title, saved by _ENTER or by the driver
    "\x1b[<u"  # kitty keyboard; kept per screen, so before the alternate one is left
)
_LEAVE_SCREEN = "\x1b[?1049l\x1b[?25h"


class Handover(NamedTuple):
    """The state that the driver takes over from the launcher."""

    is_painted: bool = False
    """Whether the alternate screen is on and shows the frame."""
    text: str = ""
    """The typed text that the frame shows."""
    rest: bytes = b""
    """The input after that text."""


class _Terminal:
    """The changes made to the terminal."""

    def __init__(self) -> None:
        self.attributes: list[object] | None = None
        """The original settings of the tty."""
        self.is_ours = False
        """Whether the alternate screen and other modes are on."""
        self.type_ahead: TypeAhead | None = None
        """Reads the keys until the driver takes over."""


_terminal = _Terminal()


def paint(make: MakeSkeleton, text: str = "") -> None:
    """Show the first frame, and in its input line `text` and what is typed from now on.

    Does nothing unless standard input and output are terminals.
    """
    if not (os.isatty(0) and os.isatty(1)):
        return
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    _terminal.attributes = termios.tcgetattr(0)
    atexit.register(restore)
    signals.install(restore)
    waiting = _keep_keys()
    _terminal.is_ours = True
    _terminal.type_ahead = type_ahead = TypeAhead(0, make, _write)
    signal.signal(signal.SIGWINCH, lambda *_: type_ahead.wake())
    type_ahead.start(_ENTER, waiting, text)


def restore() -> None:
    """Restore the terminal to its original state. Later calls do nothing."""
    _end_type_ahead()
    if _terminal.is_ours:
        _terminal.is_ours = False
        _write(_LEAVE_MODES + _LEAVE_SCREEN)
    if _terminal.attributes is not None:
        with contextlib.suppress(termios.error, OSError):
            termios.tcsetattr(0, termios.TCSANOW, _terminal.attributes)  # type: ignore[arg-type]
        _terminal.attributes = None


def take_over() -> Handover:
    """Pass the terminal modes and the keys to the driver."""
    if _terminal.attributes is None and os.isatty(0):
        _terminal.attributes = termios.tcgetattr(0)
        atexit.register(restore)
    _terminal.is_ours = True
    return _end_type_ahead()


def modes_were_reset() -> None:
    """Record that the driver has reset all modes."""
    _terminal.is_ours = False


def original_attributes() -> list[object] | None:
    """Return the settings of the tty before `paint()`; None if it did nothing."""
    return _terminal.attributes


def _end_type_ahead() -> Handover:
    type_ahead, _terminal.type_ahead = _terminal.type_ahead, None
    if type_ahead is None:
        return Handover()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGWINCH, signals.ignore)
    return Handover(True, *type_ahead.stop())


def _keep_keys() -> int:
    """Disable echo, line editing and signals from keys; return how many bytes were typed before that.

    In those bytes Enter is a line feed. TCSANOW, since `tty.setraw` discards pending input.
    """
    waiting = array.array("i", [0])
    fcntl.ioctl(0, termios.FIONREAD, waiting)  # counts complete lines: an incomplete one contains no Enter
    settings = termios.tcgetattr(0)
    settings[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
    settings[0] &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
    settings[6][termios.VMIN] = 1
    termios.tcsetattr(0, termios.TCSANOW, settings)
    return waiting[0]


def _write(data: str) -> None:
    """Write to the terminal, bypassing `sys.stdout`, whose lock another thread may hold."""
    write_all(1 if os.isatty(1) else 2, data.encode(errors="replace"))
