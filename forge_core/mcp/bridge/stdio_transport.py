"""The connection to a server that is a child process: one JSON message a line on its pipes.

Unlike the SDK's own transport it limits the length of a line, keeps what the server writes to standard error,
and reports how the process has ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import PIPE, Process, SubprocessStreamProtocol
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import anyio
from mcp.client import Transport
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from forge_core.mcp.bridge.failures import RequestFailedError
from forge_core.mcp.wire import ServerLaunch

MAX_MESSAGE_BYTES = 16_000_000
"""Of one message of a server."""
KEPT_STDERR_BYTES = 64_000
"""The last bytes are kept."""
_EXIT_WAIT_S = 1.0
"""How long a server may take to end after its standard input was closed, and after SIGTERM."""
_STDERR_LINES = 3
"""Of what a server has written last, in an error message."""


@dataclass(slots=True)
class ServerProcess:
    """A server that was started."""

    process: Process
    has_exited: asyncio.Event
    """Set when the process itself has ended; a child of it may keep its pipes open."""
    log: Callable[[str], None]
    stderr: bytearray = field(default_factory=bytearray)
    stray: str = ""
    """The last line on its standard output that is no message."""
    is_ended: bool = False
    """It was still running when the connection was closed."""
    problem: str = ""
    """Why the connection was given up, if not because the process ended."""

    def ending(self, *, has_answered: bool) -> str:
        """Return how it has ended: "exited with code 1: fatal: not a repository"; empty while it runs, and if
        Forge has ended it."""
        code = self.process.returncode
        if self.problem:
            return self.problem
        if code is None or self.is_ended:
            return ""
        how = f"exited with code {code}" if code >= 0 else f"was ended by {_signal_name(-code)}"
        how += "" if has_answered else " before answering"
        return ": ".join(filter(None, (how, self.last_lines())))

    def last_lines(self) -> str:
        """Return the last lines that it has written to standard error, in one."""
        lines = self.stderr.decode("utf-8", "replace").split("\n")
        return " / ".join([line.strip() for line in lines if line.strip()][-_STDERR_LINES:])

    async def wait_for_exit(self, timeout_s: float) -> bool:
        """Return whether the process ends in this time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self.has_exited.wait()
        return self.process.returncode is not None

    async def end(self) -> None:
        """Close its standard input, then end its process group if it does not exit."""
        self.is_ended = self.process.returncode is None
        assert self.process.stdin is not None
        self.process.stdin.close()
        if not await self.wait_for_exit(_EXIT_WAIT_S):
            self._signal(signal.SIGTERM)
            await self.wait_for_exit(_EXIT_WAIT_S)
        self._signal(signal.SIGKILL)  # also what it has started and left
        await self.wait_for_exit(_EXIT_WAIT_S)

    def kill(self) -> None:
        """Kill its process group at once."""
        self._signal(signal.SIGKILL)

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
        try:
            server = await _started(launch, log, on_exit)
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
    launch: ServerLaunch, log: Callable[[str], None], on_exit: Callable[[], None]
) -> ServerProcess:
    """Start the program. `Process.wait` would also wait for the end of its pipes."""
    loop = asyncio.get_running_loop()
    has_exited = asyncio.Event()

    class Streams(SubprocessStreamProtocol):
        def process_exited(self) -> None:
            super().process_exited()
            has_exited.set()
            on_exit()

    transport, protocol = await loop.subprocess_exec(
        lambda: Streams(limit=MAX_MESSAGE_BYTES, loop=loop),
        *launch.argv,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        cwd=launch.folder,
        env=dict(launch.environment),
        start_new_session=True,
    )
    return ServerProcess(Process(transport, protocol, loop), has_exited, log)


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
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
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
        server.stderr += data
        del server.stderr[:-KEPT_STDERR_BYTES]
        server.log(data.decode("utf-8", "replace"))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
