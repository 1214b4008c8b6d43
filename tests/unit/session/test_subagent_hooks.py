"""Hooks of sub-agents: at their start and end, around their calls, and what a stop does to them."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import deny_all
from forge_core.events import AgentEvent, Notice, ToolEnd
from forge_core.runtime import build_session
from forge_core.session import ForgeSession
from forge_core.session.session_hooks import MAX_BLOCKS
from tests.support.agent_server import AgentServer, calling, config_for, no_answer, saying, task_call
from tests.support.hooks import answering, declared, write_hooks, written_objects

READ = ("c1", "read", {"file_path": "a.txt"})


def open_session(root: Path, server: AgentServer, *hooks: dict[str, Any]) -> ForgeSession:
    write_hooks(root / "own/hooks.json", *hooks)
    own = root / "own"
    config = config_for(root, server, config_dir=own, own_extensions=(own,), sandbox="off")
    return build_session(config, deny_all, no_answer)


async def turn(session: ForgeSession, text: str = "go") -> list[AgentEvent]:
    return [one async for one in session.send(text)]


async def reached(path: Path) -> None:
    async with asyncio.timeout(20):
        while not path.exists():
            await asyncio.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_hooks_follow_a_sub_agent_from_its_start_to_its_end(tmp_path: Path) -> None:
    context = {"hookSpecificOutput": {"additionalContext": "look at the tests too"}}
    block = "cat >> stops; echo >> stops; [ -e again ] || { touch again; echo not yet >&2; exit 2; }"
    scripts = {
        "go": [calling("0.01", task_call("t1", "look", agent="explore"), READ), saying("0.01", "Done.")],
        "look": [calling("0.01", READ), saying("0.01", "Half of it."), saying("0.01", "All of it.")],
    }
    with AgentServer(scripts) as server:
        session = open_session(
            tmp_path,
            server,
            declared("SubagentStart", answering(context), matcher="explore"),
            declared("SubagentStop", block, matcher="explore"),
            declared("PreToolUse", "cat >> calls; echo >> calls", matcher="Read"),
            declared("PostToolUse", "cat >> calls; echo >> calls", matcher="Read"),
        )
        events = await turn(session)
        await session.aclose()
        (agent,) = session.agents.list()
        first, *_, last = server.bodies("look")

    assert "From a hook of SubagentStart:" in str(first["messages"][-1])
    assert "look at the tests too" in str(first["messages"][-1])
    assert "not yet" in str(last["messages"][-1])
    report = next(one for one in events if isinstance(one, ToolEnd) and one.name == "task")
    assert "All of it." in report.result
    stops = written_objects(tmp_path / "work/stops")
    assert [(one["last_assistant_message"], one["stop_hook_active"]) for one in stops] == [
        ("Half of it.", False),
        ("All of it.", True),
    ]
    calls = written_objects(tmp_path / "work/calls")
    about = {(one["hook_event_name"], one.get("agent_id"), one.get("agent_type")) for one in calls}
    assert about == {
        (event, *of)
        for event in ("PreToolUse", "PostToolUse")
        for of in ((None, None), (agent.id, "explore"))
    }


async def test_a_hook_cannot_make_a_sub_agent_go_on_for_ever(tmp_path: Path) -> None:
    scripts = {
        "go": [calling("0.01", task_call("t1", "look")), saying("0.01", "Done.")],
        "look": [saying("0.01", "ok")] * 20,
    }
    with AgentServer(scripts) as server:
        session = open_session(tmp_path, server, declared("SubagentStop", "echo more >&2; exit 2"))
        events = await turn(session)
        await session.aclose()
        assert len(server.bodies("look")) == MAX_BLOCKS + 1
    assert [one.text for one in events if isinstance(one, Notice)] == [
        f"The agent general ends although a hook of SubagentStop blocks it: it has done so {MAX_BLOCKS} times."
    ]


@pytest.mark.parametrize(
    ("event", "matcher"), [("SubagentStart", ""), ("PreToolUse", "Read"), ("SubagentStop", "")]
)
@pytest.mark.parametrize("way", ["stop", "interrupt", "close"])
async def test_hooks_of_a_stopped_sub_agent_end(tmp_path: Path, event: str, matcher: str, way: str) -> None:
    scripts = {
        "go": [calling("0.01", task_call("t1", "look")), saying("0.01", "Done.")],
        "look": [calling("0.01", READ), saying("0.01", "ok")],
    }
    tasks_before = asyncio.all_tasks()
    with AgentServer(scripts) as server:
        line = "echo $$ > pid.new; mv pid.new pid; sleep 600"
        session = open_session(tmp_path, server, declared(event, line, matcher=matcher))
        running = asyncio.create_task(turn(session))
        await reached(tmp_path / "work/pid")
        match way:
            case "stop":
                await session.agents.stop(1)
                await running
            case "interrupt":
                session.interrupt()
                await running
            case _:
                await session.aclose()
                await asyncio.wait([running])
        (agent,) = session.agents.list()
        await session.aclose()
    # At SubagentStop its answer is there already.
    assert agent.state == ("done" if event == "SubagentStop" and way != "close" else "stopped")
    assert not is_running(int((tmp_path / "work/pid").read_text()))
    assert not asyncio.all_tasks() - tasks_before


async def test_an_interrupt_leaves_hooks_of_an_agent_in_the_background_running(tmp_path: Path) -> None:
    scripts = {
        "go": [calling("0.01", task_call("t1", "look", background=True)), saying("0.01", "Started.")],
        "look": [saying("0.01", "Found it.")],
    }
    line = "touch asked; until [ -e go ]; do sleep 0.01; done; cat > stop"
    with AgentServer(scripts) as server:
        session = open_session(tmp_path, server, declared("SubagentStop", line))
        await turn(session)
        await reached(tmp_path / "work/asked")
        session.interrupt()
        (tmp_path / "work/go").touch()
        async with asyncio.timeout(20):
            await anext(session.notices())
        await session.aclose()
    (agent,) = session.agents.list()
    assert agent.state == "done"
    assert written_objects(tmp_path / "work/stop")[0]["agent_id"] == agent.id
