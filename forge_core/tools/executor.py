"""Runs tool calls: checks the arguments, asks for permission, catches every fault, limits the output."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import shlex
import time
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar
from weakref import WeakKeyDictionary

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest, Approver, Effect, ToolKind, deny_all
from forge_core.errors import CallDeniedError, CallInterruptedError, ToolError
from forge_core.events import Notice
from forge_core.permissions.path_info import real_path
from forge_core.permissions.policy import Decision, Policy, Verdict
from forge_core.private_keys import LEFT_OUT, hide_private_keys
from forge_core.redact import Redactor
from forge_core.result import FileDiff
from forge_core.sanitize import safe_line
from forge_core.tools.arguments import validate
from forge_core.tools.base import BaseTool, ExecutionContext, ToolResult
from forge_core.tools.editing.text import sha256
from forge_core.tools.judged_call import JudgedCall, denied_by_policy, guard
from forge_core.tools.output import OUTPUT_LIMIT, OutputStore, has_elision_note
from forge_core.tools.tool_hooks import CallOpinion, rechecked, with_opinion

_INTERRUPTED = "interrupted by the user before it was allowed"
_UNJUDGED = Verdict(Decision.ALLOW, "no policy")
_MAX_SHOWN = 300
_SUMMARIES = {"denied": "refused", "interrupted": "interrupted"}
_VISITS_FOLDERS = (ToolKind.LOOK, ToolKind.WRITE)
"""The kinds of tools whose paths decide which folders' instructions the model is given."""
_T = TypeVar("_T")


