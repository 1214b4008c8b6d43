"""Blocking work away from the event loop that ends soon after nobody wants it any more."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from forge_core.tools.base import ExecutionContext, ToolResult


async def in_thread(
    work: Callable[[dict[str, Any], ExecutionContext, threading.Event], ToolResult],
    params: dict[str, Any],
    context: ExecutionContext,
) -> ToolResult:
    """Runs `work` in a thread; when the call is cancelled, sets the event that it has to look at."""
    stop = threading.Event()
    try:
        return await asyncio.to_thread(work, params, context, stop)
    finally:
        stop.set()
