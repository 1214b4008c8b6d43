"""The events of a sub-agent: recorded in its journal, and passed on to the stream of the session's turn.

The journal is that of a separate session; its `session` record names the parent session and the agent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from forge_core.events import (
    AgentEvent,
    Compaction,
    LLMEnd,
    LLMStart,
    Notice,
    Permission,
    ToolEnd,
    ToolStart,
)
from forge_core.llm.models import TokenUsage
from forge_core.redact import Redactor
from forge_core.session.agents.sub_agent import SubAgent
from forge_core.session.context_meter import ContextMeter
from forge_core.session.saved_state import folder_record
from forge_core.session.turn_recorder import OpenEvents, TurnRecorder
from forge_core.store.journal import Journal, journal_path
from forge_core.store.saved_session import title_of

_PASSED_ON = (LLMStart, LLMEnd, ToolStart, ToolEnd, Permission, Notice)


class AgentEvents:
    """An `EventSink` for the run of one sub-agent."""

    is_full = False
    """Its text is not shown, so there is no reader to wait for."""

    def __init__(
        self,
        agent: SubAgent,
        journal: Journal,
        pass_on: Callable[[AgentEvent], None],
        answered: Callable[[LLMEnd], None],
    ) -> None:
        """`pass_on` takes events with a `parent_id`; `answered` is called after each model call."""
        self.recorder = TurnRecorder(journal)
        self._agent = agent
        self._open = OpenEvents()
        self._pass_on = pass_on
        self._answered = answered
        self._is_closed = False
        self.meter: ContextMeter | None = None
        """Follows what fills the sub-agent's context window."""

    def emit(self, event: AgentEvent) -> None:
        if self._is_closed:  # its journal is closed, and its call has ended
            return
        self.recorder.event(event)
        self._agent.follow(event)
        if isinstance(event, LLMEnd):
            if self.meter is not None:
                self.meter.answered(event)
            self._answered(event)
        if isinstance(event, Compaction):
            event = Notice(level="info", text=event.text)
        if isinstance(event, _PASSED_ON):
            self._pass(replace(event, parent_id=self._agent.call_id))

    async def ready(self) -> None:
        pass

    def close(self, total: TokenUsage) -> None:
        """Pass on the ENDs of what a hard cancel has left open, and ignore later events."""
        self._is_closed = True
        for end in self._open.missing_ends(total):
            self._pass(end)

    def detach(self, total: TokenUsage, pass_on: Callable[[AgentEvent], None]) -> None:
        """Pass on the ENDs of what is open; later events go to `pass_on`. For a call that ends before its
        sub-agent."""
        for end in self._open.missing_ends(total):
            self._pass(end)
        self._pass_on = pass_on

    def _pass(self, event: AgentEvent) -> None:
        self._open.follow(event)
        self._pass_on(event)


class AgentJournal(Journal):
    """The journal of a sub-agent. The cost of its summaries is also recorded in the session's journal, from
    which the totals of a resumed session are read, with the same time: both records are of one call."""

    def __init__(
        self, path: Path, redact: Redactor, on_trouble: Callable[[str], None], session: Journal, call_id: str
    ) -> None:
        super().__init__(path, redact, on_trouble)
        self._session, self._call_id = session, call_id

    def record(self, kind: str, data: dict[str, Any], *, at: float | None = None) -> float:
        """Append a record, and return its time, by which its bill refers to a model call."""
        at = super().record(kind, data, at=at)
        if kind == "llm_end":
            self._session.record(kind, {**data, "parent_id": self._call_id}, at=at)
        return at


def begin_journal(
    agent: SubAgent,
    session: Journal,
    state_dir: Path,
    on_trouble: Callable[[str], None],
    *,
    working_dir: Path,
    provider: str,
    mode: str,
) -> AgentJournal:
    """Return the journal of a new sub-agent, with its first records."""
    path = journal_path(state_dir, agent.id)
    journal = AgentJournal(path, session.redactor, on_trouble, session, agent.call_id)
    origin = {"parent": session.path.stem, "agent": agent.name, "call_id": agent.call_id}
    where = folder_record(working_dir, state_dir)
    journal.record("session", {"id": agent.id, **origin, **where, "provider": provider})
    journal.record("title", {"title": title_of(agent.task.description)})
    journal.record("user", {"text": agent.task.prompt, "model": agent.model, "mode": mode})
    return journal
