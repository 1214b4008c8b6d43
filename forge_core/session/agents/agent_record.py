"""The record of a sub-agent: a session of its own, whose `session` record names the session and the agent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from forge_core.redact import Redactor
from forge_core.session.agents.sub_agent import SubAgent
from forge_core.store.journal import Journal, journal_path
from forge_core.store.saved_session import title_of


class AgentJournal(Journal):
    """The journal of a sub-agent. What its summaries cost is recorded in that of the session too, from which
    the totals of a continued session are read."""

    def __init__(
        self, path: Path, redact: Redactor, on_trouble: Callable[[str], None], session: Journal, call_id: str
    ) -> None:
        super().__init__(path, redact, on_trouble)
        self._session, self._call_id = session, call_id

    def record(self, kind: str, data: dict[str, Any]) -> float:
        """Record something; the time of a call is that in the session's journal, where its bill goes."""
        at = super().record(kind, data)
        return self._session.record(kind, {**data, "parent_id": self._call_id}) if kind == "llm_end" else at


def begin_journal(
    agent: SubAgent,
    session: Journal,
    state_dir: Path,
    on_trouble: Callable[[str], None],
    *,
    working_dir: str,
    provider: str,
    mode: str,
) -> AgentJournal:
    """Return the journal of a sub-agent that begins, with its first records."""
    path = journal_path(state_dir, agent.id)
    journal = AgentJournal(path, session.redactor, on_trouble, session, agent.call_id)
    origin = {"parent": session.path.stem, "agent": agent.name, "call_id": agent.call_id}
    journal.record("session", {"id": agent.id, **origin, "working_dir": working_dir, "provider": provider})
    journal.record("title", {"title": title_of(agent.task.description)})
    journal.record("user", {"text": agent.task.prompt, "model": agent.model, "mode": mode})
    return journal
