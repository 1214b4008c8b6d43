"""`/agents`: the available agents, and the sub-agents of the session."""

from __future__ import annotations

import asyncio

from forge_core.commands.columns import columns, left_columns
from forge_core.commands.result import CommandNotice, CommandResult, Document, Failure, ShowAgents
from forge_core.runtime import make_redactor
from forge_core.sanitize import safe_line
from forge_core.session.agents.sub_agent import SubAgent
from forge_core.session.session import ForgeSession
from forge_core.store.export import markdown
from forge_core.store.journal import journal_path
from forge_core.store.saved_session import load_session


async def agents(argument: str, session: ForgeSession) -> CommandResult:
    """List the agents and the sub-agents; `stop N` stops one, `show N` shows what it has done."""
    if not argument:
        await session.extensions.ready()
        return ShowAgents(_running(session), _defined(session))
    word, number = argument.split()
    if word.lower() == "stop":
        stopped = await session.agents.stop(int(number))
        return CommandNotice(f"Agent {stopped.number} ({safe_line(stopped.label)}): {stopped.state}.")
    found = next((one for one in session.agents.list() if one.number == int(number)), None)
    if found is None:
        return Failure(f"There is no agent {number}. /agents lists those of this session.")
    path = journal_path(session.config.state_dir, found.id)
    saved = await asyncio.to_thread(load_session, path)
    return Document(markdown(saved, make_redactor(session.config)), f"Agent {found.number}")


def state_text(agent: SubAgent) -> str:
    """Return the progress of a sub-agent in one line."""
    what = str(agent.state) if not agent.is_running else safe_line(agent.step) or str(agent.state)
    return f"{agent.summary}, {what}" if agent.calls or agent.usage.total_tokens else what


def _running(session: ForgeSession) -> str:
    rows = [
        (f"  {one.number} {safe_line(one.label)}", f"{state_text(one)}, session {one.id}")
        for one in session.agents.list()
    ]
    if not rows:
        return "No agent has been started in this session."
    return f"Started in this session\n{columns(rows)}\n\n/agents stop N stops one, /agents show N shows it."


def _defined(session: ForgeSession) -> str:
    catalog = session.agents.catalog
    rows = [(f"  {one.name}", one.origin, one.description) for one in catalog.agents]
    problems = [f"  {one.name}: {problem}." for one in catalog.agents for problem in one.problems]
    ignored = ["", "Ignored", *problems] if problems else []
    return "\n".join(["Available", left_columns(rows), *ignored])
