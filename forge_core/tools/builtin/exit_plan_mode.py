"""The exit_plan_mode tool: the finished plan, for the user to approve."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from forge_core.approval import MAX_PLAN_CHARS, Effect, PlanAnswer, PlanReply, PlanRequest, ToolKind
from forge_core.config.permission_mode import PermissionMode
from forge_core.errors import ToolError
from forge_core.tools.base import BaseTool, ExecutionContext, ToolCategory, ToolParameter, ToolResult


class SessionPlan:
    """The plan of a session, and the permission modes around plan mode."""

    def __init__(self) -> None:
        self.text = ""
        """The plan that was presented last, in Markdown; empty for none."""
        self.is_approved = False
        self.is_in_review = False
        """Whether the user is deciding on it."""
        self.use_mode: Callable[[PermissionMode], None] = lambda mode: None
        """Switches the session to a mode."""
        self._mode: PermissionMode | None = None
        self._mode_before = PermissionMode.ASK
        """The mode that was in use before plan mode: one that Shift+Tab only passes is not."""

    @property
    def is_planning(self) -> bool:
        """Whether the session is in plan mode."""
        return self._mode is PermissionMode.PLAN

    @property
    def is_open(self) -> bool:
        """Whether a plan waits for approval."""
        return self.is_planning and bool(self.text) and not self.is_approved

    @property
    def next_mode(self) -> PermissionMode:
        """The mode after approval: that of the last turn before plan mode, else the session's first one."""
        return self._mode_before if self._mode is None or self.is_planning else self._mode

    def mode_changed(self, mode: PermissionMode) -> None:
        """Take note of the session's mode."""
        is_first, self._mode = self._mode is None, mode
        if is_first:
            self.turn_began()

    def turn_began(self) -> None:
        """Take note that the mode is in use."""
        if self._mode is not None and not self.is_planning:
            self._mode_before = self._mode

    def present(self, text: str) -> None:
        """Keep a plan that is not approved yet."""
        self.text, self.is_approved = text, False

    def approve(self, *, accepts_edits: bool = False) -> PermissionMode:
        """Approve the plan and end plan mode; return the mode from now on."""
        mode = PermissionMode.ACCEPT_EDITS if accepts_edits else self.next_mode
        self.is_approved = True
        if mode is not self._mode:
            self.use_mode(mode)
        return mode

    def clear(self) -> None:
        """Forget the plan; the mode stays."""
        self.text, self.is_approved = "", False

    def state(self) -> dict[str, Any]:
        """Return what the journal records of the plan; nothing without one."""
        return {"text": self.text, "is_approved": self.is_approved} if self.text else {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Replace the plan by a recorded one."""
        self.text = str(state.get("text") or "")
        self.is_approved = bool(self.text) and state.get("is_approved") is True


class ExitPlanModeTool(BaseTool):
    """Presents the plan to the user, and ends plan mode when they approve it."""

    name = "exit_plan_mode"
    claude_names = ("ExitPlanMode",)
    description = (
        "Ends plan mode: presents your finished plan to the user, who approves it, or says what to change. "
        "Call it once you have read enough to know what is to be done, with nothing else in the same answer. "
        "The plan is Markdown: the goal in a sentence, then the steps in order with the files that each "
        f"changes, then how the result is checked; short, at most {MAX_PLAN_CHARS:,} characters. "
        "Use ask_user for open decisions before. Do not call it for a question that needs no change to "
        "files: answer that in words. Outside of plan mode it fails."
    )
    parameters = (ToolParameter("plan", "string", "The whole plan in Markdown, also if it only changed."),)
    advice = "In plan mode, hand the finished plan in with exit_plan_mode."
    for_agents = False
    category = ToolCategory.PLANNING
    effect = Effect.READ
    kind = ToolKind.SESSION
    title = "Present the plan"
    may_repeat = True

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        text, plan = str(params["plan"]).strip(), context.plan
        if plan is None or not plan.is_planning:
            raise ToolError("plan mode is off, so there is nothing to approve. Go on with the work itself.")
        if not text:
            raise ToolError("the plan is empty. Send the whole plan in Markdown.")
        if len(text) > MAX_PLAN_CHARS:
            raise ToolError(f"the plan has {len(text):,} characters; at most {MAX_PLAN_CHARS:,}. Shorten it.")
        if plan.is_in_review:
            raise ToolError("the user is deciding on another one. Present one plan at a time.")
        plan.present(text)
        reply = await _reply(plan, context)
        if reply.plan.strip():
            plan.present(reply.plan.strip())
        return _result(plan, reply)


async def _reply(plan: SessionPlan, context: ExecutionContext) -> PlanReply:
    request = PlanRequest(context.call_id, plan.text, plan.next_mode)
    if context.review_plan is None:
        return request.unanswered("no user is available")
    started = time.monotonic()
    plan.is_in_review = True
    try:
        return await context.review_plan(request)
    finally:
        plan.is_in_review = False
        context.waited_s += time.monotonic() - started


def _result(plan: SessionPlan, reply: PlanReply) -> ToolResult:
    if reply.answer is PlanAnswer.KEEP_PLANNING:
        return _not_approved(plan, reply)
    mode = plan.approve(accepts_edits=reply.answer is PlanAnswer.ACCEPT_EDITS)
    edited = f"\n\nThey have edited it. This is the plan now:\n\n{plan.text}" if reply.plan.strip() else ""
    return ToolResult(
        True,
        f"The user has approved the plan. Plan mode is over; the permission mode is {mode} now: "
        f"{mode.instruction} Carry the plan out, step by step, and keep its steps in todo.{edited}",
        summary=f"approved, mode {mode}",
        document=plan.text,
        is_in_header=True,
    )


def _not_approved(plan: SessionPlan, reply: PlanReply) -> ToolResult:
    """Return the result where planning continues: at once by what the user wants changed, otherwise when they
    say it."""
    feedback = "" if reply.is_unattended else reply.feedback.strip()
    edited = f"\n\nThey have edited it themselves to this:\n\n{plan.text}" if reply.plan.strip() else ""
    if feedback:
        return ToolResult(
            True,
            f"The user wants this changed before they approve the plan: {feedback}\nPlan mode goes on. "
            f"Change the plan and call exit_plan_mode with all of it again.{edited}",
            summary="to be changed",
            outcome="declined",
            document=plan.text,
            display=feedback,
        )
    why = (
        f"The plan was not decided on: {reply.feedback}."
        if reply.is_unattended
        else ("The user has not approved the plan yet and keeps planning.")
    )
    return ToolResult(
        True,
        f"{why} Plan mode goes on: their next message says what to change, or that the plan is approved."
        f"{edited}",
        summary="not approved yet",
        outcome="declined",
        document=plan.text,
        is_in_header=True,
        ends_run=True,
    )
