"""Signing in to an MCP server: the user goes to a URL in a browser, and comes back to this machine.

Where the browser is on another machine, the user pastes the address that it could not open.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from forge_core.mcp.bridge_process import BridgeError, BridgeProcess
from forge_core.mcp.sign_in_store import SignInStore
from forge_core.mcp.wire import SIGN_IN_S, BridgeEvent, Operation, ServerLaunch

_PATH = "/callback"
_HOST = "127.0.0.1"
_MAX_REQUEST_BYTES = 16_384
_REQUEST_S = 10.0
_PARAMETERS = ("code", "state", "iss", "error", "error_description")
_PAGES = {
    200: "The sign-in has reached Forge. You can close this page and go back to the terminal.",
    400: "This is not the answer to a sign-in that Forge has begun. Go back to the terminal, and try again.",
    404: "There is nothing here.",
}
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found"}


@dataclass(frozen=True, slots=True)
class SignInDialog:
    """How the user is sent away, and comes back."""

    send_to: Callable[[str], Awaitable[None]]
    """Opens or shows a URL, which is untrusted text of a server without control characters."""
    pasted: Callable[[], Awaitable[str]]
    """Returns the next address that the user enters. Cancelled when the browser has come back by itself."""
    refuse: Callable[[str], None]
    """Shows why such an address is of no use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn:
    """The result; the texts are untrusted."""

    title: str
    """The name by which the server introduces itself."""
    scope: str
    """What was granted."""
    problem: str
    """Why the system keyring was not used although there is one; empty else."""


async def sign_in(
    launch: ServerLaunch,
    dialog: SignInDialog,
    bridge_environment: Mapping[str, str],
    port: int = 0,
) -> SignedIn:
    """Sign in to a server, and keep the tokens. `port` is that of the redirect; 0: that of the last time, for
    which Forge is registered, or else any free one.

    Raises:
        BridgeError: why that failed; the text may hold untrusted text of the server.
    """
    store = SignInStore(Path(launch.state_dir), launch.url)
    wanted = port or urlsplit(store.last_redirect()).port or 0
    try:
        async with asyncio.timeout(SIGN_IN_S), RedirectListener.open(wanted) as listener:
            return await _Work(launch, dialog, listener).run(bridge_environment)
    except TimeoutError:
        raise BridgeError(f"nobody signed in within {SIGN_IN_S / 60:g} minutes") from None


class RedirectListener:
    """Waits on this machine for the browser to come back. It answers with fixed texts only."""

    def __init__(self) -> None:
        self.redirect_uri = ""
        self._state = ""
        self._authority = ""
        self._returned: asyncio.Future[Mapping[str, str]] = asyncio.get_running_loop().create_future()

    @classmethod
    @asynccontextmanager
    async def open(cls, port: int = 0) -> AsyncIterator[RedirectListener]:
        """Listen on this port if it is free, else on any. Raises BridgeError."""
        listener = cls()
        for one in (port, 0):
            try:
                server = await asyncio.start_server(listener._serve, _HOST, one, limit=_MAX_REQUEST_BYTES)
                break
            except OSError as error:
                problem = error.strerror or str(error)
        else:
            raise BridgeError(f"no port of {_HOST} can be used: {problem}")
        listener._authority = f"{_HOST}:{server.sockets[0].getsockname()[1]}"
        listener.redirect_uri = f"http://{listener._authority}{_PATH}"
        try:
            yield listener
        finally:
            server.close()

    async def returned(self, state: str) -> Mapping[str, str]:
        """Return the parameters with which the browser comes back, once they belong to this sign-in."""
        self._state = state
        return await self._returned

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_REQUEST_S):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                status = self._status(head)
                body = _PAGES[status].encode()
                writer.write(
                    f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: text/plain; charset=utf-8\r\n"
                    f"content-length: {len(body)}\r\ncache-control: no-store\r\n"
                    "referrer-policy: no-referrer\r\n"
                    "x-content-type-options: nosniff\r\nconnection: close\r\n\r\n".encode()
                    + body
                )
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # whoever that was
        finally:
            writer.close()

    def _status(self, head: list[str]) -> int:
        """Take a request, and return the status of its answer."""
        method, _, rest = head[0].partition(" ")
        target = rest.partition(" ")[0]
        hosts = [
            value.strip()
            for name, _, value in (line.partition(":") for line in head[1:])
            if name.lower() == "host"
        ]
        if method != "GET" or target.partition("?")[0] != _PATH or hosts != [self._authority]:
            return 404
        parameters = returned_parameters(target, self._state)
        if parameters is None:
            return 400
        if not self._returned.done():
            self._returned.set_result(parameters)
        return 200


def returned_parameters(address: str, state: str) -> Mapping[str, str] | None:
    """Return the parameters of the address to which the browser was sent back; None if it does not answer the
    sign-in with this state."""
    try:
        query = parse_qs(urlsplit(address.strip()).query, max_num_fields=100)
    except ValueError:
        return None
    found = {name: query[name][0] for name in _PARAMETERS if len(query.get(name, ())) == 1}
    is_answer = "code" in found or "error" in found
    return found if state and is_answer and found.get("state") == state else None


class _Work:
    """One attempt, with a bridge of its own."""

    def __init__(self, launch: ServerLaunch, dialog: SignInDialog, listener: RedirectListener) -> None:
        self._launch = launch
        self._dialog = dialog
        self._listener = listener
        self._bridge = BridgeProcess(self._take, lambda reason: None)
        self._asking: asyncio.Task[None] | None = None

    async def run(self, bridge_environment: Mapping[str, str]) -> SignedIn:
        await self._bridge.start(bridge_environment)
        try:
            result = await self._bridge.request(
                Operation.SIGN_IN, server=self._launch.to_json(), redirect_uri=self._listener.redirect_uri
            )
        finally:
            if self._asking is not None:
                self._asking.cancel()
                await asyncio.wait([self._asking])
            await self._bridge.aclose()
        return SignedIn(title=result["title"], scope=result["scope"], problem=result["problem"])

    def _take(self, event: BridgeEvent, message: Mapping[str, Any]) -> None:
        if event is BridgeEvent.ASK and self._asking is None:
            self._asking = asyncio.create_task(self._ask(message["id"], message["params"]["url"]))

    async def _ask(self, question: int, url: str) -> None:
        answer: Mapping[str, str] | None = None
        try:
            answer = await self._answer(url)
        finally:
            with contextlib.suppress(BridgeError):
                self._bridge.send({"op": Operation.ANSWER, "id": question, "value": answer})

    async def _answer(self, url: str) -> Mapping[str, str] | None:
        """Send the user to a URL; return what the user comes back with, by itself or pasted."""
        state = parse_qs(urlsplit(url).query).get("state", [""])[0]
        if not url.isprintable():
            return None
        returned = asyncio.create_task(self._listener.returned(state))
        pasted = asyncio.create_task(self._pasted(state))
        try:
            await self._dialog.send_to(url)
            done, _ = await asyncio.wait([returned, pasted], return_when=asyncio.FIRST_COMPLETED)
            return next(iter(done)).result()
        finally:
            for task in (returned, pasted):
                task.cancel()
            await asyncio.wait([returned, pasted])

    async def _pasted(self, state: str) -> Mapping[str, str]:
        while True:
            address = await self._dialog.pasted()
            if found := returned_parameters(address, state):
                return found
            right = self._listener.redirect_uri
            self._dialog.refuse(f"This address does not end the sign-in. The right one begins with {right}?")
