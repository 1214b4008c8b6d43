"""What servers ask of the session through the bridge: the user's answers, and the folders of the workspace."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from forge_core.mcp.wire import BridgeEvent, Operation
from forge_core.tools.shell.environment import child_environment
from tests.support.mcp_bench import Bench

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}}
QUESTION = {"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": SCHEMA}}


@pytest_asyncio.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    await bench.bridge.start(child_environment())
    yield bench
    await bench.bridge.aclose()


async def test_a_question_is_withdrawn_when_its_call_is_cancelled(bench: Bench) -> None:
    await bench.start()
    await bench.until(BridgeEvent.STATE, state="ready")
    call = asyncio.create_task(bench.call("ask"))
    asked = await bench.until(BridgeEvent.ASK, kind="elicit")

    call.cancel()

    await bench.until(BridgeEvent.WITHDRAW, id=asked["id"])
    await bench.until(BridgeEvent.LOG, text="cancelled\n")
    bench.bridge.send({"op": Operation.ANSWER, "id": asked["id"], "value": {"action": "decline"}})
    assert (await bench.call("echo", text="on"))["content"][0]["text"] == "on"


async def test_a_server_that_asks_without_a_call_gets_no_answer_of_the_user(bench: Bench) -> None:
    script = bench.folder / "script.json"
    steps = {"tools/list": {"asks": [QUESTION], "result": {"tools": []}}, "tools/call": {"asks": [QUESTION]}}
    script.write_text(json.dumps(steps))
    await bench.start(f"script={script}")
    await bench.until(BridgeEvent.STATE, state="ready")
    assert [one for one in bench.events if one["event"] == BridgeEvent.ASK] == []

    bench.answers = [{"action": "decline"}]
    assert "decline" in (await bench.call("echo"))["content"][0]["text"]
    assert len([one for one in bench.events if one["event"] == BridgeEvent.ASK]) == 1


async def test_servers_are_told_of_other_roots(bench: Bench, tmp_path: Path) -> None:
    await bench.start()
    await bench.until(BridgeEvent.STATE, state="ready")

    await bench.bridge.request(Operation.ROOTS, roots=[str(tmp_path), str(tmp_path / "more")])

    told = json.loads((await bench.until(BridgeEvent.LOG, stream="stderr"))["text"])
    assert [one["uri"] for one in told["roots"]] == [tmp_path.as_uri(), (tmp_path / "more").as_uri()]
    assert (tmp_path / "more").as_uri() in (await bench.call("roots"))["content"][0]["text"]
