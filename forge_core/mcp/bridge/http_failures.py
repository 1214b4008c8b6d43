"""Why a request to an HTTP server failed, as one sentence that says what to do."""

from __future__ import annotations

import errno
import json
import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2

_EXCERPT = 200
"""Characters of a server's own explanation."""


def failure_of(error: Exception, url: httpx2.URL) -> str:
    """Return why a request got no response, or only a part of one."""
    causes = list(_causes(error))
    host = url.host
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            reason = (cause.verify_message or str(cause)).rstrip(".")
            return (
                f"the certificate of {host} is not trusted: {reason}. If your network has a certificate "
                "authority of its own, set SSL_CERT_FILE to its file"
            )
        if isinstance(cause, ssl.SSLError):
            return (
                f"no TLS connection to {host}: {cause.reason or cause}. Check whether the url needs http://"
            )
        if isinstance(cause, socket.gaierror):
            return f"the name {host!r} was not found: {cause.strerror}. Check the url and the network"
    if isinstance(error, httpx2.ProxyError):
        return f"the proxy {_proxy(url) or ''} refused the connection: {error}".replace("  ", " ")
    if isinstance(error, httpx2.ConnectTimeout):
        return f"no connection to {_authority(url)} within the time limit{_through(url)}"
    if isinstance(error, httpx2.ConnectError):
        numbers = [one.errno for one in causes if isinstance(one, OSError) and one.errno]
        reason = os.strerror(numbers[-1]) if numbers else str(error)
        hint = ". Is the server running?" if errno.ECONNREFUSED in numbers else ""
        return f"no connection to {_authority(url)}{_through(url)}: {reason}{hint}"
    if isinstance(error, httpx2.TimeoutException):
        return f"{_authority(url)} did not answer in time"
    if isinstance(error, httpx2.DecodingError):
        return f"the answer of {_authority(url)} cannot be decoded: {error}"
    if isinstance(error, httpx2.ReadError | httpx2.WriteError | httpx2.RemoteProtocolError):
        return f"{_authority(url)} closed the connection before it had answered"
    return f"the request failed: {type(error).__name__}: {error}".rstrip(": ")


def refusal_of(response: httpx2.Response, *, has_own_credentials: bool, sign_in: str) -> str:
    """Return what the status of a response means. `sign_in` is the command that signs in; the body has been
    read."""
    status = f"HTTP {response.status_code} {response.reason_phrase}".rstrip()
    match response.status_code:
        case 401 if has_own_credentials:
            return f"it refused the credentials of its entry ({status}). Check its headers and its url"
        case 401:
            return (
                f"it needs a sign-in ({status}): {sign_in}. If it takes a key, set it in the headers of its "
                "entry"
            )
        case 403 if wants_more_scopes(response):
            return f"its sign-in does not allow this request ({status}): {sign_in}, and allow more"
        case 403:
            return f"it denies access ({status}): the account or key may not use it{_said(response)}"
        case 404 | 410:
            return f"there is no MCP server at this url ({status}). Check its path"
        case 405 | 406 | 415:
            return f'it does not speak Streamable HTTP ({status}). An old server needs "type": "sse"'
        case 407:
            return f"the proxy wants a password ({status}). Put it into the variable of the proxy"
        case 429:
            wait = response.headers.get("retry-after", "")
            return f"it gets too many requests ({status})" + (
                f"; try again in {wait} s" if wait.isdigit() else ""
            )
        case code if code >= 500:
            return f"the server failed ({status}){_said(response)}. Try again later"
    return f"it refused the request ({status}){_said(response)}"


def wants_more_scopes(response: httpx2.Response) -> bool:
    """Return whether the sign-in is good, but not for this request (RFC 6750, section 3.1)."""
    return response.status_code == 403 and "insufficient_scope" in response.headers.get(
        "www-authenticate", ""
    )


def said_by(response: httpx2.Response) -> str:
    """Return the beginning of what the server itself says in one line, unless that is a page. Errors of the
    protocol count that are not quite so: some servers leave out the id."""
    kind = response.headers.get("content-type", "").lower()
    if not kind.startswith(("text/plain", "application/json")):
        return ""
    text = response.text
    if kind.startswith("application/json"):
        with suppress(ValueError, RecursionError):
            content = json.loads(text)
            error = content.get("error", content) if isinstance(content, dict) else None
            message = error.get("message") if isinstance(error, dict) else error
            text = message if isinstance(message, str) else text
    return " ".join(text.split())[:_EXCERPT]


def _said(response: httpx2.Response) -> str:
    text = said_by(response)
    return f": {text}" if text else ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    waiting: list[BaseException] = [error]
    while waiting:
        one = waiting.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [cause for cause in (one.__cause__, one.__context__) if cause is not None]
        waiting += getattr(one, "exceptions", ())


def _authority(url: httpx2.URL) -> str:
    return f"{url.host}:{url.port}" if url.port else url.host


def _through(url: httpx2.URL) -> str:
    proxy = _proxy(url)
    return f" through the proxy {proxy}" if proxy else ""


def _proxy(url: httpx2.URL) -> str:
    """Return host and port of the proxy for a URL, without its password; empty without one."""
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all", "")
    if not proxy or proxy_bypass(url.host):
        return ""
    parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    return parts.netloc.rpartition("@")[2]
