"""Runs the tool calls of one answer: in parallel where that is safe, answered in call order."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import AsyncCallbackManager

from forge_core.approval import Effect
from forge_core.events import AgentEvent, Permission, ToolEnd, ToolProgress, ToolStart
from forge_core.langchain.agent.run_control import StopSignal
from forge_core.result import ToolCallRecord
from forge_core.tools.base import BaseTool, ExecutionContext, ToolCategory, ToolResult
from forge_core.tools.executor import ToolExecutor
from forge_core.tools.registry import ToolRegistry

GRACE_S = 0.25
"""How long an interrupted tool may take to hand in what it has before it is cancelled."""

_ALL_DONE = object()


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A call as the model asked for it; `problem` tells why its arguments are unusable."""

    id: str
    name: str
    arguments: dict[str, Any]
    problem: str | None = None


class ToolRound:
    """One round of calls. Each call gets exactly one record, whatever happens to it."""

    def __init__(
        self,
        calls: Sequence[PendingCall],
        tools: ToolRegistry,
        executor: ToolExecutor,
        make_context: Callable[[], ExecutionContext],
        callbacks: AsyncCallbackManager,
        stop: StopSignal,
    ) -> None:
        self._calls = calls
        self._tools = tools
        self._executor = executor
        self._make_context = make_context
        self._callbacks = callbacks
        self._stop = stop
        self._queue: asyncio.Queue[object] = asyncio.Queue()
        self._records: dict[str, ToolCallRecord] = {}
        self.denied: set[str] = set()
        """Ids of the calls that policy or person refused."""

    def records(self) -> list[ToolCallRecord]:
        """In call order; a call that never came to its turn is recorded as not run."""
        return [self._records.get(call.id) or not_run(call) for call in self._calls]

    async def events(self) -> AsyncGenerator[AgentEvent, None]:
        """TOOL_START … TOOL_END of every call, those of parallel calls interleaved."""
        worker = asyncio.create_task(self._run_batches(), name="forge-tool-round")
        try:
            while (item := await self._queue.get()) is not _ALL_DONE:
                assert isinstance(item, AgentEvent)
                yield item
            await worker
        finally:
            worker.cancel()
            await asyncio.wait([worker])

    async def _run_batches(self) -> None:
        try:
            for batch in _batches(self._calls, self._tools):
                await self._run_batch(batch)
        finally:
            self._queue.put_nowait(_ALL_DONE)

    async def _run_batch(self, batch: Sequence[PendingCall]) -> None:
        tasks = [asyncio.create_task(self._run_call(call), name=f"forge-tool-{call.name}") for call in batch]
        timers: list[asyncio.TimerHandle] = []

        def stop_soon() -> None:
            loop = asyncio.get_running_loop()
            timers.extend(loop.call_later(GRACE_S, task.cancel) for task in tasks)

        try:
            with self._stop.calling(stop_soon):
                await asyncio.wait(tasks)
        finally:
            for timer in timers:
                timer.cancel()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _run_call(self, call: PendingCall) -> None:
        self._queue.put_nowait(ToolStart(call_id=call.id, name=call.name, arguments=call.arguments))
        context = self._context_for(call)
        started = time.monotonic()
        result = _interrupted()
        try:
            result = await self._result_of(call, context)
        except asyncio.CancelledError:
            if self._stop.reason is None:  # not our own stop: the run itself is being torn down
                raise
        finally:
            duration = max(0.0, time.monotonic() - started - context.waited_s)
            self._finish(call, result, duration)

    async def _result_of(self, call: PendingCall, context: ExecutionContext) -> ToolResult:
        if self._stop.reason is not None:
            return _interrupted()
        tool = self._tools.get(call.name)
        if tool is None:
            return self._tools.unknown(call.name)
        if call.problem is not None:
            return ToolResult(False, error=_bad_arguments(call, tool), outcome="unreadable")
        text = json.dumps(call.arguments, ensure_ascii=False)
        run = await self._callbacks.on_tool_start(
            {"name": call.name, "description": tool.description}, text, inputs=call.arguments
        )
        try:
            result = await self._executor.execute(tool, call.arguments, context)
        except BaseException as error:
            await run.on_tool_error(error)
            raise
        await run.on_tool_end(result.for_model())
        return result

    def _context_for(self, call: PendingCall) -> ExecutionContext:
        context = self._make_context()
        context.call_id = call.id
        context.interrupted = self._stop.event
        context.on_output = lambda text: self._queue.put_nowait(ToolProgress(call_id=call.id, text=text))
        context.emit = self._emit
        return context

    def _emit(self, event: AgentEvent) -> None:
        if isinstance(event, Permission) and event.decision == "deny":
            self.denied.add(event.call_id)
        self._queue.put_nowait(event)

    def _finish(self, call: PendingCall, result: ToolResult, duration_s: float) -> None:
        text = result.for_model()
        self._records[call.id] = ToolCallRecord(
            call.id, call.name, call.arguments, text, result.success, duration_s
        )
        self._queue.put_nowait(
            ToolEnd(
                call_id=call.id,
                name=call.name,
                result=text,
                success=result.success,
                duration_s=duration_s,
                summary=result.summary,
                diffs=result.diffs,
                outcome=result.outcome or ("done" if result.success else "failed"),
                aside=result.aside,
                model_notes=result.model_notes,
                omission=result.omission,
            )
        )


def _batches(calls: Sequence[PendingCall], tools: ToolRegistry) -> list[list[PendingCall]]:
    """Neighbouring calls run together, but for those that write files or run commands: alone and in order."""
    batches: list[list[PendingCall]] = []
    together = False
    for call in calls:
        tool = tools.get(call.name)
        overlaps = tool is None or not (
            tool.effect is Effect.WRITE or tool.category is ToolCategory.EXECUTION
        )
        if overlaps and together:
            batches[-1].append(call)
        else:
            batches.append([call])
        together = overlaps
    return batches


def not_run(call: PendingCall) -> ToolCallRecord:
    """The record of a call that an interrupt left without its turn."""
    return ToolCallRecord(call.id, call.name, call.arguments, _interrupted().for_model(), False, 0.0)


def _interrupted() -> ToolResult:
    error = "interrupted by the user before it finished"
    return ToolResult(False, error=error, summary="interrupted", outcome="interrupted")


def _bad_arguments(call: PendingCall, tool: BaseTool) -> str:
    names = ", ".join(parameter.name for parameter in tool.parameters)
    return (
        f"this call of {call.name!r} cannot be read ({call.problem}), so nothing was run. "
        f"Send it again with one complete JSON object ({names or 'no parameters'})."
    )
