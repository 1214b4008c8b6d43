"""Waiting for foreign code: its faults as values, the first of what may happen, its end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeVar

from forge_core.errors import ToolError
from forge_core.tools.base import BaseTool, ExecutionContext

_T = TypeVar("_T")


async def guarded(call: Callable[[], Awaitable[_T]], tool: BaseTool) -> _T:
    """The call's value; every fault as a ToolError. A tool must not end the turn, whatever it raises."""
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
            "This is a fault in the tool; try another way."
        ) from error


async def first(
    call: asyncio.Future[Any],
    context: ExecutionContext,
    timeout_s: float | None,
    changed: asyncio.Event | None = None,
) -> Literal["done", "interrupted", "changed", "timeout"]:
    """What happens first."""
    events = [event for event in (context.interrupted, changed) if event is not None]
    watches = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        done, _ = await asyncio.wait({call, *watches}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for watch in watches:
            watch.cancel()
    if call in done:
        return "done"
    if context.interrupted is not None and context.interrupted.is_set():
        return "interrupted"
    return "changed" if done else "timeout"


async def ended(call: asyncio.Future[Any]) -> None:
    """Cancels what still runs and takes its end, so that no task is left without an owner."""
    if not call.done():
        call.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await asyncio.wait({call}, timeout=1.0)
    if call.done() and not call.cancelled():
        call.exception()
