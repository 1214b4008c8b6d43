"""`forge doctor keys`: what the terminal sends for each key, what Forge calls it, and what it does.

Reads the keyboard with the protocol and the parser of the app, on the terminal's normal screen.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import termios
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType

from textual import events

from forge_core.exit_codes import ExitCode
from forge_core.sanitize import safe_line
from forge_core.text_width import cell_len
from forge_tui.keys.dispatch import KEYS_FILE
from forge_tui.keys.effective import EffectiveKeys
from forge_tui.keys.names import show
from forge_tui.keys.user_file import read_keys
from forge_tui.terminal.input import TerminalInput
from forge_tui.terminal.key_modes import modified_keys_off, modified_keys_on

_LAST_KEYS = ("ctrl+c", "q")
"""Pressed twice, each of them ends the program."""
_BEGIN = "\x1b[>25u\x1b[?2004h"
"""Kitty's keyboard protocol and bracketed paste, as in the app."""
_END = "\x1b[?2004l\x1b[<u"
_MOST_BYTES = 40
_COLUMN = 18


class KeyEcho:
    """Turns the bytes of the terminal into lines of text."""

    def __init__(self, keys: EffectiveKeys) -> None:
        self._input = TerminalInput()
        self._keys = keys
        self._bytes = b""
        """Received since the last key."""
        self._last = ""
        self.is_over = False

    @property
    def wait_s(self) -> float | None:
        """Seconds until `tick` has something to do; None if it has nothing."""
        return self._input.wait_s

    def feed(self, data: bytes) -> Iterator[str]:
        """Yield a line for each key that these bytes complete."""
        for at in range(len(data)):
            self._bytes += data[at : at + 1]
            yield from self._lines(self._input.feed(data[at : at + 1]))

    def tick(self) -> Iterator[str]:
        """Yield a line for a key that is certain because nothing more has come."""
        yield from self._lines(self._input.tick())

    def _lines(self, messages: Sequence[object]) -> Iterator[str]:
        for message in messages:
            if isinstance(message, events.Key):
                yield self._key_line(message.key)
                self.is_over = self.is_over or (message.key == self._last and message.key in _LAST_KEYS)
                self._last = message.key
            elif isinstance(message, events.Paste):
                yield f"{'Paste':{_COLUMN}}{len(message.text):,} characters"
            self._bytes = b""

    def _key_line(self, key: str) -> str:
        shown, sent = safe_line(show(key)), repr(self._bytes)[2:-1]
        if len(sent) > _MOST_BYTES:
            sent = sent[: _MOST_BYTES - 1] + "…"
        columns = (shown, safe_line(key), sent)
        padded = (text + " " * max(_COLUMN - cell_len(text), 2) for text in columns)
        return "".join(padded) + ", ".join(self.actions(key))

    def actions(self, key: str) -> list[str]:
        """Return the ids that a key is bound to, and the chords that it begins."""
        names = {key_id: self._keys.bound.get(key_id, keys) for key_id, keys in self._keys.keys.items()}
        ids = [key_id for key_id, keys in names.items() if key in keys]
        chords = [
            f"{show(chord)}: {key_id}"
            for key_id, keys in names.items()
            for chord in keys
            if chord.startswith(f"{key} ")
        ]
        return [*ids, *chords] or ["not bound"]


def run_key_echo(config_dir: Path) -> int:
    """Print what the terminal sends until Ctrl+C or Q is pressed twice; return the exit code."""
    if not (os.isatty(0) and os.isatty(1)):
        print("forge: forge doctor keys needs a terminal for input and output.", file=sys.stderr)
        return ExitCode.USAGE
    keys, problems = read_keys(config_dir / KEYS_FILE)
    for problem in problems:
        print(f"{KEYS_FILE}: {problem}")
    through = next((name for name in ("TMUX", "STY", "SSH_TTY") if os.environ.get(name)), "")
    where = {"TMUX": ", in tmux", "STY": ", in GNU screen", "SSH_TTY": ", over SSH"}.get(through, "")
    print(f"Terminal: {safe_line(os.environ.get('TERM', 'unknown'))}{where}.")
    print("Press keys; Ctrl+C or Q twice ends.\n")
    print("".join(f"{title:{_COLUMN}}" for title in ("KEY", "NAME", "SENT")) + "BOUND TO", flush=True)
    with _raw_terminal():
        return _echo(KeyEcho(keys), lambda line: os.write(1, f"{line}\n".encode(errors="replace")))


def _echo(echo: KeyEcho, write: Callable[[str], object]) -> int:
    while not echo.is_over:
        ready = select.select([0], [], [], echo.wait_s)[0]
        data = os.read(0, 4096) if ready else b""
        if ready and not data:
            break  # the terminal has gone
        for line in echo.feed(data) if data else echo.tick():
            write(line)
    return ExitCode.COMPLETE


@contextlib.contextmanager
def _raw_terminal() -> Iterator[None]:
    """Pass every key on as it is, until the end, however that comes; output stays as it was."""
    before = termios.tcgetattr(0)
    raw = termios.tcgetattr(0)
    raw[0] &= ~(termios.BRKINT | termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON)
    raw[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
    raw[6][termios.VMIN], raw[6][termios.VTIME] = 1, 0

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    handlers = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        termios.tcsetattr(0, termios.TCSADRAIN, raw)
        os.write(1, (_BEGIN + modified_keys_on(os.environ)).encode())
        yield
    finally:
        with contextlib.suppress(OSError, termios.error):  # the terminal has gone
            os.write(1, (modified_keys_off(os.environ) + _END).encode())
            termios.tcsetattr(0, termios.TCSAFLUSH, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
