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


class Answer(StrEnum):
    ONCE = "once"
    SESSION = "session"
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
    reason: str
    """Why it asks, in one line."""
    session_rule: str
    """The `tool(pattern)` rule that "yes, for this session" would add."""
    diffs: tuple[FileDiff, ...] = ()
    """What an edit would change, already computed."""
    is_destructive: bool = False
    """Deletes, leaves the folder, or uses the network: the default answer is then no."""
    details: Mapping[str, str] = field(default_factory=dict)
    """Further labelled lines for the prompt ("Timeout": "120 s")."""


@dataclass(frozen=True, slots=True)
class ApprovalReply:
    answer: Answer
    reason: str = ""
    """On a no: what the person wants the model to know."""
    is_unattended: bool = False
    """A no for want of anybody to ask; nobody has refused anything."""


class Approver(Protocol):
    """Answers requests; must not raise. Those of parallel calls come at once, and whoever has one screen
    queues them. A wait is cancelled when the call is interrupted, or the answer to another decides it."""

    async def __call__(self, request: ApprovalRequest) -> ApprovalReply: ...


async def deny_all(request: ApprovalRequest) -> ApprovalReply:
    """The approver of a run without a person: asking means no."""
    return ApprovalReply(Answer.NO, f"nobody is there to allow {request.tool}", is_unattended=True)
