"""Sub-agents: run together, limited and counted with the session, interrupted at every stage, recorded."""

from __future__ import annotations

import asyncio
import threading
from contextlib import aclosing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from forge_core.approval import (
    Answer,
    ApprovalReply,
    ApprovalRequest,
    deny_all,
)
from forge_core.config.permission_mode import PermissionMode
from forge_core.events import AgentEnd, AgentEvent, LLMChunk, LLMEnd, LLMStart, Notice, ToolEnd, ToolStart
from forge_core.redact import Redactor
from forge_core.result import AgentResult
from forge_core.runtime import build_session
from forge_core.session import ForgeSession
from forge_core.session.saved_sessions import SavedSessions
from forge_core.store.spending_ledger import SpendingLedger
from tests.support.agent_server import (
    AgentServer,
    calling,
    config_for,
    costing,
    no_answer,
    saying,
    task_call,
)
from tests.support.sse_server import Gate, Reply, Stall, chunk, error_reply, event, json_reply, tool_answer


async def turn(session: ForgeSession, text: str = "go") -> tuple[AgentResult, list[AgentEvent]]:
    events = [one async for one in session.send(text)]
    last = events[-1]
    assert isinstance(last, AgentEnd)
    assert_whole(events)
    return last.result, events


def assert_whole(events: list[AgentEvent]) -> None:
    """Assert the promises of the stream: each START has one END, and events of a sub-agent are within its call."""
    open_calls: dict[str, str] = {}
    open_llm: set[str | None] = set()
    ids: set[str] = set()
    for one in events:
        if one.parent_id is not None:
            assert open_calls.get(one.parent_id) == "task", one
            assert not isinstance(one, LLMChunk | AgentEnd)
        match one:
            case ToolStart():
                assert one.call_id not in ids
                ids.add(one.call_id)
                open_calls[one.call_id] = one.name
            case ToolEnd():
                del open_calls[one.call_id]
            case LLMStart():
                assert one.parent_id not in open_llm
                open_llm.add(one.parent_id)
            case LLMEnd():
                open_llm.remove(one.parent_id)
            case _:
                pass
    assert not open_calls
    assert not open_llm
    assert [one for one in events if isinstance(one, AgentEnd)] == events[-1:]


def ends_of(events: list[AgentEvent], name: str = "task") -> dict[str, ToolEnd]:
    return {one.call_id: one for one in events if isinstance(one, ToolEnd) and one.name == name}


async def test_the_report_of_a_sub_agent_reaches_the_model_as_data(tmp_path: Path) -> None:
    scripts = {
        "go": [calling("0.01", task_call("t1", "look", agent="explore")), saying("0.02", "All good.")],
        "look": [
            calling("0.03", ("c1", "read", {"file_path": "a.txt"})),
            saying("0.04", "a.txt says hello."),
        ],
    }
    with AgentServer(scripts) as server:
        session = build_session(config_for(tmp_path, server), deny_all)
        result, events = await turn(session)
        spent = session.spending().total.known_usd
        await session.aclose()
    assert (result.output, spent, server.charged) == ("All good.", Decimal("0.10"), Decimal("0.10"))
    assert result.usage.cost_usd == Decimal("0.10")
    inner = [(type(one).__name__, one.parent_id) for one in events if one.parent_id]
    assert inner == [
        (name, "t1") for name in ("LLMStart", "LLMEnd", "ToolStart", "Permission", "ToolEnd", "LLMStart", "LLMEnd")
    ]  # fmt: skip
    main, sub = server.bodies("go")[-1], server.bodies("look")[0]
    report = main["messages"][-1]["content"]
    assert "<tool-output" in str(report) and "a.txt says hello." in str(report)
    assert [tool["function"]["name"] for tool in sub["tools"]] == ["read", "glob", "grep", "ls"]
    system = str(sub["messages"][0]["content"])
    assert "sub-agent 'explore'" in system and "Plan mode" in system
    assert SpendingLedger(tmp_path / "state/sessions").day() == Decimal("0.10")


