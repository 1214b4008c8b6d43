"""The turns of a saved session as events, to show them again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from forge_core.events import AgentEnd, AgentEvent, LLMChunk, Permission, ToolEnd, ToolProgress, ToolStart
from forge_core.llm.models import TokenUsage
from forge_core.result import AgentResult
from forge_core.store.event_records import event_of
from forge_core.store.saved_session import SavedSession


@dataclass(slots=True)
class ReplayedTurn:
    """One turn: the user's message, and what happened."""

    text: str
    events: list[AgentEvent] = field(default_factory=list)
    """Without live output and granted permissions, which a finished turn does not show. Every ToolStart has
    its ToolEnd, and the last event is an AgentEnd, also where the program was killed."""


def replayed_turns(saved: SavedSession) -> list[ReplayedTurn]:
    """Return the turns of the conversation, the oldest first: not those that were cleared or rewound."""
    turns: list[ReplayedTurn] = []
    for record in saved.shown_records():
        if record["type"] == "user":
            data = record.get("data")
            turns.append(ReplayedTurn(str(data.get("text", "")) if isinstance(data, dict) else ""))
        elif turns and (event := event_of(record)) is not None and _shows(event):
            _add(turns[-1].events, event)
    for turn in turns:
        turn.events.extend(_missing_ends(turn.events))
    return turns


def _shows(event: AgentEvent) -> bool:
    return not isinstance(event, ToolProgress) and not (
        isinstance(event, Permission) and event.decision == "allow"
    )


def _add(events: list[AgentEvent], event: AgentEvent) -> None:
    """Append an event; a chunk is joined to the one before it."""
    last = events[-1] if events else None
    if isinstance(event, LLMChunk) and isinstance(last, LLMChunk) and last.kind == event.kind:
        events[-1] = LLMChunk(timestamp=last.timestamp, text=last.text + event.text, kind=event.kind)
    else:
        events.append(event)


def _missing_ends(events: Iterable[AgentEvent]) -> list[AgentEvent]:
    """Return the ENDs that a killed program could not record."""
    events, open_calls, last = list(events), dict[str, ToolStart](), 0.0
    for event in events:
        last = event.timestamp
        if isinstance(event, ToolStart):
            open_calls[event.call_id] = event
        elif isinstance(event, ToolEnd):
            open_calls.pop(event.call_id, None)
    if events and isinstance(events[-1], AgentEnd):
        return []
    ends: list[AgentEvent] = [
        ToolEnd(
            timestamp=last,
            call_id=start.call_id,
            name=start.name,
            result="Error: Forge was ended before it finished",
            success=False,
            duration_s=0.0,
            outcome="interrupted",
        )
        for start in open_calls.values()
    ]
    result = AgentResult("", [], [], TokenUsage(), 0, stopped_reason="cancelled")
    return [*ends, AgentEnd(timestamp=last, result=result)]
