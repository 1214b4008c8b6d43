"""`/agents`: the agents that there are, and the sub-agents of the session: listed, shown and stopped."""

from __future__ import annotations

from pathlib import Path

from forge_core.commands.agents_command import agents
from forge_core.commands.result import CommandNotice, Document, Failure, ShowAgents
from tests.support.agent_server import session_with_agents, two_agents


async def test_agents_are_listed_shown_and_stopped(tmp_path: Path) -> None:
    with two_agents() as server:
        session = await session_with_agents(tmp_path, server)
        listed = await agents("", session)
        assert isinstance(listed, ShowAgents)
        first, second = (line.split() for line in listed.running.splitlines()[1:3])
        assert first[:4] == ["1", "tester:", "do", "look"] and "done," in first
        assert second[:4] == ["2", "general:", "do", "wait"] and "thinking," in second
        assert "explore" in listed.defined and "project   Tests it" in listed.defined
        assert "tester: its hooks are not run." in listed.defined

        shown = await agents("show 1", session)
        assert isinstance(shown, Document)
        assert "**Read** `a.txt`" in shown.body and "It says hello." in shown.body
        assert isinstance(await agents("show 9", session), Failure)

        stopped = await agents("stop 2", session)
        assert stopped == CommandNotice("Agent 2 (general: do wait): stopped.")
        assert session.agents.running_count == 0
        await session.aclose()
