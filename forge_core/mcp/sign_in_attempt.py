"""A sign-in that goes on in a session while the user works: its state, and what the user can do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from urllib.parse import parse_qs, urlsplit

from forge_core.errors import ForgeError
from forge_core.mcp.sign_in import SignedIn, SignInDialog, sign_in
from forge_core.mcp.sign_in_store import SignInStore
from forge_core.mcp.wire import ServerLaunch
from forge_core.sanitize import safe_line


class SignInState(StrEnum):
    CONNECTING = "connecting"
    """It is being found out where the user signs in."""
    WAITING = "waiting"
    """The user signs in at `url`."""
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class SignInAttempt:
    """One attempt. It ends by itself after at most `SIGN_IN_S`. The user opens the URL: this does not."""

    def __init__(
        self,
        launch: ServerLaunch,
        store: SignInStore,
        bridge_environment: Mapping[str, str],
        port: int,
        open_page: Callable[[str], Awaitable[bool]],
        ended: Callable[[SignInAttempt], Awaitable[None]],
    ) -> None:
        """`port` is as of `sign_in`. `open_page` opens a URL in the browser, and returns whether it could;
        `ended` is awaited once it is over, but not if it was cancelled."""
        self.server = launch.name
        self.state = SignInState.CONNECTING
        self.url = ""
        """Untrusted, but without control characters; empty before it is known."""
        self.report = ""
        """How it ended, as sentences; safe to display."""
        self.refusal = ""
        """Why the last address that was pasted is of no use; safe to display."""
        self._store = store
        self._open_page = open_page
        self._ended = ended
        self._pasted: asyncio.Queue[str] = asyncio.Queue()
        dialog = SignInDialog(self._show, self._pasted.get, self._refuse)
        self._task = asyncio.create_task(
            self._run(sign_in(launch, dialog, bridge_environment, port)), name=f"forge-sign-in-{launch.name}"
        )

    @property
    def is_over(self) -> bool:
        return self.state not in (SignInState.CONNECTING, SignInState.WAITING)

    @property
    def host(self) -> str:
        """Where the user signs in; safe to display."""
        return safe_line(urlsplit(self.url).hostname or "")

    @property
    def redirect_uri(self) -> str:
        """Where Forge waits for the browser to come back; safe to display."""
        return safe_line(parse_qs(urlsplit(self.url).query).get("redirect_uri", [""])[0])

    async def open_page(self) -> bool:
        """Open the URL in the browser; return whether that could be done."""
        return bool(self.url) and await self._open_page(self.url)

    def paste(self, address: str) -> None:
        """Take the address at which the browser has ended."""
        self.refusal = ""
        self._pasted.put_nowait(address)

    async def cancel(self) -> None:
        """End it without a result, and wait for that. Does nothing once it is over."""
        if not self.is_over:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _show(self, url: str) -> None:
        self.url, self.state = url, SignInState.WAITING

    def _refuse(self, reason: str) -> None:
        self.refusal = safe_line(reason)

    async def _run(self, work: Awaitable[SignedIn]) -> None:
        try:
            result = await work
            report = await asyncio.to_thread(done_text, self.server, result, self._store)
        except ForgeError as error:
            reason = safe_line(str(error)).rstrip(".")
            self.report = f"The sign-in to {self.server} failed: {reason}."
            self.state = SignInState.FAILED
        except asyncio.CancelledError:
            self.report = f"The sign-in to {self.server} was cancelled."
            self.state = SignInState.CANCELLED
            return
        else:
            self.report = f"{report} {safe_line(result.problem)}".rstrip()
            self.state = SignInState.DONE
        await self._ended(self)


def done_text(server: str, result: SignedIn, store: SignInStore) -> str:
    """Return what a sign-in has brought, as sentences that are safe to display. Blocks."""
    title = f" ({safe_line(result.title)})" if result.title else ""
    scope = f" It grants: {safe_line(result.scope)}." if result.scope else ""
    return f"Signed in to {server}{title}.{scope} Kept in {safe_line(store.place())}."
