"""The hooks around tool calls: before a call, before the user is asked about it, and after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forge_core.approval import ToolKind
from forge_core.events import Notice
from forge_core.extensions.hooks.hook_events import HookEvent
from forge_core.extensions.hooks.hook_input import ClaudeCall, claude_calls, forge_arguments, forge_fields
from forge_core.extensions.hooks.hook_runner import HookRunner, HookVerdict, Occasion
from forge_core.extensions.hooks.matching import CalledTool
from forge_core.permissions.verdict import Decision
from forge_core.sanitize import safe_line, safe_text
from forge_core.tools.base import BaseTool, ExecutionContext, ToolResult
from forge_core.tools.tool_hooks import CallOpinion, ResultOpinion
from forge_core.untrusted import frame_hook_output

_INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class ToolCallHooks:
    """Runs the hooks of tool calls; implements `forge_core.tools.tool_hooks.ToolHooks`."""

    runner: HookRunner
    facts: Callable[[], Mapping[str, Any]]
    """Returns the fields that every hook reads."""
    notify: Callable[[Notice], None]

    async def before(
        self, tool: BaseTool, arguments: Mapping[str, Any], context: ExecutionContext
    ) -> CallOpinion:
        if not self.runner.has(HookEvent.PRE_TOOL_USE):
            return CallOpinion()
        return await self._opinion(HookEvent.PRE_TOOL_USE, tool, arguments, context)

    async def recheck(
        self, tool: BaseTool, arguments: Mapping[str, Any], context: ExecutionContext
    ) -> CallOpinion:
        return await self._opinion(HookEvent.PRE_TOOL_USE, tool, arguments, context, is_own_only=True)

    async def asked(
        self, tool: BaseTool, arguments: Mapping[str, Any], context: ExecutionContext
    ) -> CallOpinion:
        if not self.runner.has(HookEvent.PERMISSION_REQUEST):
            return CallOpinion()
        return await self._opinion(HookEvent.PERMISSION_REQUEST, tool, arguments, context)

    async def after(
        self,
        tool: BaseTool,
        arguments: Mapping[str, Any],
        context: ExecutionContext,
        result: ToolResult,
        duration_s: float,
    ) -> ResultOpinion:
        event = HookEvent.POST_TOOL_USE if result.success else HookEvent.POST_TOOL_USE_FAILURE
        if not self.runner.has(event):
            return ResultOpinion()
        about: dict[str, Any] = {"duration_ms": round(duration_s * 1000)}
        if result.success:
            about["tool_response"] = _response(tool, result)
        else:
            about |= {"error": result.for_model(), "is_interrupt": result.outcome == _INTERRUPTED}
        calls = claude_calls(tool, arguments, context)
        verdict = await self._run(event, tool, arguments, context, calls, about)
        reason = frame_hook_output(safe_text(verdict.reason))
        reports = [f"The hook {verdict.hook} reports:\n{reason}"] if verdict.blocks else []
        context_text = _texts(*reports, _context(verdict))
        return ResultOpinion(verdict.updated_output, context_text, self._ends_turn(verdict), has_run=True)

    def interrupted(
        self, tool: BaseTool, arguments: Mapping[str, Any], context: ExecutionContext, error: str
    ) -> None:
        about = {"error": error, "is_interrupt": True}
        calls = claude_calls(tool, arguments, context)
        occasions = self._occasions(tool, arguments, context, calls, about)
        self.runner.start(HookEvent.POST_TOOL_USE_FAILURE, *occasions)

    async def _opinion(
        self,
        event: HookEvent,
        tool: BaseTool,
        arguments: Mapping[str, Any],
        context: ExecutionContext,
        *,
        is_own_only: bool = False,
    ) -> CallOpinion:
        calls = claude_calls(tool, arguments, context)
        verdict = await self._run(event, tool, arguments, context, calls, {}, is_own_only=is_own_only)
        ends_turn = self._ends_turn(verdict)
        decision, reason, hook = verdict.decision, verdict.reason, verdict.hook
        if ends_turn and decision is not Decision.DENY:
            decision, reason = Decision.DENY, verdict.stop_reason or "it ends the turn"
        changed: Mapping[str, Any] | None = None
        if verdict.updated_input is not None and decision is not Decision.DENY:
            try:
                changed = forge_arguments(calls[verdict.updated_at], verdict.updated_input)
            except ValueError as error:
                decision, reason, hook = Decision.DENY, str(error), verdict.updated_by
        return CallOpinion(
            decision,
            safe_line(reason),
            hook or "of this event",
            changed,
            verdict.updated_by,
            verdict.is_updated_by_project,
            _context(verdict),
            ends_turn,
        )

    async def _run(
        self,
        event: HookEvent,
        tool: BaseTool,
        arguments: Mapping[str, Any],
        context: ExecutionContext,
        calls: Sequence[ClaudeCall],
        about: Mapping[str, Any],
        *,
        is_own_only: bool = False,
    ) -> HookVerdict:
        def on_slow(text: str) -> None:
            if context.on_output is not None:
                context.on_output(f"{text}\n")

        occasions = self._occasions(tool, arguments, context, calls, about)
        return await self.runner.run(event, *occasions, on_slow=on_slow, is_own_only=is_own_only)

    def _occasions(
        self,
        tool: BaseTool,
        arguments: Mapping[str, Any],
        context: ExecutionContext,
        calls: Sequence[ClaudeCall],
        about: Mapping[str, Any],
    ) -> list[Occasion]:
        """Return one for each file of a call; a hook with `if` sees the whole call each time."""
        use = tool.use(dict(arguments), context)
        facts = self.facts()
        return [
            Occasion(
                {
                    **facts,
                    "tool_name": call.name,
                    "tool_input": call.input,
                    "tool_use_id": context.call_id,
                    **about,
                    "forge": forge_fields(tool, arguments),
                },
                call.names,
                CalledTool(call.names, use, context.folders),
            )
            for call in calls
        ]

    def _ends_turn(self, verdict: HookVerdict) -> bool:
        if verdict.ends_turn:
            reason = safe_line(verdict.stop_reason) or "it gave no reason"
            self.notify(Notice(level="warning", text=f"A hook ended the turn: {reason}"))
        return verdict.ends_turn


def _response(tool: BaseTool, result: ToolResult) -> dict[str, Any]:
    response: dict[str, Any] = {"output": result.output, "success": True}
    if tool.kind is ToolKind.RUN:  # hooks for commands read these
        response |= {"stdout": result.output, "stderr": "", "interrupted": False}
    return response


def _context(verdict: HookVerdict) -> str:
    """Return the context for the model, with its source."""
    return f"From a hook:\n{frame_hook_output(safe_text(verdict.context))}" if verdict.context else ""


def _texts(*texts: str) -> str:
    return "\n\n".join(filter(None, texts))