class ToolExecutor:
    """Runs tools. Never raises for a fault of the model or of a tool: that is a `ToolResult(success=False)`.

    A bare `ToolExecutor()` checks no permission at all: its caller is the authority. With a `policy`, each
    call is decided by it; requests for approval go to the `approver` (those of parallel calls at the same
    time), and are denied without one. Full outputs over `output_limit` characters are kept, redacted, in
    `output_dir`, else in a private temporary folder.
    """

    def __init__(
        self,
        policy: Policy | None = None,
        approver: Approver | None = None,
        output_limit: int = OUTPUT_LIMIT,
        output_dir: Path | None = None,
        redact: Redactor | None = None,
    ) -> None:
        self.policy = policy
        self.approver = approver or deny_all
        self.output_limit = output_limit
        self.outputs = OutputStore(output_dir, redact)
        self._waiting: WeakKeyDictionary[asyncio.AbstractEventLoop, set[asyncio.Event]] = WeakKeyDictionary()

    def with_approver(self, approver: Approver) -> ToolExecutor:
        """Return one that differs only in who is asked."""
        other = copy.copy(self)
        other.approver = approver
        return other

    def with_policy(self, policy: Policy) -> ToolExecutor:
        """Return one that differs only in the policy that decides."""
        other = copy.copy(self)
        other.policy = policy
        return other

    async def execute(self, tool: BaseTool, params: object, context: ExecutionContext) -> ToolResult:
        """Run one call to its end. Only a cancellation of the caller comes through as an exception."""
        if context.outputs is None:
            context.outputs = self.outputs
        context.agreed, context.switches_git_off = None, False
        context.hides_keys = self.policy is not None
        try:
            arguments = validate(tool, params)
            refuse_notes(tool, arguments)
            opinion = CallOpinion()
            if context.hooks is not None:
                arguments, opinion = await self._before(tool, arguments, context)
            if self.policy is not None:
                context.hides = self.policy.hidden(tool.name)
                call = JudgedCall(self.policy, tool, arguments, context, opinion)
                arguments = await self._authorize(call)
            elif opinion.decision is Decision.DENY:
                raise CallDeniedError(denied_by_policy(tool, with_opinion(_UNJUDGED, opinion)))
            result = await self._ended(tool, arguments, context)
            if result.success and tool.kind in _VISITS_FOLDERS:
                given = await asyncio.to_thread(_instructions, tool, arguments, context)
                context.instructions = "\n\n".join(filter(None, (given, context.instructions)))
        except ToolError as error:
            summary = _SUMMARIES.get(error.outcome, "")
            result = ToolResult(success=False, error=str(error), summary=summary, outcome=error.outcome)
        finally:
            if context.before_images is not None and tool.effect is not Effect.READ:
                await context.before_images.settle()
        if context.ends_turn:
            result = replace(result, ends_run=True)
        return self._capped(tool, result, context)

    async def _before(
        self, tool: BaseTool, arguments: dict[str, Any], context: ExecutionContext
    ) -> tuple[dict[str, Any], CallOpinion]:
        """Return the arguments as hooks want them, checked, and what else they want of the call."""
        assert context.hooks is not None
        opinion = await _unless_interrupted(context.hooks.before(tool, arguments, context), context)
        changed = _changed(tool, arguments, context, opinion)
        return changed, await self._rechecked(tool, changed, context, opinion)

    async def _rechecked(
        self, tool: BaseTool, arguments: dict[str, Any], context: ExecutionContext, opinion: CallOpinion
    ) -> CallOpinion:
        """Return the opinion that counts if a hook of the project has replaced the arguments: the user's own
        hooks have looked at others."""
        if not opinion.is_changed_by_project:
            return opinion
        assert context.hooks is not None
        own = await _unless_interrupted(context.hooks.recheck(tool, arguments, context), context)
        context.ends_turn = context.ends_turn or own.ends_turn
        _tell(context, own.context)
        return rechecked(opinion, own)

    async def _ended(
        self, tool: BaseTool, arguments: dict[str, Any], context: ExecutionContext
    ) -> ToolResult:
        """Run a call that is allowed, and the hooks after it."""
        hooks = context.hooks
        if hooks is None:
            return await self._run(tool, arguments, context)
        started = time.monotonic()
        try:
            result = await self._run(tool, arguments, context)
        except CallInterruptedError as error:
            hooks.interrupted(tool, arguments, context, str(error))
            raise
        except ToolError as error:
            result = ToolResult(success=False, error=str(error), outcome=error.outcome)
        if context.interrupted is not None and context.interrupted.is_set():
            hooks.interrupted(tool, arguments, context, result.error or "interrupted by the user")
            return result
        duration_s = time.monotonic() - started
        with contextlib.suppress(CallInterruptedError):  # the call itself has ended
            after = hooks.after(tool, arguments, context, result, duration_s)
            opinion = await _unless_interrupted(after, context)
            context.ends_turn = context.ends_turn or opinion.ends_turn
            _tell(context, opinion.context)
            if opinion.has_run and result.success and tool.kind is ToolKind.WRITE:
                await asyncio.to_thread(_accept_rewrites, tool, arguments, context)
            if opinion.output is not None:
                result = replace(
                    result, output=opinion.output, display="", aside="", model_notes=(), images=()
                )
        return result

    async def _authorize(self, call: JudgedCall) -> dict[str, Any]:
        """Return the arguments when the call may run; raise ToolError, in words for the model, when not."""
        verdict = await call.decide()
        if verdict.decision is not Decision.ASK:
            call.settle(verdict)
            return call.arguments
        started = time.monotonic()
        try:
            if call.context.hooks is not None:
                call, verdict = await self._asked(call, verdict)
            if verdict.decision is Decision.ASK:
                await self._ask(call, verdict)
            else:
                call.settle(verdict)
        finally:
            call.context.waited_s += time.monotonic() - started
        return call.arguments

    async def _asked(self, call: JudgedCall, verdict: Verdict) -> tuple[JudgedCall, Verdict]:
        """Return the call and its verdict as the hooks want them that run before the user is asked."""
        assert call.context.hooks is not None
        work = call.context.hooks.asked(call.tool, call.arguments, call.context)
        opinion = await _unless_interrupted(work, call.context)
        arguments = _changed(call.tool, call.arguments, call.context, opinion)
        if arguments is not call.arguments:  # it is another call now
            before = replace(call.opinion, changed_by=opinion.changed_by)
            if opinion.is_changed_by_project:
                opinion = await self._rechecked(call.tool, arguments, call.context, opinion)
                before = rechecked(before, opinion)
            call = replace(call, arguments=arguments, opinion=before)
            verdict = await call.decide()
        return call, with_opinion(verdict, opinion)

    async def _ask(self, call: JudgedCall, verdict: Verdict) -> None:
        """Ask the user.

        A call that would fail anyway fails here without a prompt. If the change is no longer the same after
        the answer, it is not made: the user approved another one.
        """
        if call.context.interrupted is not None and call.context.interrupted.is_set():
            raise CallInterruptedError(_INTERRUPTED)
        diffs: tuple[FileDiff, ...] = ()
        try:
            diffs = await call.preview()
        except ToolError:
            # An error could disclose what is at a private path; it is reported only after approval.
            if not verdict.is_private:
                raise
        reply = await self._reply(call, call.request(verdict, diffs))
        if reply is None:
            call.settle(await call.decide())
            return
        if reply.is_unattended:
            call.report(False, verdict.reason, "policy")
            raise CallDeniedError(denied_unattended(call.tool, verdict))
        if reply.answer is Answer.NO:
            call.report(False, reply.reason or verdict.reason, "person", reply.reason)
            raise CallDeniedError(denied_by_user(call.tool, reply.reason))
        granted = call.grant(reply, verdict)
        call.report(True, granted or verdict.reason, "person")
        if granted:
            for changed in self._waiting_here():
                changed.set()
        await call.check_unchanged(verdict, diffs)

    def _waiting_here(self) -> set[asyncio.Event]:
        """Return one event per open prompt; adapters may call from the event loops of several threads."""
        return self._waiting.setdefault(asyncio.get_running_loop(), set())

    async def _reply(self, call: JudgedCall, request: ApprovalRequest) -> ApprovalReply | None:
        """Return the answer, which is a no if the approver fails; None if the answer to another prompt has
        settled this one.

        Raise ToolError if the wait is interrupted.
        """
        changed = asyncio.Event()
        waiting = self._waiting_here()
        waiting.add(changed)
        asking = asyncio.ensure_future(self.approver(request))
        try:
            while (
                came := await wait_for_first(asking, call.context.interrupted, changed=changed)
            ) == "changed":
                changed.clear()
                if (await call.decide()).decision is not Decision.ASK:
                    return None
            if came == "done":
                return _answer_of(asking)
            raise CallInterruptedError(_INTERRUPTED)
        finally:
            waiting.discard(changed)
            await cancel_and_wait(asking)

    async def _run(self, tool: BaseTool, arguments: dict[str, Any], context: ExecutionContext) -> ToolResult:
        if context.interrupted is not None and context.interrupted.is_set():
            raise CallInterruptedError("interrupted by the user before it started")
        call = asyncio.ensure_future(guard(lambda: tool.execute(arguments, context), tool))
        try:
            match await wait_for_first(call, context.interrupted, tool.timeout_s):
                case "timeout":
                    error = f"{tool.name} took longer than {tool.timeout_s:g} s and was stopped"
                    return ToolResult(success=False, error=error, summary="timed out", outcome="timed_out")
                case "interrupted":
                    await asyncio.wait({call}, timeout=tool.interrupt_grace_s)
                    if not call.done():
                        await cancel_and_wait(call)
            if call.done() and not call.cancelled():
                return _as_result(call.result(), tool)
            raise CallInterruptedError("interrupted by the user")
        finally:
            await cancel_and_wait(call)

    def _capped(self, tool: BaseTool, result: ToolResult, context: ExecutionContext) -> ToolResult:
        if context.hides_keys:
            error = result.error and hide_private_keys(result.error)
            result = replace(result, output=hide_private_keys(result.output), error=error)
        outputs = context.outputs or self.outputs
        output, left_out = result.output, None
        if not tool.limits_own_output:
            output, left_out = outputs.limit(output, tool.name, self.output_limit)
        error = result.error and outputs.limit(result.error, f"{tool.name}-error", self.output_limit)[0]
        if self.policy is not None and outputs.folder is not None:
            self.policy.allow_reading(outputs.folder)
        return replace(result, output=output, error=error, omission=left_out or result.omission)


