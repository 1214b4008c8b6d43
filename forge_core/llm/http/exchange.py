"""One attempt at a request: send it, enforce the deadlines, read the answer; every failure is a
ProviderError."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import httpx

from forge_core.errors import ConnectionFailedError, ProviderError
from forge_core.llm.http.chunk_reader import ChunkReader, is_token, merge_burst
from forge_core.llm.http.connection import ClientPool, enable_keepalive
from forge_core.llm.http.error_mapping import ErrorMapper
from forge_core.llm.http.watchdog import ReadWatchdog
from forge_core.llm.http.wire import parse_json
from forge_core.llm.models import StreamChunk

MAX_BODY_BYTES = 64 * 1024 * 1024
MAX_ERROR_BYTES = 256 * 1024
BUFFERING_FACTOR = 5
"""How far keep-alive comments stretch the limit between two tokens. Comments prove the connection, not
progress, so they never stretch the limit for the first token; but providers hold back the arguments of a long
call until they are whole, and send nothing else meanwhile."""

_DRAIN_S = 0.25
_LEAST_S = 0.005
_SSE_HEADERS = {"Accept": "text/event-stream", "Accept-Encoding": "identity"}


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Limits of one attempt in seconds."""

    connect_s: float
    first_token_s: float
    """From the request to the first token, whatever else the server sends."""
    idle_s: float
    """Between two events of a stream; between two tokens BUFFERING_FACTOR times as long."""


