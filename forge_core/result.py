"""The result of a run, and what a tool's result shows beyond its text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from forge_core.llm.models import Message, TokenUsage

StoppedReason: TypeAlias = Literal[
    "complete",
    "max_iterations",
    "timeout",
    "cancelled",
    "error",
    "stop_tool",
    "budget",
    "loop",
    "length",
    "refusal",
    "denied",
]


STOP_NOTICES: Mapping[str, str] = {
    "max_iterations": "Stopped: the limit of model calls for one turn is reached.",
    "timeout": "Stopped: the turn took too long.",
    "budget": "Stopped: the budget is spent.",
    "loop": "Stopped: the same step was repeated without getting further.",
    "length": "The answer was cut off at the model's output limit.",
    "refusal": "The model declined to answer.",
}
"""Notices for runs that did not simply complete and that bring no warning of their own."""


ToolOutcome: TypeAlias = Literal[
    "done",
    "background",
    "failed",
    "timed_out",
    "denied",
    "declined",
    "interrupted",
    "unknown_tool",
    "unreadable",
]
"""How a call ended. "background": its command runs on as a job; "declined": the user did not agree to what it
presented; "unknown_tool" and "unreadable" (its arguments): nothing ran."""


@dataclass(frozen=True, slots=True)
class FileDiff:
    """A change to one file, for the screen: what an edit did, or would do."""

    path: str
    """As the model named it, or relative to the workspace."""
    diff: str
    """Unified diff with three lines of context, without the two header lines."""
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class Omission:
    """The middle of a long output, which a result leaves out."""

    line: str
    """The line of the result in its place."""
    lines: int
    """Lines left out; 0 for a part of one."""
    kept_in: str = ""
    """The file that holds the whole output; empty when there is none."""


@dataclass(frozen=True, slots=True)
class ToolCallRecord:
    """One tool call of a run, and how it ended."""

    id: str
    name: str
    arguments: dict[str, Any]
    result: str
    success: bool
    duration: float
    """Seconds, without the time spent waiting for the user."""


@dataclass(frozen=True, slots=True)
class AgentResult:
    """How a run ended."""

    output: str
    messages: list[Message]
    """Those of this run, the user's first."""
    tool_calls: list[ToolCallRecord]
    usage: TokenUsage
    iterations: int
    """Model calls."""
    duration: float = 0.0
    """Seconds."""
    stopped_reason: StoppedReason = "complete"
    error: str | None = None
    warning: str | None = None
    finish_reason: str | None = None
    """The provider's word, kept as it came."""
    is_resumable: bool = False
    """Whether the run ended at a model call that failed, so that `ForgeAgent.resume` can resume there."""
    extra: dict[str, Any] = field(default_factory=dict)
