"""The SDK's OAuth client, begun with what Forge has kept of a sign-in, and held to rules of Forge."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, ValidationError

from forge_core import __version__
from forge_core.llm.endpoints import is_loopback
from forge_core.mcp.bridge.failures import RequestFailedError
from forge_core.mcp.sign_in_store import SavedSignIn
from forge_core.mcp.wire import ServerLaunch
from forge_core.redact import Redactor

_ANY_REDIRECT = "http://127.0.0.1/callback"
"""Where no one is redirected."""
_MAX_REASON = 300

SendPlain: TypeAlias = Callable[[httpx2.Request], Awaitable[httpx2.Response]]
"""Sends a request without the headers of the server, and reads the response."""


class MemoryStorage:
    """What the SDK obtains, until it counts; a `TokenStorage` of the SDK."""

    def __init__(self, tokens: OAuthToken | None, client: OAuthClientInformationFull | None) -> None:
        self._before = tokens
        self.tokens: OAuthToken | None = None
        """New tokens."""
        self.client = client

    async def get_tokens(self) -> OAuthToken | None:
        return self._before

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


def new_provider(
    launch: ServerLaunch,
    saved: SavedSignIn,
    storage: MemoryStorage,
    *,
    redirect_uri: str = _ANY_REDIRECT,
    redirect: Callable[[str], Awaitable[None]] | None = None,
    callback: Callable[[], Awaitable[AuthorizationCodeResult]] | None = None,
) -> OAuthClientProvider:
    """Return the SDK's client. It can renew tokens; it can sign in only with `redirect` and `callback`."""
    provider = OAuthClientProvider(
        launch.url,
        OAuthClientMetadata(
            client_name="Forge",
            redirect_uris=[AnyUrl(redirect_uri)],
            software_id="forge-assistant",
            software_version=__version__,
        ),
        storage,
        redirect,
        callback,
        client_metadata_url=launch.client_metadata_url or None,
    )
    if callback is None:  # a renewal needs to know where; a sign-in finds out anew
        if saved.authorization_server is not None:
            provider.context.oauth_metadata = OAuthMetadata.model_validate(saved.authorization_server)
        if saved.resource is not None:
            provider.context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(
                saved.resource
            )
    return provider


def kept_tokens(saved: SavedSignIn) -> OAuthToken | None:
    return OAuthToken.model_validate(saved.tokens) if saved.tokens else None


def known_client(
    launch: ServerLaunch, saved: SavedSignIn, redirect_uri: str = ""
) -> OAuthClientInformationFull | None:
    """Return the client that the entry names, or the one that was registered, if that may use this URI."""
    if launch.client_id:
        return OAuthClientInformationFull(
            client_id=launch.client_id,
            client_secret=launch.client_secret or None,
            token_endpoint_auth_method="client_secret_basic" if launch.client_secret else "none",
            redirect_uris=[AnyUrl(redirect_uri or _ANY_REDIRECT)],
        )
    if saved.client is None:
        return None
    client = OAuthClientInformationFull.model_validate(saved.client)
    if redirect_uri and AnyUrl(redirect_uri) not in (client.redirect_uris or ()):
        return None
    return client


def check_target(url: httpx2.URL, launch: ServerLaunch) -> None:
    """Raise RequestFailedError for a URL at which no sign-in may go on: one that is not encrypted, or one of
    an internal network that the server itself is not in. The server names it, and Forge sends requests there.
    """
    if problem := _problem(url, httpx2.URL(launch.url)):
        shown = url.copy_with(userinfo=b"", query=None, fragment=None)
        raise RequestFailedError(f"the sign-in failed: it is to go on at {shown}, {problem}")


def _problem(url: httpx2.URL, own: httpx2.URL) -> str:
    is_local = is_loopback(url.host) and is_loopback(own.host)
    is_plain = url.scheme == "http" and own.scheme == "http" and (url.host == own.host or is_local)
    if url.scheme != "https" and not is_plain:
        return "which is not https"
    if url.userinfo:
        return "a URL with a user name"
    if url.host != own.host and _is_internal(url.host) and not _is_internal(own.host):
        return "an address of an internal network"
    return ""


def _is_internal(host: str) -> bool:
    """Return whether a host is written as an address of this machine or of a private network. What a name
    resolves to is not known here."""
    host = host.lower().rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        try:
            address = ipaddress.IPv4Address(socket.inet_aton(host))  # 127.1, 0x7f000001, 2130706433
        except OSError:
            return False
    return not (getattr(address, "ipv4_mapped", None) or address).is_global


async def run_flow(
    provider: OAuthClientProvider,
    request: httpx2.Request,
    launch: ServerLaunch,
    send: SendPlain,
    challenge: httpx2.Response | None = None,
) -> int:
    """Send what the SDK wants to send before `request` can be sent; return the last status.

    `challenge` is the response to `request` that asks for a sign-in; without it, tokens are renewed.

    Raises:
        RequestFailedError: the flow failed; the text holds no secret.
    """
    status = 0
    flow = provider.async_auth_flow(request)
    try:
        outgoing = await anext(flow)
        if challenge is not None:
            outgoing = await flow.asend(challenge)
        while outgoing is not request:
            check_target(outgoing.url, launch)
            response = await send(outgoing)
            status = response.status_code
            outgoing = await flow.asend(response)
    except (OAuthFlowError, OAuthTokenError, OAuthRegistrationError, ValidationError) as error:
        context = provider.context
        values = (*secrets_in(context.current_tokens), *secrets_in(context.client_info))
        text = " ".join(Redactor(values)(str(error)).split())
        raise RequestFailedError(f"the sign-in failed: {text[:_MAX_REASON]}") from error
    finally:
        await flow.aclose()
    return status


def secrets_in(found: OAuthToken | OAuthClientInformationFull | None) -> tuple[str, ...]:
    """Return the values that must appear nowhere."""
    names = ("access_token", "refresh_token", "client_secret")
    values = (getattr(found, name, None) for name in names)
    return tuple(one for one in values if one)
