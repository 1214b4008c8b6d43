"""Small real tools for agent tests."""

from __future__ import annotations

import asyncio
from typing import Any

from forge_core.approval import Effect
from forge_core.errors import ToolError
from forge_core.tools.base import BaseTool, ExecutionContext, ToolCategory, ToolParameter, ToolResult


class Echo(BaseTool):
    """Gives its text back."""

    name = "echo"
    description = "Gives its text back."
    parameters = (ToolParameter("text", "string", "what to say"),)

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        return ToolResult(True, params["text"], summary="said")


class Failing(BaseTool):
    """Always fails, in the way it is told."""

    name = "fail"
    description = "Fails."
    parameters = (ToolParameter("how", "string", "error, raise or crash"),)

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        match params["how"]:
            case "raise":
                raise ToolError("the tool refuses")
            case "crash":
                raise RuntimeError("a bug in the tool")
        return ToolResult(False, error="the tool failed")


class Meeting(BaseTool):
    """Ends when `parties` calls are in it at once: only parallel calls get through."""

    name = "meet"
    description = "Waits for the others."
    parameters = (ToolParameter("who", "string", "a name"),)

    def __init__(self, parties: int) -> None:
        self._barrier = asyncio.Barrier(parties)

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        await self._barrier.wait()
        return ToolResult(True, params["who"])


class Slow(BaseTool):
    """Waits for ever, or until it is interrupted; `kind` polite ends by itself then."""

    name = "slow"
    description = "Waits."
    parameters = (ToolParameter("kind", "string", "polite or deaf"),)
    effect = Effect.RUN
    category = ToolCategory.EXECUTION

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.was_cancelled = False

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        self.started.set()
        if context.on_output is not None:
            context.on_output("working…")
        try:
            if params["kind"] == "polite" and context.interrupted is not None:
                await context.interrupted.wait()
                return ToolResult(False, "half of it", error="interrupted")
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        raise AssertionError("unreachable")