BILL = {"id": "gen-1", "total_cost": 0.05, "tokens_prompt": 10, "tokens_completion": 4,
        "native_tokens_prompt": 10, "native_tokens_completion": 4}  # fmt: skip


def reading(usd: str, number: int) -> Reply:
    return calling(usd, (f"c{number}", "read", {"file_path": "a.txt", "offset": number}))


async def test_four_at_once_with_one_stopped_one_failing_one_asking_and_one_cut_by_the_budget(
    tmp_path: Path,
) -> None:
    gate, others_ended = Gate(), Gate()
    stalled = Reply([event(chunk("I have begun")), gate, Stall()], headers={"X-Generation-Id": "gen-1"})
    scripts = {
        "go": [calling("0.01", task_call("t1", "stall"), task_call("t2", "crash"),
                       task_call("t3", "ask", agent="verify"), task_call("t4", "spend"))],
        "stall": [reading("0.02", 1), stalled],
        "crash": [reading("0.03", 1), error_reply(503, "no more today")],
        "ask": [calling("0.01", ("c1", "bash", {"command": "touch made", "description": "x"})), saying("0.01", "ok")],
        "spend": [replace(first := reading("0.30", 1), steps=[others_ended, *first.steps]),
                  *(reading("0.30", number) for number in range(2, 9))],
    }  # fmt: skip
    asked: list[ApprovalRequest] = []

    async def approve(request: ApprovalRequest) -> ApprovalReply:
        asked.append(request)
        return ApprovalReply(Answer.ONCE)

    tasks_before, threads_before = asyncio.all_tasks(), {*threading.enumerate()}
    with AgentServer(scripts, routes={"GET /generation": json_reply({"data": BILL})}) as server:
        config = config_for(tmp_path, server, max_cost=1.5, sandbox="off")
        session = build_session(config, approve)
        events: list[AgentEvent] = []
        async for one in session.send("go"):
            events.append(one)
            if {"t2", "t3"} <= {*ends_of(events)}:
                others_ended.open()
            if "t4" in ends_of(events) and "t1" not in ends_of(events):
                assert await asyncio.to_thread(gate.reached.wait, 10)
                (first,) = [agent for agent in session.agents.list() if agent.call_id == "t1"]
                await session.agents.stop(first.number)
        assert_whole(events)
        await session._billing.settled()
        total = session.spending().total
        await session.aclose()
        charged = server.charged + Decimal("0.05")

    ends = ends_of(events)
    assert {call: (end.success, end.outcome) for call, end in ends.items()} == {
        "t1": (False, "interrupted"), "t2": (False, "failed"), "t3": (True, "done"), "t4": (False, "failed"),
    }  # fmt: skip
    assert "I have begun" in ends["t1"].result
    assert "no more today" in ends["t2"].result
    assert "limit of the session's cost" in ends["t4"].result
    assert [(one.agent, one.target) for one in asked] == [("verify", "touch made")]
    assert (tmp_path / "work/made").exists()

    assert total.known_usd == charged
    assert SpendingLedger(tmp_path / "state/sessions").day() == charged
    sessions = SavedSessions(config.state_dir, Redactor())
    saved = sessions.load(session.id)
    assert sum(call.usage.cost_usd or 0 for call in saved.calls) == charged
    assert [message.role for message in saved.messages] == ["user", "assistant", *["tool"] * 4]
    children = [sessions.load(agent.id) for agent in session.agents.list()]
    assert [one.turns[0].text for one in children] == ["stall", "crash", "ask", "spend"]
    assert [(one.parent, one.agent) for one in children] == [
        (session.id, name) for name in ("general", "general", "verify", "general")
    ]
    for child in children:
        answered = {one.tool_call_id for one in child.messages if one.role == "tool"}
        assert answered == {call.id for one in child.messages for call in one.tool_calls or ()}

    assert not asyncio.all_tasks() - tasks_before
    left = {*threading.enumerate()} - threads_before
    assert not [one for one in left if one.name.startswith("forge-journal")]


