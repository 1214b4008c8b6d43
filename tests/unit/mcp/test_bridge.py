"""The bridge in a process of its own, with servers that behave and servers that do not."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from forge_core.mcp.bridge_process import BridgeError
from forge_core.mcp.wire import BridgeEvent, Operation, ServerLaunch
from forge_core.tools.shell.environment import child_environment
from tests.support.hooks import running_in
from tests.support.mcp_bench import Bench

pytestmark = pytest.mark.usefixtures("preloaded_bridge")

DEADLINE_S = 60.0
"""Only bounds failure, however busy the machine is."""


@pytest_asyncio.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    await bench.bridge.start(child_environment())
    yield bench
    await bench.bridge.aclose()


async def test_a_server_is_listed_and_its_tools_run(bench: Bench) -> None:
    bench.answers = [{"action": "accept", "content": {"name": "Ada"}}]
    await bench.start("pages")
    state = await bench.until(BridgeEvent.STATE, state="ready")
    tools = await bench.until(BridgeEvent.TOOLS)
    progress: list[Mapping[str, Any]] = []

    slow = await bench.bridge.request(
        Operation.CALL, on_progress=progress.append, server="one", tool="slow", arguments={}, timeout_s=None
    )
    texts = [(await bench.call("echo", text="hi"))["content"], slow["content"]]
    asked = (await bench.call("ask"))["content"][0]["text"]
    roots = (await bench.call("roots"))["content"][0]["text"]
    prompt = await bench.bridge.request(
        Operation.PROMPT, server="one", prompt="greet", arguments={"who": "Ada"}
    )
    resource = await bench.bridge.request(Operation.READ, server="one", uri="file:///readme")

    assert (state["title"], state["protocol"]) == ("bench 1.0", "2025-11-25")
    assert [one["name"] for one in tools["items"]][:2] == ["echo", "slow"]
    assert len(tools["items"]) == 11
    assert [one[0]["text"] for one in texts] == ["hi", "done"]
    assert [(one["progress"], one["message"]) for one in progress] == [
        (1.0, "step 1"),
        (2.0, "step 2"),
        (3.0, "step 3"),
    ]
    assert '"Ada"' in asked and bench.folder.as_uri() in roots
    assert prompt["messages"][0]["content"]["text"] == "Greet Ada."
    assert resource["contents"][0]["text"] == "Read me."


async def test_a_result_that_differs_from_its_schema_is_not_lost(bench: Bench) -> None:
    await bench.start("mismatch")
    await bench.until(BridgeEvent.STATE, state="ready")

    assert (await bench.call("structured"))["structuredContent"] == {"n": "one"}


async def test_a_list_that_changes_is_read_again(bench: Bench) -> None:
    await bench.start()
    await bench.until(BridgeEvent.STATE, state="ready")
    await bench.call("change")

    async with asyncio.timeout(DEADLINE_S):
        while "added" not in [one["name"] for one in (await bench.until(BridgeEvent.TOOLS))["items"]]:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("faults", "reason"),
    [
        (["exits"], "exited with code 3 before answering: fatal: not a repository"),
        (["huge"], "sent a message of more than 16,000,000 bytes"),
        (["endless"], "its list of tools has more than 1,000 pages"),
        (["heavy"], "its list of tools has more than 8,000,000 characters"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
async def test_a_server_that_cannot_be_used_fails_with_its_reason(
    bench: Bench, faults: list[str], reason: str
) -> None:
    await bench.start(*faults)
    await bench.start(name="other")

    assert (await bench.until(BridgeEvent.STATE, state="failed"))["error"] == reason
    await bench.until(BridgeEvent.STATE, server="other", state="ready")
    assert (await bench.call("echo", server="other", text="hi"))["content"][0]["text"] == "hi"


async def test_a_program_that_does_not_exist_fails(bench: Bench) -> None:
    launch = ServerLaunch(name="one", argv=("/no/such/program",), folder=str(bench.folder))
    await bench.bridge.request(Operation.START, server=launch.to_json())

    failed = await bench.until(BridgeEvent.STATE, state="failed")
    expected = "exited with code 127 before answering: /no/such/program: No such file or directory"
    assert failed["error"] == expected


async def test_lines_that_are_no_messages_are_skipped(bench: Bench) -> None:
    await bench.start("garbage")
    await bench.until(BridgeEvent.STATE, state="ready")

    assert "Welcome" in (await bench.until(BridgeEvent.LOG))["text"]


async def test_of_many_tools_the_first_ten_thousand_count(bench: Bench) -> None:
    await bench.start("many")
    await bench.until(BridgeEvent.STATE, state="ready")

    assert len((await bench.until(BridgeEvent.TOOLS))["items"]) == 10_000


GOOD = {"tools": {"name": "a", "inputSchema": {"type": "object"}}, "prompts": {"name": "a"}}
GOOD |= {"resources": {"name": "a", "uri": "file:///a"}}
GOOD |= {"resourceTemplates": {"name": "a", "uriTemplate": "file:///{a}"}}
BAD: dict[str, list[Any]] = {
    "tools": [
        {"inputSchema": {"type": "object"}},
        {"name": "b", "inputSchema": []},
        {"name": "b", "inputSchema": {"type": "array"}},
        {"name": "b", "outputSchema": 1, "inputSchema": {}},
        "b",
    ],
    "prompts": [{"description": "b"}, {"name": "b", "arguments": [{"required": True}]}],
    "resources": [{"name": "b"}, {"uri": "file:///b"}],
    "resourceTemplates": [{"name": "b"}, None],
}
METHODS = {"resourceTemplates": "resources/templates/list"}


async def test_items_that_the_protocol_does_not_allow_are_left_out_and_counted(
    bench: Bench, tmp_path: Path
) -> None:
    script = tmp_path / "script.json"
    content = {
        METHODS.get(name, f"{name}/list"): {"result": {name: [BAD[name][0], good, *BAD[name][1:], good]}}
        for name, good in GOOD.items()
    }
    script.write_text(json.dumps(content))
    await bench.start(f"script={script}")
    ready = await bench.until(BridgeEvent.STATE, state="ready")

    resources = await bench.until(BridgeEvent.RESOURCES)
    found = {
        "tools": (await bench.until(BridgeEvent.TOOLS))["items"],
        "prompts": (await bench.until(BridgeEvent.PROMPTS))["items"],
        "resources": resources["items"],
        "resourceTemplates": resources["templates"],
    }
    names = {name: [one["name"] for one in items] for name, items in found.items()}
    assert names == {name: ["a", "a"] for name in GOOD}
    assert ready["warning"] == (
        "5 tools are left out, as the protocol does not allow them (number 1: name: Field required); "
        "2 prompts are left out, as the protocol does not allow them (number 1: name: Field required); "
        "2 resources are left out, as the protocol does not allow them (number 1: uri: Field required); "
        "2 resource templates are left out, as the protocol does not allow them (number 1: uriTemplate: "
        "Field required)"
    )


async def test_an_answer_that_json_does_not_allow_is_repaired_or_fails_the_call_at_once(
    bench: Bench, tmp_path: Path
) -> None:
    script, text = tmp_path / "script.json", {"type": "text", "text": "a\ud800b"}
    content = {
        "tools/call odd": {"result": {"content": [text], "structuredContent": {"n": float("nan")}}},
        "tools/call wrong": {"result": 5},
    }
    script.write_text(json.dumps(content))
    await bench.start(f"script={script}")
    await bench.until(BridgeEvent.STATE, state="ready")

    found = await bench.call("odd")
    assert (found["content"][0]["text"], found["structuredContent"]) == ("a?b", {"n": None})
    with pytest.raises(BridgeError, match="its answer is no message of the protocol"):
        await bench.call("wrong")


async def test_a_tool_whose_schema_is_missing_or_has_no_type_takes_an_object(
    bench: Bench, tmp_path: Path
) -> None:
    script, properties = tmp_path / "script.json", {"x": {"type": "string"}}
    tools = [
        {"name": "a"},
        {"name": "b", "inputSchema": None},
        {"name": "c", "inputSchema": {"properties": properties}, "outputSchema": {"properties": properties}},
    ]
    script.write_text(json.dumps({"tools/list": {"result": {"tools": tools}}}))
    await bench.start(f"script={script}")

    assert (await bench.until(BridgeEvent.STATE, state="ready"))["warning"] == ""
    items = (await bench.until(BridgeEvent.TOOLS))["items"]
    full = {"type": "object", "properties": properties}
    assert [one["inputSchema"] for one in items] == [{"type": "object"}, {"type": "object"}, full]
    assert items[2]["outputSchema"] == full


async def test_a_list_that_is_none_costs_no_other_list(bench: Bench, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"prompts/list": {"result": {"prompts": "none"}}}))
    await bench.start(f"script={script}")

    ready = await bench.until(BridgeEvent.STATE, state="ready")
    assert ready["warning"].startswith("its prompts are left out: it sent what the protocol does not allow: ")
    assert len((await bench.until(BridgeEvent.TOOLS))["items"]) == 11


async def test_a_crash_in_a_call_fails_the_call_and_starts_the_server_again(bench: Bench) -> None:
    await bench.start()
    await bench.until(BridgeEvent.STATE, state="ready")

    with pytest.raises(BridgeError, match="exited with code 7: fatal: out of cheese"):
        await bench.call("crash")
    await bench.until(BridgeEvent.STATE, state="restarting")
    bench.events.clear()
    await bench.until(BridgeEvent.STATE, state="ready")
    assert (await bench.call("echo", text="again"))["content"][0]["text"] == "again"


async def test_calls_end_at_their_limit_and_when_they_are_cancelled(bench: Bench) -> None:
    await bench.start()
    await bench.until(BridgeEvent.STATE, state="ready")

    with pytest.raises(BridgeError, match=r"did not end within 0\.2 s, and was cancelled"):
        await bench.bridge.request(Operation.CALL, server="one", tool="hang", arguments={}, timeout_s=0.2)
    await bench.until(BridgeEvent.LOG, text="cancelled\n")
    bench.events.clear()
    call = asyncio.create_task(bench.call("hang"))
    await asyncio.sleep(0)
    assert (await bench.call("echo", text="meanwhile"))["content"][0]["text"] == "meanwhile"
    call.cancel()
    await asyncio.wait([call])
    await bench.until(BridgeEvent.LOG, text="cancelled\n")
    assert call.cancelled()


async def test_a_bridge_that_is_killed_fails_what_is_open_and_says_so(bench: Bench) -> None:
    await bench.start()
    await bench.until(BridgeEvent.STATE, state="ready")
    call = asyncio.create_task(bench.call("hang"))
    await bench.call("echo", text="it has begun")

    os.kill(bench.bridge.pid, signal.SIGKILL)

    with pytest.raises(BridgeError, match="The MCP bridge has ended"):
        await call
    async with asyncio.timeout(DEADLINE_S):
        while not bench.ends:
            await asyncio.sleep(0.01)
    assert bench.ends == ["it ended with code -9"]


async def test_nothing_of_a_server_outlives_its_bridge(bench: Bench, tmp_path: Path) -> None:
    await bench.start("leaves-child")
    await bench.until(BridgeEvent.STATE, state="ready")
    assert len(running_in(tmp_path)) >= 3  # the supervisor, the server, and a daemon of it

    os.kill(bench.bridge.pid, signal.SIGKILL)

    async with asyncio.timeout(DEADLINE_S):
        while running_in(tmp_path):
            await asyncio.sleep(0.01)


async def test_a_server_that_is_stopped_leaves_nothing(bench: Bench, tmp_path: Path) -> None:
    await bench.start("leaves-child")
    await bench.until(BridgeEvent.STATE, state="ready")

    await bench.bridge.request(Operation.STOP, server="one")

    assert (await bench.until(BridgeEvent.STATE))["state"] == "stopped"
    assert running_in(tmp_path) == []
