"""Splits the terminal's input into complete keys, pastes and replies before Textual's parser sees it.

Textual 8.2.8's `XTermParser` turns whatever it cannot parse into keys: an ESC inside a paste, or a reply of
the terminal that it does not know; and keys send messages and approve commands. Here a paste becomes one
event, the replies about the background a message, all others are dropped, and Textual gets only complete
sequences. Grammar: ECMA-48 5.4 (control sequences) and 5.6 (control strings), and xterm's ctlseqs.

Relies on these parts of `textual._xterm_parser`: `XTermParser.feed`, and that feeding "" ends it and emits
what it has not understood as keys.
"""

from __future__ import annotations

import re
import time
from codecs import getincrementaldecoder
from collections.abc import Callable
from enum import Enum, auto
from functools import lru_cache

from textual import constants, events
from textual._xterm_parser import XTermParser
from textual.message import Message

from forge_core.sanitize import safe_text
from forge_tui.terminal.background import Reply, parse_reply
from forge_tui.terminal.known_backgrounds import Background

PASTE_SILENCE_S = 2.0
"""A paste without an end marker is over after this long without a byte."""
PASTE_LIMIT = 50_000_000
"""Characters after which an unfinished paste is delivered in parts."""
REPLY_SILENCE_S = 1.0
"""How long the rest of a reply may take: a slow connection splits it anywhere."""

_ESC = "\x1b"
_STRING_END = "\x1b\\"
_PASTE_END = "\x1b[201~"
_LONGEST_KNOWN = 32
"""Textual's parser gives up after this many characters of a sequence, and emits them as keys."""
_SHORTEST_REST = 8
"""After a stalled paste, more characters than this at once are its rest and not a key."""

_TOKEN = re.compile(
    r"(?P<text>[^\x1b]+)"
    r"|(?P<paste>\x1b\[200~)"
    r"|(?P<answer>\x1b[]P_][^\x00-\x1f\x7f\x9c]+(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, APC, whole
    r"|\x1b\[[ -?]+(?=[^ -~]))"  # a control sequence that something else interrupts
    r"|(?P<sequence>\x1b\[M[^\x1b]{3}"  # X10 mouse
    r"|\x1b\[\[[ -~]"  # function keys of the Linux console
    r"|\x1b\[\d+\$"  # Shift keys of rxvt
    r"|\x1b\[(?![M\[])[ -?]*[@-~]"
    r"|\x1bO[1-9]?[ -/@-~])"
    r"|(?P<string>\x1b(?:\]\d|P[\d!$+>]|_G))"  # OSC, DCS, APC, to be continued
    r"|(?P<keys>\x1b(?:(?=\x1b)"  # Escape, Alt+key
    r"|[^\x1b\[O\]P_]"
    r"|\[(?=[^ -~])"
    r"|O(?=[1-9]?[^ -~])"
    r"|[]P_](?=[^\x00-\x1f\x7f\x9c]*(?:[\x00-\x06\x08-\x1a\x1c-\x1f\x7f]|\x1b[^\\]))))",
    re.DOTALL,
)
_MODIFIED_KEY = re.compile(
    r"\x1b\[(?:27;(?P<xterm>\d{1,3});(?P<key>\d{1,7})~|(?P<code>\d{1,7});(?P<kitty>\d{1,3})u)"
)
"""A key with modifiers: as xterm and tmux send it, or as kitty and newer versions of tmux do."""
_STRING_STOP = re.compile(r"[\x00-\x1f\x7f\x9c]")
_REPLY_STARTS = ("\x1b[", "\x1b]")
_LONGEST_REPLY = 64
"""Characters of a control string that are kept: no reply that is used is longer."""


