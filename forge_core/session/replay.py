"""The turns of a saved session as events, to show them again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from forge_core.approval import ToolKind
from forge_core.events import (
    AgentEnd,
    AgentEvent,
    LLMChunk,
    LLMStart,
    Permission,
    ToolEnd,
    ToolProgress,
    ToolStart,
)
from forge_core.llm.models import TokenUsage
from forge_core.result import AgentResult
from forge_core.store.event_records import event_of
from forge_core.store.folded_parts import Span
from forge_core.store.saved_session import SavedSession
from forge_core.workspace.record_file import Record


@dataclass(slots=True)
class ReplayedTurn:
    """One turn: the user's message, and what happened."""

    text: str
    records: Iterable[Record]
    """What was recorded after the message; read from the journal each time."""
    folded: tuple[Span, ...] = ()
    """The parts of the message that were folded."""
    is_last: bool = False
    """Whether it is the last of its session, which cannot be resumed any more."""

    @property
    def events(self) -> list[AgentEvent]:
        """The events of all runs."""
        return [event for run in self.runs for event in run]

    @property
    def runs(self) -> list[list[AgentEvent]]:
        """The events of each run: a failed turn has another one for each time that it was resumed.

        They are read from the records each time: a long session is not converted at once. They are without
        live output and granted permissions, which a finished turn does not show. Every ToolStart has its
        ToolEnd, and an AgentEnd ends each run, also where the program was killed. Notices and a compaction
        may follow it.
        """
        runs: list[list[AgentEvent]] = [[]]
        for record in self.records:
            if record["type"] == "retry":
                runs.append([])
            elif (event := event_of(record)) is not None and _shows(event):
                _add(runs[-1], event)
        for run in runs:
            run.extend(missing_ends(run))
        if self.is_last:
            runs[-1] = [_final(event) for event in runs[-1]]
        return runs


def replayed_turns(saved: SavedSession) -> list[ReplayedTurn]:
    """Return the turns of the conversation, the oldest first: not those that were cleared or rewound."""
    if not saved.turns:
        return []
    ends = [*(turn.record for turn in saved.turns[1:]), len(saved.records)]
    turns = [
        ReplayedTurn(turn.text, _TurnRecords(saved, turn.record + 1, end), turn.folded)
        for turn, end in zip(saved.turns, ends, strict=True)
    ]
    turns[-1].is_last = True
    return turns


@dataclass(frozen=True, slots=True)
class _TurnRecords:
    """The records of a turn, as often as they are iterated over."""

    saved: SavedSession
    start: int
    end: int

    def __iter__(self) -> Iterator[Record]:
        return self.saved.records_between(self.start, self.end)


def _shows(event: AgentEvent) -> bool:
    return not isinstance(event, ToolProgress) and not (
        isinstance(event, Permission) and event.decision == "allow"
    )


def _final(event: AgentEvent) -> AgentEvent:
    """Return an event without the possibility to resume its run."""
    if not isinstance(event, AgentEnd):
        return event
    return replace(event, result=replace(event.result, is_resumable=False))


def _add(events: list[AgentEvent], event: AgentEvent) -> None:
    """Append an event; a chunk is joined to the one before it."""
    last = events[-1] if events else None
    if isinstance(event, LLMChunk) and isinstance(last, LLMChunk) and last.kind == event.kind:
        events[-1] = LLMChunk(timestamp=last.timestamp, text=last.text + event.text, kind=event.kind)
    else:
        events.append(event)


def missing_ends(events: Sequence[AgentEvent]) -> list[AgentEvent]:
    """Return the ENDs that a killed program could not record."""
    open_calls, last, is_ended = dict[str, ToolStart](), 0.0, False
    # The user's own lines are recorded together with their ends, at any time.
    starts = (event for event in events if isinstance(event, ToolStart))
    own_lines = {start.call_id for start in starts if start.kind is ToolKind.USER}
    for event in events:
        if isinstance(event, ToolStart | ToolEnd) and event.call_id in own_lines:
            continue
        last = event.timestamp
        if isinstance(event, AgentEnd):
            is_ended = True
        elif isinstance(event, LLMStart | ToolStart):  # notices and a compaction may come after the turn
            is_ended = False
        if isinstance(event, ToolStart):
            open_calls[event.call_id] = event
        elif isinstance(event, ToolEnd):
            open_calls.pop(event.call_id, None)
    if is_ended:
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
            parent_id=start.parent_id,
        )
        for start in reversed(open_calls.values())
    ]
    result = AgentResult("", [], [], TokenUsage(), 0, stopped_reason="cancelled")
    return [*ends, AgentEnd(timestamp=last, result=result)]
