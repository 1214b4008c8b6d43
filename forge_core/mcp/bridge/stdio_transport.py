"""The connection to a server that is a child process: one JSON message a line on its pipes.

Unlike the SDK's own transport it limits the length of a line, keeps what the server writes to standard error,
reports how the process has ended, and runs it under a supervisor, so that nothing of it is left.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import uuid
from asyncio.subprocess import PIPE, Process, SubprocessStreamProtocol
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import anyio
from mcp.client import Transport
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter

from forge_core.mcp.bridge.failures import RequestFailedError
from forge_core.mcp.bridge.server_sandbox import confined
from forge_core.mcp.wire import ServerLaunch
from forge_core.permissions.sandbox.sandbox import Launch
from forge_core.tools.shell.supervised import ExitReport, can_supervise, supervised

MAX_MESSAGE_BYTES = 16_000_000
"""Of one message of a server."""
KEPT_STDERR_BYTES = 64_000
"""The last bytes are kept."""
_EXIT_WAIT_S = 1.0
"""How long a server may take to end after its standard input was closed, and after SIGTERM."""
_SIGNALS = {128 + number: number.name for number in signal.Signals}
_STDERR_LINES = 3
"""Of what a server has written last, in an error message."""


@dataclass(slots=True)
class ServerProcess:
    """A server that was started."""

    process: Process
    has_exited: asyncio.Event
    """Set when the server itself has ended; what it has started may keep its pipes open."""
    is_gone: asyncio.Event
    """Set when its supervisor has ended too."""
    on_exit: Callable[[], None]
    log: Callable[[str], None]
    report: ExitReport
    stderr: bytearray = field(default_factory=bytearray)
    is_read: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when all of that has been read."""
    stray: str = ""
    """The last line on its standard output that is no message."""
    is_ended: bool = False
    """It was still running when the connection was closed."""
    problem: str = ""
    """Why the connection was given up, if not because the process ended."""

    def ending(self, *, has_answered: bool) -> str:
        """Return how it has ended: "exited with code 1: fatal: not a repository"; empty while it runs, and if
        Forge has ended it."""
        code = self.exit_code
        if self.problem:
            return self.problem
        if code is None or self.is_ended:
            return ""
        how = f"was ended by {_SIGNALS[code]}" if code in _SIGNALS else f"exited with code {code}"
        how += "" if has_answered else " before answering"
        return ": ".join(filter(None, (how, self.last_lines())))

    @property
    def exit_code(self) -> int | None:
        """As a shell has it: 128 plus the number of a signal that has ended it."""
        code = self.process.returncode if self.report.exit_code is None else self.report.exit_code
        return 128 - code if code is not None and code < 0 else code

    def last_lines(self) -> str:
        """Return the last lines that it has written to standard error, in one; without the news of npm."""
        lines = map(str.strip, self.stderr.decode("utf-8", "replace").split("\n"))
        return " / ".join(
            [line for line in lines if line and not line.startswith("npm notice")][-_STDERR_LINES:]
        )

    async def wait_for_exit(self, timeout_s: float) -> bool:
        """Return whether the server ends in this time, all that it has written read."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self.has_exited.wait()
                if self.report.exit_code is None:
                    await self.is_read.wait()
        return self.has_exited.is_set()

    async def end(self) -> None:
        """Close its standard input, then end it and all that it has started."""
        self.is_ended = not self.has_exited.is_set()
        assert self.process.stdin is not None
        self.process.stdin.close()
        await self.wait_for_exit(_EXIT_WAIT_S)
        self.kill()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_EXIT_WAIT_S):
                await self.is_gone.wait()
        if not self.is_gone.is_set():
            self._signal(signal.SIGKILL)

    def kill(self) -> None:
        """End it and all that it has started, at once: its supervisor does, if it has one."""
        self._signal(signal.SIGTERM if self.report.mark else signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)


def stdio_transport(
    launch: ServerLaunch,
    log: Callable[[str], None],
    started: Callable[[ServerProcess], None],
    on_exit: Callable[[], None],
) -> Transport:
    """Return the connection to the program of `launch`; it is started when the connection is entered.

    `log` takes what the server writes to standard error; `started` is given the process; `on_exit` is called
    when that has ended.
    """

    @contextlib.asynccontextmanager
    async def connection() -> AsyncIterator[object]:
        async with confined(launch) as program, connected(program) as streams:
            yield streams

    @contextlib.asynccontextmanager
    async def connected(program: Launch) -> AsyncIterator[object]:
        try:
            server = await _started(program, launch.folder, log, on_exit)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise RequestFailedError(f"{launch.argv[0]!r} cannot be started: {reason}") from error
        started(server)
        to_client, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        from_client, to_server = anyio.create_memory_object_stream[SessionMessage](0)
        tasks = [
            asyncio.create_task(_read(server, to_client)),
            asyncio.create_task(_write(server, to_server)),
            asyncio.create_task(_read_stderr(server)),
        ]
        try:
            yield from_server, from_client
        finally:
            with anyio.CancelScope(shield=True):
                await server.end()
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)
                for stream in (to_client, from_server, from_client, to_server):
                    stream.close()

    return connection()  # type: ignore[return-value]  # the SDK's own transports are made in the same way


async def _started(
    program: Launch, folder: str, log: Callable[[str], None], on_exit: Callable[[], None]
) -> ServerProcess:
    """Start the program in a folder. `Process.wait` would also wait for the end of its pipes."""
    loop = asyncio.get_running_loop()
    has_exited, is_gone = asyncio.Event(), asyncio.Event()
    mark = f"forge-exit-{uuid.uuid4().hex}" if can_supervise() else ""

    class Streams(SubprocessStreamProtocol):
        def process_exited(self) -> None:
            super().process_exited()
            has_exited.set()
            is_gone.set()
            on_exit()

    transport, protocol = await loop.subprocess_exec(
        lambda: Streams(limit=MAX_MESSAGE_BYTES, loop=loop),
        *(supervised(mark, program.argv) if mark else program.argv),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        cwd=folder,
        env=dict(program.environment),
        pass_fds=program.pass_fds,
        start_new_session=True,
    )
    process = Process(transport, protocol, loop)
    return ServerProcess(process, has_exited, is_gone, on_exit, log, ExitReport(mark))


async def _read(
    server: ServerProcess, to_client: anyio.abc.ObjectSendStream[SessionMessage | Exception]
) -> None:
    """Pass on the messages of a server until it closes its output."""
    assert server.process.stdout is not None
    async with to_client:
        while True:
            try:
                line = await server.process.stdout.readline()
            except ValueError:
                server.problem = f"sent a message of more than {MAX_MESSAGE_BYTES:,} bytes"
                server.kill()
                return
            if not line:
                break
            if not line.strip():
                continue
            try:
                message = _message(line)
            except ValueError:
                server.stray = line[:200].decode("utf-8", "replace").strip()
                server.log(f"not a message: {server.stray}")
                continue
            try:
                await to_client.send(SessionMessage(message))
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                return
        # The reason for the end is read by whoever finds the connection closed.
        await server.wait_for_exit(_EXIT_WAIT_S)


def _message(line: bytes) -> JSONRPCMessage:
    """Return the message in a line.

    `NaN`, `Infinity` and halves of characters, which JSON does not have and some servers send, are replaced.
    An answer that cannot be read otherwise becomes an error, so that nobody waits for it. Raises ValueError
    for anything else.
    """
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError as error:
        found = _lenient(line)
        if found is None:
            raise
        text = json.dumps(found, ensure_ascii=False).encode("utf-8", "replace")
        try:
            return jsonrpc_message_adapter.validate_json(text, by_name=False)
        except ValueError:
            request = found.get("id")
            if "method" in found or not isinstance(request, int | str) or isinstance(request, bool):
                raise error from None
            about = ErrorData(code=PARSE_ERROR, message="its answer is no message of the protocol")
            return JSONRPCError(jsonrpc="2.0", id=request, error=about)


def _lenient(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line, parse_constant=lambda name: None)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


async def _write(server: ServerProcess, to_server: anyio.abc.ObjectReceiveStream[SessionMessage]) -> None:
    assert server.process.stdin is not None
    async with to_server:
        async for one in to_server:
            text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
            server.process.stdin.write(text.encode() + b"\n")
            try:
                await server.process.stdin.drain()
            except (BrokenPipeError, ConnectionError):
                return


async def _read_stderr(server: ServerProcess) -> None:
    assert server.process.stderr is not None
    while data := await server.process.stderr.read(8192):
        before = len(server.stderr)
        server.stderr += data
        server.report.take(server.stderr)
        if new := server.stderr[before:]:
            server.log(new.decode("utf-8", "replace"))
        del server.stderr[:-KEPT_STDERR_BYTES]
        if server.report.exit_code is not None and not server.has_exited.is_set():
            server.has_exited.set()
            server.on_exit()
    server.is_read.set()
