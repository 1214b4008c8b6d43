"""The bridge and servers behind a URL: those that behave, and those that do not."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from forge_core.mcp.bridge.silent_servers import FILE, SilentServers
from forge_core.mcp.bridge_process import BridgeError
from forge_core.mcp.wire import BridgeEvent, ServerLaunch
from forge_core.tools.shell.environment import child_environment
from tests.support.certificates import certificates
from tests.support.mcp_bench import Bench
from tests.support.mcp_http_server import HttpMcpServer

pytestmark = pytest.mark.usefixtures("preloaded_bridge")


@pytest_asyncio.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    await bench.bridge.start(child_environment())
    yield bench
    await bench.bridge.aclose()


async def test_an_older_server_is_used_after_it_was_asked_for_the_protocol(bench: Bench) -> None:
    with HttpMcpServer() as server:
        await bench.connect(server.url, headers={"X-Key": "k"})
        state = await bench.until(BridgeEvent.STATE, state="ready")
        answer = await bench.call("echo", text="hi")

        assert (state["title"], state["protocol"]) == ("loopback 1.0", "2025-11-25")
        assert answer["content"][0]["text"] == "hi"
        assert [one.rpc for one in server.requests][:2] == ["server/discover", "initialize"]
        assert {one.headers["x-key"] for one in server.requests} == {"k"}


async def test_a_server_that_answers_after_all_is_asked_again(bench: Bench, tmp_path: Path) -> None:
    with HttpMcpServer("modern") as server:
        kept = {"state_dir": str(tmp_path), "fingerprint": "as approved"}
        silent = SilentServers(ServerLaunch(name="one", url=server.url, **kept))
        silent.note("legacy", is_silent=True)
        assert silent.attempts("auto") == ["legacy", "auto"]
        await bench.connect(server.url, **kept)

        assert (await bench.until(BridgeEvent.STATE, state="ready"))["protocol"] == "2026-07-28"
        assert silent.attempts("auto") == ["auto", "legacy"]


def test_what_is_remembered_of_silent_servers_is_bounded_and_never_in_the_way(tmp_path: Path) -> None:
    def server(number: int) -> SilentServers:
        return SilentServers(
            ServerLaunch(name="one", url=f"http://a/{number}", state_dir=str(tmp_path), fingerprint="f")
        )

    path = tmp_path / FILE
    for content in ("", "{", "[]", '{"servers": {"a": "b"}}', "[" * 100_000, "x" * 200_000):
        path.write_text(content)
        assert server(0).attempts("auto") == ["auto", "legacy"]
    for number in range(205):
        server(number).note("legacy", is_silent=True)
    assert [server(number).attempts("auto")[0] for number in (0, 4, 5, 204)] == ["auto"] * 2 + ["legacy"] * 2
    assert path.stat().st_mode & 0o777 == 0o600 and len(path.read_text()) < 20_000

    aged = {key: at - 8 * 24 * 3600 for key, at in json.loads(path.read_text())["servers"].items()}
    path.write_text(json.dumps({"servers": aged}))
    assert server(204).attempts("auto") == ["auto", "legacy"]
    path.unlink()
    path.mkdir()
    server(0).note("legacy", is_silent=True)
    assert server(0).attempts("auto") == ["auto", "legacy"]


FAILURES = {
    "silent": "it did not answer its initialization within 10 s",
    "status:403": "it denies access (HTTP 403 Forbidden): the account or key may not use it: no such luck",
    "status:404": "there is no MCP server at this url (HTTP 404 Not Found). Check its path",
    "status:405": 'it does not speak Streamable HTTP (HTTP 405 Method Not Allowed). An old server needs "type": "sse"',
    "status:500": "the server failed (HTTP 500 Internal Server Error): no such luck. Try again later",
    "html": "it answered with a web page, not with MCP. Check its url",
}


async def test_urls_that_are_no_server_fail_with_their_reason_and_what_to_do(
    bench: Bench, tmp_path: Path
) -> None:
    kept = {"state_dir": str(tmp_path / "state"), "fingerprint": "as approved"}
    with contextlib.ExitStack() as stack:
        for fault in (*FAILURES, "silent-discover"):
            server = stack.enter_context(HttpMcpServer(fault))
            await bench.connect(server.url, name=fault, **kept)

        await bench.until(BridgeEvent.STATE, server="silent-discover", state="ready")
        # The last one connects, but only after half the time. This is remembered for its entry, and nothing else.
        assert len(server.calls("server/discover")) == 1
        await bench.connect(server.url, name="again", **kept)
        await bench.until(BridgeEvent.STATE, server="again", state="ready")
        assert len(server.calls("server/discover")) == 1
        assert len(json.loads((tmp_path / "state" / FILE).read_text())["servers"]) == 1
        server.faults.clear()
        await bench.connect(server.url, name="changed", **{**kept, "fingerprint": "other"})
        await bench.until(BridgeEvent.STATE, server="changed", state="ready")
        assert len(server.calls("server/discover")) == 2
        for fault, reason in FAILURES.items():
            failed = await bench.until(BridgeEvent.STATE, server=fault, state="failed")
            assert failed["error"] == reason


async def test_a_server_that_is_not_there_says_so(bench: Bench) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    await bench.connect(f"http://127.0.0.1:{port}/mcp")

    failed = await bench.until(BridgeEvent.STATE, state="failed")
    assert failed["error"] == f"no connection to 127.0.0.1:{port}: Connection refused. Is the server running?"


async def test_redirects_are_followed_within_the_origin_only(bench: Bench) -> None:
    with HttpMcpServer() as other, HttpMcpServer(f"redirect:{other.url}") as server:
        await bench.connect(server.url, headers={"Authorization": "Bearer s3cret"})

        failed = await bench.until(BridgeEvent.STATE, state="failed")
        assert failed["error"].startswith(f"Redirect to {other.url} not followed")
        assert other.requests == []
        other.redirects["/old"] = "/mcp"
        await bench.connect(f"{other.origin}/old", name="moved", headers={"Authorization": "Bearer s3cret"})
        await bench.until(BridgeEvent.STATE, server="moved", state="ready")


async def test_a_server_that_forgot_the_session_is_connected_again_and_the_call_not_repeated(
    bench: Bench,
) -> None:
    with HttpMcpServer() as server:
        await bench.connect(server.url)
        await bench.until(BridgeEvent.STATE, state="ready")
        for way in ("forgets:400", "", "forgets:400", "", ""):
            server.faults |= {"restart", way}
            bench.events.clear()
            with pytest.raises(BridgeError, match="The request was not repeated; Forge connects again"):
                await bench.call("echo", text="hi")
            await bench.until(BridgeEvent.STATE, state="ready")
            server.faults.discard(way)

        assert len(server.calls("tools/call")) == 5
        assert (await bench.call("echo", text="hi"))["content"][0]["text"] == "hi"


CALLS = {
    "cut": r"127\.0\.0\.1:\d+ closed the connection before it had answered",
    "cut-stream": "it closed the connection before it had answered",
    "huge": "it sent a message of more than 16,000,000 bytes",
    "status:500": "the server failed .HTTP 500",
    "status:429": "it gets too many requests .HTTP 429 Too Many Requests.",
    "html": "it answered with a web page, not with MCP",
}


async def test_calls_that_go_wrong_fail_with_their_reason_and_are_not_repeated(bench: Bench) -> None:
    with contextlib.ExitStack() as stack:
        for fault, reason in CALLS.items():
            server = stack.enter_context(HttpMcpServer())
            await bench.connect(server.url, name=fault)
            await bench.until(BridgeEvent.STATE, server=fault, state="ready")
            server.faults.add(fault)

            with pytest.raises(BridgeError, match=reason):
                await bench.call("echo", server=fault, text="hi")
            assert len(server.calls("tools/call")) == 1


async def test_progress_comes_while_an_answer_is_streamed(bench: Bench) -> None:
    with HttpMcpServer("stream") as server:
        await bench.connect(server.url)
        await bench.until(BridgeEvent.STATE, state="ready")

        assert (await bench.call("echo", text="hi"))["content"][0]["text"] == "hi"


async def test_refused_credentials_and_a_missing_sign_in_are_told_apart(bench: Bench) -> None:
    with HttpMcpServer(token="right") as server:
        await bench.connect(server.url, name="key", headers={"Authorization": "Bearer wr0ng"})
        await bench.connect(server.url)

        failed = await bench.until(BridgeEvent.STATE, server="key", state="failed")
        waiting = await bench.until(BridgeEvent.STATE, state="needs sign-in")
        assert failed["error"] == (
            "it refused the credentials of its entry (HTTP 401 Unauthorized). Check its headers and its url"
        )
        assert "forge mcp login one" in waiting["error"]
        assert server.calls("tools/list") == []


async def test_a_bridge_ends_at_once_while_servers_are_silent(bench: Bench) -> None:
    with HttpMcpServer("silent") as server:
        await bench.connect(server.url)
        await asyncio.to_thread(server.has_request.wait, 30)

        await bench.bridge.aclose()
        async with asyncio.timeout(4):  # the bridge is killed after 5 s
            while bench.bridge.exit_code is None:
                await asyncio.sleep(0.01)
        assert bench.bridge.exit_code == 0


async def test_the_proxy_of_the_environment_is_used_but_not_for_this_machine(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    with HttpMcpServer() as proxy, HttpMcpServer() as local:
        host = proxy.origin.removeprefix("http://")
        variables = {"HTTP_PROXY": f"http://me:s3cret@{host}", "HTTPS_PROXY": "http://me:s3cret@127.0.0.1:1"}
        await bench.bridge.start(child_environment() | variables)
        await bench.connect("http://mcp.example.test/mcp")
        await bench.connect(local.url, name="local")
        await bench.connect("https://mcp.example.test/mcp", name="secure")

        await bench.until(BridgeEvent.STATE, state="ready")
        await bench.until(BridgeEvent.STATE, server="local", state="ready")
        failed = await bench.until(BridgeEvent.STATE, server="secure", state="failed")
        await bench.bridge.aclose()
        assert {one.path for one in proxy.requests} == {"http://mcp.example.test/mcp"}
        assert failed["error"] == (
            "no connection to mcp.example.test through the proxy 127.0.0.1:1: Connection refused. Is the server "
            "running?"
        )


async def test_certificates_of_an_own_authority_are_trusted_if_the_environment_names_it(
    tmp_path: Path,
) -> None:
    chain, authority = certificates(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(chain)
    for variables, state in (({}, "failed"), ({"SSL_CERT_FILE": str(authority)}, "ready")):
        bench = Bench(tmp_path)
        with HttpMcpServer(tls=tls) as server:
            await bench.bridge.start(child_environment() | variables)
            await bench.connect(server.url)
            report = await bench.until(BridgeEvent.STATE, state=state)
            await bench.bridge.aclose()
        if state == "failed":
            assert "the certificate of 127.0.0.1 is not trusted" in report["error"]
            assert "SSL_CERT_FILE" in report["error"]