async def _unless_interrupted(work: Coroutine[Any, Any, _T], context: ExecutionContext) -> _T:
    """Return what hooks want; end them, and raise CallInterruptedError, when the user interrupts."""
    task = asyncio.ensure_future(work)
    try:
        if await wait_for_first(task, context.interrupted) == "done":
            return task.result()
        raise CallInterruptedError(_INTERRUPTED)
    finally:
        await cancel_and_wait(task)


def _changed(
    tool: BaseTool, arguments: dict[str, Any], context: ExecutionContext, opinion: CallOpinion
) -> dict[str, Any]:
    """Return the arguments as hooks want them, checked; note what else they want."""
    context.ends_turn = context.ends_turn or opinion.ends_turn
    _tell(context, opinion.context)
    if opinion.arguments is None:
        return arguments
    try:
        changed = validate(tool, opinion.arguments)
        refuse_notes(tool, changed)
    except ToolError as error:
        raise CallDeniedError(
            f"the hook {opinion.changed_by} changed the arguments of {tool.name}, and they cannot be used: "
            f"{error}"
        ) from error
    if changed == arguments:
        return arguments
    names = [name for name in {**arguments, **changed} if arguments.get(name) != changed.get(name)]
    shown = json.dumps({name: changed.get(name) for name in names}, ensure_ascii=False, default=str)
    text = f"The hook {opinion.changed_by} changed the arguments of {tool.name}: {shown}"
    _tell(context, text)
    if context.emit is not None:
        context.emit(Notice(level="info", text=safe_line(text[:_MAX_SHOWN])))
    return changed


