"""The one stream of typed events that every reader (screen, printer, journal) shares.

Promises, each with a test:

- every LLM_START has exactly one LLM_END, every TOOL_START exactly one TOOL_END with the same `call_id`,
  also after an interrupt, a timeout or a crash of the tool;
- an answer that breaks off and is requested again gives LLM_START … LLM_END, a NOTICE with
  `discards_answer`, then an LLM_START of the same iteration; no tool call of the broken answer is run;
- AGENT_END is last and carries the `AgentResult`;
- events of a sub-agent have the id of its `task` call as their `parent_id`, and come between the TOOL_START
  and the TOOL_END of that call: LLM_START, LLM_END, TOOL_START, TOOL_END, PERMISSION and NOTICE, with the
  same promises. The text that it writes and the live output of its calls are in its own journal only;
- the stream never raises for a model's or a tool's failure: it ends with ERROR, then AGENT_END;
- events carry data, never markup and never widgets. All text in them is untrusted: sanitize it to show it.
"""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any, ClassVar, Literal, Self, TypeAlias

from forge_core.approval import ToolKind
from forge_core.llm.models import TokenUsage
from forge_core.result import AgentResult, FileDiff, Omission, ToolOutcome

SCHEMA_VERSION = 1
"""`v` in stream-json."""
_ADVICE = re.compile(r"\s*\bTry again\b[^.]*\.$")
"""The advice at the end of a failure's text, which Forge follows itself."""


