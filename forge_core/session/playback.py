"""A recorded session played from its journal, one step at a time.

The steps come in the order of the records, those of turns that were rewound or cleared later too, and as in a
live run: every START has its END, and every turn its AgentEnd, also where the program was killed. Records
that no screen shows (messages, permissions that the policy granted) bring no step.

What a journal does not hold cannot be played: output of commands such as `/help`, the text of a request for
permission (only its call, and the answer), and when each part of a text arrived (fragments are recorded
joined, see `store.journal`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TypeAlias

from forge_core.config.permission_mode import PermissionMode
from forge_core.errors import JournalError
from forge_core.events import (
    AgentEnd,
    AgentEvent,
    Compaction,
    LLMChunk,
    LLMEnd,
    Permission,
    ToolProgress,
    ToolStart,
)
from forge_core.home_paths import expand_home
from forge_core.llm.account.catalog import bundled
from forge_core.llm.models import TOKEN_COUNTS, TokenUsage
from forge_core.offline.protocol import CONTEXT_LENGTH
from forge_core.session.replay import ReplayedTurn, missing_ends, replayed_turns
from forge_core.session.saved_sessions import SavedSessions
from forge_core.session.saved_state import saved_todos
from forge_core.session.status import SessionStatus
from forge_core.store.event_records import event_of, usage_of
from forge_core.store.folded_parts import Span, spans_of
from forge_core.store.saved_session import SavedSession, load_session, session_of
from forge_core.tools.builtin.todo import TodoItem
from forge_core.workspace.record_file import Record

_ENDING = frozenset({"user", "retry", "reset", "rewind", "unrewind", "resume"})
"""Records before which a turn has ended."""


@dataclass(frozen=True, slots=True)
class TurnBegins:
    """The user has sent a message."""

    text: str
    folded: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnResumes:
    """The user has resumed the turn whose model call failed."""


@dataclass(frozen=True, slots=True)
class PermissionAsked:
    """The user was asked for permission; a Permission event of the same call follows."""

    call_id: str
    title: str
    target: str


@dataclass(frozen=True, slots=True)
class ConversationReplaced:
    """The user has cleared the conversation, rewound it, or taken a rewind back."""

    text: str
    """What was done."""
    turns: Sequence[ReplayedTurn]
    """The conversation from now on."""


@dataclass(frozen=True, slots=True)
class FiguresChanged:
    """The bill of a cut call has replaced its estimate; it may come after the turn."""


StepContent: TypeAlias = (
    AgentEvent | TurnBegins | TurnResumes | PermissionAsked | ConversationReplaced | FiguresChanged
)


@dataclass(frozen=True, slots=True)
class Step:
    """Something that the screen shows."""

    time: float
    """When it was recorded, in seconds since the epoch; never less than that of the step before."""
    content: StepContent


class Playback:
    """The steps of a session. Its other properties are those of the session at the step yielded last."""

    def __init__(self, saved: SavedSession, *, until: int | None = None) -> None:
        """With `until`, the end of that message's turn is the end; messages are counted from 1."""
        self._saved = saved
        self._records = saved.records[: _end(saved.records, until)]
        self._asked = _calls_asked_for(self._records)
        self._now = saved.started
        self._turn_events: list[AgentEvent] | None = None
        """The events of the running turn, without text and live output; None if no turn runs."""
        self._known_usd = Decimal(0)
        """The cost of the calls whose price was known."""
        self._estimates: dict[float, LLMEnd] = {}
        """The calls whose bill may still come, by the time of their end."""
        self.title = saved.title
        self.damage = saved.damage
        """What of the record could not be read, for the user; empty if all could."""
        self.turn = 0
        """The number of the newest message, counted from the beginning of the record."""
        self.turns = sum(record["type"] == "user" for record in self._records)
        """The number of messages that are played."""
        self.todos: Sequence[TodoItem] = ()
        self.status = SessionStatus(
            model="",
            provider_label=saved.provider,
            mode=PermissionMode.ASK,
            sandbox="",
            usage=TokenUsage(),
            context_used=0,
            context_window=None,
            working_dir=Path(saved.working_dir),
        )

    @property
    def started(self) -> float:
        """When the session began, in seconds since the epoch."""
        return self._saved.started

    def steps(self) -> Iterator[Step]:
        """Yield the steps. Each is made when it is asked for: a long journal is not converted at once."""
        for index, record in enumerate(self._records):
            if record["type"] in _ENDING:
                yield from self._end_turn()
            self._now = max(self._now, float(record["timestamp"]))
            for content in self._contents(index, record):
                yield Step(self._now, content)
        yield from self._end_turn()

    def _contents(self, index: int, record: Record) -> Iterator[StepContent]:
        data = record["data"]
        match record["type"]:
            case "user":
                self.turn += 1
                self._begin_turn(data)
                yield TurnBegins(str(data.get("text", "")), spans_of(data))
            case "retry":
                self._begin_turn(data)
                yield TurnResumes()
            case "reset":
                self.todos = ()
                yield ConversationReplaced("The conversation was cleared.", ())
            case "rewind" | "unrewind" as kind:
                yield self._rewound(index, is_back=kind == "unrewind")
            case "state":
                self._settings(data)
                if isinstance(todos := data.get("todos"), list):
                    self.todos = saved_todos(todos)
            case "bill":
                if self._is_billed(data):
                    yield FiguresChanged()
            case _:
                if (event := event_of(record)) is not None:
                    yield from self._event(index, event)

    def _event(self, index: int, event: AgentEvent) -> Iterator[StepContent]:
        if isinstance(event, Permission) and event.decision == "allow" and event.by != "person":
            return
        self._count(event)
        if self._turn_events is not None and not isinstance(event, LLMChunk | ToolProgress):
            self._turn_events.append(event)
        if isinstance(event, AgentEnd):
            self._turn_events = None
        yield event
        if isinstance(event, ToolStart) and index in self._asked:
            yield PermissionAsked(event.call_id, *event.heading)

    def _begin_turn(self, data: Record) -> None:
        self._settings(data)
        self._turn_events = []

    def _end_turn(self) -> Iterator[Step]:
        """Yield the ENDs that a killed program could not record."""
        events, self._turn_events = self._turn_events, None
        if events is not None:
            yield from (Step(self._now, event) for event in missing_ends(events))

    def _rewound(self, index: int, *, is_back: bool) -> ConversationReplaced:
        now = session_of(self._saved.path, self._records[: index + 1])
        self.todos = saved_todos(now.todos)
        what = "The last rewind was taken back" if is_back else "The session was rewound"
        kept = f"{len(now.turns)} message{'s'[: len(now.turns) != 1]}"
        return ConversationReplaced(f"{what}: the conversation has {kept}.", replayed_turns(now))

    def _settings(self, data: Record) -> None:
        mode = str(data.get("mode", ""))
        model = str(data.get("model") or self.status.model)
        self.status = replace(
            self.status,
            model=model,
            context_window=_context_window(model, self._saved.provider),
            mode=PermissionMode(mode) if mode in set(PermissionMode) else self.status.mode,
        )

    def _count(self, event: AgentEvent) -> None:
        status = self.status
        if isinstance(event, LLMEnd):
            usage = event.usage
            is_counted = bool(usage.prompt_tokens) and not usage.estimated
            if event.cost_usd is not None:
                self._known_usd += event.cost_usd
            if usage.estimated:
                self._estimates[event.timestamp] = event
            self.status = replace(
                status,
                # a summary is recorded without the total
                usage=event.total_usage if event.total_usage.total_tokens else status.usage + usage,
                known_cost_usd=self._known_usd or None,
            )
            if event.parent_id is None:  # a sub-agent has a window of its own
                used = usage.total_tokens if is_counted else status.context_used
                self.status = replace(self.status, context_used=used, is_context_estimate=not is_counted)
        elif isinstance(event, Compaction):
            self.status = replace(status, context_used=event.after, is_context_estimate=True)

    def _is_billed(self, data: Record) -> bool:
        """Count a bill; return whether it is that of a call that was estimated."""
        of = data.get("of")
        cut = self._estimates.pop(of, None) if isinstance(of, float) else None
        if cut is None:
            return False
        estimate, bill, total = cut.usage, usage_of(data.get("usage")), self.status.usage
        counts = {
            name: getattr(total, name) - getattr(estimate, name) + getattr(bill, name)
            for name in TOKEN_COUNTS
        }
        self._known_usd += (bill.cost_usd or Decimal(0)) - (cut.cost_usd or Decimal(0))
        cost = total.cost_usd
        if cost is not None and bill.cost_usd is not None:
            cost += bill.cost_usd - (estimate.cost_usd or Decimal(0))
        usage = replace(total, **counts, cost_usd=cost, estimated=bool(self._estimates))
        self.status = replace(self.status, usage=usage, known_cost_usd=self._known_usd or None)
        return True


