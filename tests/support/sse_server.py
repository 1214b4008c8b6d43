"""A loopback HTTP server that replays scripted provider answers byte for byte, faults included.

Standard library only; it runs its own event loop in a thread, so synchronous and asynchronous tests use
it alike::

    with SseServer(answer("Hel", "lo")) as server:
        client = OpenRouterClient("sk-or-test", server.base_url)
        ...
    assert server.requests[0].json["model"] == "test/model"

`SseServer(*replies)` answers the n-th POST with the n-th reply; a function `Seen -> Reply` may stand in
for any of them, and `routes={"GET /models": reply}` answers by method and path (below `/api/v1`) as often
as asked. A request beyond the script gets a 500 that says so. `server.add(reply, …)` appends while it runs.
`GET /models` without a route is answered with 404 and not kept: a session asks for it beside its turns, at
a moment that no other test should depend on.

A `Reply` is a status, headers and a list of steps:

- `bytes`          written (as one HTTP chunk, unless `framing` says otherwise) and flushed at once
- `Pause(seconds)` nothing for a while
- `Gate()`         nothing until the test calls `gate.open()`; `gate.reached.wait(5)` tells it was reached
- `Stall()`        nothing until the client hangs up or the server is closed
- `Reset()`        the connection is reset (RST)
- `Cut()`          the connection is closed without the end of the body

Builders: `answer("Hel", "lo")` a whole streamed answer; `tool_answer(...)` one with tool calls in fragments;
`stream(payload, …)` any payloads as SSE and `[DONE]`; `json_reply(body, status=…)`;
`error_reply(429, "slow down")`; `chunk(...)` one chunk's payload; `event(payload)` its bytes;
`fragments(data, size)` bytes cut small.

Each request is kept in `server.requests` as `Seen`: `method`, `path`, `headers` (lower-case names), `body`,
`json`, and the events `hung_up` (the client closed before the end of the script) and `finished` (the script
was played out) to wait on.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any, Literal

DONE = b"data: [DONE]\n\n"
PROCESSING = b": OPENROUTER PROCESSING\n\n"
MODEL = "test/model"
KEY = "sk-or-v1-0123456789abcdef"
"""An API key that no provider has issued."""
PREFIX = "/api/v1"


@dataclass
class Pause:
    seconds: float


class Gate:
    """Holds the answer until the test opens it."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._future: Future[None] = Future()

    def open(self) -> None:
        if not self._future.done():
            self._future.set_result(None)

    async def wait(self) -> None:
        self.reached.set()
        await asyncio.shield(asyncio.wrap_future(self._future))


class Stall:
    pass


class Reset:
    pass


class Cut:
    pass


Step = bytes | Pause | Gate | Stall | Reset | Cut


@dataclass
class Reply:
    steps: Sequence[Step] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    framing: Literal["chunked", "close", "raw"] = "chunked"
    """chunked: HTTP chunks; close: the body ends with the connection; raw: the steps are the whole answer,
    status line included."""


@dataclass
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int
    """Which connection brought it: equal numbers mean that it was reused."""
    hung_up: threading.Event = field(default_factory=threading.Event)
    finished: threading.Event = field(default_factory=threading.Event)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Answer = Reply | Callable[[Seen], Reply]


