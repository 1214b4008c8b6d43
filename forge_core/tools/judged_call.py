"""A tool call that the policy judges, and what is shown and granted of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest, Effect, ToolKind
from forge_core.errors import CallDeniedError, ForgeError, ToolError
from forge_core.events import Notice, Permission
from forge_core.permissions.policy import Decision, Policy, Verdict
from forge_core.result import FileDiff
from forge_core.tools.base import BaseTool, ExecutionContext, ToolUse
from forge_core.tools.tool_hooks import CallOpinion, with_opinion

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class JudgedCall:
    """A call of a tool, and the policy that decides on it."""

    policy: Policy
    tool: BaseTool
    arguments: dict[str, Any]
    context: ExecutionContext
    opinion: CallOpinion
    """What hooks want of it."""

    async def decide(self) -> Verdict:
        """Return the policy's verdict, as hooks want it; a tool that cannot say what it would touch is
        refused."""
        # For a command line the policy may read the history of a repository, which takes up to seconds.
        return await asyncio.to_thread(self._decide) if self.tool.effect is Effect.RUN else self._decide()

    def _decide(self) -> Verdict:
        try:
            use = self.tool.use(self.arguments, self.context)
            return with_opinion(self.policy.decide(self.tool.name, use), self.opinion)
        except Exception as error:  # tools may be foreign code, and no verdict must never mean yes
            return Verdict(
                Decision.DENY,
                f"what it would touch could not be determined ({type(error).__name__}: {error})",
            )

    def settle(self, verdict: Verdict) -> None:
        """Report a decision made without a prompt; raise ToolError if it is a denial."""
        is_allowed = verdict.decision is Decision.ALLOW
        self.context.hides_keys = not (is_allowed and verdict.shows_keys)
        self.context.agreed = frozenset(verdict.real_paths)
        self.context.agreed_links = frozenset(verdict.linked_paths)
        self.context.switches_git_off = verdict.switches_git_off
        self.report(is_allowed, verdict.rule or verdict.reason, verdict.by)
        if not is_allowed:
            raise CallDeniedError(denied_by_policy(self.tool, verdict))

    async def preview(self) -> tuple[FileDiff, ...]:
        """Return what the call would change. Raise ToolError when it would fail anyway."""
        return await guard(lambda: self.tool.preview(self.arguments, self.context), self.tool)

    def request(self, verdict: Verdict, diffs: tuple[FileDiff, ...]) -> ApprovalRequest:
        use = self.tool.use(self.arguments, self.context)
        return ApprovalRequest(
            call_id=self.context.call_id,
            tool=self.tool.name,
            effect=use.effect,
            arguments=self.arguments,
            target=use.target,
            action=self.tool.action,
            reason=verdict.reason,
            is_usual_reason=verdict.is_usual,
            session_rule=verdict.session_rule,
            always_rule=verdict.always_rule,
            diffs=diffs,
            is_destructive=verdict.is_destructive,
            is_undoable=bool(diffs) and not verdict.is_destructive and self._is_undoable(use),
            needs_network=use.needs_network,
            agent=self.context.agent,
            sandbox=self._sandbox_of(use, verdict),
            risky=verdict.risky,
            details={**use.details, **self._change()},
            server_tool=use.server_tool,
            changes=verdict.changes,
        )

    def _change(self) -> dict[str, str]:
        """Return which hook has replaced the arguments, for the prompt."""
        return {"Changed by the hook": self.opinion.changed_by} if self.opinion.changed_by else {}

    def _sandbox_of(self, use: ToolUse, verdict: Verdict) -> Literal["full", "weak", "off", ""]:
        is_program = use.kind is ToolKind.RUN or use.server_tool is not None
        if not is_program or use.effect is not Effect.RUN:
            return ""
        if use.server_tool is not None:
            return "full" if use.server_tool.is_sandboxed else "off"
        if self.context.sandbox is None:
            return "off"
        return "weak" if verdict.is_sandbox_weak else self.context.sandbox.state.strength

    def _is_undoable(self, use: ToolUse) -> bool:
        """Return whether undo covers the call: it keeps no files of git's own."""
        is_edit = use.kind is ToolKind.WRITE and use.effect is Effect.WRITE
        is_git = any(".git" in path.parts for path in use.paths)
        return is_edit and not is_git and self.context.before_images is not None

    def grant(self, reply: ApprovalReply, verdict: Verdict) -> str:
        """Add the rule that the answer grants and return it; empty for "once".

        If the rule cannot be added, only this call is granted, and the user gets a notice.
        """
        offers = {Answer.SESSION: verdict.session_rule, Answer.ALWAYS: verdict.always_rule}
        offered = offers.get(reply.answer, "")
        rule = reply.rule.strip() or offered
        if not offered or not rule:
            return ""
        try:
            if reply.answer is Answer.ALWAYS:
                self.policy.allow_always(rule, verdict.always_scripts if rule == offered else None)
            else:
                self.policy.allow_for_session(rule, verdict.session_scripts if rule == offered else ())
        except ForgeError as error:
            if self.context.emit is not None:
                self.context.emit(Notice(level="warning", text=f"Allowed this once only. {error}"))
            return ""
        return rule

    async def check_unchanged(self, verdict: Verdict, diffs: tuple[FileDiff, ...]) -> None:
        """Raise ToolError when the call would now do something else than what was shown."""
        again = await self.decide()
        is_same_place = again.decision is Decision.ALLOW or again == verdict
        if not is_same_place or await self.preview() != diffs:
            raise ToolError(
                "what the call would change is no longer what the user agreed to: the file has changed "
                "in the meantime. Nothing was done. Read it again and repeat the call."
            )
        self.context.hides_keys = not again.shows_keys
        self.context.agreed = frozenset(again.real_paths)
        self.context.agreed_links = frozenset(again.linked_paths)
        self.context.switches_git_off = again.switches_git_off

    def report(
        self,
        allowed: bool,
        rule: str,
        by: Literal["policy", "rule", "person", "mode", "hook"],
        reason: str = "",
    ) -> None:
        if self.context.emit is not None:
            self.context.emit(
                Permission(
                    call_id=self.context.call_id,
                    decision="allow" if allowed else "deny",
                    rule=rule,
                    by=by,
                    reason=reason,
                )
            )


async def guard(call: Callable[[], Awaitable[_T]], tool: BaseTool) -> _T:
    """Return the call's value; every fault as a ToolError. A tool must not end the turn, whatever it
    raises."""
    try:
        return await call()
    except ToolError:
        raise
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise ToolError(f"{tool.name} cancelled itself") from error
    except (Exception, SystemExit) as error:
        text = str(error).strip()
        raise ToolError(
            f"{tool.name} failed with {type(error).__name__}{f': {text}' if text else ''}. "
            "This is a bug in the tool; try another way."
        ) from error


def denied_by_policy(tool: BaseTool, verdict: Verdict) -> str:
    """Return the error for a call that a rule or the mode denied, without a prompt."""
    return (
        f"{tool.name} was not allowed: {verdict.reason}. Do not try the same again in another form; "
        "take another way, or tell the user what you need and why."
    )
