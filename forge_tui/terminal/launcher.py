"""The first frame, painted before anything heavy is imported, and the way back to the terminal as it was.

Standard library only. `paint()` shows a skeleton and makes the terminal keep every key from now on; Textual
takes over from there (`driver.py`). `restore()` undoes whatever is left of either, however the program ends.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import termios

from forge_tui.terminal import signals

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[?2004h"  # a paste that comes now waits in the tty, whole
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


class _Terminal:
    """What has been changed on the terminal."""

    def __init__(self) -> None:
        self.attributes: list[object] | None = None
        """The tty's settings before us."""
        self.is_ours = False
        """Whether the alternate screen and other modes are on."""
        self.is_painted = False
        """Whether the skeleton stands and nobody has taken over yet."""


_terminal = _Terminal()


def paint(background: str | None = None, foreground: str | None = None) -> None:
    """Shows the frame's skeleton and lets keys wait in the tty, unseen, until Textual reads them.

    Colours are "#rrggbb". Without a terminal on both ends nothing happens.
    """
    if not (os.isatty(0) and os.isatty(1)):
        return
    _terminal.attributes = termios.tcgetattr(0)
    atexit.register(restore)
    signals.install(restore)
    _keep_keys()
    _terminal.is_ours = _terminal.is_painted = True
    _write(_skeleton(*os.get_terminal_size(1), _sgr(48, background) + _sgr(38, foreground)))


def restore() -> None:
    """Gives the terminal back as it was found. Does so once; later calls change nothing."""
    if _terminal.is_ours:
        _terminal.is_ours = _terminal.is_painted = False
        _write(_LEAVE_MODES + _LEAVE_SCREEN)
    if _terminal.attributes is not None:
        with contextlib.suppress(termios.error, OSError):
            termios.tcsetattr(0, termios.TCSANOW, _terminal.attributes)  # type: ignore[arg-type]
        _terminal.attributes = None


def reset() -> None:
    """Undoes every mode on a terminal that a killed Forge left behind; for `forge reset-terminal`."""
    _write(_LEAVE_MODES + _LEAVE_SCREEN)


def take_over() -> bool:
    """The driver starts and owns the modes from now on. Whether the alternate screen is on already."""
    if _terminal.attributes is None and os.isatty(0):
        _terminal.attributes = termios.tcgetattr(0)
        atexit.register(restore)
    was_painted = _terminal.is_painted
    _terminal.is_painted = False
    _terminal.is_ours = True
    return was_painted


def left() -> None:
    """The driver has switched all modes off itself."""
    _terminal.is_ours = False


def attributes() -> list[object] | None:
    """The tty's settings before `paint()`, or None where it did nothing."""
    return _terminal.attributes


def _keep_keys() -> None:
    """No echo, no line editing, no signals from keys. TCSANOW: `tty.setraw` throws away what was typed."""
    settings = termios.tcgetattr(0)
    settings[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
    settings[0] &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
    settings[6][termios.VMIN] = 1
    termios.tcsetattr(0, termios.TCSANOW, settings)


def _skeleton(width: int, height: int, colours: str) -> str:
    """What of the real frame is always there: the composer's box above the status line."""
    inner = max(0, width - 2)
    words = " Forge is starting; type away"[:inner].ljust(inner)
    box = (f"╭{'─' * inner}╮", f"│{words}│", f"╰{'─' * inner}╯")
    rows = "".join(f"\x1b[{max(1, height - 3 + n)};1H{row}" for n, row in enumerate(box))
    return f"{_ENTER}\x1b[0m{colours}\x1b[2J\x1b[2m{rows}\x1b[0m"


def _sgr(kind: int, colour: str | None) -> str:
    if colour is None or len(colour) != 7 or not colour.startswith("#"):
        return ""
    try:
        red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    except ValueError:
        return ""
    return f"\x1b[{kind};2;{red};{green};{blue}m"


def _write(data: str) -> None:
    """Straight to the terminal; a terminal that has gone away is no reason to fail."""
    fd = 1 if os.isatty(1) else 2
    left_over = data.encode(errors="replace")
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        while left_over:
            left_over = left_over[os.write(fd, left_over) :]
