"""Signs in to a server: asks the session to send the user to a URL, and keeps the tokens once they work."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
from mcp import Client
from mcp.shared.auth import AuthorizationCodeResult

from forge_core import __version__
from forge_core.errors import ConfigError
from forge_core.mcp.bridge.failures import RequestFailedError, reason_of
from forge_core.mcp.bridge.http_client import HttpClient, has_own_credentials, http_transport
from forge_core.mcp.bridge.kept_sign_in import add_token, with_tokens
from forge_core.mcp.bridge.listing import as_json
from forge_core.mcp.bridge.oauth_flow import (
    MemoryStorage,
    SendPlain,
    check_target,
    kept_tokens,
    known_client,
    new_provider,
    run_flow,
    secrets_in,
)
from forge_core.mcp.sign_in_store import SavedSignIn, SignInStore
from forge_core.mcp.wire import SIGN_IN_S, ServerLaunch

Ask = Callable[[str, dict[str, Any]], Awaitable[Any]]


async def sign_in(
    launch: ServerLaunch, redirect_uri: str, ask: Ask, learn: Callable[[tuple[str, ...]], None]
) -> dict[str, Any]:
    """Sign in, and keep the tokens once the server has accepted them. What was kept before stays until then.

    Raises:
        RequestFailedError: why that failed.
    """
    if has_own_credentials(launch):
        raise RequestFailedError("its entry has credentials of its own: remove the header Authorization")
    work = _NewSignIn(launch, redirect_uri, ask, learn)
    try:
        async with asyncio.timeout(SIGN_IN_S):
            return await work.run()
    except TimeoutError:
        raise RequestFailedError(f"nobody signed in within {SIGN_IN_S / 60:g} minutes") from None


class _NewSignIn:
    """One attempt. The first request of the connection starts it: the answer says where to sign in."""

    def __init__(
        self, launch: ServerLaunch, redirect_uri: str, ask: Ask, learn: Callable[[tuple[str, ...]], None]
    ) -> None:
        self._launch = launch
        self._ask = ask
        self._learn = learn
        self._store = SignInStore(Path(launch.state_dir), launch.url)
        self._before = SavedSignIn()
        self._redirect_uri = redirect_uri
        self._url = ""
        self._tokens: dict[str, Any] | None = None
        self._result: SavedSignIn | None = None
        self._failure: RequestFailedError | None = None
        self._http = HttpClient(launch, lambda: None, sign_in=self)

    async def run(self) -> dict[str, Any]:
        with contextlib.suppress(ConfigError):  # what cannot be read is replaced
            self._before = await asyncio.to_thread(self._store.read)
        self._learn(self._before.secrets())
        client = Client(
            http_transport(self._launch, self._http),
            mode="legacy" if self._launch.is_sse else "auto",
            cache=None,
            client_info=types.Implementation(name="forge", title="Forge", version=__version__),
        )
        try:
            async with client:
                if self._result is None and client.server_capabilities.tools:
                    await client.list_tools()  # some servers ask only now
                info = client.server_info
        except Exception as error:  # of a server, or of the SDK about what a server has sent
            if self._failure is not None:
                raise self._failure from error
            if self._result is not None and self._http.needs_sign_in:
                raise RequestFailedError("it refuses the tokens that it has just issued") from error
            raise RequestFailedError(reason_of(error)) from error
        if self._result is None:
            raise RequestFailedError("it does not ask for a sign-in")
        problem = await self._keep(self._result)
        scope = (self._result.tokens or {}).get("scope") or ""
        return {"title": f"{info.title or info.name}" if info else "", "scope": scope, "problem": problem}

    async def _keep(self, result: SavedSignIn) -> str:
        try:
            async with self._store.lock():
                return await asyncio.to_thread(self._store.write, result)
        except (ConfigError, OSError) as error:
            raise RequestFailedError(str(error)) from error

    # As HttpClient uses it

    async def authorize(self, request: httpx2.Request, send: SendPlain) -> None:
        if self._failure is not None:
            raise self._failure
        if self._tokens is None and self._before.challenge_status:
            challenge = httpx2.Response(
                self._before.challenge_status,
                headers={"www-authenticate": self._before.challenge},
                request=request,
            )
            await self._obtain(request, challenge, send)
        add_token(request, self._tokens)

    async def challenged(self, request: httpx2.Request, response: httpx2.Response, send: SendPlain) -> bool:
        if response.status_code != 401 or self._tokens is not None:
            return False
        await self._obtain(request, response, send)
        add_token(request, self._tokens)
        return True

    async def _obtain(self, request: httpx2.Request, challenge: httpx2.Response, send: SendPlain) -> None:
        """Run the flow once; a second attempt fails as the first did."""
        storage = MemoryStorage(
            kept_tokens(self._before), known_client(self._launch, self._before, self._redirect_uri)
        )
        self._provider = new_provider(
            self._launch,
            self._before,
            storage,
            redirect_uri=self._redirect_uri,
            redirect=self._redirected,
            callback=self._called_back,
        )
        context = self._provider.context
        try:
            await run_flow(self._provider, request, self._launch, send, challenge)
        except RequestFailedError as error:
            self._failure = error
            raise
        if storage.tokens is None:
            self._failure = RequestFailedError("the sign-in failed: there are no tokens")
            raise self._failure
        self._learn((*secrets_in(storage.tokens), *secrets_in(storage.client)))
        self._tokens = as_json(storage.tokens)
        resource = context.protected_resource_metadata
        found = SavedSignIn(
            redirect_uri=self._redirect_uri,
            client=None if self._launch.client_id or storage.client is None else as_json(storage.client),
            authorization_server=as_json(context.oauth_metadata) if context.oauth_metadata else None,
            resource=as_json(resource) if resource else None,
        )
        self._result = with_tokens(found, storage.tokens)

    async def _redirected(self, url: str) -> None:
        """Take the URL to which the user is to go."""
        check_target(httpx2.URL(url), self._launch)
        context = self._provider.context
        metadata, client = context.oauth_metadata, context.client_info
        methods = metadata.code_challenge_methods_supported if metadata else None
        if methods is not None and "S256" not in methods:
            raise RequestFailedError(
                "the sign-in failed: its authorization server does not offer PKCE (S256)"
            )
        ways = (metadata.token_endpoint_auth_methods_supported if metadata else None) or []
        is_posted = "client_secret_post" in ways and "client_secret_basic" not in ways
        if self._launch.client_secret and client is not None and is_posted:
            client.token_endpoint_auth_method = "client_secret_post"
        self._url = url

    async def _called_back(self) -> AuthorizationCodeResult:
        """Return what the authorization server has sent the user back with."""
        answer = await self._ask("sign-in", {"url": self._url})
        if not isinstance(answer, Mapping):
            raise RequestFailedError("the sign-in was cancelled")
        if error := answer.get("error"):
            why = f": {answer['error_description']}" if answer.get("error_description") else ""
            raise RequestFailedError(f"the sign-in was refused ({error}){why}"[:300])
        return AuthorizationCodeResult(
            code=answer.get("code", ""), state=answer.get("state"), iss=answer.get("iss")
        )
