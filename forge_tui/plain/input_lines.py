"""Lines from the user: edited with readline on a terminal, or read from a pipe when they are needed.

Between turns a line is read with readline, if there is a terminal at both ends. While a turn runs, the
terminal itself edits lines, and each arrives when it is complete. A pipe is read only when a message or an
answer is wanted, so that the lines of a script belong to what asks for them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import termios
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import Any

from forge_tui.plain.labelled_output import YOU, LabelledOutput

CONTINUES = "\\"
"""At the end of a line: the message goes on."""
BLOCK = '"""'
"""Begins and ends a message of several lines."""
MORE = "... "
GRACE_S = 0.4
"""A line that is complete sooner than this after a question was meant for something else: it is a message, or
nothing where it could be an answer."""
_READ_BYTES = 65_536


class InputLines:
    """The one reader of standard input."""

    def __init__(self, out: LabelledOutput, descriptor: int = 0) -> None:
        self._out = out
        self._descriptor = descriptor
        self.is_terminal = os.isatty(descriptor)
        self._readline = _import_readline() if self.is_terminal and os.isatty(1) else None
        self._settings = termios.tcgetattr(descriptor) if self.is_terminal else None
        self._buffer = b""
        self._is_ended = False
        self._pending: Future[str | None] | None = None
        """A line that is being read from a pipe."""
        self._answer: asyncio.Future[str | None] | None = None
        """Where the next line goes if something was asked."""
        self._on_line: Callable[[str | None], None] | None = None
        self._early: list[str | None] = []
        """Lines that nothing has asked for yet."""
        self._is_watched = False

    def restore(self) -> None:
        """Give the terminal back as it was."""
        if self._settings is not None:
            with contextlib.suppress(termios.error, OSError):
                termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._settings)

    def remember(self, texts: Iterable[str]) -> None:
        """Make earlier messages reachable with Up."""
        if self._readline is not None:
            for text in texts:
                self._readline.add_history(text)

    async def message(self, draft: str = "") -> str | None:
        """Read a message, which may have several lines; None at the end of the input."""
        line = await self._line(f"{YOU}: ", draft)
        if line is None:
            return None
        if line.lstrip().startswith(BLOCK):
            return await self._block(line.lstrip().removeprefix(BLOCK))
        lines = [line]
        while lines[-1].endswith(CONTINUES):
            if (more := await self._line(MORE)) is None:
                break
            lines[-1] = lines[-1].removesuffix(CONTINUES)
            lines.append(more)
        return "\n".join(lines)

    async def answer(self, prompt: str) -> str | None:
        """Read the answer to a question; None at the end of the input. Lines that were complete before the
        question are messages."""
        if not self.is_terminal:
            self._out.prompt(prompt)
            line = await self._piped_line()
            self._out.echo(line or "")
            return line
        with self._watched():
            self._take_ready()
            while True:
                self._out.prompt(prompt)
                asked_at = time.monotonic()
                line = await self._next_line()
                if line is None or time.monotonic() - asked_at >= GRACE_S:
                    return line
                if line.strip() and not line.strip().isdecimal():
                    self._hand_on(line)

    async def secret(self, prompt: str) -> str | None:
        """Read a line that is neither shown nor kept; None at the end of the input. What was typed before is
        dropped."""
        if self._settings is None:
            self._out.prompt(prompt)
            line = await self._piped_line()
            self._out.echo("")
            return line
        hidden = termios.tcgetattr(self._descriptor)
        hidden[3] &= ~termios.ECHO
        try:
            # Before the prompt: what is typed as soon as it appears is neither shown nor dropped.
            termios.tcsetattr(self._descriptor, termios.TCSAFLUSH, hidden)
            self._out.prompt(prompt)
            with self._watched():
                return await self._next_line()
        finally:
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._settings)
            self._out.echo("")

    @contextlib.contextmanager
    def typed_lines(self, on_line: Callable[[str | None], None]) -> Iterator[None]:
        """Hand on the lines that are typed meanwhile, and None for the end of the input. Not for a pipe."""
        if not self.is_terminal:
            yield
            return
        self._on_line = on_line
        try:
            with self._watched():
                yield
        finally:
            self._on_line = None

    # Where lines come from

    async def _block(self, first: str) -> str | None:
        lines = [first] if first else []
        while not (lines and lines[-1].rstrip().endswith(BLOCK)):
            if (line := await self._line(MORE)) is None:
                break
            lines.append(line)
        text = "\n".join(lines).rstrip()
        return text.removesuffix(BLOCK).rstrip("\n")

    async def _line(self, prompt: str, draft: str = "") -> str | None:
        if self._is_ended:
            return None
        if not self.is_terminal:
            line = await self._piped_line()
            if line is not None:
                self._out.prompt(prompt)
                self._out.echo(line)
            return line
        if self._early:
            line = self._early.pop(0)
            self._out.prompt(prompt)
            self._out.echo(line or "")
            return line
        if self._readline is None:
            self._out.prompt(prompt)
            with self._watched():
                return await self._next_line()
        self._out.end_stream()
        return await asyncio.wrap_future(_in_thread(lambda: self._edited_line(prompt, draft)))

    async def _next_line(self) -> str | None:
        """Return the next line that is typed."""
        self._answer = asyncio.get_running_loop().create_future()
        try:
            return await self._answer
        finally:
            self._answer = None

    def _edited_line(self, prompt: str, draft: str) -> str | None:
        assert self._readline is not None
        if draft:
            self._readline.set_startup_hook(lambda: self._readline.insert_text(draft.replace("\n", " ")))
        try:
            return input(prompt)
        except (EOFError, OSError, UnicodeDecodeError):
            return None
        finally:
            self._readline.set_startup_hook(None)

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        """Take complete lines from the terminal while the loop runs."""
        loop = asyncio.get_running_loop()
        is_outer = not self._is_watched
        if is_outer:
            loop.add_reader(self._descriptor, self._take)
            self._is_watched = True
        try:
            yield
        finally:
            if is_outer:
                loop.remove_reader(self._descriptor)
                self._is_watched = False

    def _take_ready(self) -> None:
        """Hand on what was typed before now."""
        if select.select([self._descriptor], [], [], 0)[0]:
            self._take()

    def _take(self) -> None:
        try:
            data = os.read(self._descriptor, _READ_BYTES)
        except OSError:  # the terminal is gone
            data = b""
        if not data:  # Ctrl+D
            self._deliver(None)
            return
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            self._deliver(_decoded(line))

    def _deliver(self, line: str | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(line)
        else:
            self._hand_on(line)

    def _hand_on(self, line: str | None) -> None:
        """Pass on a line that answers nothing."""
        if self._on_line is not None:
            self._on_line(line)
        else:
            self._early.append(line)

    async def _piped_line(self) -> str | None:
        if self._pending is None:
            self._pending = _in_thread(self._read_line)
        line = await asyncio.shield(asyncio.wrap_future(self._pending))
        self._pending = None
        return line

    def _read_line(self) -> str | None:
        while b"\n" not in self._buffer and not self._is_ended:
            try:
                data = os.read(self._descriptor, _READ_BYTES)
            except OSError:  # closed
                data = b""
            self._is_ended = not data
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        self._is_ended = self._is_ended and not self._buffer
        return None if not line and self._is_ended else _decoded(line)


def _decoded(line: bytes) -> str:
    return line.decode("utf-8", "replace").removesuffix("\r")


def _import_readline() -> Any:
    """Return the readline module; None where Python has none."""
    try:
        import readline
    except ImportError:
        return None
    return readline


def _in_thread(read: Callable[[], str | None]) -> Future[str | None]:
    """Read in a daemon thread, so that exiting never waits for input."""
    future: Future[str | None] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(read())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="forge-input", daemon=True).start()
    return future
