"""The programs of the user and the project that run at events of a session.

What runs them is imported only if a file declares any.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from logging import Logger
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from forge_core.approval import ApprovalRequest, PlanRequest, QuestionRequest, UserRequest
from forge_core.config.forge_config import ForgeConfig
from forge_core.config.permission_mode import PermissionMode
from forge_core.events import Notice
from forge_core.extensions.hook_locations import hook_sources
from forge_core.sanitize import safe_line, safe_text
from forge_core.untrusted import frame_hook_output

if TYPE_CHECKING:
    from forge_core.extensions.approvals import WaitingProgram
    from forge_core.extensions.hooks.approved_hooks import HookApprovals
    from forge_core.extensions.hooks.call_hooks import ToolCallHooks
    from forge_core.extensions.hooks.hook_events import HookEvent
    from forge_core.extensions.hooks.hook_files import Hook
    from forge_core.extensions.hooks.hook_process import HookProcesses
    from forge_core.extensions.hooks.hook_runner import HookRunner, HookVerdict
    from forge_core.tools.tool_hooks import ToolHooks

MAX_BLOCKS = 8
"""So often in a row hooks of Stop may make a turn go on."""
IDLE_S = 60.0
SessionStart = Literal["startup", "resume", "fork", "clear", "compact"]
Trigger = Literal["manual", "auto"]


@dataclass(frozen=True, slots=True)
class _Running:
    """What runs the hooks that may run."""

    runner: HookRunner
    calls: ToolCallHooks


class SessionHooks:
    """Runs hooks at the events of one session. Without hooks, every method returns at once."""

    def __init__(
        self,
        config: ForgeConfig,
        session_id: str,
        transcript: Path,
        mode: Callable[[], PermissionMode],
        notify: Callable[[Notice], None],
        logger: Logger,
    ) -> None:
        """`mode` returns that of the session."""
        self.start: SessionStart = "startup"
        """How the session began."""
        self.on_read: Callable[[], Awaitable[None]] = _nothing
        """Awaited at the start of the session, after the files have been read, before the first hook runs."""
        self.idle_s = IDLE_S
        """After this time without a turn, hooks of Notification run with the type idle_prompt."""
        self.approvals: HookApprovals | None = None
        """What was declared; None where nothing was, or before it was read."""
        self._config = config
        self._session_id = session_id
        self._transcript = transcript
        self._mode = mode
        self._notify = notify
        self._logger = logger
        self._processes: HookProcesses | None = None
        self._running: _Running | None = None
        self._beginning: asyncio.Task[None] | None = None
        self._current: set[asyncio.Task[HookVerdict]] = set()
        """Events that something waits for."""
        self._contexts: list[str] = []
        self._blocks: dict[str, int] = {}
        """Id of a sub-agent, "" for the turn → how often in a row its end was blocked."""
        self._idle: asyncio.TimerHandle | None = None

    # What was declared

    async def reload(self) -> None:
        """Read the files again. Programs that run end with the old ones."""
        before = self._running
        if before is not None:
            await before.runner.aclose()
        if not hook_sources(self._config):
            self.approvals = self._running = None
            return
        from forge_core.extensions.hooks.approved_hooks import HookApprovals

        approvals = await asyncio.to_thread(HookApprovals.load, self._config)
        self._use(approvals)

    def _use(self, approvals: HookApprovals) -> None:
        from forge_core.extensions.hooks.call_hooks import ToolCallHooks
        from forge_core.extensions.hooks.hook_process import HookProcesses

        if self._processes is None:
            self._processes = HookProcesses(self._config.working_dir)
        runner = self._runner(approvals, approvals.allowed)
        self.approvals = approvals
        self._running = _Running(runner, ToolCallHooks(runner, self._facts, self._notify))

    def _runner(self, approvals: HookApprovals, hooks: Sequence[Hook]) -> HookRunner:
        from forge_core.extensions.hooks.hook_runner import HookRunner

        assert self._processes is not None
        return HookRunner(hooks, self._processes, approvals.refusal, self._notify, self._logger)

    @property
    def runner(self) -> HookRunner | None:
        return None if self._running is None else self._running.runner

    @property
    def broken(self) -> tuple[str, ...]:
        """The names of the hooks that could not run the last time."""
        return () if self._running is None else tuple(self._running.runner.broken)

    @property
    def tools(self) -> ToolHooks | None:
        """What the executor runs around calls; None without hooks."""
        return None if self._running is None or not self._running.runner.hooks else self._running.calls

    def of_agent(self, agent_id: str, agent_type: str, mode: PermissionMode) -> ToolHooks | None:
        """Return what the executor runs around the calls of a sub-agent in this mode; None without hooks."""
        if self._running is None or self.tools is None:
            return None
        about = {"agent_id": agent_id, "agent_type": agent_type}
        return replace(self._running.calls, facts=lambda: {**self._facts(mode), **about})

    @property
    def variables(self) -> Mapping[str, str]:
        """What hooks of SessionStart have exported for commands."""
        return {} if self._processes is None else self._processes.variables

    def _facts(self, mode: PermissionMode | None = None) -> dict[str, Any]:
        from forge_core.extensions.hooks.hook_input import SessionFacts

        folder = self._config.working_dir
        return SessionFacts(self._session_id, self._transcript, folder, mode or self._mode()).fields()

    def waiting(self) -> list[WaitingProgram]:
        """Return the programs about which the user has not decided as they are now."""
        return [] if self.approvals is None else self.approvals.shown

    async def decide(self, shown: Sequence[WaitingProgram], approved: Collection[int]) -> int:
        """Store the user's decision about each of these programs of `waiting`, by its index; those that are
        approved run from now on, those for the start of a session at once. Return how many are approved: one
        that is no longer as it was shown is not.

        Raises:
            ConfigError: the decision cannot be stored.
        """
        from forge_core.extensions.hooks.hook_events import HookEvent
        from forge_core.extensions.hooks.hook_runner import Occasion

        before = self.approvals
        if before is None:
            return 0
        agreed = await asyncio.to_thread(before.decide, self._config, shown, approved)
        new = {hook.key for hook in agreed}
        await self.reload()
        if self.approvals is None:
            return len(agreed)
        hooks = [hook for hook in self.approvals.allowed if hook.key in new]
        runner = self._runner(self.approvals, hooks)
        event = HookEvent.SESSION_START
        occasion = Occasion({**self._facts(), "source": self.start}, (self.start,))
        self._add_context(event, await runner.run(event, occasion))
        return len(agreed)

    # Events of the session

    async def begin(self) -> None:
        """Read the files and run the hooks of SessionStart; once, however often it is called."""
        if self._beginning is None:
            self._beginning = asyncio.create_task(self._begin(), name="forge-hooks")
        await asyncio.shield(self._beginning)

    async def _begin(self) -> None:
        await self.reload()
        for problem in () if self.approvals is None else self.approvals.table.problems:
            self._notify(Notice(level="warning", text=problem))
        await self.on_read()
        await self.started(self.start)

    async def started(self, source: SessionStart) -> None:
        """Run the hooks of SessionStart; their context is added to the next message."""
        if event := self._event("SESSION_START"):
            verdict = await self._run(event, {"source": source}, source)
            self._add_context(event, verdict)

    def take_context(self) -> list[str]:
        """Return the context of hooks for the next message, and forget it."""
        taken, self._contexts = self._contexts, []
        return taken

    async def admit(self, prompt: str) -> str | None:
        """Run the hooks of UserPromptSubmit; return why a message must not be sent, or None."""
        self._blocks.pop("", None)
        self._stop_idling()
        await self.begin()
        if not (event := self._event("USER_PROMPT_SUBMIT")):
            return None
        verdict = await self._run(event, {"prompt": prompt})
        if verdict.blocks or verdict.ends_turn:
            who = f"the hook {verdict.hook}" if verdict.hook else "a hook"
            reason = safe_line(verdict.reason or verdict.stop_reason)
            return f"The message was not sent, because {who} blocked it: {reason}"
        self._add_context(event, verdict)
        return None

    async def may_end(self, output: str) -> str:
        """Run the hooks of Stop at the end of an answer; return what the model is to go on with, or ""."""
        return await self._stopping("STOP", {"last_assistant_message": output})

    def turn_ended(self, error: str = "", output: str = "") -> None:
        """Run the hooks of StopFailure if a turn has failed, and those of Notification after `idle_s`."""
        if error and (event := self._event("STOP_FAILURE")):
            self._start(event, {"error": error, "last_assistant_message": output})
        if self._event("NOTIFICATION"):
            loop = asyncio.get_running_loop()
            self._idle = loop.call_later(self.idle_s, self._say_idle)

    async def compacting(self, trigger: Trigger, instructions: str) -> str:
        """Run the hooks of PreCompact; return why the conversation must not be compacted, or ""."""
        if not (event := self._event("PRE_COMPACT")):
            return ""
        fields = {"trigger": trigger, "custom_instructions": instructions}
        verdict = await self._run(event, fields, trigger)
        return safe_line(verdict.reason or "a hook blocked it") if verdict.blocks else ""

    async def compacted(self, trigger: Trigger) -> None:
        """Run the hooks of PostCompact, then those of SessionStart."""
        if event := self._event("POST_COMPACT"):
            await self._run(event, {"trigger": trigger}, trigger)
        await self.started("compact")

    async def cleared(self) -> None:
        """Run the hooks for the end of a conversation, and those for the start of the next."""
        if event := self._event("SESSION_END"):
            await self._run(event, {"reason": "clear"}, "clear")
        if self._processes is not None:
            self._processes.variables.clear()
        await self.started("clear")

    def user_asked(self, request: UserRequest[Any]) -> None:
        """Run the hooks of Notification for a question to the user."""
        match request:
            case ApprovalRequest():
                self._notified("permission_prompt", f"Forge needs your permission to use {request.tool}")
            case PlanRequest():
                self._notified("permission_prompt", "Forge needs your approval for the plan")
            case QuestionRequest():
                self._notified("elicitation_dialog", "Forge has a question")

    # Sub-agents

    async def subagent_started(self, agent_id: str, agent_type: str) -> list[str]:
        """Run the hooks of SubagentStart; return their context for the sub-agent. A cancellation
        ends them; an interrupt of the turn does not, since the sub-agent may go on after it."""
        if not (event := self._event("SUBAGENT_START")):
            return []
        verdict = await self._work(event, {"agent_id": agent_id, "agent_type": agent_type}, agent_type)
        return _context_of(event, verdict)

    async def subagent_stopped(self, agent_id: str, agent_type: str, output: str) -> str:
        """Run the hooks of SubagentStop at the end of a sub-agent's answer; return what it is to go on with,
        or "". Blocks `MAX_BLOCKS` times in a row at most. A cancellation ends them, as at the start."""
        fields = {"agent_id": agent_id, "agent_type": agent_type, "last_assistant_message": output}
        return await self._stopping("SUBAGENT_STOP", fields, agent_id, agent_type)

    # The end

    def interrupt(self) -> None:
        """End the hooks that something waits for; their answers do not count."""
        for task in [*self._current]:
            task.cancel()

    async def aclose(self) -> None:
        """Run the hooks of SessionEnd, then end everything that hooks have left running."""
        self._stop_idling()
        self.interrupt()
        if self._beginning is not None:
            self._beginning.cancel()
            await asyncio.wait([self._beginning])
        if self._running is None:
            return
        if event := self._event("SESSION_END"):
            await self._run(event, {"reason": "other"}, "other")
        await self._running.runner.aclose()
        assert self._processes is not None
        await self._processes.kill_rest()

    async def _stopping(
        self, name: str, fields: Mapping[str, Any], agent_id: str = "", agent_type: str = ""
    ) -> str:
        if not (event := self._event(name)):
            return ""
        blocks = self._blocks.get(agent_id, 0)
        run = self._work if agent_id else self._run
        verdict = await run(event, {**fields, "stop_hook_active": blocks > 0}, agent_type)
        if not verdict.blocks or verdict.ends_turn:
            self._blocks.pop(agent_id, None)
            return ""
        if blocks >= MAX_BLOCKS:
            self._blocks.pop(agent_id, None)
            what = f"agent {agent_type}" if agent_id else "turn"
            text = f"The {what} ends although a hook of {event} blocks it: it has done so {MAX_BLOCKS} times."
            self._notify(Notice(level="warning", text=text))
            return ""
        self._blocks[agent_id] = blocks + 1
        reason = frame_hook_output(safe_text(verdict.reason))
        return f"The hook {verdict.hook} reports that the work is not done:\n{reason}"

    def _event(self, name: str) -> HookEvent | None:
        """Return an event if any hook runs at it."""
        if self._running is None:
            return None
        from forge_core.extensions.hooks.hook_events import HookEvent

        event = HookEvent[name]
        return event if self._running.runner.has(event) else None

    async def _run(self, event: HookEvent, fields: Mapping[str, Any], subject: str = "") -> HookVerdict:
        """Run the hooks of an event; an interrupt ends them, and their answers do not count."""
        from forge_core.extensions.hooks.hook_runner import HookVerdict

        assert self._running is not None
        task = asyncio.create_task(self._work(event, fields, subject), name=f"forge-hooks-{event}")
        self._current.add(task)
        try:
            await asyncio.wait([task])
        finally:
            self._current.discard(task)
            task.cancel()
        return HookVerdict() if task.cancelled() else task.result()

    def _work(
        self, event: HookEvent, fields: Mapping[str, Any], subject: str
    ) -> Coroutine[Any, Any, HookVerdict]:
        from forge_core.extensions.hooks.hook_runner import Occasion

        assert self._running is not None

        def on_slow(text: str) -> None:
            self._notify(Notice(level="info", text=text))

        occasion = Occasion({**self._facts(), **fields}, (subject,) if subject else ())
        return self._running.runner.run(event, occasion, on_slow=on_slow)

    def _start(self, event: HookEvent, fields: Mapping[str, Any], subject: str = "") -> None:
        from forge_core.extensions.hooks.hook_runner import Occasion

        assert self._running is not None
        occasion = Occasion({**self._facts(), **fields}, (subject,) if subject else ())
        self._running.runner.start(event, occasion)

    def _add_context(self, event: HookEvent, verdict: HookVerdict) -> None:
        self._contexts += _context_of(event, verdict)

    def _notified(self, kind: str, message: str) -> None:
        if event := self._event("NOTIFICATION"):
            self._start(event, {"message": message, "notification_type": kind}, kind)

    def _say_idle(self) -> None:
        self._notified("idle_prompt", "Forge is waiting for your input")

    def _stop_idling(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None


def _context_of(event: HookEvent, verdict: HookVerdict) -> list[str]:
    """Return the context of the hooks of an event, as parts of a message."""
    if not verdict.context:
        return []
    return [f"From a hook of {event}:\n{frame_hook_output(safe_text(verdict.context))}"]


async def _nothing() -> None:
    """Do nothing."""