@dataclass(frozen=True, slots=True)
class HttpExchange:
    """The parameters of one attempt."""

    connections: ClientPool
    errors: ErrorMapper
    base_url: str
    headers: Mapping[str, str]
    deadlines: Deadlines
    total_s: float
    """Limit of `fetch`, from the first byte sent to the last one read."""
    max_body_bytes: int = MAX_BODY_BYTES

    async def fetch(
        self, method: str, path: str, body: bytes | None = None
    ) -> tuple[Mapping[str, str], bytes]:
        """Return the headers and the body of a successful answer. Raise ProviderError for any other."""
        client = await self.connections.async_client()
        request = self._request(client, method, path, body, self.total_s)
        try:
            async with asyncio.timeout(self.total_s):
                response = await client.send(request, stream=True)
                try:
                    await self._refuse_failure(response)
                    return response.headers, await self._read_all(response, self.max_body_bytes)
                finally:
                    await response.aclose()
        except TimeoutError:
            raise self.errors.timed_out("no complete answer", self.total_s, "total_timeout") from None
        except (httpx.HTTPError, OSError) as error:
            raise self.errors.from_network(error) from error

    async def stream(self, body: bytes) -> AsyncGenerator[StreamChunk, None]:
        """Yield the chunks of one streamed answer; hang up when closed early."""
        client = await self.connections.async_client()
        request = self._request(client, "POST", "chat/completions", body, None, _SSE_HEADERS)
        clock = _TokenClock(self.deadlines)
        response: httpx.Response | None = None
        reader: ChunkReader | None = None
        try:
            response = await self._response(client, request)
            await self._refuse_failure(response)
            enable_keepalive(response)
            reader = ChunkReader(self.errors, response.headers.get("x-generation-id"))
            async with aclosing(self._chunks(response, reader, clock)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except (httpx.HTTPError, OSError) as error:
            # After the finish reason the answer is complete, however the connection ends.
            if reader is None or not reader.is_finished:
                raise _completed(self.errors.from_network(error, _during(reader)), reader) from error
        finally:
            if response is not None:
                await response.aclose()

    async def _response(self, client: httpx.AsyncClient, request: httpx.Request) -> httpx.Response:
        """Return the response as soon as its headers have arrived."""
        with ReadWatchdog(self.deadlines.first_token_s) as watch:
            try:
                response = await watch.read(client.send(request, stream=True))
            except TimeoutError:
                raise (self._lost_asleep() if watch.was_lost_asleep else self._no_first_token()) from None
        assert response is not None  # it is no iterator
        return response

    async def _chunks(
        self, response: httpx.Response, reader: ChunkReader, clock: _TokenClock
    ) -> AsyncGenerator[StreamChunk, None]:
        source: AsyncIterator[bytes] = aiter(_raw_bytes(response))
        with ReadWatchdog(clock.left_s()) as watch:
            while not reader.is_done and reader.failure is None:
                try:
                    data = await watch.read(anext(source))
                except TimeoutError:
                    if reader.is_finished:
                        return
                    # Nothing since the machine woke: the connection was lost while it slept.
                    error = self._lost_asleep() if watch.was_lost_asleep else self._silence(reader, clock)
                    raise reader.fail(error) from None
                new = reader.end() if data is None else reader.feed(data)
                if new:
                    for chunk in merge_burst(new):
                        yield chunk
                    # After the yields, so that the time that the consumer takes does not count.
                    clock.saw(new)
                    watch.progress(clock.left_s())
                if data is None:
                    break
            if reader.failure is not None:
                raise reader.failure
            if reader.is_done:
                await self._drain(watch, source)

    async def _drain(self, watch: ReadWatchdog, source: AsyncIterator[bytes]) -> None:
        """Read the end of the body, which usually has arrived: the connection is reusable only then."""
        # Without the final chunk of the body httpx closes the connection: the next request pays a handshake.
        watch.progress(_DRAIN_S)
        try:
            while await watch.read(anext(source)) is not None:
                pass
        except (TimeoutError, httpx.HTTPError, OSError):
            return

    def _request(
        self,
        client: httpx.AsyncClient,
        method: str,
        path: str,
        body: bytes | None,
        read_s: float | None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Request:
        # A stream passes no `read_s`: `ReadWatchdog` limits its reads.
        timeout = {"connect": self.deadlines.connect_s, "read": read_s, "write": 60.0, "pool": 60.0}
        return client.build_request(
            method,
            f"{self.base_url}/{path}",
            content=body,
            headers={**self.headers, **(headers or {})},
            extensions={"timeout": timeout},
        )

    async def _refuse_failure(self, response: httpx.Response) -> None:
        if not response.is_success:
            try:
                async with asyncio.timeout(self.deadlines.idle_s):
                    body = await self._read_all(response, MAX_ERROR_BYTES, cut=True)
            except (TimeoutError, httpx.HTTPError):
                body = b""  # the status says enough
            raise self.errors.from_response(response.status_code, response.headers, body, _json_or_none(body))

    async def _read_all(self, response: httpx.Response, limit: int, *, cut: bool = False) -> bytes:
        parts = bytearray()
        async for part in response.aiter_bytes():
            parts += part
            if len(parts) > limit:
                if cut:
                    break
                raise self.errors.malformed(f"an answer of more than {limit:,} bytes")
        return bytes(parts[:limit])

    def _silence(self, reader: ChunkReader, clock: _TokenClock) -> ProviderError:
        if not reader.has_token:
            return self._no_first_token(" (only keep-alive comments)" if clock.has_comments else "")
        if clock.is_at_end:
            limit_s = BUFFERING_FACTOR * self.deadlines.idle_s
            return self.errors.timed_out("only keep-alive comments", limit_s, "idle_timeout")
        return self.errors.timed_out("nothing more", self.deadlines.idle_s, "idle_timeout")

    def _lost_asleep(self) -> ProviderError:
        return ConnectionFailedError(
            f"The connection to {self.errors.provider.label} was lost while the machine slept. Try again."
        )

    def _no_first_token(self, besides: str = "") -> ProviderError:
        limit_s = self.deadlines.first_token_s
        return self.errors.timed_out(f"no first token{besides}", limit_s, "first_token_timeout")


class _TokenClock:
    """The time that the next event may take. After the first token, time that the consumer spends between two
    reads does not count, since `left_s` is called after it."""

    def __init__(self, deadlines: Deadlines) -> None:
        self._deadlines = deadlines
        self._has_token = False
        self._end = time.monotonic() + deadlines.first_token_s
        self.has_comments = False
        """Whether the last chunk was not a token."""

    def saw(self, chunks: list[StreamChunk]) -> None:
        """Record the chunks that have just been read and passed on; never empty."""
        self.has_comments = not is_token(chunks[-1])
        if any(map(is_token, chunks)):
            self._has_token = True
            self._end = time.monotonic() + BUFFERING_FACTOR * self._deadlines.idle_s

    @property
    def is_at_end(self) -> bool:
        """Whether the time without a token is over, however many comments have arrived."""
        return self._end - time.monotonic() <= _LEAST_S

    def left_s(self) -> float:
        """Return the seconds from now that the next read may take."""
        if self._has_token and not self.has_comments:
            return self._deadlines.idle_s
        left_s = max(_LEAST_S, self._end - time.monotonic())
        return min(left_s, self._deadlines.idle_s) if self._has_token else left_s


def _raw_bytes(response: httpx.Response) -> AsyncIterator[bytes]:
    return response.aiter_bytes() if _needs_decoding(response) else response.aiter_raw()


def _needs_decoding(response: httpx.Response) -> bool:
    """Return whether the raw bytes cannot be used: they are compressed, or already consumed (by the transport
    of a test)."""
    coding = response.headers.get("content-encoding", "").lower()
    return coding not in ("", "identity") or response.is_stream_consumed


def _json_or_none(body: bytes) -> Any:
    try:
        return parse_json(body)
    except ValueError:
        return None


def _during(reader: ChunkReader | None) -> str:
    return " in mid-answer" if reader is not None and reader.has_token else ""


def _completed(error: ProviderError, reader: ChunkReader | None) -> ProviderError:
    return error if reader is None else reader.fail(error)