SLEEP = ("c1", "bash", {"command": "sleep 30", "description": "wait"})
STAGES: dict[str, list[Reply]] = {
    "before the first byte": [Reply([Stall()])],
    "in the answer": [Reply([event(chunk("half")), Stall()])],
    "in a command": [calling("0.01", SLEEP)],
    "while it asks": [calling("0.01", ("c1", "write", {"file_path": "b.txt", "content": "x"}))],
    "while it waits to repeat a request": [error_reply(503, "later", headers={"Retry-After": "30"})],
}


def has_reached(stage: str, session: ForgeSession, asked: list[ApprovalRequest]) -> bool:
    """Return whether all sub-agents that run are at the stage."""
    running = [one for one in session.agents.list() if one.state == "running"]
    if stage == "while it asks":
        return len(asked) == len(running) > 0
    if stage == "in a command":
        return len(running) > 0 and all(one.calls for one in running)
    return len(running) > 0


@pytest.mark.parametrize("way", ["interrupt", "close"])
@pytest.mark.parametrize("stage", STAGES)
async def test_an_interrupt_ends_all_sub_agents_with_the_turn(tmp_path: Path, stage: str, way: str) -> None:
    names = ("one", "two", "three")
    calls = [task_call(f"t{number}", name) for number, name in enumerate(names)]
    scripts = {
        "go": [calling("0.01", *calls), saying("0.01", "And on.")],
        **dict.fromkeys(names, STAGES[stage]),
    }
    asked: list[ApprovalRequest] = []

    async def never(request: ApprovalRequest) -> ApprovalReply:
        asked.append(request)
        return await asyncio.Future()

    tasks_before = asyncio.all_tasks()
    with AgentServer(scripts) as server:
        # Two run, and the third one waits for a place.
        config = config_for(tmp_path, server, max_agents=2, max_retries=1, sandbox="off", allow=("bash",))
        session = build_session(config, never)
        events: list[AgentEvent] = []
        reader = asyncio.create_task(_read(session, events))
        async with asyncio.timeout(20):
            while len(server.asked) < 3 or not has_reached(stage, session, asked):
                await asyncio.sleep(0.01)
            assert [one.state for one in session.agents.list()] == ["running", "running", "waiting"]
            if way == "interrupt":
                session.interrupt()
            else:
                reader.cancel()
            await asyncio.wait([reader])
        assert [one.state for one in session.agents.list()] == ["stopped"] * 3
        assert session.agents.running_count == 0
        if way == "interrupt":
            assert_whole(events)
            assert {one.outcome for one in ends_of(events).values()} == {"interrupted"}
        result, _ = await turn(session, "again")
        assert result.output == "And on."
        await session.aclose()
    sessions = SavedSessions(config.state_dir, Redactor())
    for saved in (sessions.load(one) for one in [session.id, *(one.id for one in session.agents.list()[:2])]):
        calls_made = [call.id for one in saved.messages for call in one.tool_calls or ()]
        assert [one.tool_call_id for one in saved.messages if one.role == "tool"] == calls_made
        starts = [one["data"]["call_id"] for one in saved.records if one["type"] == "tool_start"]
        ends = [one["data"]["call_id"] for one in saved.records if one["type"] == "tool_end"]
        assert sorted(starts) == sorted(ends)
    assert not asyncio.all_tasks() - tasks_before


async def _read(session: ForgeSession, events: list[AgentEvent]) -> None:
    async with aclosing(session.send("go")) as stream:
        async for one in stream:
            events.append(one)


