"""The terminal's background: how it is asked for, and what the replies mean. Standard library only.

OSC 11 asks for the colour, and DA1 after it for the terminal's attributes. Every terminal answers DA1, and
all but GNU screen in order: when the attributes come, it is known that the colour does not. GNU screen 4.9
answers DA1 itself, and passes OSC 11 on to its own terminal, whose reply comes later or never. With mode 2031
a terminal reports that its colour scheme has changed. Sources: xterm's ctlseqs ("Operating System Commands",
"Primary DA"), and contour's "VT extension: color palette update notifications".
"""

from __future__ import annotations

import os
import re
import select
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from forge_tui.terminal.colours import Depth, detect
from forge_tui.terminal.known_backgrounds import Background

QUERY = "\x1b]11;?\x1b\\\x1b[c"
REPORTS_ON = "\x1b[?2031h"
REPORTS_OFF = "\x1b[?2031l"
ANSWER_S = 1.0
"""How long the end of Forge waits for an answer: one that comes later would be typed into the shell."""
_NOT_ASKED = ("", "dumb", "linux")
"""Values of TERM; the Linux console is dark and has no reply to OSC 11."""
_REPLY = re.compile(
    r"\x1b\]11;rgba?:(?P<rgb>(?:[0-9a-fA-F]{1,4}/){2,3}[0-9a-fA-F]{1,4})(?:\x07|\x1b\\|\x9c)"
    r"|\x1b\[\?997;(?P<scheme>[12])n"
    r"|(?P<attributes>\x1b\[\?[\d;]+c)"
)


class ReplyKind(StrEnum):
    """What the terminal has sent."""

    COLOR = "color"
    """Its background, after OSC 11."""
    REPORT = "report"
    """That its colour scheme has changed, by mode 2031."""
    ATTRIBUTES = "attributes"
    """Its attributes, after DA1."""


class Reply(NamedTuple):
    """A reply of the terminal."""

    kind: ReplyKind
    background: Background | None
    """None for ATTRIBUTES."""
    size: int
    """Characters."""


def can_ask(environ: Mapping[str, str]) -> bool:
    """Return whether the terminal is asked: not one without colours, nor one that may print the question."""
    return environ.get("TERM", "") not in _NOT_ASKED and detect(environ) is not Depth.NONE


def answers_in_order(environ: Mapping[str, str]) -> bool:
    """Return whether the colour comes before the attributes, if it comes: not in GNU screen."""
    return not environ.get("STY") or bool(environ.get("TMUX"))


def parse_reply(text: str) -> Reply | None:
    """Return the reply at the beginning of `text`; None if there is no whole one."""
    match = _REPLY.match(text)
    if match is None:
        return None
    if match["rgb"]:
        return Reply(ReplyKind.COLOR, _background_of(match["rgb"]), match.end())
    if match["scheme"]:
        scheme = Background.DARK if match["scheme"] == "1" else Background.LIGHT
        return Reply(ReplyKind.REPORT, scheme, match.end())
    return Reply(ReplyKind.ATTRIBUTES, None, match.end())


def _background_of(channels: str) -> Background:
    """Return whether a colour such as "ffff/ffff/dddd" is dark or light; a fourth channel is its opacity.

    By the brightness of ITU-R BT.601, as in Vim.
    """
    red, green, blue = (int(one, 16) / (16 ** len(one) - 1) for one in channels.split("/")[:3])
    return Background.LIGHT if 0.299 * red + 0.587 * green + 0.114 * blue >= 0.5 else Background.DARK


def ask_terminal(wait_s: float = 2.0) -> Background | None:
    """Ask the terminal of standard input and output, outside of the app; None if it has no colour to tell.

    What is typed meanwhile is lost. Without any answer it returns after `wait_s`, or at once if another job
    has the terminal.
    """
    if os.tcgetpgrp(0) != os.getpgrp():
        return None
    before, quiet = termios.tcgetattr(0), termios.tcgetattr(0)
    quiet[3] &= ~(termios.ECHO | termios.ICANON)
    last = ReplyKind.ATTRIBUTES if answers_in_order(os.environ) else ReplyKind.COLOR
    received, end = "", time.monotonic() + wait_s
    try:
        termios.tcsetattr(0, termios.TCSANOW, quiet)
        os.write(1, QUERY.encode())
        while not any(reply.kind is last for reply in _replies(received)):
            if not select.select([0], [], [], max(0.0, end - time.monotonic()))[0]:
                break
            received += os.read(0, 4096).decode(errors="replace")
    finally:
        termios.tcsetattr(0, termios.TCSAFLUSH, before)
    return next((reply.background for reply in _replies(received) if reply.kind is ReplyKind.COLOR), None)


def _replies(text: str) -> Iterator[Reply]:
    for start in re.finditer("\x1b", text):
        if reply := parse_reply(text[start.start() :]):
            yield reply


class BackgroundWatch:
    """Turns the replies into backgrounds, and knows when to ask again. Writes nothing itself.

    A report of mode 2031 only says what the user prefers, in some terminals before the colours change: so the
    colour is asked for again, and the report counts if there is none.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, is_ordered: bool = True) -> None:
        """`is_ordered` is what `answers_in_order` returns."""
        self._clock = clock
        self._is_ordered = is_ordered
        self.is_on = False
        """Whether the background is followed."""
        self.is_to_ask = False
        """Whether `ask()` is due."""
        self._asked_at: float | None = None
        """The time of the query that is not answered yet."""
        self._has_color = False
        """Whether a colour has come since the query."""
        self._reported: Background | None = None
        """The last report that no colour has confirmed."""
        self._is_stale = False
        """Whether a report has come after the query."""

    @property
    def wait_s(self) -> float:
        """Seconds for which an answer is still expected; 0 if none is."""
        asked_at = self._asked_at
        return 0.0 if asked_at is None else max(0.0, asked_at + ANSWER_S - self._clock())

    def begin(self) -> str:
        """Return the sequences that ask, and switch reports on."""
        self.is_on = True
        self._reported = None
        return REPORTS_ON + self.ask()

    def ask(self) -> str:
        """Return the sequences that ask."""
        self.is_to_ask = self._is_stale = self._has_color = False
        self._asked_at = self._clock()
        return QUERY

    def end(self) -> str:
        """Return the sequence that switches reports off; "" if they are off."""
        was_on, self.is_on = self.is_on, False
        return REPORTS_OFF if was_on else ""

    def take(self, reply: Reply) -> Background | None:
        """Return the background if it is followed and the reply contains it."""
        found = None
        match reply.kind:
            case ReplyKind.COLOR:
                self._has_color, found = True, reply.background
                if not self._is_ordered:
                    self._asked_at = None
            case ReplyKind.REPORT:
                self._reported = reply.background
                self._is_stale = self.wait_s > 0
                self.is_to_ask = not self._is_stale
            case ReplyKind.ATTRIBUTES:
                if self._is_ordered:
                    self._asked_at = None
                self.is_to_ask = self._is_stale
                if not (self._is_stale or self._has_color):
                    found, self._reported = self._reported, None
        return found if self.is_on else None
