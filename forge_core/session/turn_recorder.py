"""Recording a turn in the journal, and the ENDs that a hard cancel left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from forge_core.events import (
    AgentEnd,
    AgentEvent,
    Error,
    LLMEnd,
    LLMStart,
    ToolEnd,
    ToolStart,
    as_json,
)
from forge_core.llm.models import Message, TokenUsage
from forge_core.redact import Redactor
from forge_core.result import AgentResult
from forge_core.store.journal import Journal


class TurnRecorder:
    """Records one turn's events. `close` writes the ENDs that the stream could no longer deliver."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._open_llm: LLMStart | None = None
        self._open_tools: dict[str, ToolStart] = {}
        self._is_ended = False

    def event(self, event: AgentEvent) -> None:
        self._put(event)
        match event:
            case LLMStart():
                self._open_llm = event
            case LLMEnd():
                self._open_llm = None
            case ToolStart():
                self._open_tools[event.call_id] = event
            case ToolEnd():
                self._open_tools.pop(event.call_id, None)
            case AgentEnd():
                self._is_ended = True

    def message(self, message: Message) -> None:
        """Record a message that has entered the history."""
        self._journal.record("message", message_record(message))

    def close(self, result: AgentResult | None, total: TokenUsage) -> None:
        """Record the ENDs of what is still open."""
        # Only what no END of the stream has closed: a START never gets a second one.
        if self._open_llm is not None:
            self._journal.event(
                LLMEnd(
                    usage=TokenUsage(estimated=True),
                    cost_usd=None,
                    finish_reason=None,
                    duration_s=0.0,
                    total_usage=total,
                    model=self._open_llm.model,
                )
            )
        for start in self._open_tools.values():
            text = "Error: interrupted by the user before it finished"
            self._journal.event(
                ToolEnd(
                    call_id=start.call_id,
                    name=start.name,
                    result=text,
                    success=False,
                    duration_s=0.0,
                    outcome="interrupted",
                )
            )
        if result is not None and not self._is_ended:
            self._put(AgentEnd(result=result))

    def _put(self, event: AgentEvent) -> None:
        if isinstance(event, AgentEnd):  # its messages and calls have records of their own
            event = replace(event, result=replace(event.result, messages=[], tool_calls=[]))
        self._journal.event(event)


def message_record(message: Message) -> dict[str, Any]:
    """Return a message as JSON; only what is set."""
    return {key: value for key, value in as_json(message).items() if value or key in ("role", "content")}


def crash_events(error: Exception) -> tuple[AgentEvent, AgentEvent]:
    """Return the events that end a turn after a bug."""
    words = Redactor()(f"{type(error).__name__}: {error}")
    result = AgentResult("", [], [], TokenUsage(), 0, stopped_reason="error", error=words)
    return Error(error=words, kind=type(error).__name__, recoverable=False), AgentEnd(result=result)
