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


class OpenEvents:
    """The STARTs of a stream whose END has not come."""

    def __init__(self) -> None:
        self._llm: dict[str | None, LLMStart] = {}
        """The model calls, by the `parent_id` of whoever makes them."""
        self._tools: dict[str, ToolStart] = {}

    def follow(self, event: AgentEvent) -> None:
        """Take note of the next event."""
        match event:
            case LLMStart():
                self._llm[event.parent_id] = event
            case LLMEnd():
                self._llm.pop(event.parent_id, None)
            case ToolStart():
                self._tools[event.call_id] = event
            case ToolEnd():
                self._tools.pop(event.call_id, None)

    def missing_ends(self, total: TokenUsage) -> list[AgentEvent]:
        """Return the ENDs, those of inner calls first; `total` is what the session has used."""
        llm_ends = [
            LLMEnd(
                usage=TokenUsage(estimated=True),
                cost_usd=None,
                finish_reason=None,
                duration_s=0.0,
                total_usage=total,
                model=start.model,
                parent_id=start.parent_id,
            )
            for start in self._llm.values()
        ]
        tool_ends = [
            ToolEnd(
                call_id=start.call_id,
                name=start.name,
                result="Error: interrupted by the user before it finished",
                success=False,
                duration_s=0.0,
                outcome="interrupted",
                parent_id=start.parent_id,
            )
            for start in reversed(self._tools.values())
        ]
        return [*llm_ends, *tool_ends]


class TurnRecorder:
    """Records one turn's events. `close` writes the ENDs that the stream could no longer deliver."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._open = OpenEvents()
        self._is_ended = False

    def event(self, event: AgentEvent) -> None:
        self._put(event)
        self._open.follow(event)
        self._is_ended = self._is_ended or isinstance(event, AgentEnd)

    def message(self, message: Message) -> None:
        """Record a message that has entered the history."""
        self._journal.record("message", message_record(message))

    def close(self, result: AgentResult | None, total: TokenUsage) -> None:
        """Record the ENDs of what is still open."""
        # Only what no END of the stream has closed: a START never gets a second one.
        for end in self._open.missing_ends(total):
            self._journal.event(end)
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
