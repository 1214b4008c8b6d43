"""The events of a sub-agent: recorded in its journal, and passed on to the stream of the session's turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

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
from forge_core.session.agents.sub_agent import SubAgent
from forge_core.session.context_meter import ContextMeter
from forge_core.session.turn_recorder import OpenEvents, TurnRecorder
from forge_core.store.journal import Journal

_PASSED_ON = (LLMStart, LLMEnd, ToolStart, ToolEnd, Permission, Notice)


class AgentEvents:
    """An `EventSink` for the run of one sub-agent."""

    is_full = False
    """Its text is not shown, so nobody has to catch up."""

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
        """Pass on the ENDs of what a hard cancel has left open, and ignore what comes later."""
        self._is_closed = True
        for end in self._open.missing_ends(total):
            self._pass(end)

    def _pass(self, event: AgentEvent) -> None:
        self._open.follow(event)
        self._pass_on(event)