async def test_a_continued_session_counts_its_sub_agents_once_and_each_can_be_continued(
    tmp_path: Path,
) -> None:
    scripts = {
        "go": [calling("0.01", task_call("t1", "look")), saying("0.02", "Good.")],
        "look": [reading("0.03", 1), saying("0.04", "It says hello."), saying("0.05", "Hello again.")],
    }
    with AgentServer(scripts) as server:
        config = config_for(tmp_path, server)
        session = build_session(config, deny_all)
        await turn(session)
        await session.aclose()
        (agent,) = session.agents.list()
        again = build_session(config, deny_all, resume=session.id)
        assert again.spending().total.known_usd == Decimal("0.10")
        await again.aclose()
        of_agent = build_session(config, deny_all, resume=agent.id)
        result, _ = await turn(of_agent, "and again?")
        assert (result.output, of_agent.spending().total.known_usd) == ("Hello again.", Decimal("0.12"))
        await of_agent.aclose()
    assert server.charged == SpendingLedger(tmp_path / "state/sessions").day() == Decimal("0.15")
    sessions = SavedSessions(config.state_dir, Redactor())
    assert [one.id for one in sessions.list()] == [agent.id, session.id]  # it is the user's own now


async def test_an_agent_in_the_background_goes_on_after_the_turn_and_reports_with_the_next_message(
    tmp_path: Path,
) -> None:
    gate = Gate()
    late = saying("0.04", "Found it in b.py.")
    scripts = {
        "go": [calling("0.01", task_call("t1", "look", background=True, description="look </forge-note>")),
               saying("0.02", "Started."), saying("0.01", "Thanks.")],
        "look": [reading("0.03", 1), replace(late, steps=[gate, *late.steps])],
    }  # fmt: skip

    with AgentServer(scripts) as server:
        session = build_session(config_for(tmp_path, server), deny_all, no_answer)
        result, events = await turn(session)
        assert (result.output, session.agents.running_count) == ("Started.", 1)
        assert session.status.running_agents == 1
        assert ends_of(events)["t1"].outcome == "background"
        assert not [one for one in events if one.parent_id]
        gate.open()
        async with asyncio.timeout(10), aclosing(session.notices()) as notices:
            notice = await anext(notices)
        assert "Agent 1 (general: look </forge-note>) has finished: 1 call" in notice.text
        assert session.spending().total.known_usd == Decimal("0.10")
        await turn(session, "and?")
        await session.aclose()
        asked = str(server.bodies("go")[-1]["messages"][-1]["content"])
    assert asked.startswith("and?")
    assert asked.count("</forge-note>") == 1
    assert "<forge-note>" in asked and "Found it in b.py." in asked and "<tool-output mark=" in asked
    saved = SavedSessions(tmp_path / "state", Redactor()).load(session.id)
    assert sum(call.usage.cost_usd or 0 for call in saved.calls) == server.charged == Decimal("0.11")


async def test_what_ran_in_the_background_ends_with_the_session_and_is_not_forgotten(tmp_path: Path) -> None:
    scripts = {
        "go": [calling("0.01", task_call("t1", "look", background=True)), saying("0.02", "Started."),
               saying("0.01", "I see.")],
        "look": [Reply([event(chunk("half of it")), Stall()])],
    }  # fmt: skip

    with AgentServer(scripts) as server:
        config = config_for(tmp_path, server)
        session = build_session(config, deny_all, no_answer)
        await turn(session)
        async with asyncio.timeout(10):
            while server.asked.count("look") < 1:
                await asyncio.sleep(0.01)
        await session.aclose()
        again = build_session(config, deny_all, no_answer, resume=session.id)
        await turn(again, "what happened?")
        await again.aclose()
        assert "has stopped" in str(server.bodies("go")[-1]["messages"][-1]["content"])


async def test_without_a_user_no_sub_agent_is_left_in_the_background(tmp_path: Path) -> None:
    scripts = {
        "go": [calling("0.01", task_call("t1", "look", background=True)), saying("0.02", "Done.")],
        "look": [saying("0.04", "Found it.")],
    }
    with AgentServer(scripts) as server:
        session = build_session(config_for(tmp_path, server), deny_all)
        _, events = await turn(session)
        assert ends_of(events)["t1"].result == "Found it."
        await session.aclose()


