"""Signing in to a server in the place of its user, and what the tokens are used for afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from forge_core.mcp.bridge.failures import RequestFailedError
from forge_core.mcp.bridge.kept_sign_in import KeptSignIn
from forge_core.mcp.bridge.oauth_flow import check_target
from forge_core.mcp.bridge_process import BridgeError
from forge_core.mcp.sign_in import RedirectListener, SignedIn, SignInDialog, sign_in
from forge_core.mcp.sign_in_store import SavedSignIn, SignInStore
from forge_core.mcp.wire import BridgeEvent, Operation, ServerLaunch
from forge_core.tools.shell.environment import network_environment
from tests.support.mcp_bench import Bench
from tests.support.mcp_oauth_server import OAuthMcpServer, browse

pytestmark = pytest.mark.usefixtures("preloaded_bridge")


@pytest.fixture
def server() -> Iterator[OAuthMcpServer]:
    with OAuthMcpServer() as server:
        yield server


class User:
    """Signs in with a browser on this machine, or (`pastes`) on another one."""

    def __init__(self, *, pastes: tuple[str, ...] = ()) -> None:
        self.urls: list[str] = []
        self.pages: list[tuple[int, str]] = []
        self.refusals: list[str] = []
        self._pastes = [*pastes]

    @property
    def dialog(self) -> SignInDialog:
        return SignInDialog(self._go, self._paste, self.refusals.append)

    async def _go(self, url: str) -> None:
        self.urls.append(url)
        if not self._pastes:
            self.pages.append(await asyncio.to_thread(browse, url))

    async def _paste(self) -> str:
        if self._pastes:
            return self._pastes.pop(0)
        await asyncio.Event().wait()
        return ""


def launch_to(server: OAuthMcpServer, state: Path, **fields: str) -> ServerLaunch:
    return ServerLaunch(name="one", url=server.url, protocol="auto", state_dir=str(state), **fields)  # type: ignore[arg-type]


async def signed_in(server: OAuthMcpServer, state: Path, user: User | None = None, **fields: str) -> SignedIn:
    user = user or User()
    return await sign_in(launch_to(server, state, **fields), user.dialog, network_environment())


@contextlib.asynccontextmanager
async def connected(server: OAuthMcpServer, state: Path, folder: Path):  # type: ignore[no-untyped-def]
    bench = Bench(folder)
    await bench.bridge.start(network_environment())
    await bench.connect(server.url, state_dir=str(state))
    try:
        yield bench
    finally:
        await bench.bridge.aclose()


async def test_a_sign_in_registers_forge_and_its_tokens_are_used_and_never_told(
    server: OAuthMcpServer, tmp_path: Path
) -> None:
    user = User()
    async with connected(server, tmp_path, tmp_path) as bench:
        waiting = await bench.until(BridgeEvent.STATE, state="needs sign-in")
        result = await signed_in(server, tmp_path, user)
        await bench.until(BridgeEvent.STATE, state="ready")
        answer = await bench.call("echo", text=f"I know {next(iter(server.tokens))}")

    registered, asked = server.registrations[0], server.authorizations[0]
    assert "forge mcp login one" in waiting["error"]
    assert (result.title, result.scope, result.problem) == ("loopback", "read", "")
    assert registered["client_name"] == "Forge"
    assert registered["redirect_uris"] == [asked["redirect_uri"]]
    assert asked["redirect_uri"].startswith("http://127.0.0.1:") and asked["redirect_uri"].endswith(
        "/callback"
    )
    assert (asked["resource"], asked["code_challenge_method"]) == (server.url, "S256")
    assert user.pages == [
        (200, "The sign-in has reached Forge. You can close this page and go back to the terminal.")
    ]
    assert answer["content"][0]["text"] == "I know [redacted]"
    assert len(server.authorizations) == 1


async def test_an_address_that_is_pasted_ends_a_sign_in_too(server: OAuthMcpServer, tmp_path: Path) -> None:
    class Elsewhere(User):
        async def _go(self, url: str) -> None:
            state = url.partition("state=")[2].partition("&")[0]
            server.authorizations.append(dict(one.split("=") for one in url.partition("?")[2].split("&")))
            self._pastes.append("http://127.0.0.1:1/callback?code=code-1&state=wrong")
            self._pastes.append(
                f" http://127.0.0.1:1/callback?code=code-1&state={state}&iss={server.origin} \n"
            )

        async def _paste(self) -> str:
            while not self._pastes:
                await asyncio.sleep(0)
            return self._pastes.pop(0)

    user = Elsewhere()
    await signed_in(server, tmp_path, user)

    assert SignInStore(tmp_path, server.url).read().tokens is not None
    assert len(user.refusals) == 1 and "The right one begins with http://127.0.0.1:" in user.refusals[0]


FAILURES = {
    "denies": r"the sign-in was refused \(access_denied\): the user said no",
    "other-issuer": "iss mismatch",
    "no-pkce": "does not offer PKCE",
    "plain-elsewhere": "the sign-in failed: it is to go on at http://as.example.test/token, which is not https",
    "refuses-new": "it refuses the tokens that it has just issued",
    "no-registration": "Registration failed: 404",
    "html": "it answered with a web page",
}


class Browsing(Bench):
    """A bridge whose questions for a sign-in are answered by a browser."""

    def _take(self, event: BridgeEvent, message: Mapping[str, Any]) -> None:
        if event is BridgeEvent.ASK:
            self.task = asyncio.create_task(self._browse(message))

    async def _browse(self, message: Mapping[str, Any]) -> None:
        url = message["params"]["url"]
        returned = asyncio.create_task(self.listener.returned(url.partition("state=")[2].partition("&")[0]))
        await asyncio.to_thread(browse, url)
        self.bridge.send({"op": Operation.ANSWER, "id": message["id"], "value": await returned})

    async def sign_in(self, launch: ServerLaunch) -> None:
        async with RedirectListener.open() as self.listener:
            uri = self.listener.redirect_uri
            await self.bridge.request(Operation.SIGN_IN, server=launch.to_json(), redirect_uri=uri)


async def test_sign_ins_that_fail_say_why_and_leave_the_old_tokens(tmp_path: Path) -> None:
    bench = Browsing(tmp_path)
    await bench.bridge.start(network_environment())
    for fault, reason in FAILURES.items():
        with OAuthMcpServer(fault) as server:
            before = SavedSignIn(
                tokens={"access_token": "old-acc3ss", "token_type": "Bearer"}, obtained_at=1.0
            )
            SignInStore(tmp_path, server.url).write(before)

            with pytest.raises(BridgeError, match=reason):
                await bench.sign_in(launch_to(server, tmp_path))
            assert SignInStore(tmp_path, server.url).read() == before
            assert len(server.authorizations) <= 1
    await bench.bridge.aclose()


async def test_a_registered_client_signs_in_with_its_secret(tmp_path: Path) -> None:
    with OAuthMcpServer("no-registration") as server:
        await signed_in(server, tmp_path, client_id="mine", client_secret="s3cret-of-mine")

        assert server.registrations == []
        assert server.authorizations[0]["client_id"] == "mine"
        assert server.token_headers[0].startswith("Basic ")
        assert "s3cret-of-mine" not in SignInStore(tmp_path, server.url).path.read_text()


async def test_a_refusal_of_older_tokens_renews_nothing(tmp_path: Path) -> None:
    """Another request has renewed them while this one was under way."""
    launch = ServerLaunch(name="s", url="https://a.example/mcp", state_dir=str(tmp_path))
    kept = KeptSignIn(launch, lambda secrets: None)
    kept.store.write(SavedSignIn(tokens={"access_token": "new", "refresh_token": "r"}))
    request = httpx2.Request("POST", launch.url, headers={"authorization": "Bearer old"})
    await kept.authorize(httpx2.Request("POST", launch.url), nothing_to_send)

    assert await kept.challenged(request, httpx2.Response(401), nothing_to_send)
    assert request.headers["authorization"] == "Bearer new"


async def nothing_to_send(request: httpx2.Request) -> httpx2.Response:
    raise AssertionError(f"sent to {request.url}")


async def test_tokens_that_have_expired_are_renewed_once_by_two_processes(
    server: OAuthMcpServer, tmp_path: Path
) -> None:
    await signed_in(server, tmp_path)
    store = SignInStore(tmp_path, server.url)
    store.write(replace(store.read(), expires_at=time.time() - 1))
    server.tokens.clear()

    async with connected(server, tmp_path, tmp_path) as one, connected(server, tmp_path, tmp_path) as two:
        for bench in (one, two):
            await bench.until(BridgeEvent.STATE, state="ready")
        assert server.renewals() == 1
        server.tokens.clear()  # they are revoked, though not expired
        calls = [bench.call("echo", text="hi") for bench in (one, two, one, two)]
        answers = await asyncio.gather(*calls)

    assert [one["content"][0]["text"] for one in answers] == ["hi"] * 4
    assert server.renewals() == 2
    assert len(server.authorizations) == 1
    assert store.read().tokens["access_token"] in server.tokens  # type: ignore[index]


async def test_a_renewal_that_fails_for_now_keeps_the_tokens_and_one_that_is_refused_needs_a_sign_in(
    server: OAuthMcpServer, tmp_path: Path
) -> None:
    await signed_in(server, tmp_path)
    store = SignInStore(tmp_path, server.url)
    async with connected(server, tmp_path, tmp_path) as bench:
        await bench.until(BridgeEvent.STATE, state="ready")
        kept = store.read().tokens
        server.tokens.clear()
        server.faults.add("renewal:503")
        with pytest.raises(BridgeError, match=r"its sign-in was not renewed \(HTTP 503\)"):
            await bench.call("echo", text="hi")
        assert store.read().tokens == kept
        server.faults.clear()
        server.renewal_tokens.clear()
        with pytest.raises(BridgeError, match="it needs a sign-in"):
            await bench.call("echo", text="hi")
        await bench.until(BridgeEvent.STATE, state="needs sign-in")
        with pytest.raises(BridgeError, match="'one' is not connected: it needs a sign-in"):
            await bench.call("echo", text="hi")
        assert store.read().tokens == kept

        bench.events.clear()
        await signed_in(server, tmp_path)
        await bench.until(BridgeEvent.STATE, state="ready")


async def test_a_call_that_needs_more_is_allowed_by_the_next_sign_in(
    server: OAuthMcpServer, tmp_path: Path
) -> None:
    await signed_in(server, tmp_path)
    async with connected(server, tmp_path, tmp_path) as bench:
        await bench.until(BridgeEvent.STATE, state="ready")
        with pytest.raises(
            BridgeError, match=r"its sign-in does not allow this request .*: forge mcp login one"
        ):
            await bench.call("admin")
        assert (await bench.until(BridgeEvent.STATE))["state"] == "ready"
        result = await signed_in(server, tmp_path)

    assert result.scope == "read admin"
    assert len(server.registrations) == 1
    assert server.authorizations[1]["scope"] == "read admin"
    assert SignInStore(tmp_path, server.url).read().challenge_status == 0


async def test_the_listener_answers_only_its_own_sign_in_and_ends_with_it(tmp_path: Path) -> None:
    async with RedirectListener.open() as listener:
        returned = asyncio.create_task(listener.returned("right"))
        await asyncio.sleep(0)
        uri = listener.redirect_uri
        pages = [
            await asyncio.to_thread(browse, address)
            for address in (
                f"{uri}?code=x&state=wrong",
                f"{uri}?code=x",
                uri.replace("127.0.0.1", "localhost") + "?code=x&state=right",
                uri.replace("/callback", "/favicon.ico"),
                f"{uri}?code=x&code=y&state=right",
                f"{uri}?code=%3Cb%3E&state=right",
            )
        ]
        answer = await returned

    assert [status for status, _ in pages] == [400, 400, 404, 404, 400, 200]
    assert answer == {"code": "<b>", "state": "right"}
    assert all("<b>" not in text for _, text in pages)
    with pytest.raises(OSError):
        await asyncio.to_thread(browse, uri)


async def test_a_port_that_is_taken_is_replaced_by_a_free_one() -> None:
    async with RedirectListener.open() as first:
        port = int(first.redirect_uri.split(":")[2].partition("/")[0])
        async with RedirectListener.open(port) as second:
            assert first.redirect_uri != second.redirect_uri
    async with RedirectListener.open(port) as third:
        assert third.redirect_uri == first.redirect_uri


@pytest.mark.parametrize(
    ("own", "target", "is_allowed"),
    [
        ("https://mcp.example.com/mcp", "https://auth.example.com/token", True),
        ("https://mcp.example.com/mcp", "http://auth.example.com/token", False),
        ("https://mcp.example.com/mcp", "http://mcp.example.com/token", False),
        ("http://mcp.example.com/mcp", "http://mcp.example.com/token", True),
        ("https://mcp.example.com/mcp", "https://user:pw@auth.example.com/token", False),
        ("https://mcp.example.com/mcp", "file:///etc/passwd", False),
        *(
            ("https://mcp.example.com/mcp", f"https://{host}/token", False)
            for host in ("127.0.0.1", "localhost", "x.localhost", "[::1]", "10.0.0.5", "169.254.169.254")
        ),
        *(
            ("https://mcp.example.com/mcp", f"https://{host}/token", False)
            for host in ("2130706433", "0x7f.1", "[::ffff:10.0.0.5]", "[fe80::1]", "0.0.0.0")
        ),
        ("https://10.0.0.4/mcp", "https://10.0.0.5/token", True),
        ("http://127.0.0.1:3000/mcp", "http://localhost:9000/token", True),
        ("http://127.0.0.1:3000/mcp", "https://auth.example.com/token", True),
        ("http://127.0.0.1:3000/mcp", "http://10.0.0.5/token", False),
        ("https://mcp.example.com/mcp", "https://8.8.8.8/token", True),
    ],
)
def test_a_sign_in_goes_on_only_where_the_server_may_send_it(own: str, target: str, is_allowed: bool) -> None:
    with nullcontext() if is_allowed else pytest.raises(RequestFailedError, match="it is to go on at"):
        check_target(httpx2.URL(target), ServerLaunch(name="one", url=own))
