"""Requests with the tokens of a kept sign-in. Tokens are renewed, but nobody is asked to sign in."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import httpx2
from mcp.shared.auth import OAuthToken

from forge_core.errors import ConfigError
from forge_core.mcp.bridge.failures import RequestFailedError
from forge_core.mcp.bridge.http_failures import wants_more_scopes
from forge_core.mcp.bridge.listing import as_json
from forge_core.mcp.bridge.oauth_flow import (
    MemoryStorage,
    SendPlain,
    kept_tokens,
    known_client,
    new_provider,
    run_flow,
)
from forge_core.mcp.sign_in_store import SavedSignIn, SignInStore
from forge_core.mcp.wire import ServerLaunch


class KeptSignIn:
    """The sign-in to one server.

    Requests do not go through the SDK's client: it lets one request at a time wait for an answer. Tokens are
    renewed under the lock of the store, so by one process, and the old ones stay until there are new ones.
    """

    def __init__(self, launch: ServerLaunch, learn: Callable[[tuple[str, ...]], None]) -> None:
        """`learn` is given values that must appear nowhere."""
        self.store = SignInStore(Path(launch.state_dir), launch.url)
        self._launch = launch
        self._learn = learn
        self._saved: SavedSignIn | None = None

    async def authorize(self, request: httpx2.Request, send: SendPlain) -> None:
        """Add the token to a request, renewed if it has expired. Raises RequestFailedError."""
        saved = self._saved or await self._read()
        if saved.is_expired:
            saved = await self._renewed(saved, request, send)
        add_token(request, saved.tokens)

    async def challenged(self, request: httpx2.Request, response: httpx2.Response, send: SendPlain) -> bool:
        """Deal with a response of status 401 or 403; return whether `request` has a new token now. Raises
        RequestFailedError."""
        saved = self._saved
        if response.status_code == 401 and saved is not None and saved.tokens is not None:
            rejected = request.headers.get("authorization")
            add_token(request, saved.tokens)
            if request.headers.get("authorization") != rejected:
                return True  # renewed for another request while this one was under way
            renewed = await self._renewed(saved, request, send)
            if renewed.tokens != saved.tokens:
                add_token(request, renewed.tokens)
                return True
        if response.status_code == 401 or wants_more_scopes(response):
            await self._note(response)
        return False

    def is_replaced(self) -> bool:
        """Return whether there are other tokens than those that were used, and use those from then on."""
        used = 0.0 if self._saved is None else self._saved.obtained_at
        if self.store.obtained_at() == used:
            return False
        self._saved = None
        return True

    async def _renewed(self, before: SavedSignIn, request: httpx2.Request, send: SendPlain) -> SavedSignIn:
        """Return new tokens, or the old ones if the server does not renew them."""
        async with self.store.lock():
            saved = await self._read()
            if saved.tokens != before.tokens or not (saved.tokens or {}).get("refresh_token"):
                return saved  # another process has renewed them
            storage = MemoryStorage(kept_tokens(saved), known_client(self._launch, saved))
            provider = new_provider(self._launch, saved, storage)
            provider.context.token_expiry_time = 1.0  # in the past
            status = await run_flow(provider, request, self._launch, send)
            if storage.tokens is None:
                if status == 429 or status >= 500:
                    raise RequestFailedError(f"its sign-in was not renewed (HTTP {status}). Try again later")
                return saved
            self._saved = saved = with_tokens(saved, storage.tokens)
            self._learn(saved.secrets())
            await self._write(saved)
            return saved

    async def _note(self, response: httpx2.Response) -> None:
        """Keep what the server asks for: the sign-in is another program, and may not be asked again."""
        header = response.headers.get("www-authenticate", "")
        async with self.store.lock():
            saved = await self._read()
            noted = replace(saved, challenge_status=response.status_code, challenge=header)
            if noted != saved:
                await self._write(noted)

    async def _read(self) -> SavedSignIn:
        try:
            self._saved = await asyncio.to_thread(self.store.read)
        except ConfigError as error:
            raise RequestFailedError(str(error)) from error
        self._learn(self._saved.secrets())
        return self._saved

    async def _write(self, saved: SavedSignIn) -> None:
        try:
            await asyncio.to_thread(self.store.write, saved)
        except ConfigError as error:
            raise RequestFailedError(str(error)) from error


def add_token(request: httpx2.Request, tokens: object) -> None:
    """Put the access token of a token response into a request; do nothing without one."""
    if isinstance(tokens, dict) and (token := tokens.get("access_token")):
        request.headers["authorization"] = f"Bearer {token}"


def with_tokens(saved: SavedSignIn, tokens: OAuthToken) -> SavedSignIn:
    """Return a sign-in with tokens that were just issued."""
    now = time.time()
    expires_at = None if tokens.expires_in is None else now + tokens.expires_in
    return replace(saved, tokens=as_json(tokens), obtained_at=now, expires_at=expires_at)
