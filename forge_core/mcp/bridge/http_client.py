"""The HTTP client of one server.

It uses the proxies and certificates of the environment, as the rest of Forge, and limits what it reads. A
request that fails gets an error of the protocol whose message says why: the SDK reports only that there was
one. Redirects to another origin are never followed (the SDK's transports see to that).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Protocol

import httpx2
from mcp.client import Transport
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError

from forge_core.llm.endpoints import bypasses_proxy
from forge_core.mcp.bridge.failures import RequestFailedError
from forge_core.mcp.bridge.http_failures import failure_of, refusal_of, said_by, wants_more_scopes
from forge_core.mcp.bridge.oauth_flow import SendPlain
from forge_core.mcp.wire import ServerLaunch

MAX_BODY_BYTES = 16_000_000
"""Of one message of a server."""
_MAX_ANSWER_BYTES = 1_000_000
"""Of one response that refuses a request, or that belongs to a sign-in."""
_CONNECT_S = 10.0
_SILENCE_S = 3_600.0
"""How long a stream may be silent. Requests have limits of their own."""
_FAREWELL_S = 2.0
"""How long the end of a session may take."""
_LOOPBACK = ("localhost", "*.localhost", "127.0.0.1", "[::1]")
_SESSION_HEADER = "mcp-session-id"
SESSION_GONE = (
    "it does not know the session any more: it was probably restarted. The request was not repeated; Forge "
    "connects again, so try again if that is safe"
)


class SignIn(Protocol):
    """Who the user is to a server. Both methods may raise RequestFailedError."""

    async def authorize(self, request: httpx2.Request, send: SendPlain) -> None:
        """Add a token to a request, if there is one."""

    async def challenged(self, request: httpx2.Request, response: httpx2.Response, send: SendPlain) -> bool:
        """Deal with a response of status 401 or 403 to `request`; return whether to send it again."""


class HttpClient(httpx2.AsyncClient):
    """Sends the requests to one server, and keeps how they went."""

    def __init__(
        self,
        launch: ServerLaunch,
        on_lost: Callable[[], None],
        *,
        sign_in: SignIn | None = None,
    ) -> None:
        """`on_lost` is called when the server is gone: the only stream of the older transport (SSE) has
        ended, or another one cannot be opened again."""
        url = httpx2.URL(launch.url)
        direct = {*_LOOPBACK, *([_host(url)] if bypasses_proxy(url.host) else [])}
        super().__init__(
            headers={**launch.headers, "accept-encoding": "identity"},
            timeout=httpx2.Timeout(_CONNECT_S, read=_SILENCE_S),
            follow_redirects=False,
            mounts={f"all://{host}": None for host in direct},
        )
        self.has_own_credentials = has_own_credentials(launch)
        self.problem = ""
        """Why the last request failed that showed the connection to be lost."""
        self.is_session_gone = False
        """The server does not know the session, so a new one is needed."""
        self.needs_sign_in = False
        self._is_sse = launch.is_sse
        self._on_lost = on_lost
        self._sign_in = None if self.has_own_credentials else sign_in
        self._how_to_sign_in = f"forge mcp login {launch.name}"

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request. That of a message never raises: its response holds the error instead."""
        is_message = request.method == "POST"
        try:
            async with asyncio.timeout(_FAREWELL_S if request.method == "DELETE" else None):
                response = await self._sent(request, **options)
                if self._is_sse and not is_message:
                    return await self._only_stream(response)
                if _is_left_alone(response):
                    return response
                response = await read_limited(response)
        except RequestFailedError as error:
            if not is_message:
                raise
            return self._failed(request, str(error))
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            self.problem = failure_of(error, _url_of(error, request))
            if not is_message:
                if isinstance(error, httpx2.ConnectError):
                    self._on_lost()  # the SDK would try again for two seconds, while a call waits
                raise RequestFailedError(self.problem) from error
            return self._failed(request, self.problem)
        return self._explained(request, response) if is_message else response

    async def _sent(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request as the user who has signed in, if anybody has."""
        if self._sign_in is None:
            return await super().send(request, **options)
        await self._sign_in.authorize(request, self.send_plain)
        response = await super().send(request, **options)
        if response.status_code in (401, 403):
            await _read_answer(response)
            if await self._sign_in.challenged(request, response, self.send_plain):
                return await super().send(request, **options)
        return response

    async def send_plain(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request of a sign-in, which may go to another server, and read the response."""
        response = await super().send(request, stream=True, auth=None, follow_redirects=False)
        try:
            return await _read_answer(response)
        finally:
            await response.aclose()

    def _explained(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        """Return a response, or the error in its place."""
        if response.is_success:
            if self._is_sse:
                return response
            kind = response.headers["content-type"].partition(";")[0].strip().lower()
            if kind == "application/json" or not response.content:
                return response
            what = "a web page" if kind == "text/html" else repr(kind)
            return self._failed(request, f"it answered with {what}, not with MCP. Check its url")
        said = said_by(response).lower()
        if _SESSION_HEADER in request.headers and (
            response.status_code == 404 or (response.status_code == 400 and "session" in said)
        ):
            self.is_session_gone, self.problem = True, SESSION_GONE
            return self._failed(request, SESSION_GONE)
        if response.status_code == 401:
            self.needs_sign_in = not self.has_own_credentials
        elif _is_protocol_error(response) and not wants_more_scopes(response):
            return response
        reason = self._refusal(response)
        if self.needs_sign_in:
            self.problem = reason
        return self._failed(request, reason)

    def _refusal(self, response: httpx2.Response) -> str:
        return refusal_of(
            response, has_own_credentials=self.has_own_credentials, sign_in=self._how_to_sign_in
        )

    def _failed(self, request: httpx2.Request, reason: str) -> httpx2.Response:
        """Return an error of the protocol; the SDK gives it the id of the request."""
        if self._is_sse:
            self.problem = reason  # this transport takes its answers elsewhere
            self._on_lost()
        error = JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=INTERNAL_ERROR, message=reason))
        return httpx2.Response(
            502,
            headers={"content-type": "application/json"},
            content=error.model_dump_json().encode(),
            request=request,
        )

    async def _only_stream(self, response: httpx2.Response) -> httpx2.Response:
        """Return the response that is the stream of the older transport. Raises RequestFailedError."""
        if response.next_request is not None:
            return response
        if not _is_stream(response):
            response = await read_limited(response)
            if response.is_success:
                raise RequestFailedError("it does not answer with a stream. Check its url, and its type")
            self.needs_sign_in = response.status_code == 401 and not self.has_own_credentials
            raise RequestFailedError(self._refusal(response))
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Watched(response.stream, self._on_lost)
        return response


