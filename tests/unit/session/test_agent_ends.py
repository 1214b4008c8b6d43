"""Ends of sub-agents: by a bug, and at the limits of their definitions."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from forge_core.approval import deny_all
from forge_core.runtime import build_session
from forge_core.tools.builtin.read import ReadTool
from tests.support.agent_server import AgentServer, calling, config_for, no_answer, saying, task_call
from tests.unit.session.test_subagents import ends_of, reading, turn


class FailsOnce(ReadTool):
    """A tool of someone else with a bug, which the first sub-agent meets as it starts."""

    name = "foreign"

    def __init__(self) -> None:
        self.is_failing = True

    @property
    def for_agents(self) -> bool:  # type: ignore[override]
        if self.is_failing:
            self.is_failing = False
            raise RuntimeError("a bug with sk-or-v1-0123456789abcdef")
        return True


@pytest.mark.parametrize("in_background", [False, True])
async def test_a_bug_at_the_start_of_a_sub_agent_ends_it_alone(tmp_path: Path, in_background: bool) -> None:
    calls = [
        task_call(f"t{number}", name, background=in_background) for number, name in enumerate(("a", "b"))
    ]
    scripts = {
        "go": [calling("0.01", *calls), saying("0.02", "Good.")],
        **{name: [saying("0.01", "Fine.")] for name in ("a", "b")},
    }
    tasks_before, threads_before = asyncio.all_tasks(), {*threading.enumerate()}
    with AgentServer(scripts) as server:
        session = build_session(config_for(tmp_path, server), deny_all, no_answer)
        session.tools.add(FailsOnce())
        result, _ = await turn(session)
        async with asyncio.timeout(10):
            while session.agents.running_count:
                await asyncio.sleep(0.01)
        first, second = session.agents.list()
        await session.aclose()
    assert (result.output, first.state, second.state) == ("Good.", "failed", "done")
    assert (
        "the agent general failed: RuntimeError: a bug with" in first.report and "sk-or" not in first.report
    )
    assert second.report == "Fine."
    assert not asyncio.all_tasks() - tasks_before
    assert not [
        one for one in {*threading.enumerate()} - threads_before if one.name.startswith("forge-journal")
    ]


async def test_an_agent_ends_at_its_limit_of_turns_and_has_no_sub_agents(tmp_path: Path) -> None:
    folder = tmp_path / "work/.forge/agents"
    folder.mkdir(parents=True)
    (folder / "short.md").write_text(
        "---\ndescription: Is short\ntools: Read, Task\nmaxTurns: 2\n---\nBe short."
    )
    scripts = {
        "go": [calling("0.01", task_call("t1", "look", agent="short")), saying("0.02", "Good.")],
        "look": [
            calling("0.01", task_call("c1", "deeper")),
            reading("0.01", 2),
            saying("0.01", "never asked"),
        ],
    }
    with AgentServer(scripts) as server:
        session = build_session(config_for(tmp_path, server, is_trusted=True), deny_all)
        _, events = await turn(session)
        await session.aclose()
    inner, outer = ends_of(events).values()
    assert (inner.parent_id, inner.outcome) == ("t1", "unknown_tool")
    assert "the agent short was ended after 2 model calls, its limit" in outer.result
    assert server.asked == ["go", "look", "look", "go"]
