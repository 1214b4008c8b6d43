"""Asking a person: the one door through which the core reaches whoever may say yes.

The core awaits an `Approver` and never knows a screen. Time spent in it never counts against a timeout.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from forge_core.result import FileDiff


class Effect(StrEnum):
    """What a call does to the world; the policy decides by it and the prompt is worded by it."""

    READ = "read"
    WRITE = "write"
    RUN = "run"
    NETWORK = "network"


class ToolKind(StrEnum):
    """What a tool is for. The policy, the transcript and the loop detector treat tools by their kind."""

    LOOK = "look"
    """Reads files. Runs unasked inside the folder."""
    WRITE = "write"
    """Changes files. Rules for `edit` cover it."""
    RUN = "run"
    """Runs commands, which the policy judges one by one."""
    SESSION = "session"
    """Acts only on the session itself: its tasks, questions and jobs. Runs unasked in every mode."""
    OTHER = "other"
    """Anything else, such as a LangChain tool. Always asks."""


class Answer(StrEnum):
    ONCE = "once"
    SESSION = "session"
    ALWAYS = "always"
    """In this project, from now on."""
    NO = "no"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """One question to the person. All text in it is foreign: show it as data."""

    call_id: str
    tool: str
    effect: Effect
    arguments: Mapping[str, Any]
    target: str
    """What the call acts on: a path, or the exact command line."""
    action: str = ""
    """What the tool does, after "Forge wants to": "run a command". Empty for tools that do not say."""
    reason: str
    """Why it asks, in one line."""
    is_usual_reason: bool = False
    """The reason says no more than what the call is: a prompt need not repeat it."""
    session_rule: str
    """The `tool(pattern)` rule that "yes, for this session" would add."""
    always_rule: str = ""
    """The rule that "always in this project" would save; empty when nothing can be granted for good."""
    diffs: tuple[FileDiff, ...] = ()
    """What an edit would change, already computed."""
    is_destructive: bool = False
    """Deletes, leaves the folder, or uses the network: the default answer is then no."""
    needs_network: bool = False
    """The command is to reach other machines from within the sandbox."""
    details: Mapping[str, str] = field(default_factory=dict)
    """Further labelled lines for the prompt ("Timeout": "120 s")."""


@dataclass(frozen=True, slots=True)
class ApprovalReply:
    answer: Answer
    reason: str = ""
    """On a no: what the person wants the model to know."""
    rule: str = ""
    """On a yes for the session or for good: the rule as the person has left it; empty: as it was offered."""
    is_unattended: bool = False
    """A no for want of anybody to ask; nobody has refused anything."""


class Approver(Protocol):
    """Answers requests; must not raise. Those of parallel calls come at once, and whoever has one screen
    queues them. A wait is cancelled when the call is interrupted, or the answer to another decides it."""

    async def __call__(self, request: ApprovalRequest) -> ApprovalReply: ...


async def deny_all(request: ApprovalRequest) -> ApprovalReply:
    """The approver of a run without a person: asking means no."""
    return ApprovalReply(Answer.NO, f"nobody is there to allow {request.tool}", is_unattended=True)


@dataclass(frozen=True, slots=True)
class QuestionOption:
    """One answer that the model offers."""

    label: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """One thing that the model wants to know. Another answer in the person's own words is always possible."""

    text: str
    header: str
    """A word or two for a tab."""
    options: tuple[QuestionOption, ...]
    multi_select: bool = False


@dataclass(frozen=True, slots=True)
class QuestionRequest:
    """Questions that are asked together. All text in them is foreign: show it as data."""

    call_id: str
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class QuestionReply:
    """What the person answered."""

    answers: tuple[tuple[str, ...], ...] = ()
    """For each question the labels that were chosen, or own words."""
    declined: bool = False
    reason: str = ""
    """When declined: why, in the person's words or because nobody is there."""


class Questioner(Protocol):
    """Puts questions to the person; must not raise. A wait is cancelled when the call is interrupted."""

    async def __call__(self, request: QuestionRequest) -> QuestionReply: ...