def _accept_rewrites(tool: BaseTool, arguments: dict[str, Any], context: ExecutionContext) -> None:
    """Count files that hooks have rewritten after a call, such as by formatting, as read by the model: the
    next edit is compared with what is there anyway."""
    for path in tool.use(arguments, context).paths:
        real = real_path(path)
        if str(real) in context.files:
            with contextlib.suppress(OSError):
                context.record_read(real, sha256(real.read_bytes()))


def _tell(context: ExecutionContext, text: str) -> None:
    """Give the model a text of hooks after the result."""
    if text:
        context.instructions = "\n\n".join(filter(None, (context.instructions, text)))


def refuse_notes(tool: BaseTool, arguments: dict[str, Any]) -> None:
    """Raise ToolError if a file would get a note that stood for a private key, or for text that was left out
    of the history."""
    if tool.kind is not ToolKind.WRITE:
        return
    written = json.dumps(arguments, ensure_ascii=False, default=str)
    if has_elision_note(written):
        raise ToolError(
            "the arguments contain a note about characters that were left out to save context. Nothing was "
            "done. Read the file again and write the real text."
        )
    if LEFT_OUT in written:
        raise ToolError(
            f"the arguments contain the note {LEFT_OUT + '…]'!r}, which stands for a key that is still in "
            "the file. Nothing was done. Use edit on the other parts of the file, without that note."
        )


def _answer_of(asking: asyncio.Future[ApprovalReply]) -> ApprovalReply:
    try:
        return asking.result()
    except asyncio.CancelledError:
        return ApprovalReply(Answer.NO, "the question was withdrawn")
    except Exception as error:  # the approver is foreign code, and no answer must mean no
        return ApprovalReply(Answer.NO, f"the question could not be asked: {error}")


def _instructions(tool: BaseTool, arguments: dict[str, Any], context: ExecutionContext) -> str:
    """Return the instructions of the folders that a call has visited, without those given already."""
    if context.instructions_for is None:
        return ""
    use = tool.use(arguments, context)
    texts = [context.instructions_for(real_path(path)) for path in use.paths if path not in use.removed]
    return "\n\n".join(text for text in texts if text)


def _as_result(value: object, tool: BaseTool) -> ToolResult:
    if isinstance(value, ToolResult):
        return value
    if isinstance(value, str):
        return ToolResult(success=True, output=value)
    return ToolResult(success=False, error=f"{tool.name} returned {type(value).__name__}, not a ToolResult")


async def wait_for_first(
    call: asyncio.Future[Any],
    interrupted: asyncio.Event | None,
    timeout_s: float | None = None,
    changed: asyncio.Event | None = None,
) -> Literal["done", "interrupted", "changed", "timeout"]:
    """Return what happens first."""
    watches = [asyncio.ensure_future(event.wait()) for event in (interrupted, changed) if event is not None]
    try:
        done, _ = await asyncio.wait({call, *watches}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for watch in watches:
            watch.cancel()
    if call in done:
        return "done"
    if interrupted is not None and interrupted.is_set():
        return "interrupted"
    return "changed" if done else "timeout"


async def cancel_and_wait(call: asyncio.Future[Any]) -> None:
    """Cancel the call if it still runs, and retrieve its exception, so that no task is left without an
    owner."""
    if not call.done():
        call.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await asyncio.wait({call}, timeout=1.0)
    if call.done() and not call.cancelled():
        call.exception()


def denied_by_user(tool: BaseTool, reason: str) -> str:
    """Return the error for a call that the user denied."""
    said = f" They said: {reason!r}." if reason.strip() else " They gave no reason."
    return (
        f"the user did not allow this call of {tool.name}.{said} Nothing was done. Do not retry the same "
        "call, not even in another form. Follow what they said, take another way, or ask them."
    )


def denied_unattended(tool: BaseTool, verdict: Verdict) -> str:
    """Return the error for a call that needs approval when no user is available."""
    rule = verdict.session_rule
    way = (
        f" To allow it, start Forge with --allow {shlex.quote(rule)}, or use forge chat, which asks."
        if rule
        else " It needs approval each time: run it in forge chat."
    )
    return (
        f"{tool.name} was not allowed: {verdict.reason}, and no user is available to ask.{way} Nothing was "
        "done. Do not retry the same call; go on without it, and say in your answer what was not done."
    )