class TerminalReply(Message):
    """The terminal has answered. Handled by the driver."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.reply = reply


class BackgroundFound(Message):
    """The background of the terminal is known, or has changed."""

    def __init__(self, background: Background) -> None:
        super().__init__()
        self.background = background


class _State(Enum):
    GROUND = auto()
    PASTE = auto()
    STRING = auto()
    """In a control string."""


class TerminalInput:
    """Turns bytes into messages, in order. Not thread-safe: call `feed` with what was read, then `tick`."""

    def __init__(
        self,
        *,
        debug: bool = False,
        clock: Callable[[], float] = time.monotonic,
        is_reply_due: Callable[[], bool] = lambda: False,
    ) -> None:
        """While `is_reply_due()`, Alt+[ and Alt+] wait longer for what may make a reply of them."""
        self._parser = XTermParser(debug)
        """Keeps the position of the mouse; is fed complete sequences only."""
        self._clock = clock
        self._is_reply_due = is_reply_due
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._state = _State.GROUND
        self._held = ""
        """An incomplete sequence."""
        self._pasted: list[str] = []
        self._pasted_size = 0
        self._is_paste_stalled = False
        """Whether a paste timed out without its end marker: what follows may be its rest."""
        self._string = ""
        """The beginning of an incomplete control string."""
        self._given_up = ""
        """The last sequence that stayed incomplete for too long. The rest of a reply may still come."""
        self._due: float | None = None
        self._messages: list[Message] = []

    @property
    def wait_s(self) -> float | None:
        """Seconds until `tick` has something to do; None if it has nothing."""
        return None if self._due is None else max(0.0, self._due - self._clock())

    def feed(self, data: bytes) -> list[Message]:
        """Return the messages that these bytes complete."""
        if new := self._decode(data):
            self._take(new)
        return self._flush()

    def tick(self) -> list[Message]:
        """Return what is certain because nothing more has come: Escape, Alt+[, a stalled paste."""
        if self._due is not None and self._clock() >= self._due:
            self._give_up()
        return self._flush()

    def _flush(self) -> list[Message]:
        messages, self._messages = self._messages, []
        return messages

    def _take(self, new: str) -> None:
        if self._is_paste_stalled:
            # The rest of a stalled paste must not become keys, which could send or approve something.
            self._is_paste_stalled = False
            if _PASTE_END in new or (len(new) > _SHORTEST_REST and not new.startswith(_ESC)):
                self._state = _State.PASTE
        text, self._held = self._held + self._without_rest_of_reply(new), ""
        at = 0
        while at < len(text):
            match self._state:
                case _State.GROUND:
                    at = self._take_token(text, at)
                case _State.PASTE:
                    at = self._take_paste(text, at)
                case _State.STRING:
                    at = self._skip_string(text, at)
        silence_s = self._allowed_silence()
        self._due = None if silence_s is None else self._clock() + silence_s

    def _take_token(self, text: str, at: int) -> int:
        """Handle the token at `at`; return where the next one begins."""
        token = _TOKEN.match(text, at)
        if token is None:
            self._held = text[at:]
            return len(text)
        match token.lastgroup:
            case "text":
                self._parse(token.group())
            case "sequence" if _is_known(sequence := _with_one_form(token.group())):
                self._parse(sequence)
            case "sequence" | "answer":
                self._take_reply(token.group())
            case "keys":
                self._messages += _as_keys(token.group())
            case "paste":
                self._state = _State.PASTE
            case "string":
                self._state = _State.STRING
                self._string = token.group()
        return token.end()

    def _take_reply(self, text: str) -> None:
        """Pass on a whole reply, if it is one that is used."""
        if reply := parse_reply(text):
            self._messages.append(TerminalReply(reply))

    def _without_rest_of_reply(self, new: str) -> str:
        """Return `new` without the end of a reply whose beginning has been given up: it is not typed text."""
        begun = self._given_up
        if not begun or (reply := parse_reply(begun + new)) is None:
            return new
        self._given_up = ""
        self._messages.append(TerminalReply(reply))
        return new[reply.size - len(begun) :]

    def _take_paste(self, text: str, at: int) -> int:
        end = text.find(_PASTE_END, at)
        if end >= 0:
            self._pasted.append(text[at:end])
            self._deliver_paste()
            self._state = _State.GROUND
            return end + len(_PASTE_END)
        # The end marker may be split between two reads: hold back whatever could be its start.
        kept = next((n for n in range(len(_PASTE_END) - 1, 0, -1) if text.endswith(_PASTE_END[:n], at)), 0)
        end = len(text) - kept
        self._pasted.append(text[at:end])
        self._held = text[end:]
        self._pasted_size += end - at
        if self._pasted_size > PASTE_LIMIT:
            self._deliver_paste()
        return len(text)

    def _skip_string(self, text: str, at: int) -> int:
        """Read a control string up to any control character: Enter, Ctrl+C and Escape pass a broken one."""
        stop = _STRING_STOP.search(text, at)
        end = len(text) if stop is None else stop.start()
        self._string = (self._string + text[at : min(end, at + _LONGEST_REPLY)])[:_LONGEST_REPLY]
        if stop is None:
            return end
        if text[end:] == _ESC:
            self._held = _ESC
            return len(text)
        self._state = _State.GROUND
        size = len(_STRING_END) if text.startswith(_STRING_END, end) else text[end] in "\x07\x9c"
        self._take_reply(self._string + text[end : end + size])
        return end + size

    def _allowed_silence(self) -> float | None:
        """Return how many seconds to wait for the rest of what has begun."""
        if self._state is _State.PASTE:
            return PASTE_SILENCE_S
        if self._state is _State.STRING or self._is_cut_sequence():
            return REPLY_SILENCE_S
        if self._held in _REPLY_STARTS and self._is_reply_due():
            return REPLY_SILENCE_S
        return constants.ESCAPE_DELAY if self._held else None

    def _is_cut_sequence(self) -> bool:
        """Return whether a control sequence is incomplete. "ESC [" alone may also be Alt+[."""
        return len(self._held) > 2 and self._held.startswith("\x1b[")

    def _give_up(self) -> None:
        is_no_key = self._state is _State.STRING or self._is_cut_sequence()
        held, self._held = self._held, ""
        state, self._state = self._state, _State.GROUND
        self._due = None
        if state is _State.PASTE:
            self._pasted.append(held)
            self._deliver_paste()
            self._is_paste_stalled = True
        elif not is_no_key:
            self._messages += _as_keys(held[:2])
            self._take(held[2:])
        if state is not _State.PASTE and not self._held:
            self._given_up = self._string + held if state is _State.STRING else held

    def _deliver_paste(self) -> None:
        text = "".join(self._pasted)
        self._pasted.clear()
        self._pasted_size = 0
        text = text.replace("\x00", "").replace("\r\n", "\n").replace("\r", "\n")
        if text:
            self._messages.append(events.Paste(safe_text(text, keep_invisible=True)))

    def _parse(self, text: str) -> None:
        try:
            self._messages += self._parser.feed(text)
        except (ValueError, ArithmeticError):  # a mouse report of a terminal that claims to have 0 pixels
            self._parser = XTermParser()


def _with_one_form(sequence: str) -> str:
    """Return a key with modifiers in kitty's form, which Textual knows, and with the small letter: tmux sends
    the capital one with Shift."""
    key = _MODIFIED_KEY.fullmatch(sequence)
    if key is None:
        return sequence
    code = int(key["key"] or key["code"])
    code += 32 if ord("A") <= code <= ord("Z") else 0
    return f"\x1b[{code};{key['xterm'] or key['kitty']}u"


@lru_cache(maxsize=512)
def _is_known(sequence: str) -> bool:
    """Return whether Textual's parser makes anything but typed characters of the sequence."""
    if len(sequence) > _LONGEST_KNOWN:
        return False
    parser = XTermParser()
    try:
        list(parser.feed(sequence))
    except (ValueError, OverflowError):  # a key code that is not a character
        return False
    return not list(parser.feed(""))


def _as_keys(text: str) -> list[Message]:
    """Return what Textual makes of the text if nothing follows."""
    parser = XTermParser()
    return [*parser.feed(text), *parser.feed("")]