def has_own_credentials(launch: ServerLaunch) -> bool:
    """Return whether the entry of a server says how to authenticate."""
    names = {name.lower() for name in launch.headers}
    return "authorization" in names or bool(httpx2.URL(launch.url).userinfo)


async def read_limited(response: httpx2.Response) -> httpx2.Response:
    """Return a response whose body has been read. Raises RequestFailedError for one that is too large."""
    body = bytearray()
    try:
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                raise RequestFailedError(f"it sent a message of more than {MAX_BODY_BYTES:,} bytes")
    finally:
        await response.aclose()
    headers = [pair for pair in response.headers.multi_items() if pair[0].lower() not in _OF_THE_BODY]
    return httpx2.Response(
        response.status_code,
        headers=headers,
        content=bytes(body),
        request=response.request,
        extensions={"reason_phrase": response.reason_phrase.encode("ascii", "replace")},
    )


async def _read_answer(response: httpx2.Response) -> httpx2.Response:
    """Read the body of a response in place, and return the response. Raises RequestFailedError."""
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise RequestFailedError("its answer is compressed, although that was not offered")
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = _Limited(response.stream)
    await response.aread()
    return response


_OF_THE_BODY = frozenset({"content-encoding", "content-length", "transfer-encoding"})


def _is_stream(response: httpx2.Response) -> bool:
    return response.is_success and response.headers.get("content-type", "").lower().startswith(
        "text/event-stream"
    )


def _is_left_alone(response: httpx2.Response) -> bool:
    """Return whether the SDK reads a response itself: a stream, a redirect, or one without a body."""
    is_empty = response.is_success and not response.headers.get("content-type")
    return _is_stream(response) or response.next_request is not None or is_empty


def _is_protocol_error(response: httpx2.Response) -> bool:
    """Return whether the SDK finds an error of the protocol in a response."""
    try:
        JSONRPCError.model_validate_json(response.content)
    except ValueError:
        return False
    return response.headers.get("content-type", "").lower().startswith("application/json")


def _host(url: httpx2.URL) -> str:
    return f"[{url.host}]" if ":" in url.host else url.host


class _Watched(httpx2.AsyncByteStream):
    """A stream that says when it has ended."""

    def __init__(self, stream: httpx2.AsyncByteStream, on_end: Callable[[], None]) -> None:
        self._stream = stream
        self._on_end = on_end

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._stream:
                yield chunk
        finally:
            self._on_end()

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Limited(httpx2.AsyncByteStream):
    """A stream of which only so much is read."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for chunk in self._stream:
            read += len(chunk)
            if read > _MAX_ANSWER_BYTES:
                raise RequestFailedError(f"its answer has more than {_MAX_ANSWER_BYTES:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def _url_of(error: Exception, request: httpx2.Request) -> httpx2.URL:
    """Return the URL of the request that failed: one of a sign-in may go elsewhere."""
    try:
        return error.request.url if isinstance(error, httpx2.RequestError) else request.url
    except RuntimeError:  # not known
        return request.url


def http_transport(launch: ServerLaunch, http: HttpClient) -> Transport:
    """Return the connection to the server of a URL, which uses and then closes `http`."""
    if launch.is_sse:
        return sse_client(launch.url, httpx_client_factory=lambda headers=None, timeout=None, auth=None: http)

    @asynccontextmanager
    async def connection() -> Any:
        async with (
            http,
            streamable_http_client(
                launch.url, http_client=http, max_sse_event_size=MAX_BODY_BYTES
            ) as streams,
        ):
            yield streams

    return connection()
