"""What an app writes to its terminal, taken apart: only the sequences that Forge means are understood."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from typing import Any

from rich.cells import cell_len
from textual.drivers.headless_driver import HeadlessDriver

from tests.support.terminal import Emulator

_CONTROLS = (
    r"\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f"
)
_TOKEN = re.compile(
    r"\x1b\[(?:"
    r"(?P<move>\d+;\d+)H"
    r"|(?P<column>\d+)G"
    r"|(?P<region>(?:\d+;\d+)?)r"
    r"|(?P<sgr>\d*(?:;\d+)*)m"
    r"|(?P<cursor>[026]) q"  # its shape
    r"|\?(?P<mode>2026|25|1000|1002|1003|1006|1015|1016|2004|1004)[hl]"
    r")"
    r"|\x1b\]8;(?:id=\d+-?\d*|);(?P<link>[\x21-\x7e]*)\x1b\\"
    r"|\x1b\]52;c;(?P<copied>[A-Za-z0-9+/=]*)\x07"
    r"|\x1bPtmux;\x1b\x1b\]52;c;(?P<tmux>[A-Za-z0-9+/=]*)\x07\x1b\\"
    r"|\x1bP\x1b\]52;c;(?P<screen>[A-Za-z0-9+/=]*(?:\x1b\\\x1bP[A-Za-z0-9+/=]+)*)\x07\x1b\\"
    rf"|\x1b\](?:9|99;|777;notify;Forge);(?P<called>Forge[^;{_CONTROLS}]{{1,75}})\x1b\\"
    r"|\x1b\]22;(?P<pointer>[a-z-]+)\x07"
    r"|(?P<scroll>\n+|(?:\x1bM)+)"
    r"|(?P<bell>\x07)"
    rf"|(?P<text>[^{_CONTROLS}]+)"
)
_CLIPBOARD_TEXT = re.compile(rf"(?:[\n\t]|[^{_CONTROLS}])*")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]"
)
"""What shows nothing and joins nothing: no text on the screen contains it."""
_LINKS = ("http://", "https://", "mailto:")


class UnknownOutputError(AssertionError):
    """Something is written that Forge does not mean to write."""


def check_stream(stream: str, width: int, height: int) -> None:
    """Raises UnknownOutputError at the first character that is neither text nor one of our sequences, and
    where a row is written past the last column."""
    at = 0
    can_scroll = False
    column: int | None = None
    """From 0; None where the cursor was left before."""
    while at < len(stream):
        token = _token(stream, at)
        at = token.end()
        match token.lastgroup:
            case "move":
                y, x = map(int, token["move"].split(";"))
                if not (1 <= y <= height and 1 <= x <= width):
                    raise UnknownOutputError(f"{token.group()!r} leaves a screen of {width}x{height}")
                column = x - 1
            case "column":
                if not 1 <= int(token["column"]) <= width:
                    raise UnknownOutputError(f"{token.group()!r} leaves a row of {width}")
                column = int(token["column"]) - 1
            case "text" if column is not None:
                column = _behind(token["text"], column, width)
            case "region":
                can_scroll = bool(token["region"])
            case "scroll" if not can_scroll:
                raise UnknownOutputError(f"{token.group()!r} outside a scroll region")
            case _:
                _check_told(token)


def check_line(line: str, width: int) -> None:
    """Raises UnknownOutputError where a line that is printed as it stands is more than text, colours and web
    links, or longer than a row."""
    at = column = 0
    while at < len(line):
        token = _token(line, at)
        at = token.end()
        if token.lastgroup not in ("text", "sgr", "link"):
            raise UnknownOutputError(f"{token.group()!r} in a line that is printed")
        if token.lastgroup == "text":
            column = _behind(token["text"], column, width)
        _check_told(token)
    check_visible(line)


def check_visible(stream: str) -> None:
    """Raises UnknownOutputError where text contains a character that shows nothing."""
    for token in _TOKEN.finditer(stream):
        if hidden := _INVISIBLE.search(token["text"] or ""):
            raise UnknownOutputError(f"{hidden[0]!r} in {token['text']!r} shows nothing")


def _token(stream: str, at: int) -> re.Match[str]:
    token = _TOKEN.match(stream, at)
    if token is None:
        raise UnknownOutputError(f"{stream[at : at + 40]!r} after {stream[max(0, at - 80) : at]!r}")
    return token


def _behind(text: str, column: int, width: int) -> int:
    """The column behind the text."""
    if column + cell_len(text) > width:
        raise UnknownOutputError(f"{text!r} from column {column} leaves a row of {width}")
    return column + cell_len(text)


def _check_told(token: re.Match[str]) -> None:
    """What the terminal is told beside the screen: web links, and text for the clipboard."""
    if token["link"] and not token["link"].startswith(_LINKS):
        raise UnknownOutputError(f"a link to {token['link']!r}")
    text = copied_text(token)
    if text is not None and not _CLIPBOARD_TEXT.fullmatch(text):
        raise UnknownOutputError(f"{text!r} for the clipboard")


def copied_text(token: re.Match[str]) -> str | None:
    """What the sequence puts into the clipboard, or None where it is another one."""
    encoded = next((token[way] for way in ("copied", "tmux", "screen") if token[way] is not None), None)
    if encoded is None:
        return None
    return base64.b64decode(encoded.replace("\x1b\\\x1bP", ""), validate=True).decode()


def copied(stream: str) -> list[str]:
    """Every text that is put into the clipboard."""
    return [text for token in _TOKEN.finditer(stream) if (text := copied_text(token)) is not None]


class StreamDriver(HeadlessDriver):
    """Keeps what the app writes, as a terminal would get it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.written: list[str] = []

    @property
    def is_headless(self) -> bool:
        return False

    def write(self, data: str) -> None:
        self.written.append(data)

    def flush(self) -> None:
        pass


@dataclass(slots=True)
class Stream:
    """Follows one app: checks what it has written, and shows it as a terminal would."""

    app: Any
    shows: bool = False
    """Whether a terminal is emulated, which takes long."""
    seen: int = 0
    """Characters that were checked."""
    has_own_text: bool = False
    """Whether the user's own text is on the screen, in which nothing is marked."""
    _emulator: Emulator | None = None
    _size: tuple[int, int] = field(default=(0, 0))

    def check(self) -> str:
        """Checks what has come since the last time, and gives the screen's text as the terminal has it."""
        written = self.take()
        check_stream(written, *self.app.size)
        if not self.has_own_text:
            check_visible(written)
        if not self.shows:
            return ""
        if self._emulator is None or self._size != tuple(self.app.size):
            self._size = tuple(self.app.size)
            self._emulator = Emulator(*self._size)
        self._emulator.feed(written)
        return "\n".join(line.rstrip() for line in self._emulator.lines())

    @property
    def unread(self) -> str:
        """What the app has written since the last `take()`."""
        return "".join(self.app._driver.written)

    def take(self) -> str:
        driver = self.app._driver
        written, driver.written = "".join(driver.written), []
        self.seen += len(written)
        return written