class AgentEventType(StrEnum):
    LLM_START = "llm_start"
    LLM_CHUNK = "llm_chunk"
    LLM_END = "llm_end"
    TOOL_START = "tool_start"
    TOOL_PROGRESS = "tool_progress"
    TOOL_END = "tool_end"
    PERMISSION = "permission"
    STEERED = "steered"
    COMPACTION = "compaction"
    NOTICE = "notice"
    ERROR = "error"
    AGENT_END = "agent_end"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEvent:
    """Base of all events; readers `match` on the class."""

    type: ClassVar[AgentEventType]
    timestamp: float = field(default_factory=time.time)
    """Seconds since the epoch."""
    parent_id: str | None = None
    """The call of the sub-agent that the event belongs to; None for the session's own."""

    @property
    def data(self) -> dict[str, Any]:
        """The event's own fields by name, values as they are."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "timestamp"}

    def as_record(self) -> dict[str, Any]:
        """JSON-ready: `{"v", "type", "timestamp", "data"}`."""
        data = {key: as_json(value) for key, value in self.data.items()}
        return {"v": SCHEMA_VERSION, "type": str(self.type), "timestamp": self.timestamp, "data": data}


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMStart(AgentEvent):
    """A request is about to go to the model."""

    type = AgentEventType.LLM_START
    iteration: int
    """1 for the first model call of the run."""
    model: str


ChunkKind: TypeAlias = Literal["answer", "reasoning", "tool_args"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMChunk(AgentEvent):
    """A fragment of the answer; with kind `tool_args`, of raw arguments, which serve for figures only."""

    type = AgentEventType.LLM_CHUNK
    text: str
    kind: ChunkKind = "answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMEnd(AgentEvent):
    """The model call is over, also when it was cut short."""

    type = AgentEventType.LLM_END
    usage: TokenUsage
    """Of this call."""
    cost_usd: Decimal | None
    """Of this call; None where the price is unknown."""
    finish_reason: str | None
    duration_s: float
    total_usage: TokenUsage
    """Of the session so far, summariser and sub-agents included; its cost too."""
    model: str = ""
    """The model that answered."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a call that only looks is about, for counting such calls: "read 4 files"."""

    verb: str
    """In the past tense: "read", "searched"."""
    noun: str
    """In the singular: "file"."""
    key: str
    """Calls with the same key count once."""
    name: str
    """The subject's short name: the last part of a path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStart(AgentEvent):
    """A tool call starts. Readers show it by `title` and `target`, and need not know the tool."""

    type = AgentEventType.TOOL_START
    call_id: str
    name: str
    arguments: Mapping[str, Any]
    """Parsed; `{}` where the model's JSON was unusable (TOOL_END has the error)."""
    title: str = ""
    """The tool's verb ("Read", "Run"). Empty in records of earlier versions and for tools that do not say."""
    target: str = ""
    """What the call acts on, for display: a path, a pattern, a command."""
    kind: ToolKind = ToolKind.OTHER
    subject: Subject | None = None
    """What the call looks at; None for one that does more than look."""
    preview_rows: int = 0
    """Rows of the output that show while the call's card is folded."""
    color: str = ""
    """Of the name with which `target` begins, where a sub-agent is called: "red", "cyan"; empty: none."""

    @property
    def heading(self) -> tuple[str, str]:
        """Title and target; without a title, the tool's name in words and its first plain argument."""
        if self.title:
            return self.title, self.target
        values = (value for value in self.arguments.values() if isinstance(value, str | int | float))
        return self.name.replace("_", " ").capitalize() or "Tool", str(next(values, ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProgress(AgentEvent):
    """The live tail of a running tool: at most 20 a second, capped, never sent to the model."""

    type = AgentEventType.TOOL_PROGRESS
    call_id: str
    text: str
    """What has come since the last one. A \\r at its beginning: in the place of the last line, which was
    rewritten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnd(AgentEvent):
    type = AgentEventType.TOOL_END
    call_id: str
    name: str
    result: str
    """The text for the model."""
    success: bool
    duration_s: float
    """Without the time spent waiting for the user."""
    summary: str = ""
    """A few words for a card's header ("42 lines", "3 matches in 2 files", "exit 1")."""
    diffs: tuple[FileDiff, ...] = ()
    outcome: ToolOutcome | None = None
    """Finer than `success`; None where no more is known."""
    aside: str = ""
    """The line at the start or the end of `result` that only the model needs: the summary says it."""
    model_notes: tuple[str, ...] = ()
    """Parts of `result`, each one whole lines, that only the model needs."""
    omission: Omission | None = None
    """What `result` leaves out of a long output."""
    display: str = ""
    """What a card shows in place of `result`; empty: the result itself."""
    is_in_header: bool = False
    """The call's target and `summary` say it all: a folded card shows nothing of the result."""
    document: str = ""
    """Markdown by the model that is shown like an answer, after the call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission(AgentEvent):
    """A call was allowed or refused; `by` says who decided."""

    type = AgentEventType.PERMISSION
    call_id: str
    decision: Literal["allow", "deny"]
    rule: str
    """The rule or the policy's reason."""
    by: Literal["policy", "rule", "person", "mode", "hook"]
    reason: str = ""
    """Why the user refused it, in their words; empty where they gave no reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steered(AgentEvent):
    """A message that the user sent while the turn ran is in the history: the next model call reads it."""

    type = AgentEventType.STEERED
    text: str
    """As it was sent, without the files that it mentions."""


CompactionMethod: TypeAlias = Literal["summarised", "elided", "removed"]
"""A model has summarised the earlier messages, their long output and reasoning were left out, or the oldest
were removed without a summary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction(AgentEvent):
    """The conversation that the model is sent has become shorter. What the screen shows stays."""

    type = AgentEventType.COMPACTION
    before: int
    """Tokens."""
    after: int
    pinned: tuple[str, ...] = ()
    """What was checked to be still there, for the user: "the goal", "3 open steps"."""
    added: tuple[str, ...] = ()
    """The part of it that the summary lacked, and that was put back."""
    method: CompactionMethod = "summarised"
    replaced: int = 0
    """Messages that the model is no longer sent as they were."""

    @property
    def text(self) -> str:
        """One line for the user."""
        done = {
            "summarised": "Conversation summarised",
            "elided": "Earlier tool output left out",
            "removed": "The oldest messages were removed without a summary",
        }[self.method]
        kept = f". Still there: {', '.join(self.pinned)}" if self.pinned else ""
        return f"{done}: ~{self.before:,} → ~{self.after:,} tokens{kept}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(AgentEvent):
    """Something that the user should know and that is no failure: a wait before a retry, a limit near."""

    type = AgentEventType.NOTICE
    level: Literal["info", "warning", "error"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry(Notice):
    """A request has failed and is repeated after a wait; `text` is the whole message."""

    attempt: int
    """1 for the first retry of the request."""
    max_retries: int
    wait_s: float
    reason: str
    """Why it failed."""
    discards_answer: bool = False
    """Whether the LLM_CHUNKs since the last LLM_START are void: the answer broke off and starts again."""

    @classmethod
    def of(
        cls, failure: str, *, attempt: int, max_retries: int, wait_s: float, discards_answer: bool = False
    ) -> Self:
        """Return the notice for a failure in the words of its error."""
        when = "at once" if wait_s < 0.5 else f"in {wait_s:.0f} s"
        reason = _ADVICE.sub("", failure)
        again = "Starting the answer again" if discards_answer else "Trying again"
        return cls(
            level="warning",
            text=f"{reason} {again} {when}.",
            attempt=attempt,
            max_retries=max_retries,
            wait_s=wait_s,
            reason=reason,
            discards_answer=discards_answer,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Error(AgentEvent):
    """The turn failed; an AgentEnd with stopped_reason "error" follows."""

    type = AgentEventType.ERROR
    error: str
    """The provider's or our own words, without secrets."""
    kind: str
    """The class of the error, e.g. "RateLimitError"."""
    recoverable: bool
    """Whether sending the same again may help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEnd(AgentEvent):
    type = AgentEventType.AGENT_END
    result: AgentResult


def as_json(value: Any) -> Any:
    """Return a JSON-ready copy of an event's or a result's value."""
    match value:
        case TokenUsage():
            return value.as_dict()
        case Decimal():
            return str(value)
        case Mapping():
            return {str(key): as_json(item) for key, item in value.items()}
        case list() | tuple():
            return [as_json(item) for item in value]
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {f.name: as_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
        case _:
            return value