SUMMARY = "<conversation>"
"""The first word of a request for a summary."""


def rambling(number: int) -> Reply:
    """Return a long answer that reads a file."""
    call = (f"c{number}", "read", {"file_path": "a.txt", "offset": number})
    return costing("0.01", tool_answer(call, text=f"I go on with {number}. " * 300))


async def test_a_long_sub_agent_is_compacted_within_its_own_window(tmp_path: Path) -> None:
    too_long = error_reply(400, "This endpoint's maximum context length is 16000 tokens.")
    scripts = {
        "go": [calling("0.01", task_call("t1", "look")), saying("0.02", "Good.")],
        "look": [*(rambling(number) for number in range(1, 12)), too_long, saying("0.04", "It is long.")],
        SUMMARY: [saying("0.01", "A long file was read.")] * 5,
        "What": [saying("0.01", "Nothing is missing.")] * 5,  # the audit of the summary
    }
    with AgentServer(scripts) as server:
        session = build_session(config_for(tmp_path, server, context_window=16_000), deny_all)
        (tmp_path / "work/a.txt").write_text("".join(f"line {number}\n" for number in range(40)))
        result, events = await turn(session)
        spent = session.spending().total.known_usd
        await session.aclose()
    assert SUMMARY in server.asked
    assert (result.output, spent) == ("Good.", server.charged)
    texts = [one.text for one in events if isinstance(one, Notice) and one.parent_id == "t1"]
    assert [text for text in texts if text.startswith("Conversation summarised")]
    saved = SavedSessions(tmp_path / "state", Redactor()).load(session.id)
    assert sum(call.usage.cost_usd or 0 for call in saved.calls) == spent


async def test_what_an_agent_in_the_background_changes_after_the_turn_is_undone_together(
    tmp_path: Path,
) -> None:
    gate = Gate()
    late = calling("0.01", ("c1", "write", {"file_path": "b.txt", "content": "x"}))
    scripts = {
        "go": [calling("0.01", task_call("t1", "look", background=True)), saying("0.02", "Started.")],
        "look": [replace(late, steps=[gate, *late.steps]), saying("0.01", "Written.")],
    }
    with AgentServer(scripts) as server:
        session = build_session(config_for(tmp_path, server), allow_all, no_answer)
        await turn(session)
        gate.open()
        async with asyncio.timeout(10), aclosing(session.notices()) as notices:
            await anext(notices)
        assert (tmp_path / "work/b.txt").exists()
        assert session.undo is not None
        report = await session.undo.undo()
        assert (len(report.touched), (tmp_path / "work/b.txt").exists()) == (1, False)
        await session.aclose()


async def allow_all(request: ApprovalRequest) -> ApprovalReply:
    return ApprovalReply(Answer.ONCE)


@pytest.mark.parametrize(
    ("front_matter", "mode", "asked", "written"),
    [
        ("permissionMode: plan", "accept-edits", 0, False),
        ("permissionMode: default", "accept-edits", 1, True),
        ("permissionMode: bypassPermissions", "ask", 1, True),
        ("model: sonnet", "accept-edits", 0, True),
        ("disallowedTools: Write", "accept-edits", 0, False),
    ],
)
async def test_a_file_can_only_make_an_agent_ask_more_often(
    tmp_path: Path, front_matter: str, mode: str, asked: int, written: bool
) -> None:
    requests: list[ApprovalRequest] = []

    async def approve(request: ApprovalRequest) -> ApprovalReply:
        requests.append(request)
        return ApprovalReply(Answer.ONCE)

    scripts = {
        "go": [calling("0.01", task_call("t1", "look", agent="one")), saying("0.02", "Done.")],
        "look": [
            calling("0.01", ("c1", "write", {"file_path": "b.txt", "content": "x"})),
            saying("0.01", "Well."),
        ],
    }
    with AgentServer(scripts) as server:
        config = config_for(tmp_path, server, is_trusted=True, permission_mode=PermissionMode(mode))
        (tmp_path / "work/.forge/agents").mkdir(parents=True)
        (tmp_path / "work/.forge/agents/one.md").write_text(
            f"---\nname: one\ncolor: Purple\n{front_matter}\n---\nYou are one."
        )
        session = build_session(config, approve)
        result, events = await turn(session)
        await session.aclose()
    assert (result.output, len(requests), (tmp_path / "work/b.txt").exists()) == ("Done.", asked, written)
    assert {one.agent for one in requests} <= {"one"}
    assert [one.color for one in events if isinstance(one, ToolStart)] == ["purple", ""]
    assert "You are one." in str(server.bodies("look")[0]["messages"][0])
    warned = [one.text for one in events if isinstance(one, Notice) and "sonnet" in one.text]
    assert bool(warned) == ("sonnet" in front_matter)


