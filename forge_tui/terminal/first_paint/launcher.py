"""The first frame, painted before anything heavy is imported, and the way back to the terminal as it was.

Standard library only. `paint()` shows the frame and what is typed into it; Textual takes over from there
(`driver.py`), with every key in its place. `restore()` undoes whatever is left of either, however the program
ends.
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
from forge_tui.terminal.first_paint.skeleton import MakeSkeleton
from forge_tui.terminal.first_paint.type_ahead import TypeAhead
from forge_tui.terminal.terminal_file import write_all

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[?2004h"  # a paste that comes now is told apart from keys
_LEAVE_MODES = (
    "\x1b[?2026l"  # an unfinished synchronized frame
    "\x1b[r"  # a scroll region
    "\x1b[0m"
    "\x1b]8;;\x1b\\"  # an open link
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"  # mouse
    "\x1b[?1004l"  # focus reports
    "\x1b[?2004l"  # bracketed paste
    "\x1b[?2048l"  # resize reports
    "\x1b[?7h"  # line wrap
    "\x1b[<u"  # kitty keyboard; kept per screen, so before the alternate one is left
)
_LEAVE_SCREEN = "\x1b[?1049l\x1b[?25h"


class Handover(NamedTuple):
    """What the launcher leaves to the driver."""

    is_painted: bool = False
    """Whether the alternate screen is on and shows the frame."""
    text: str = ""
    """What was typed and shows in the frame's line."""
    rest: bytes = b""
    """What was typed after it."""


class _Terminal:
    """What has been changed on the terminal."""

    def __init__(self) -> None:
        self.attributes: list[object] | None = None
        """The tty's settings before us."""
        self.is_ours = False
        """Whether the alternate screen and other modes are on."""
        self.type_ahead: TypeAhead | None = None
        """Reads the keys, until somebody takes over."""


_terminal = _Terminal()


def paint(make: MakeSkeleton) -> None:
    """Shows the first frame, and in its line what is typed from now on.

    Without a terminal on both ends nothing happens.
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
    signal.signal(signal.SIGWINCH, lambda *_: type_ahead.resized())
    type_ahead.start(_ENTER, waiting)


def restore() -> None:
    """Gives the terminal back as it was found. Does so once; later calls change nothing."""
    _end_type_ahead()
    if _terminal.is_ours:
        _terminal.is_ours = False
        _write(_LEAVE_MODES + _LEAVE_SCREEN)
    if _terminal.attributes is not None:
        with contextlib.suppress(termios.error, OSError):
            termios.tcsetattr(0, termios.TCSANOW, _terminal.attributes)  # type: ignore[arg-type]
        _terminal.attributes = None


def take_over() -> Handover:
    """The driver starts and owns the modes and the keys from now on."""
    if _terminal.attributes is None and os.isatty(0):
        _terminal.attributes = termios.tcgetattr(0)
        atexit.register(restore)
    _terminal.is_ours = True
    return _end_type_ahead()


def left() -> None:
    """The driver has switched all modes off itself."""
    _terminal.is_ours = False


def attributes() -> list[object] | None:
    """The tty's settings before `paint()`, or None where it did nothing."""
    return _terminal.attributes


def _end_type_ahead() -> Handover:
    type_ahead, _terminal.type_ahead = _terminal.type_ahead, None
    if type_ahead is None:
        return Handover()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGWINCH, signals.ignore)
    return Handover(True, *type_ahead.stop())


def _keep_keys() -> int:
    """No echo, no line editing, no signals from keys. TCSANOW: `tty.setraw` throws away what was typed.

    The number of bytes that wait already and have line feeds where Enter was pressed.
    """
    waiting = array.array("i", [0])
    fcntl.ioctl(0, termios.FIONREAD, waiting)  # of whole lines: what is no line yet has no Enter
    settings = termios.tcgetattr(0)
    settings[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
    settings[0] &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
    settings[6][termios.VMIN] = 1
    termios.tcsetattr(0, termios.TCSANOW, settings)
    return waiting[0]


def _write(data: str) -> None:
    """Straight to the terminal, past `sys.stdout`, whose lock another thread may hold. One that has gone away
    is no reason to fail."""
    write_all(1 if os.isatty(1) else 2, data.encode(errors="replace"))
