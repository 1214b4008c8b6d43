"""The bridge and a server made with the official SDK: the revision 2026-07-28, and the transport of 2024-11-05."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from forge_core.mcp.bridge_process import BridgeError
from forge_core.mcp.wire import BridgeEvent
from forge_core.tools.shell.environment import child_environment
from tests.support.mcp_bench import Bench

SERVER = str(Path(__file__).parents[2] / "support" / "mcp_sdk_server.py")
MODERN = "2026-07-28"
ADA = {"action": "accept", "content": {"name": "Ada"}}


@pytest.fixture
def origin() -> Iterator[str]:
    with subprocess.Popen([sys.executable, SERVER], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()


@pytest_asyncio.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    await bench.bridge.start(child_environment())
    yield bench
    await bench.bridge.aclose()


async def test_the_revision_of_2026_works_with_all_that_is_new_in_it(bench: Bench, origin: str) -> None:
    await bench.connect(f"{origin}/mcp")
    await bench.connect(f"{origin}/mcp", name="pinned", protocol=MODERN)
    states = [await bench.until(BridgeEvent.STATE, server=one, state="ready") for one in ("one", "pinned")]
    tools = await bench.until(BridgeEvent.TOOLS, server="pinned")
    bench.answers = [ADA, ADA, {"action": "accept", "content": {"name": "Grace"}}]

    asked = await bench.call("ask", rounds=3)
    placed = await bench.call("where", place="Zürich")
    await bench.call("swap_headers")
    with pytest.raises(BridgeError, match="'where' has changed since it was listed"):
        await bench.call("where", place="Zürich")
    again = await bench.call("where", place="Zürich")
    await bench.call("change")
    async with asyncio.timeout(30):
        while "added" not in [one["name"] for one in (await bench.until(BridgeEvent.TOOLS))["items"]]:
            await asyncio.sleep(0.01)

    assert [one["protocol"] for one in states] == [MODERN, MODERN]
    assert {"ask", "where"} <= {one["name"] for one in tools["items"]}
    assert asked["content"][0]["text"] == "3 rounds, the last answer: Grace"
    assert [one["content"][0]["text"] for one in (placed, again)] == ["Zürich", "Zürich"]
    with pytest.raises(BridgeError, match="it asked more than 10 times during one call"):
        bench.answers = [ADA] * 12
        await bench.call("ask", rounds=12)


async def test_the_older_transport_works_and_its_end_is_noticed(bench: Bench, origin: str) -> None:
    await bench.connect(f"{origin}/sse", is_sse=True, protocol="legacy")
    await bench.until(BridgeEvent.STATE, state="ready")
    await bench.connect(f"{origin}/nothing", name="wrong", is_sse=True, protocol="legacy")
    wrong = await bench.until(BridgeEvent.STATE, server="wrong", state="failed")
    assert (await bench.call("where", place="here"))["content"][0]["text"] == "here"

    with pytest.raises(BridgeError, match="closed the connection"):
        await bench.call("crash")
    await bench.until(BridgeEvent.STATE, state="restarting")
    failed = await bench.until(BridgeEvent.STATE, state="failed")
    assert "Connection refused. Is the server running?" in failed["error"]
    assert wrong["error"] == "there is no MCP server at this url (HTTP 404 Not Found). Check its path"