async def test_a_file_gives_an_agent_no_more_model_calls_than_a_turn_has(tmp_path: Path) -> None:
    scripts = {
        "go": [calling("0.01", task_call("t1", "look", agent="one")), saying("0.02", "Done.")],
        "look": [reading("0.01", 1), reading("0.01", 2), saying("0.01", "Never said.")],
    }
    with AgentServer(scripts) as server:
        config = config_for(tmp_path, server, is_trusted=True, max_iterations=2)
        (tmp_path / "work/.forge/agents").mkdir(parents=True)
        (tmp_path / "work/.forge/agents/one.md").write_text(
            "---\nname: one\nmaxTurns: 99999\n---\nYou are one."
        )
        session = build_session(config, deny_all)
        _, events = await turn(session)
        await session.aclose()
    assert "was ended after 2 model calls, its limit" in ends_of(events)["t1"].result


async def test_the_text_of_sub_agents_brings_no_events(tmp_path: Path) -> None:
    counts = []
    for number in (1, 300):
        scripts = {
            "go": [calling("0.01", task_call("t1", "one"), task_call("t2", "two")), saying("0.02", "Good.")],
            **{name: [saying("0.01", *(f"word{at} " for at in range(number)))] for name in ("one", "two")},
        }
        with AgentServer(scripts) as server:
            session = build_session(config_for(tmp_path, server), deny_all)
            _, events = await turn(session)
            counts.append(sum(not isinstance(one, LLMChunk) for one in events))
            await session.aclose()
    assert counts[0] == counts[1]


async def test_a_sub_agent_has_the_skills_of_the_session_and_loads_them_itself(tmp_path: Path) -> None:
    folder = tmp_path / "own/skills/pdf"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\ndescription: Fills in forms\n---\nUse black ink.")
    load = ("c1", "skill", {"name": "pdf"})
    scripts = {
        "go": [
            calling("0.01", load),
            calling("0.01", task_call("t1", "fill"), task_call("t2", "look", agent="explore")),
            calling("0.01", ("c2", "skill", {"name": "pdf"})),
            saying("0.01", "done"),
        ],
        "fill": [calling("0.01", load), saying("0.01", "filled")],
        "look": [saying("0.01", "seen")],
    }
    with AgentServer(scripts) as server:
        config = replace(config_for(tmp_path, server), own_extensions=(tmp_path / "own",))
        session = build_session(config, deny_all)
        _, events = await turn(session)
        await session.aclose()

    loaded = [one.result for one in events if isinstance(one, ToolEnd) and one.name == "skill"]
    assert [result.split(":")[0].split(".")[0] for result in loaded] == [
        "The skill 'pdf' is loaded",
        "The skill 'pdf' is loaded",
        "The skill 'pdf' is already loaded",
    ]
    assert "Use black ink." in str(server.bodies("fill")[-1]["messages"][-1]["content"])
    assert "- pdf: Fills in forms" in str(server.bodies("fill")[0]["messages"][0]["content"])
    assert "- pdf: Fills in forms" not in str(server.bodies("look")[0]["messages"][0]["content"])
