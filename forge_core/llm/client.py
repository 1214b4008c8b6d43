"""The provider client: chat completions over HTTP, whole or streamed, asynchronous or not.

Pooled connections, retries before the first token (see `retry`), typed errors, deadlines, and a hang-up at
once when a stream is left. It knows neither LangChain nor the screen.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import AbstractContextManager, aclosing, nullcontext
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote, urlsplit

import httpx

from forge_core import __version__
from forge_core.errors import (
    ConfigError,
    MalformedResponseError,
    ModelNotFoundError,
    ProviderError,
    RateLimitError,
    ServerError,
)
from forge_core.llm.account.account_info import (
    Credits,
    GenerationInfo,
    KeyInfo,
    read_credits,
    read_generation,
    read_key,
)
from forge_core.llm.account.catalog import ModelInfo, read_model
from forge_core.llm.endpoints import OPENROUTER_URL, Provider, bypasses_proxy, clean_url, identify, shown_url
from forge_core.llm.http.assembly import read_response
from forge_core.llm.http.chunk_reader import is_token
from forge_core.llm.http.connection import ClientPool
from forge_core.llm.http.error_mapping import ErrorMapper
from forge_core.llm.http.exchange import Deadlines, HttpExchange
from forge_core.llm.http.loop_thread import LOOP_THREAD
from forge_core.llm.http.payload import build_body, encode_body
from forge_core.llm.http.retry import RetryCount, RetryNotice, current_count
from forge_core.llm.http.wire import error_in, parse_json
from forge_core.llm.models import CompletionRequest, CompletionResponse, StreamChunk
from forge_core.redact import Redactor

COMPLETE_TIMEOUT_S = 600.0
PROBE_TIMEOUT_S = 5.0
PROBE_BYTES = 8 * 1024 * 1024
_GENERATION_WAITS_S = (0.5, 1.0, 2.0)
"""A generation can be requested only a few moments after its end."""

FALLBACK_ERRORS = (ServerError, RateLimitError, ModelNotFoundError)
"""Failures after which another model is asked, if the request names one."""

T = TypeVar("T")


class OpenRouterClient:
    """Speaks to one base URL with one key; safe to share between event loops and threads.

    `timeout` (seconds) bounds a whole `complete`, and the silences of a stream where it is shorter than
    theirs. `max_retries` counts the attempts after the first. Constructing one opens nothing and reads no
    environment: without `api_key` no Authorization header is sent, and a service that needs one raises
    AuthenticationError. `key_variable` names where the key came from, for messages. `provider` is the service
    at `base_url`; by default it is identified by the URL. `admit` is awaited before each completion; what it
    raises is raised to the caller, and nothing is sent. What it returns is called if no whole answer comes.
    `prepare` then returns the request that is sent in place of the given one.
    """

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str = OPENROUTER_URL,
        *,
        key_variable: str | None = None,
        provider: Provider | None = None,
        timeout: float | None = None,
        max_retries: int = 2,
        first_token_timeout_s: float = 60.0,
        idle_timeout_s: float = 60.0,
        connect_timeout_s: float = 10.0,
        transport: httpx.AsyncBaseTransport | None = None,
        on_retry: Callable[[RetryNotice], None] | None = None,
        on_abandoned: Callable[[str], None] | None = None,
        admit: Callable[[CompletionRequest], Awaitable[AbstractContextManager[None]]] | None = None,
        prepare: Callable[[CompletionRequest], Awaitable[CompletionRequest]] | None = None,
        attribution: bool = True,
        default_headers: Mapping[str, str] | None = None,
    ) -> None:
        self.base_url = clean_url(base_url)
        self.provider = provider or identify(self.base_url)
        self.max_retries = max(0, max_retries)
        self.on_retry = on_retry
        self.on_abandoned = on_abandoned
        """Called with the generation's id when an answer that has begun is abandoned or breaks off: its bill
        can be requested later."""
        self._admit = admit
        """Awaited before each request. The request is made within the context manager that it returns; an
        exception leaves that if there is no answer."""
        self._prepare = prepare
        self._api_key = _checked_key(api_key)
        self.key_variable = key_variable
        self._needs_key = self.provider.needs_key and transport is None
        self._timeout_s = COMPLETE_TIMEOUT_S if timeout is None else timeout
        self._deadlines = Deadlines(
            connect_s=connect_timeout_s,
            first_token_s=min(first_token_timeout_s, timeout or first_token_timeout_s),
            idle_s=min(idle_timeout_s, timeout or idle_timeout_s),
        )
        self._headers = self._make_headers(attribution, default_headers or {})
        self._errors = ErrorMapper(
            self.provider,
            self.base_url,
            Redactor((self._api_key,) if self._api_key else ()),
            sends_key=any(name.lower() == "authorization" for name in self._headers),
            key_variable=key_variable,
        )
        is_direct = bypasses_proxy(_connected_host(self.base_url))
        self._connections = ClientPool(
            trust_env=not is_direct,
            needs_tls=self.base_url.startswith("https:") or not is_direct,
            transport=transport,
        )

    def __repr__(self) -> str:
        key = "set" if self._api_key else "none"
        return f"OpenRouterClient({shown_url(self.base_url)!r}, api_key={key})"

    async def complete(self, request: CompletionRequest) -> CompletionResponse:
        """Return the whole answer. Raise a ProviderError; ProviderTimeoutError when it takes longer than
        `timeout`."""
        *first, last = self._candidates(request)
        for candidate in first:
            try:
                return await self._complete(candidate)
            except FALLBACK_ERRORS:
                continue
        return await self._complete(last)

    async def _complete(self, request: CompletionRequest) -> CompletionResponse:
        async def attempt() -> CompletionResponse:
            return self._read_answer(*await self._exchange().fetch("POST", "chat/completions", body))

        with await self._admitted(request):
            body = await self._encode(request, stream=False)
            answer = await self._repeated(attempt)
            answer.model = answer.model or request.model
            return answer

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[StreamChunk, None]:
        """Yield the answer's chunks as they come, keep-alive comments included; closing the generator hangs
        up.

        Raises a ProviderError, also in mid-answer; its `partial_text` then holds the text so far. Nothing is
        sent again once a token has been yielded: it cannot be taken back, so the retry is left to the caller,
        who knows what was done with the text.
        """
        *first, last = self._candidates(request)
        for candidate in first:
            has_token = False
            try:
                async with aclosing(self._stream(candidate)) as chunks:
                    async for chunk in chunks:
                        has_token = has_token or is_token(chunk)
                        yield chunk
                return
            except FALLBACK_ERRORS:
                if has_token:
                    raise
        async with aclosing(self._stream(last)) as chunks:
            async for chunk in chunks:
                if first:
                    chunk.model = chunk.model or last.model
                yield chunk

    def _candidates(self, request: CompletionRequest) -> list[CompletionRequest]:
        """Return the request for each model that may answer it; one, where the provider tries the others."""
        if self.provider.routes_requests or not request.fallbacks:
            return [request]
        return [replace(request, model=name, fallbacks=()) for name in (request.model, *request.fallbacks)]

    async def _stream(self, request: CompletionRequest) -> AsyncGenerator[StreamChunk, None]:
        with await self._admitted(request):
            body = await self._encode(request, stream=True)
            retries = current_count()
            generation_id: str | None = None
            while True:
                has_token = False
                try:
                    async with aclosing(self._exchange().stream(body)) as chunks:
                        async for chunk in chunks:
                            has_token = has_token or is_token(chunk)
                            generation_id = chunk.generation_id or generation_id
                            yield chunk
                    return
                except (GeneratorExit, asyncio.CancelledError):
                    self._abandoned(generation_id)
                    raise
                except ProviderError as error:
                    wait_s = None if has_token else self._wait_before_retry(error, retries)
                    if wait_s is None:
                        self._abandoned(generation_id if has_token else None)
                        raise
                await asyncio.sleep(wait_s)

    async def _admitted(self, request: CompletionRequest) -> AbstractContextManager[None]:
        return nullcontext() if self._admit is None else await self._admit(request)

    def complete_sync(self, request: CompletionRequest) -> CompletionResponse:
        """Do the same as `complete` for a caller without an event loop; also where one is running."""
        return LOOP_THREAD.run(self.complete(request))

    def stream_sync(self, request: CompletionRequest) -> Generator[StreamChunk, None, None]:
        """Do the same as `stream` for a caller without an event loop."""
        return LOOP_THREAD.iterate(self.stream(request))

    async def model_entries(self) -> list[Any]:
        """Return the entries of `GET /models` as they came, for the cache on disk."""
        payload = await self._get("models")
        entries = payload.get("data", payload.get("models"))
        if not isinstance(entries, list):
            raise MalformedResponseError("The provider sent an invalid list of models. Try again later.")
        return entries

    async def models(self) -> list[ModelInfo]:
        """Return the models that the server offers, in its order."""
        models = (read_model(entry) for entry in await self.model_entries())
        return [model for model in models if model is not None]

    async def key_info(self) -> KeyInfo:
        """Return the limits and the usage of the key. Raise AuthenticationError when the key is wrong."""
        return read_key((await self._get("key")).get("data"))

    async def credits(self) -> Credits | None:
        """Return what the account has; needs a management key."""
        return read_credits((await self._get("credits")).get("data"))

    async def generation(self, generation_id: str) -> GenerationInfo | None:
        """Return the bill of a finished or cancelled generation; None when the provider does not know it
        (yet)."""
        for wait_s in (*_GENERATION_WAITS_S, None):
            try:
                payload = await self._get(f"generation?id={quote(generation_id, safe='')}")
            except ModelNotFoundError:
                if wait_s is not None:
                    await asyncio.sleep(wait_s)
            else:
                return read_generation(payload.get("data"))
        return None

    async def _get(self, path: str) -> dict[str, Any]:
        async def attempt() -> dict[str, Any]:
            _, body = await self._exchange().fetch("GET", path)
            return self._parsed(body)

        return await self._repeated(attempt)

    async def probe(self, path: str, body: bytes | None = None, *, base_url: str | None = None) -> Any:
        """Return the JSON at `path` below `base_url` (this client's, or another path of its host) by a POST
        of `body`, else a GET. The request is sent once, with limits of time and size. Raise ProviderError."""
        exchange = replace(
            self._exchange(),
            base_url=base_url or self.base_url,
            total_s=PROBE_TIMEOUT_S,
            max_body_bytes=PROBE_BYTES,
        )
        _, answer = await exchange.fetch("GET" if body is None else "POST", path, body)
        try:
            return await asyncio.to_thread(parse_json, answer)
        except ValueError:
            raise self._errors.no_answer(answer) from None

    async def _repeated(self, attempt: Callable[[], Awaitable[T]]) -> T:
        retries = current_count()
        while True:
            try:
                return await attempt()
            except ProviderError as error:
                wait_s = self._wait_before_retry(error, retries)
                if wait_s is None:
                    raise
            await asyncio.sleep(wait_s)

    async def aclose(self) -> None:
        """Close the connections of this event loop and those of the synchronous calls."""
        await self._connections.aclose()

    def close(self) -> None:
        """Close the connections of the synchronous calls."""
        self._connections.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _exchange(self) -> HttpExchange:
        if self._needs_key and not self._api_key:
            raise self._errors.no_key()
        return HttpExchange(
            self._connections, self._errors, self.base_url, self._headers, self._deadlines, self._timeout_s
        )

    async def _encode(self, request: CompletionRequest, *, stream: bool) -> bytes:
        prepared = request if self._prepare is None else await self._prepare(request)
        body = build_body(prepared, self.provider, stream=stream)
        if prepared is request:
            return encode_body(body)
        return await asyncio.to_thread(encode_body, body)  # megabytes of images

    def _read_answer(self, headers: Mapping[str, str], body: bytes) -> CompletionResponse:
        generation_id = headers.get("x-generation-id")
        payload = self._parsed(body)
        error = error_in(payload)
        if error is not None:
            raise self._errors.from_event(error, generation_id)
        response = read_response(payload, generation_id)
        if response is None:
            raise self._errors.without_choice(body[:200].decode("utf-8", "replace"))
        return response

    def _parsed(self, body: bytes) -> dict[str, Any]:
        try:
            payload = parse_json(body)
        except ValueError:
            raise self._errors.no_answer(body) from None
        if not isinstance(payload, dict):
            raise self._errors.malformed("an answer that is not an object", str(payload)[:200])
        return payload

    def _wait_before_retry(self, error: ProviderError, retries: RetryCount) -> float | None:
        wait_s = retries.next_wait(error, self.max_retries)
        if wait_s is not None and self.on_retry is not None:
            self.on_retry(RetryNotice(retries.done, wait_s, error.message, self.max_retries))
        return wait_s

    def _abandoned(self, generation_id: str | None) -> None:
        if generation_id and self.on_abandoned is not None:
            self.on_abandoned(generation_id)

    def _make_headers(self, attribution: bool, extra: Mapping[str, str]) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "User-Agent": f"forge/{__version__}"}
        if attribution:
            headers.update(self.provider.attribution_headers)
        headers.update(extra)
        if self._api_key:
            headers["Authorization"] = f"Bearer {self._api_key}"
        return headers


def _connected_host(base_url: str) -> str:
    """Return the host that httpx will connect to; raise ConfigError if the key was not chosen for it."""
    host = httpx.URL(base_url).raw_host.decode("ascii").lower()  # an IPv6 address keeps its capitals
    named = urlsplit(base_url).hostname or ""
    if named.isascii() and named != host:
        raise ConfigError(f"The host of the base URL {shown_url(base_url)!r} is ambiguous. Write it plainly.")
    return host


def _checked_key(api_key: str | None) -> str | None:
    key = (api_key or "").strip()
    if not key.isascii() or any(char.isspace() or not char.isprintable() for char in key):
        raise ConfigError(
            "The API key holds characters that no key has (blanks, line ends, letters beyond ASCII). "
            "Copy it again."
        )
    return key or None
