"""The session's end of the bridge: starts the process, sends requests, and passes on what comes back."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from typing import IO, Any

from forge_core.errors import ForgeError
from forge_core.mcp.wire import MAX_LINE_BYTES, BridgeEvent, Operation, decoded, encoded

_KEPT_STDERR_BYTES = 8_000


class BridgeError(ForgeError):
    """A request to an MCP server failed; the text says why, and may hold untrusted text of the server."""


class BridgeProcess:
    """One run of the bridge."""

    def __init__(
        self,
        on_event: Callable[[BridgeEvent, Mapping[str, Any]], None],
        on_end: Callable[[str], None],
    ) -> None:
        """`on_event` takes every message but results; `on_end`, why a bridge has ended that was not closed.
        Both are called on the event loop."""
        self._on_event = on_event
        self._on_end = on_end
        self._process: subprocess.Popen[bytes] | None = None
        self._writing: asyncio.WriteTransport | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._pipes: list[asyncio.BaseTransport] = []
        self._stderr = bytearray()
        self._open: dict[int, asyncio.Future[Any]] = {}
        self._progress: dict[int, Callable[[Mapping[str, Any]], None]] = {}
        self._count = 0
        self._is_closing = False

    @property
    def pid(self) -> int:
        """The id of the process; 0 before it was started."""
        return 0 if self._process is None else self._process.pid

    @property
    def exit_code(self) -> int | None:
        """As of `Popen.returncode`; None before it was started, and while it runs."""
        return None if self._process is None else self._process.poll()

    async def start(self, environment: Mapping[str, str]) -> None:
        """Start the process. Raises BridgeError."""
        argv = [sys.executable, "-P", "-m", "forge_core.mcp.bridge"]
        pipe = subprocess.PIPE
        try:
            # Not by asyncio, which kills a child when its loop is closed: this one ends its servers in order.
            process = self._process = subprocess.Popen(  # noqa: ASYNC220
                argv, stdin=pipe, stdout=pipe, stderr=pipe, env=dict(environment), start_new_session=True
            )
        except OSError as error:
            raise BridgeError(f"The MCP bridge cannot be started: {error.strerror or error}.") from error
        loop = asyncio.get_running_loop()
        self._writing, _ = await loop.connect_write_pipe(asyncio.Protocol, process.stdin)
        answers, errors = await self._reader(process.stdout), await self._reader(process.stderr)
        self._tasks = [
            asyncio.create_task(self._read(process, answers), name="forge-mcp-bridge"),
            asyncio.create_task(self._read_stderr(errors), name="forge-mcp-bridge-errors"),
        ]

    async def _reader(self, pipe: IO[bytes] | None) -> asyncio.StreamReader:
        reader = asyncio.StreamReader(limit=MAX_LINE_BYTES)
        connecting = asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        self._pipes.append((await connecting)[0])
        return reader

    async def request(
        self,
        operation: Operation,
        *,
        on_progress: Callable[[Mapping[str, Any]], None] | None = None,
        **fields: Any,
    ) -> Any:
        """Return the result of a request. A cancelled wait cancels it. Raises BridgeError."""
        self._count += 1
        request_id = self._count
        answer = self._open[request_id] = asyncio.get_running_loop().create_future()
        if on_progress is not None:
            self._progress[request_id] = on_progress
        try:
            self.send({"op": operation, "id": request_id, **fields})
            return await answer
        except asyncio.CancelledError:
            with contextlib.suppress(BridgeError):
                self.send({"op": Operation.CANCEL, "target": request_id})
            raise
        finally:
            del self._open[request_id]
            self._progress.pop(request_id, None)

    def send(self, message: Mapping[str, Any]) -> None:
        """Queue a message. Raises BridgeError if the bridge has ended."""
        if self._writing is None or self._writing.is_closing():
            raise BridgeError("The MCP bridge is not running.")
        self._writing.write(encoded(message))

    async def aclose(self) -> None:
        """Let the bridge end, with all servers. It does so within seconds; this does not wait for it."""
        self._is_closing = True
        if self._writing is not None:
            self._writing.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for pipe in self._pipes:
            pipe.close()
        if self._process is not None:
            threading.Thread(target=self._process.wait, name="forge-mcp-end", daemon=True).start()
        await asyncio.sleep(0)  # the transports close their files in the next round of the loop

    def kill(self) -> None:
        """Kill the process if it still runs."""
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def _read(self, process: subprocess.Popen[bytes], answers: asyncio.StreamReader) -> None:
        problem = ""
        try:
            while line := await answers.readline():
                self._take(decoded(line))
        except ValueError as error:
            problem = f"it sent what cannot be read: {error}"
            self.kill()
        finally:
            self._fail("The MCP bridge has ended.")
        code = await asyncio.to_thread(process.wait)
        if not self._is_closing:
            last = self._stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
            self._on_end(problem or f"it ended with code {code}" + (f": {last}" if last else ""))

    def _take(self, message: Mapping[str, Any]) -> None:
        match BridgeEvent(message["event"]):
            case BridgeEvent.RESULT:
                answer = self._open.get(message["id"])
                if answer is None or answer.done():
                    return
                if (error := message.get("error")) is not None:
                    answer.set_exception(BridgeError(error))
                else:
                    answer.set_result(message.get("value"))
            case BridgeEvent.PROGRESS:
                if on_progress := self._progress.get(message["id"]):
                    on_progress(message)
            case event:
                self._on_event(event, message)

    def _fail(self, reason: str) -> None:
        for answer in self._open.values():
            if not answer.done():
                answer.set_exception(BridgeError(reason))

    async def _read_stderr(self, errors: asyncio.StreamReader) -> None:
        while data := await errors.read(4096):
            self._stderr += data
            del self._stderr[:-_KEPT_STDERR_BYTES]
