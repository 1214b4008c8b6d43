"""JSON-RPC messages as lines on two descriptors, each served by a thread: a client that reads slowly never
blocks the event loop, and pipes, sockets and files work alike.

A line that is no message is answered with an error; the lines after it count.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

MAX_LINE_BYTES = 50 * 1024 * 1024
"""A longer line is refused, and not kept in memory."""
HIGH_WATER_BYTES = 1 << 20
"""Bytes that wait for the client: `send` then waits for it too."""
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
_CLOSING_S = 2.0
"""How long the end waits for a client that does not read."""
_READ_BYTES = 1 << 16
_Message = dict[str, Any]


class InvalidLineError(Exception):
    """A line that is no message."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        """Of JSON-RPC."""


class LineTransport:
    """A `Transport` of the SDK, made on the event loop."""

    def __init__(
        self,
        source: int,
        sink: int,
        hide: Callable[[Any], Any] = lambda value: value,
        *,
        max_line_bytes: int = MAX_LINE_BYTES,
    ) -> None:
        """`hide` returns a JSON value without secrets; each message that is sent passes through it."""
        self._loop = asyncio.get_running_loop()
        self._hide = hide
        self._max_line_bytes = max_line_bytes
        self._source, self._sink = source, sink
        self._received: asyncio.Queue[bytes | InvalidLineError | None] = asyncio.Queue()
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._unwritten = 0
        """Bytes."""
        self._progress = asyncio.Event()
        """Set when something was written, or nothing can be any more."""
        self._is_broken = False
        for run, name in ((self._read, "forge-acp-input"), (self._write, "forge-acp-output")):
            threading.Thread(target=run, name=name, daemon=True).start()

    async def receive(self) -> _Message | None:
        """Return the next message; None at the end of the input."""
        while (line := await self._received.get()) is not None:
            try:
                if isinstance(line, InvalidLineError):
                    raise line
                if line.strip():
                    return parsed_message(line)
            except InvalidLineError as error:
                await self.send(
                    {"jsonrpc": "2.0", "id": None, "error": {"code": error.code, "message": str(error)}}
                )
        return None

    async def send(self, message: _Message) -> None:
        """Write a message. Waits while much is unread; messages for a client that has gone are dropped."""
        line = _line_of(self._hide(message))
        self._unwritten += len(line)
        self._outgoing.put(line)
        while self._unwritten > HIGH_WATER_BYTES and not self._is_broken:
            self._progress.clear()
            await self._progress.wait()

    async def close(self) -> None:
        """Wait until everything is written, or the client reads no more."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSING_S):
                while self._unwritten and not self._is_broken:
                    self._progress.clear()
                    await self._progress.wait()
        self._outgoing.put(None)

    def _read(self) -> None:
        for line in _lines(self._source, self._max_line_bytes):
            if not self._call(self._received.put_nowait, line):
                return
        self._call(self._received.put_nowait, None)

    def _write(self) -> None:
        while (line := self._outgoing.get()) is not None:
            try:
                rest = memoryview(line)
                while rest:
                    rest = rest[os.write(self._sink, rest) :]
            except OSError:  # the client has gone
                self._call(self._broke)
                return
            if not self._call(self._wrote, len(line)):
                return

    def _wrote(self, size: int) -> None:
        self._unwritten -= size
        self._progress.set()

    def _broke(self) -> None:
        self._is_broken = True
        self._progress.set()
        self._received.put_nowait(None)

    def _call(self, function: Callable[..., object], *arguments: Any) -> bool:
        """Call a function on the event loop; return whether that is still running."""
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            return False
        return True


def parsed_message(line: bytes) -> _Message:
    """Return the message of a line, in which the SDK may rely on what JSON-RPC says of its members.

    Raises:
        InvalidLineError: it is no JSON, or no message.
    """
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidLineError(PARSE_ERROR, f"The line is not JSON: {error}"[:200]) from error
    if not isinstance(message, dict):
        raise InvalidLineError(INVALID_REQUEST, "A line must be a JSON object; batches are not supported.")
    method, number = message.get("method"), message.get("id")
    if method is not None and not isinstance(method, str):
        raise InvalidLineError(INVALID_REQUEST, '"method" must be a text.')
    if isinstance(number, bool) or not isinstance(number, str | int | float | None):
        raise InvalidLineError(INVALID_REQUEST, '"id" must be a number or a text.')
    if method is None and "id" not in message:
        raise InvalidLineError(INVALID_REQUEST, 'A message needs a "method" or an "id".')
    if method is None and not isinstance(message.get("error", {}), dict):
        message["error"] = {}
    return message


def _lines(source: int, most: int) -> Iterator[bytes | InvalidLineError]:
    """Yield the lines of at most so many bytes that a descriptor has; one without an end comes last."""
    line, is_skipping = bytearray(), False
    while data := _read_some(source):
        *ended, rest = data.split(b"\n")
        for part in ended:
            line += part
            if is_skipping or len(line) > most:
                yield InvalidLineError(PARSE_ERROR, f"The line is longer than {most:,} bytes.")
            else:
                yield bytes(line)
            line.clear()
            is_skipping = False
        line += rest
        if len(line) > most:
            line.clear()
            is_skipping = True
    if line:
        yield bytes(line)


def _read_some(source: int) -> bytes:
    try:
        return os.read(source, _READ_BYTES)
    except OSError:
        return b""


def _line_of(message: _Message) -> bytes:
    try:
        text = json.dumps(message, separators=(",", ":"), allow_nan=False)
    except ValueError:  # the arguments of a call may hold NaN, which JSON has not
        text = json.dumps(_without_nan(message), separators=(",", ":"))
    return text.encode() + b"\n"


def _without_nan(value: Any) -> Any:
    match value:
        case dict():
            return {key: _without_nan(item) for key, item in value.items()}
        case list() | tuple():
            return [_without_nan(item) for item in value]
        case float() if value != value or value in (float("inf"), float("-inf")):
            return str(value)
        case _:
            return value
