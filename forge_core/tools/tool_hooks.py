"""The interface of hooks around tool calls. `forge_core.extensions.hooks` implements it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from forge_core.permissions.verdict import Decision, Verdict

if TYPE_CHECKING:
    from forge_core.tools.base import BaseTool, ExecutionContext, ToolResult


@dataclass(frozen=True, slots=True)
class CallOpinion:
    """The answer of hooks about a call that has not run yet. Reasons and contexts are untrusted text."""

    decision: Decision | None = None
    """None: no opinion."""
    reason: str = ""
    hook: str = ""
    """The name of the hook that decided; safe to display."""
    arguments: Mapping[str, Any] | None = None
    """The arguments to use instead, unchecked; None: those of the model."""
    changed_by: str = ""
    """The name of the hook that replaced the arguments; safe to display."""
    is_changed_by_project: bool = False
    """Whether that is a hook of the project: what the others have said of the call is void then, unless it is
    stricter."""
    context: str = ""
    """Context for the model, after the result."""
    ends_turn: bool = False


@dataclass(frozen=True, slots=True)
class ResultOpinion:
    """The answer of hooks about the result of a call."""

    output: str | None = None
    """What the model reads in place of the output."""
    context: str = ""
    """Context for the model, after the result."""
    ends_turn: bool = False
    has_run: bool = False
    """Whether any hook has run, which may have changed the files of the call."""


class ToolHooks(Protocol):
    """Runs the user's programs around tool calls. A cancellation ends them; nothing is raised for their
    faults."""

    async def before(
        self, tool: BaseTool, arguments: Mapping[str, Any], context: ExecutionContext
    ) -> CallOpinion:
        """Return the answer of hooks about a call, before the policy decides."""

    async def recheck(
        self, tool: BaseTool, arguments: Mapping[str, Any], context: ExecutionContext
    ) -> CallOpinion:
        """Return what the user's own hooks want of a call whose arguments a hook of the project has
        replaced."""

    async def asked(
        self, tool: BaseTool, arguments: Mapping[str, Any], context: ExecutionContext
    ) -> CallOpinion:
        """Return the answer of hooks about a call for which the user would be asked now."""

    async def after(
        self,
        tool: BaseTool,
        arguments: Mapping[str, Any],
        context: ExecutionContext,
        result: ToolResult,
        duration_s: float,
    ) -> ResultOpinion:
        """Return the answer of hooks about the result of a call that has run."""

    def interrupted(
        self, tool: BaseTool, arguments: Mapping[str, Any], context: ExecutionContext, error: str
    ) -> None:
        """Run the hooks of a failed call that the user has interrupted; nothing waits for them."""


def with_opinion(verdict: Verdict, opinion: CallOpinion) -> Verdict:
    """Return a verdict of the policy changed by a hook: stricter in any case, milder only where the user
    could have allowed the same for the session."""
    why = f"the hook {opinion.hook} {{}}{f': {opinion.reason}' if opinion.reason else ''}"
    match opinion.decision:
        case Decision.DENY if verdict.decision is not Decision.DENY:
            return Verdict(Decision.DENY, why.format("denied it"), by="hook")
        case Decision.ASK if verdict.decision is Decision.ALLOW:
            reason = why.format("asks about it")
            return replace(verdict, decision=Decision.ASK, reason=reason, rule="", by="hook", is_usual=False)
        case Decision.ALLOW if verdict.decision is Decision.ASK and may_be_allowed(verdict):
            reason = why.format("allowed it")
            return replace(
                verdict, decision=Decision.ALLOW, reason=reason, rule="", by="hook", shows_keys=False
            )
        case _:
            return verdict


def rechecked(first: CallOpinion, own: CallOpinion) -> CallOpinion:
    """Return the opinion about a call that a hook of the project has replaced: the stricter one of what was
    said before, where an allow does not count, and of what the user's own hooks say now."""
    if first.decision is Decision.DENY or (
        first.decision is Decision.ASK and own.decision is not Decision.DENY
    ):
        return first
    return replace(first, decision=own.decision, reason=own.reason, hook=own.hook)


def may_be_allowed(verdict: Verdict) -> bool:
    """Return whether a hook's allow counts: not against an ask rule, for what always asks, outside the
    folder or about keys, nor for a command that is to leave the sandbox."""
    is_ordinary = bool(verdict.session_rule) and not verdict.rule
    return is_ordinary and not verdict.is_private and not verdict.session_rule.startswith("network")
