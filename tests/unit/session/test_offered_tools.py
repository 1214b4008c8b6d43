"""Deferred tools in sessions: what requests hold, calls by name, later tools, compaction and sub-agents."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from forge_core.approval import Answer
from forge_core.events import AgentEvent, Compaction, Permission, ToolEnd, ToolStart
from forge_core.llm.tokens import estimate_tokens
from forge_core.mcp.mcp_tool import McpTool
from forge_core.runtime import build_session
from forge_core.session.session import ForgeSession
from forge_core.store.saved_session import load_session
from forge_core.tools.builtin.tool_run import ToolRunTool
from forge_core.tools.builtin.tool_search import ToolSearchTool
from tests.support.agent_server import AgentServer, calling, saying, task_call
from tests.support.agent_server import config_for as agent_config
from tests.support.figures import command_text
from tests.support.many_tools import AnsweringCaller, listed_tool, many_tools, server_tools
from tests.support.scripted_llm import Call, ScriptedLLM
from tests.support.sessions import Answering, scripted_session
from tests.support.sse_server import Seen, SseServer, answer, tool_answer
from tests.unit.runtime.test_resuming import config_for

CALLER = AnsweringCaller()
TOOLS = many_tools(CALLER)
STAND_INS = ["tool_search", "tool_run"]


def session_with(
    root: Path, server: SseServer, tools: Sequence[McpTool] = TOOLS, **changes: Any
) -> ForgeSession:
    changes.setdefault("context_window", 128_000)
    session = build_session(config_for(root / "work", server, **changes), Answering(Answer.ONCE))
    connect(session, tools)
    return session


def connect(session: ForgeSession, tools: Sequence[McpTool]) -> None:
    """Let these be the tools of the connected servers."""
    assert session._environment.offered is not None
    session._environment.offered.use(tools)


async def turn(session: ForgeSession, text: str = "go") -> list[AgentEvent]:
    return [event async for event in session.send(text)]


def raw(request: Seen, key: str) -> bytes:
    """The bytes of a value in the body of a request."""
    body = request.body.decode()
    start = body.index(f'"{key}":') + len(key) + 3
    _, end = json.JSONDecoder().raw_decode(body, start + (body[start] == " "))
    return body[start:end].encode()


def fixed(request: Seen) -> tuple[bytes, bytes]:
    """The bytes of the tools and of the system message."""
    body, (system, *_) = request.body.decode(), request.json["messages"]
    text = json.dumps(system["content"], ensure_ascii=False)
    assert system["role"] == "system" and body.count(text) == 1
    return raw(request, "tools"), text.encode()


def names(request: Seen) -> list[str]:
    return [tool["function"]["name"] for tool in request.json["tools"]]


async def test_500_tools_add_little_to_the_first_request(tmp_path: Path) -> None:
    sizes = {}
    for count, setting in ((0, "auto"), (500, "auto"), (500, "never")):
        with SseServer(answer("ok")) as server:
            session = session_with(tmp_path, server, TOOLS[:count], mcp_defer=setting)
            await turn(session)
            await session.aclose()
            sizes[count, setting] = estimate_tokens_of(server.requests[0])
    growth = sizes[500, "auto"] - sizes[0, "auto"]
    assert 500 < growth <= 3_000
    assert sizes[500, "never"] - sizes[0, "auto"] > 60_000


def estimate_tokens_of(request: Seen) -> int:
    """The tokens of a request, in parts: longer texts are only sampled."""
    parts = [json.dumps(part) for part in (*request.json["messages"], *request.json["tools"])]
    return sum(estimate_tokens(part[at : at + 1_000]) for part in parts for at in range(0, len(part), 1_000))


async def test_tools_and_prompt_stay_the_same_over_20_turns_that_use_10_of_500_tools(tmp_path: Path) -> None:
    used = TOOLS[3::50]
    replies = []
    for number in range(20):
        if number % 2 == 0:
            tool = used[number // 2]
            arguments = {next(iter(tool.listed.schema["properties"])): "7"}
            by_name = {"name": tool.name, "arguments": arguments}
            replies.append(tool_answer((f"s{number}", "tool_search", {"query": tool.name})))
            replies.append(tool_answer((f"r{number}", "tool_run", by_name)))
        replies.append(answer("ok"))
    CALLER.calls.clear()
    late = server_tools(CALLER, "late", [listed_tool("first"), listed_tool("second")])
    [reworded] = server_tools(CALLER, "github", [listed_tool("list_issue", "In other words.")])
    with SseServer(*replies) as server:
        session = session_with(tmp_path, server)
        for number in range(20):
            if number == 5:
                connect(session, [*late, *TOOLS])
            elif number == 9:
                connect(session, [*late, reworded, *TOOLS[1:]])
            elif number == 13:
                connect(session, [reworded, *TOOLS[1:-5]])
            await turn(session, f"turn {number}")
        await session.aclose()
        requests = server.requests

    assert len(requests) == 40 and [name for name, _ in CALLER.calls] == [tool.name for tool in used]
    assert len({fixed(request) for request in requests}) == 1
    assert [name for name in names(requests[0]) if name.startswith(("mcp__", "tool_"))] == STAND_INS
    notes = [
        message["content"].removeprefix("<forge-note>\n").removesuffix("\n</forge-note>")
        for message in requests[-1].json["messages"]
        if message["role"] == "user" and message["content"].startswith("<forge-note>")
    ]
    assert notes == [
        "New tools of MCP servers, to be found with tool_search and called with tool_run:\n- late: first, second",
        "Tools with a new definition, which tool_search returns:\n- github: list_issue",
        "Tools of MCP servers that are gone:\n- late: first, second\n"
        "- git-lab: " + ", ".join(tool.listed.name for tool in TOOLS[-5:]),
    ]


async def test_a_call_goes_through_policy_events_and_journal_under_the_tool_s_name(tmp_path: Path) -> None:
    by_name = {"name": "mcp__jira__get_release", "arguments": {"release_id": "7"}}
    replies = [
        tool_answer(("c1", "tool_run", by_name)),
        tool_answer(("c2", "mcp__jira__get_release", by_name["arguments"])),  # though it was never sent
        answer("ok"),
    ]
    CALLER.calls.clear()
    with SseServer(*replies) as server:
        approver = Answering(Answer.ONCE)
        config = config_for(tmp_path / "work", server, context_window=128_000)
        session = build_session(config, approver)
        connect(session, TOOLS)
        events = await turn(session)
        journal = session._journal.path
        await session.aclose()
        requests = server.requests
    assert CALLER.calls == 2 * [("mcp__jira__get_release", {"release_id": "7"})]
    assert [request.tool for request in approver.asked] == 2 * ["mcp__jira__get_release"]
    assert len([event for event in events if isinstance(event, Permission)]) == 2
    for kind in (ToolStart, ToolEnd):
        assert {event.name for event in events if isinstance(event, kind)} == {"mcp__jira__get_release"}
    recorded = [json.loads(line) for line in journal.read_text().splitlines()]
    assert {one["data"]["name"] for one in recorded if one["type"] == "tool_start"} == {
        "mcp__jira__get_release"
    }
    called = [
        call["function"]["name"] for m in requests[-1].json["messages"] for call in m.get("tool_calls") or ()
    ]
    assert called == ["tool_run", "mcp__jira__get_release"]


async def test_late_tools_are_added_behind_the_others_and_told_of_once(tmp_path: Path) -> None:
    late = server_tools(CALLER, "a-late", [listed_tool("one")])
    with SseServer(*5 * [answer("ok")]) as server:
        session = session_with(tmp_path, server, TOOLS[:30])
        await turn(session)
        connect(session, [*late, *TOOLS[:30]])
        await turn(session)
        await turn(session)
        connect(session, [*late, *TOOLS[:40]])  # more than are sent: the last ten are deferred
        await turn(session)
        await turn(session)
        await session.aclose()
        requests = server.requests
    first, second, third, fourth, fifth = map(names, requests)
    assert second == third == [*first, "mcp__a-late__one"]
    assert fourth == fifth and {*fourth} - {*third} == {*STAND_INS}
    assert [name for name in fourth if name not in STAND_INS] == third
    assert len({fixed(request)[1] for request in requests}) == 1
    told = [str(request.json["messages"]).count("New tools of MCP servers") for request in requests]
    assert told == [0, 1, 1, 2, 2]


async def test_after_a_reset_the_model_is_told_of_late_tools_again(tmp_path: Path) -> None:
    with SseServer(*3 * [answer("ok")]) as server:
        session = session_with(tmp_path, server, TOOLS[:50])
        await turn(session)
        connect(session, TOOLS[:51])
        await turn(session)
        await session.reset()
        await turn(session)
        await session.aclose()
        requests = server.requests
    assert "- jira: list_branch" not in str(requests[0].json["messages"][1:])
    for request in requests[1:]:
        assert str(request.json["messages"][1:]).count(f"- jira: {TOOLS[50].listed.name}") == 1


async def test_definitions_of_called_tools_outlive_compactions_and_restarts(tmp_path: Path) -> None:
    tools = server_tools(CALLER, "bench", [listed_tool("say", "Say <b>it</b>.", text={"type": "string"})])
    tools += server_tools(CALLER, "bench", [listed_tool("unused", "Never called.")])
    definition = 'mcp__bench__say: Say &lt;b&gt;it&lt;/b&gt;.\nArguments: {"type":"object"'
    search = Call("tool_search", {"query": "say unused"}, id="c1")
    run = Call("tool_run", {"name": "bench say", "arguments": {"text": "hi"}}, id="c2")
    long = ["word " * 100]
    stand_ins = [ToolSearchTool(), ToolRunTool()]
    before = scripted_session(
        tmp_path, [[search], [run], long], tools=stand_ins, approver=Answering(Answer.ONCE)
    )
    after = scripted_session(tmp_path, [long], tools=stand_ins)
    for session in (before, after):
        model = session._agent.llm
        assert isinstance(model, ScriptedLLM)
        model.usage = False  # estimates: the scripted counts have nothing to do with the text
        if session is after:
            session.restore(load_session(before.config.state_dir / "journal.jsonl"))
        connect(session, tools)
        done = [event for _ in range(12) for event in await turn(session) if isinstance(event, Compaction)]
        await session.aclose()
        assert len(done) >= 2 and all("1 tool definition" in event.pinned for event in done)
        sent = [str(message.content) for message in model.seen[-1]]
        [holding] = [text for text in sent if definition in text]
        assert holding.count(definition) == 1 and "Never called." not in "".join(sent)
        head, mark = holding[: holding.index(definition)].splitlines()[-2:]
        assert head.endswith("as tool_search returns them:") and mark.startswith('<tool-output mark="')


async def test_sub_agents_reach_their_own_tools_and_no_others(tmp_path: Path) -> None:
    def agent(name: str, tools: str) -> None:
        path = tmp_path / f"work/.forge/agents/{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\ndescription: Does it\ntools: {tools}\n---\nDo it.")

    agent("narrow", "Read, mcp__jira")
    agent("few", "Read, mcp__jira__get_release")
    run = ("c1", "tool_run", {"name": "mcp__jira__get_release", "arguments": {"release_id": "7"}})
    other = ("c2", "tool_run", {"name": "mcp__github__list_issue", "arguments": {"issue_id": "7"}})
    direct = ("c3", "mcp__github__list_issue", {"issue_id": "7"})
    search = ("c4", "tool_search", {"query": "mcp__github__list_issue"})
    scripts = {
        "go": [
            calling("0.01", task_call("t1", "all"), task_call("t2", "part", agent="narrow")),
            calling("0.01", task_call("t3", "one", agent="few"), task_call("t4", "look", agent="explore")),
            saying("0.01", "ok"),
        ],
        "all": [calling("0.01", run), saying("0.01", "ok")],
        "part": [calling("0.01", run, other, direct, search), saying("0.01", "ok")],
        "one": [calling("0.01", ("c5", "mcp__jira__get_release", {"release_id": "7"})), saying("0.01", "ok")],
        "look": [saying("0.01", "ok")],
    }
    CALLER.calls.clear()
    with AgentServer(scripts) as server:
        config = agent_config(tmp_path, server, is_trusted=True, context_window=128_000)
        session = build_session(config, Answering(Answer.ONCE))
        connect(session, TOOLS)
        await turn(session)
        await session.aclose()
    assert CALLER.calls == 3 * [("mcp__jira__get_release", {"release_id": "7"})]
    arrays, prompts = {}, {}
    for name in scripts:
        body = server.bodies(name)[0]
        arrays[name] = [tool["function"]["name"] for tool in body["tools"]]
        prompts[name] = body["messages"][0]["content"]
    assert arrays["all"][-2:] == arrays["go"][-2:] == STAND_INS
    assert arrays["part"] == ["read", *STAND_INS]
    assert arrays["one"] == ["read", "mcp__jira__get_release"]
    assert not {*STAND_INS} & {*arrays["look"]}
    listed = {name: prompt.count("- github: ") + prompt.count("- jira: ") for name, prompt in prompts.items()}
    assert listed == {"go": 2, "all": 2, "part": 1, "one": 0, "look": 0}
    results = {
        message["tool_call_id"]: message["content"]
        for message in server.bodies("part")[-1]["messages"]
        if message["role"] == "tool"
    }
    assert "there is no tool 'mcp__github__list_issue'" in results["c2"]
    assert "there is no tool 'mcp__github__list_issue'" in results["c3"]
    assert "github" not in results["c4"].replace("mcp__github__list_issue", "")
    assert "mcp__github__" not in results["c4"]


async def test_commands_show_what_is_deferred_and_what_it_would_take(tmp_path: Path) -> None:
    script = str(Path(__file__).parents[2] / "support" / "mcp_server.py")
    servers = {
        "bench": {"command": sys.executable, "args": ["-S", script]},
        "core": {"command": sys.executable, "args": ["-S", script], "alwaysLoad": True},
    }
    (tmp_path / "own").mkdir()
    (tmp_path / "own/mcp.json").write_text(json.dumps({"mcpServers": servers}))
    session = scripted_session(tmp_path, [["ok"]], tools=[ToolSearchTool(), ToolRunTool()])
    await session.hooks.begin()
    assert await session.servers.settled(60) == []
    listing = await command_text("/mcp", session)
    assert re.search(r"bench +ready +11 tools, deferred \(\d+ tokens\)", listing)
    assert re.search(r"core +ready +11 tools, \d+ tokens\n", listing) and "with tool_search" in listing
    assert "Tools, deferred (" in await command_text("/mcp bench", session)
    context = " ".join((await command_text("/context", session)).split())
    assert re.search(r"11 tools of MCP servers are deferred: ~\S+ tokens that requests do not hold", context)
    assert "mcp__bench__echo" in session.tools
    await session.aclose()


async def test_denied_tools_are_neither_listed_nor_found_nor_run(tmp_path: Path) -> None:
    def run(call_id: str, name: str) -> tuple[str, str, dict[str, Any]]:
        return call_id, "tool_run", {"name": name, "arguments": {"issue_id": "7", "release_id": "7"}}

    search = ("c1", "tool_search", {"query": "jira get_release"})
    replies = [
        tool_answer(search, run("c2", "mcp__jira__get_release")),
        answer("ok"),
        tool_answer(run("c3", "mcp__github__get_issue")),
        answer("ok"),
    ]
    CALLER.calls.clear()
    with SseServer(*replies) as server:
        session = session_with(tmp_path, server, deny=("mcp__jira",))
        events = await turn(session)
        session.policy.add("deny", "mcp__github")
        session.rules_changed()
        events += await turn(session)
        await session.aclose()
        requests = server.requests
    assert CALLER.calls == []
    ends = {event.call_id: event for event in events if isinstance(event, ToolEnd)}
    assert "mcp__jira" not in str(ends["c1"].result)
    assert (ends["c2"].outcome, ends["c3"].outcome) == ("unknown_tool", "unknown_tool")
    assert "- jira:" not in requests[0].json["messages"][0]["content"]
    assert len({fixed(request) for request in requests}) == 1
    assert "Tools of MCP servers that are gone:\\n- github:" in json.dumps(requests[2].json["messages"][1:])
