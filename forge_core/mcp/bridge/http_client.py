"""The HTTP client of one server.

It uses the proxies and certificates of the environment, as the rest of Forge, and limits what it reads. A
request that fails gets an error of the protocol whose message says why: the SDK reports only that there was
one. Redirects to another origin are never followed (the SDK's transports see to that).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import httpx2
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError

from forge_core.llm.endpoints import bypasses_proxy
from forge_core.mcp.bridge.failures import RequestFailedError
from forge_core.mcp.bridge.http_failures import failure_of, refusal_of
from forge_core.mcp.wire import ServerLaunch

MAX_BODY_BYTES = 16_000_000
"""Of one message of a server."""
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


class HttpClient(httpx2.AsyncClient):
    """Sends the requests to one server, and keeps how they went."""

    def __init__(
        self,
        launch: ServerLaunch,
        on_lost: Callable[[], None],
        *,
        auth: httpx2.Auth | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`on_lost` is called when the only stream of the older transport (SSE) has ended."""
        url = httpx2.URL(launch.url)
        direct = {*_LOOPBACK, *([_host(url)] if bypasses_proxy(url.host) else [])}
        super().__init__(
            auth=auth,
            headers={**launch.headers, **(headers or {}), "accept-encoding": "identity"},
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
        self._sign_in = f"forge mcp login {launch.name}"

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request. That of a message never raises: its response holds the error instead."""
        is_message = request.method == "POST"
        try:
            async with asyncio.timeout(_FAREWELL_S if request.method == "DELETE" else None):
                response = await super().send(request, **options)
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
            self.problem = failure_of(error, request.url)
            if not is_message:
                raise RequestFailedError(self.problem) from error
            return self._failed(request, self.problem)
        return self._explained(request, response) if is_message else response

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
        error = _protocol_error(response)
        if _SESSION_HEADER in request.headers and (
            response.status_code == 404 or (response.status_code == 400 and "session" in error.lower())
        ):
            self.is_session_gone, self.problem = True, SESSION_GONE
            return self._failed(request, SESSION_GONE)
        if response.status_code == 401:
            self.needs_sign_in = not self.has_own_credentials
        elif error:
            return response
        return self._failed(request, self._refusal(response))

    def _refusal(self, response: httpx2.Response) -> str:
        return refusal_of(response, has_own_credentials=self.has_own_credentials, sign_in=self._sign_in)

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


_OF_THE_BODY = frozenset({"content-encoding", "content-length", "transfer-encoding"})


def _is_stream(response: httpx2.Response) -> bool:
    return response.is_success and response.headers.get("content-type", "").lower().startswith(
        "text/event-stream"
    )


def _is_left_alone(response: httpx2.Response) -> bool:
    """Return whether the SDK reads a response itself: a stream, a redirect, or one without a body."""
    is_empty = response.is_success and not response.headers.get("content-type")
    return _is_stream(response) or response.next_request is not None or is_empty


def _protocol_error(response: httpx2.Response) -> str:
    """Return the message of the JSON-RPC error in a response; empty if there is none."""
    try:
        return JSONRPCError.model_validate_json(response.content).error.message or "error"
    except ValueError:
        return ""


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