class SseServer:
    """The server; a context manager, or `start()` and `close()`."""

    def __init__(self, *replies: Answer, routes: Mapping[str, Answer] | None = None) -> None:
        self.requests: list[Seen] = []
        self.open_connections = 0
        self._replies = list(replies)
        self._next = 0
        self._routes = dict(routes or {})
        self._connections = 0
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="sse-server", daemon=True)
        self.port = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}{PREFIX}"

    def add(self, *replies: Answer) -> None:
        self._replies.extend(replies)

    def start(self) -> SseServer:
        self._thread.start()
        if not self._started.wait(60):
            raise RuntimeError("the loopback server did not start")
        return self

    def close(self) -> None:
        if self._stop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(60)

    def __enter__(self) -> SseServer:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        tasks: set[asyncio.Task[None]] = set()

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            tasks.add(task)
            self._connections += 1
            self.open_connections += 1
            try:
                await self._converse(reader, writer, self._connections)
            except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                pass
            finally:
                self.open_connections -= 1
                tasks.discard(task)
                writer.transport.abort()

        server = await asyncio.start_server(accept, "127.0.0.1", 0, limit=2**24)
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._stop.wait()
        server.close()
        for _ in range(
            3
        ):  # a connection that was just made has no task yet, an aborted one closes a bit later
            await asyncio.sleep(0)
            for task in list(tasks):
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)

    async def _converse(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int
    ) -> None:
        while True:
            seen = await _read_request(reader, number)
            if not self._is_probe(seen):
                self.requests.append(seen)
            reply = self._choose(seen)
            play = asyncio.ensure_future(_play(reply, writer))
            watch = asyncio.ensure_future(_closed(reader))
            try:
                await asyncio.wait({play, watch}, return_when=asyncio.FIRST_COMPLETED)
                if not play.done():
                    seen.hung_up.set()
                    return
                keep_alive = play.result()
                seen.finished.set()
                if not keep_alive:
                    return
            except ConnectionError:
                seen.hung_up.set()
                raise
            finally:
                await _cancel(play, watch)

    def _is_probe(self, seen: Seen) -> bool:
        name = f"{seen.method} {seen.path.removeprefix(PREFIX)}"
        return name == "GET /models" and name not in self._routes

    def _choose(self, seen: Seen) -> Reply:
        path = seen.path.removeprefix(PREFIX)
        route = self._routes.get(f"{seen.method} {path}") or self._routes.get(
            f"{seen.method} {path.split('?')[0]}"
        )
        if route is None:
            if self._is_probe(seen):
                return error_reply(404, "no such path")
            if seen.method != "POST" or self._next >= len(self._replies):
                return error_reply(500, f"no scripted reply for {seen.method} {seen.path}")
            route = self._replies[self._next]
            self._next += 1
        return route if isinstance(route, Reply) else route(seen)


async def _read_request(reader: asyncio.StreamReader, number: int) -> Seen:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Seen(method, path, headers, body, number)


async def _closed(reader: asyncio.StreamReader) -> None:
    """Returns when the client hung up; bytes of a next request are never consumed here."""
    while not reader.at_eof():
        if reader._buffer:  # type: ignore[attr-defined]
            await asyncio.Event().wait()
        await reader._wait_for_data("closed")  # type: ignore[attr-defined]


async def _play(reply: Reply, writer: asyncio.StreamWriter) -> bool:
    """Plays the steps; gives whether the connection can carry another request."""
    if reply.framing != "raw":
        writer.write(_head(reply))
        await writer.drain()
    for step in reply.steps:
        match step:
            case b"":
                pass  # an empty HTTP chunk would end the body
            case bytes():
                chunked = reply.framing == "chunked"
                writer.write(b"%x\r\n%s\r\n" % (len(step), step) if chunked else step)
                await writer.drain()
            case Pause():
                await asyncio.sleep(step.seconds)
            case Gate():
                await step.wait()
            case Stall():
                await asyncio.Event().wait()
            case Reset():
                sock: socket.socket = writer.get_extra_info("socket")
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()
                return False
            case Cut():
                writer.close()
                return False
    if reply.framing == "chunked":
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True
    writer.close()
    return False


