"""Lines that the user pastes while the program waits for something else too."""

from __future__ import annotations

import asyncio
import codecs
import os
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

_ENDS = "\r\n"
_ERASE = "\x7f\b"


class PastedLines:
    """Reads standard input without a thread, which could not be ended.

    At a terminal it takes one character at a time: lines that a terminal edits itself are cut, on macOS after
    1,024 characters, and the address at the end of a sign-in may be longer.
    """

    def __init__(self, descriptor: int, *, is_terminal: bool) -> None:
        self._descriptor = descriptor
        self._is_terminal = is_terminal
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._line = ""
        self._lines: asyncio.Queue[str] = asyncio.Queue()

    @classmethod
    @contextmanager
    def open(cls) -> Iterator[PastedLines]:
        """Read standard input, if there is one, until the end of the block. Needs a running event loop."""
        try:
            descriptor = sys.stdin.fileno()
        except (AttributeError, OSError, ValueError):  # closed, or replaced by something that is no file
            yield cls(-1, is_terminal=False)
            return
        is_terminal = os.isatty(descriptor)
        lines = cls(descriptor, is_terminal=is_terminal)
        loop = asyncio.get_running_loop()
        with _single_characters(descriptor) if is_terminal else nullcontext():
            try:
                loop.add_reader(descriptor, lines._read)
            except PermissionError:  # a file: it is read at once
                lines._read()
            try:
                yield lines
            finally:
                loop.remove_reader(descriptor)

    async def next(self) -> str:
        """Return the next line; wait for ever if there is none."""
        return await self._lines.get()

    def _read(self) -> None:
        data = os.read(self._descriptor, 65_536)
        if not data:
            asyncio.get_running_loop().remove_reader(self._descriptor)
        for char in self._decoder.decode(data):
            self._take(char)

    def _take(self, char: str) -> None:
        if char in _ENDS:
            if self._line.strip():
                self._lines.put_nowait(self._line)
            self._line = ""
            self._echo("\n")
        elif self._is_terminal and char in _ERASE:
            self._echo("\b \b" if self._line else "")
            self._line = self._line[:-1]
        elif char.isprintable():
            self._line += char
            self._echo(char)

    def _echo(self, text: str) -> None:
        if self._is_terminal:
            sys.stdout.write(text)
            sys.stdout.flush()


@contextmanager
def _single_characters(descriptor: int) -> Iterator[None]:
    """Let a terminal pass on each character at once, without showing it. Ctrl+C still interrupts."""
    before: list[Any] = termios.tcgetattr(descriptor)
    changed = [*before]
    changed[3] &= ~(termios.ICANON | termios.ECHO)
    termios.tcsetattr(descriptor, termios.TCSANOW, changed)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSANOW, before)
