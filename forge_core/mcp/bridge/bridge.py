"""Routes messages between the session and the servers."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Mapping
from functools import partial
from typing import Any
from urllib.parse import quote

from forge_core.mcp.bridge.failures import RequestFailedError, reason_of
from forge_core.mcp.bridge.new_sign_in import sign_in
from forge_core.mcp.bridge.server_connection import ServerConnection
from forge_core.mcp.wire import MAX_LINE_BYTES, BridgeEvent, Operation, ServerLaunch, decoded, encoded
from forge_core.redact import MASK, MIN_LENGTH

_END_S = 5
"""Seconds after the session has ended until this process is killed; its servers end with it."""


async def serve() -> None:
    """Serve the session on standard input and output until it ends; then end all servers."""
    bridge = Bridge(await Channel.open())
    await bridge.run()


class Bridge:
    """All servers of a session."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._servers: dict[str, ServerConnection] = {}
        self._requests: dict[int, asyncio.Task[None]] = {}
        self._questions: dict[int, asyncio.Future[Any]] = {}
        self._asked = 0

    async def run(self) -> None:
        try:
            async for message in self._channel.messages():
                self._take(message)
        finally:
            signal.alarm(_END_S)
            for task in self._requests.values():
                task.cancel()
            await asyncio.gather(*(one.aclose() for one in self._servers.values()))

    def _take(self, message: dict[str, Any]) -> None:
        match Operation(message["op"]):
            case Operation.CANCEL:
                if task := self._requests.get(message["target"]):
                    task.cancel()
            case Operation.ANSWER:
                question = self._questions.get(message["id"])
                if question is not None and not question.done():
                    question.set_result(message["value"])
            case operation:
                request_id = message["id"]
                task = asyncio.create_task(self._answered(request_id, self._work(operation, message)))
                self._requests[request_id] = task
                task.add_done_callback(lambda _: self._requests.pop(request_id))

    async def _answered(self, request_id: int, work: Awaitable[Any]) -> None:
        """Send the result of a request, or why it failed."""
        answer: dict[str, Any] = {"event": BridgeEvent.RESULT, "id": request_id}
        try:
            answer["value"] = await work
        except asyncio.CancelledError:
            answer["error"] = "cancelled"
            raise
        except RequestFailedError as error:
            answer["error"] = str(error)
        except Exception as error:  # a bug here must not leave a request without an answer
            answer["error"] = reason_of(error)
        finally:
            self._channel.send(answer)

    async def _work(self, operation: Operation, message: dict[str, Any]) -> Any:
        if operation is Operation.START:
            launch = ServerLaunch.from_json(message["server"])
            await self._end(launch.name)
            self._servers[launch.name] = ServerConnection(
                launch, self._channel.send, partial(self._ask, launch.name), self._channel.hide
            )
            return None
        if operation is Operation.ROOTS:
            roots = tuple(message["roots"])
            await asyncio.gather(*(server.use_roots(roots) for server in self._servers.values()))
            return None
        if operation is Operation.SIGN_IN:
            launch = ServerLaunch.from_json(message["server"])
            ask = partial(self._ask, launch.name)
            return await sign_in(launch, message["redirect_uri"], ask, self._channel.hide)
        name = message["server"]
        if operation is Operation.STOP:
            return await self._end(name)
        server = self._servers.get(name)
        if server is None:
            raise RequestFailedError(f"there is no server {name!r}")
        match operation:
            case Operation.CALL:
                progress = partial(self._progressed, message["id"])
                return await server.call(
                    message["tool"], message["arguments"], message["timeout_s"], progress
                )
            case Operation.PROMPT:
                return await server.prompt(message["prompt"], message["arguments"])
            case Operation.READ:
                return await server.read(message["uri"])
            case Operation.COMPLETE:
                return await server.complete(message["ref"], message["argument"], message["context"])
        raise RequestFailedError(f"the bridge does not know {operation}")

    async def _end(self, name: str) -> None:
        if server := self._servers.pop(name, None):
            await server.aclose()

    async def _ask(self, server: str, kind: str, params: dict[str, Any]) -> Any:
        """Ask the session, and wait for its answer; a cancelled wait withdraws the question."""
        self._asked += 1
        question_id = self._asked
        self._questions[question_id] = asyncio.get_running_loop().create_future()
        self._channel.send(
            {"event": BridgeEvent.ASK, "id": question_id, "server": server, "kind": kind, "params": params}
        )
        try:
            return await self._questions[question_id]
        except asyncio.CancelledError:
            self._channel.send({"event": BridgeEvent.WITHDRAW, "id": question_id, "server": server})
            raise
        finally:
            del self._questions[question_id]

    async def _progressed(
        self, request_id: int, progress: float, total: float | None, message: str | None
    ) -> None:
        self._channel.send(
            {
                "event": BridgeEvent.PROGRESS,
                "id": request_id,
                "progress": progress,
                "total": total,
                "message": message,
            }
        )


class Channel:
    """Reads messages from standard input and writes messages to standard output.

    Standard output itself is replaced by standard error: whatever else in this process prints cannot end up
    between messages.
    """

    def __init__(self, reader: asyncio.StreamReader, transport: asyncio.WriteTransport) -> None:
        self._reader = reader
        self._transport = transport
        self._hidden: set[bytes] = set()
        """What must not be sent, as it is in a line."""

    @classmethod
    async def open(cls) -> Channel:
        """Take over standard input and output."""
        loop = asyncio.get_running_loop()
        outgoing = os.fdopen(os.dup(1), "wb", buffering=0)
        os.dup2(2, 1)
        incoming = os.fdopen(os.dup(0), "rb", buffering=0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        reader = asyncio.StreamReader(limit=MAX_LINE_BYTES)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), incoming)
        transport, _ = await loop.connect_write_pipe(asyncio.Protocol, outgoing)
        return cls(reader, transport)

    def hide(self, secrets: tuple[str, ...]) -> None:
        """Replace these values in all that is sent from now on: a server may echo its token."""
        spellings = (
            one for secret in secrets if len(secret) >= MIN_LENGTH for one in (secret, quote(secret, safe=""))
        )
        # Not with a `Redactor`: to compile one for a token of 1,000 characters takes half a second.
        self._hidden |= {json.dumps(one, ensure_ascii=False)[1:-1].encode() for one in spellings}

    def send(self, message: Mapping[str, Any]) -> None:
        """Queue a message. It is lost if the session has ended."""
        line = encoded(message)
        for hidden in self._hidden:
            line = line.replace(hidden, MASK.encode())
        if not self._transport.is_closing():
            self._transport.write(line)

    async def messages(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the session's messages until it ends."""
        while line := await self._reader.readline():
            yield decoded(line)