def _head(reply: Reply) -> bytes:
    headers = {"Content-Type": "text/event-stream", **reply.headers}
    headers |= {"Transfer-Encoding": "chunked"} if reply.framing == "chunked" else {"Connection": "close"}
    lines = [f"HTTP/1.1 {reply.status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def _cancel(*tasks: asyncio.Future[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


# Builders of OpenRouter-shaped bytes


def event(payload: Any) -> bytes:
    """One SSE event with `payload` as JSON."""
    return b"data: " + json.dumps(payload, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n\n"


def chunk(
    content: str | None = None,
    *,
    finish_reason: str | None = None,
    usage: Mapping[str, Any] | None = None,
    **delta: Any,
) -> dict[str, Any]:
    """One chunk's payload as OpenRouter sends it; `delta` takes tool_calls, reasoning and the like."""
    choice: dict[str, Any] = {
        "index": 0,
        "delta": {"role": "assistant", "content": content, **delta},
        "finish_reason": finish_reason,
        "native_finish_reason": finish_reason,
        "logprobs": None,
    }
    payload: dict[str, Any] = {
        "id": "gen-1", "provider": "TestProvider", "model": MODEL, "object": "chat.completion.chunk",
        "created": 1_760_000_000, "choices": [choice],
    }  # fmt: skip
    if usage is not None:
        payload["usage"] = dict(usage)
    return payload


USAGE: dict[str, Any] = {
    "prompt_tokens": 12,
    "completion_tokens": 5,
    "total_tokens": 17,
    "cost": 0.000123,
    "is_byok": False,
    "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": 0},
    "cost_details": {"upstream_inference_cost": None},
    "completion_tokens_details": {"reasoning_tokens": 2},
}


def stream(*payloads: Any, done: bool = True, headers: Mapping[str, str] | None = None) -> Reply:
    """The payloads as one SSE event each, then `[DONE]`."""
    steps: list[Step] = [event(payload) for payload in payloads]
    return Reply([*steps, DONE] if done else steps, headers={"X-Generation-Id": "gen-1", **(headers or {})})


def answer(*texts: str, finish_reason: str = "stop", usage: Mapping[str, Any] | None = None) -> Reply:
    """A whole streamed answer: one chunk a text, then the finish reason, then the usage."""
    last = {**chunk("", usage=USAGE if usage is None else usage), "choices": []}
    return stream(*(chunk(text) for text in texts), chunk("", finish_reason=finish_reason), last)


def tool_answer(*calls: tuple[str, str, Mapping[str, Any] | str], text: str = "", piece: int = 7) -> Reply:
    """A streamed answer that calls tools, each `(id, name, arguments)`, its JSON cut in pieces of `piece`."""
    payloads = [chunk(text)] if text else []
    for index, (call_id, name, arguments) in enumerate(calls):
        raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
        first = {
            "index": index,
            "id": call_id,
            "type": "function",
            "function": {"name": name, "arguments": ""},
        }
        payloads.append(chunk(None, tool_calls=[first]))
        for start in range(0, len(raw), piece):
            part = {"index": index, "function": {"arguments": raw[start : start + piece]}}
            payloads.append(chunk(None, tool_calls=[part]))
    last = {**chunk("", usage=USAGE), "choices": []}
    return stream(*payloads, chunk(None, finish_reason="tool_calls"), last)


def paced(reply: Reply, seconds: float) -> Reply:
    """The reply with a pause after each of its steps, so that each chunk arrives by itself."""
    steps = [one for step in reply.steps for one in (step, Pause(seconds))]
    return replace(reply, steps=steps)


def json_reply(body: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """One JSON body."""
    return Reply([json.dumps(body).encode()], status, {"Content-Type": "application/json", **(headers or {})})


def error_reply(
    status: int,
    message: str,
    *,
    metadata: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """An error in OpenRouter's shape."""
    error: dict[str, Any] = {"code": status, "message": message}
    if metadata is not None:
        error["metadata"] = dict(metadata)
    return json_reply({"error": error, "user_id": "user_test"}, status=status, headers=headers)


def fragments(data: bytes, size: int = 1) -> Iterable[bytes]:
    """`data` cut into pieces of `size` bytes."""
    return (data[start : start + size] for start in range(0, len(data), size))
