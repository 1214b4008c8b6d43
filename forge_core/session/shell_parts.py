"""The commands whose output is a part of a message: run before it is sent, under the policy of all calls."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Sequence

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest, Effect
from forge_core.errors import ForgeError
from forge_core.events import ToolEnd, ToolStart
from forge_core.langchain.agent import ForgeAgent
from forge_core.langchain.agent.event_queue import EventSink
from forge_core.permissions.verdict import Decision
from forge_core.session.tool_environment import ToolEnvironment
from forge_core.tools.base import ExecutionContext, ToolResult
from forge_core.tools.builtin.bash import BashTool
from forge_core.untrusted import OUTPUT, frame_text

TIMEOUT_S = 10
MAX_CHARS = 10_000
"""Of the output of one command."""


class CommandsRefusedError(ForgeError):
    """The user refused the commands of a message."""


class ShellParts:
    """Runs them one after the other. Several that need approval are asked for in one request."""

    def __init__(
        self, agent: ForgeAgent, environment: ToolEnvironment, is_interrupted: Callable[[], bool]
    ) -> None:
        """`is_interrupted` returns whether the turn that has begun is to end."""
        self._agent = agent
        self._environment = environment
        self._is_interrupted = is_interrupted
        self._interrupted = asyncio.Event()
        self._tool = BashTool()

    def interrupt(self) -> None:
        """End the command that runs, and start no other."""
        self._interrupted.set()

    async def run(self, commands: Sequence[str], name: str, events: EventSink) -> list[str]:
        """Return what takes the place of each command of `/name`: its output, or why there is none, framed as
        data.

        Raises:
            CommandsRefusedError: the user refused to let them run.
        """
        self._interrupted.clear()
        if self._is_interrupted():
            self._interrupted.set()
        asking = [command for command in dict.fromkeys(commands) if await self._asks(command)]
        reply = await self._reply(asking, name) if len(asking) > 1 else None
        return [
            await self._run(command, name, reply if command in asking else None, events)
            for command in commands
        ]

    async def _asks(self, command: str) -> bool:
        """Return whether the policy asks before this command."""
        context = self._environment.context()
        use = self._tool.use(_arguments(command, ""), context)
        verdict = await asyncio.to_thread(self._environment.policy.decide, self._tool.name, use)
        return verdict.decision is Decision.ASK

    async def _reply(self, commands: Sequence[str], name: str) -> ApprovalReply:
        """Ask for several commands together."""
        sandbox = self._environment.sandbox
        request = ApprovalRequest(
            call_id="",
            tool=self._tool.name,
            effect=Effect.RUN,
            arguments={"commands": [*commands]},
            target="\n".join(commands),
            action=f"run {len(commands)} commands for /{name}",
            reason="their output becomes part of the message",
            session_rule="",
            is_destructive=any(self._is_destructive(command) for command in commands),
            sandbox="off" if sandbox is None else sandbox.state.strength,
            details={"Timeout": f"{TIMEOUT_S} s each", "Folder": str(self._environment.working_dir)},
        )
        return await self._environment.responder(request)

    def _is_destructive(self, command: str) -> bool:
        return self._tool.use(_arguments(command, ""), self._environment.context()).is_destructive

    async def _run(self, command: str, name: str, given: ApprovalReply | None, events: EventSink) -> str:
        """Run one command; `given` is the reply for all that ask."""
        replies: list[ApprovalReply] = []

        async def approve(request: ApprovalRequest) -> ApprovalReply:
            reply = await self._environment.responder(request) if given is None else given
            replies.append(reply)
            return reply

        call_id = f"command-{uuid.uuid4().hex}"
        context: ExecutionContext = self._environment.context()
        context.call_id, context.interrupted, context.emit = call_id, self._interrupted, events.emit
        arguments = _arguments(command, name)
        events.emit(
            ToolStart(
                call_id=call_id,
                name=self._tool.name,
                arguments=arguments,
                title=self._tool.title,
                target=command,
                kind=self._tool.kind,
            )
        )
        started = time.monotonic()
        result = ToolResult(success=False, error="it was cancelled", outcome="interrupted")
        try:
            result = await self._agent.executor.with_approver(approve).execute(self._tool, arguments, context)
        finally:
            events.emit(_end(call_id, self._tool.name, result, time.monotonic() - started - context.waited_s))
        if any(reply.answer is Answer.NO and not reply.is_unattended for reply in replies):
            reason = next((reply.reason for reply in replies if reply.reason), "")
            raise CommandsRefusedError(
                f"you denied the commands of /{name}{f' ({reason})' if reason else ''}."
            )
        return frame_text(OUTPUT, self._text(result), tool=self._tool.name)

    def _text(self, result: ToolResult) -> str:
        notes = {note.strip() for note in (*result.model_notes, result.aside) if note}
        output = "\n".join(line for line in result.output.split("\n") if line.strip() not in notes)
        if result.success:
            return self._limited(output)
        if result.outcome == "denied":
            return f"[not run: {self._limited(result.error or 'it is not allowed')}]"
        text = self._limited(output.strip() or result.error or "")
        return f"[{result.summary or 'failed'}: {text}]"

    def _limited(self, text: str) -> str:
        return self._agent.executor.outputs.limit(text, "command", MAX_CHARS)[0]


def _arguments(command: str, name: str) -> dict[str, object]:
    purpose = {"description": f"Its output is part of /{name}"} if name else {}
    return {"command": command, "timeout_s": TIMEOUT_S, **purpose}


def _end(call_id: str, name: str, result: ToolResult, duration_s: float) -> ToolEnd:
    return ToolEnd(
        call_id=call_id,
        name=name,
        result=result.for_model(),
        success=result.success,
        duration_s=max(duration_s, 0.0),
        summary=result.summary,
        outcome=result.outcome or ("done" if result.success else "failed"),
        aside=result.aside,
        model_notes=result.model_notes,
        omission=result.omission,
    )
