"""The session's end of the bridge: starts the process, sends requests, and passes on what comes back."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping
from typing import Any

from forge_core.errors import ForgeError
from forge_core.mcp.wire import MAX_LINE_BYTES, BridgeEvent, Operation, decoded, encoded

_END_S = 4.0
"""How long the bridge may take to end all servers."""
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
        self._process: Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._errors: asyncio.Task[None] | None = None
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
        """As of `Process.returncode`; None before it was started, and while it runs."""
        return None if self._process is None else self._process.returncode

    async def start(self, environment: Mapping[str, str]) -> None:
        """Start the process. Raises BridgeError."""
        argv = [sys.executable, "-P", "-m", "forge_core.mcp.bridge"]
        try:
            self._process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                limit=MAX_LINE_BYTES,
                env=dict(environment),
                start_new_session=True,
            )
        except OSError as error:
            raise BridgeError(f"The MCP bridge cannot be started: {error.strerror or error}.") from error
        self._reading = asyncio.create_task(self._read(), name="forge-mcp-bridge")
        self._errors = asyncio.create_task(self._read_stderr(), name="forge-mcp-bridge-errors")

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
        process = self._process
        if process is None or process.stdin is None or process.stdin.is_closing():
            raise BridgeError("The MCP bridge is not running.")
        process.stdin.write(encoded(message))

    async def aclose(self) -> None:
        """End the bridge and all servers; kill what does not end in time."""
        self._is_closing = True
        process = self._process
        if process is None or process.stdin is None:
            return
        process.stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_S):
                await process.wait()
        self.kill()
        tasks = [one for one in (self._reading, self._errors) if one is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def kill(self) -> None:
        """Kill the process if it still runs."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def _read(self) -> None:
        process = self._process
        assert process is not None and process.stdout is not None
        problem = ""
        try:
            while line := await process.stdout.readline():
                self._take(decoded(line))
        except ValueError as error:
            problem = f"it sent what cannot be read: {error}"
            self.kill()
        finally:
            self._fail("The MCP bridge has ended.")
        code = await process.wait()
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

    async def _read_stderr(self) -> None:
        assert self._process is not None and self._process.stderr is not None
        while data := await self._process.stderr.read(4096):
            self._stderr += data
            del self._stderr[:-_KEPT_STDERR_BYTES]