def load_recording(name: str, sessions: SavedSessions) -> SavedSession:
    """Return the session with this id, beginning of an id, or title, or that of a journal or an exported file
    (`.jsonl`). The file is only read.

    Raises:
        JournalError: there is none, more than one, or it cannot be read.
    """
    path = expand_home(name)
    if path.suffix.lower() == ".jsonl":
        if not path.is_file():
            raise JournalError(f"There is no file {name!r}. forge sessions list shows the saved sessions.")
        return load_session(path)
    return sessions.load(sessions.find(name).id)


def _context_window(model: str, provider: str) -> int | None:
    """Return the window of a model in tokens; no journal holds it."""
    if provider == "offline":
        return CONTEXT_LENGTH
    known = bundled().get(model)
    return None if known is None else known.context_length


def _end(records: Sequence[Record], until: int | None) -> int:
    """Return the number of records up to the end of a message's turn."""
    messages = [index for index, record in enumerate(records) if record["type"] == "user"]
    return len(records) if until is None or until >= len(messages) else messages[until]


def _calls_asked_for(records: Sequence[Record]) -> set[int]:
    """Return the indices of the starts of the calls that the user was asked about."""
    asked: set[int] = set()
    answered: set[str] = set()
    for index in range(len(records) - 1, -1, -1):
        kind, data = records[index]["type"], records[index]["data"]
        call_id = str(data.get("call_id", ""))
        if kind == "permission" and data.get("by") == "person":
            answered.add(call_id)
        elif kind == "tool_start" and call_id in answered:
            answered.remove(call_id)
            asked.add(index)
    return asked
