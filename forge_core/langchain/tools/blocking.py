"""Runs a coroutine for a caller that cannot await."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run_blocking(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """The result of `work()`, in a loop of its own; where a loop runs already, in a thread of its own.

    The running loop stands still meanwhile, so `work` must not wait for anything that happens on it (a
    person's answer on a screen): such callers await instead. Context variables are those of the caller.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    context = contextvars.copy_context()
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="forge-blocking") as pool:
        return pool.submit(context.run, lambda: asyncio.run(work())).result()
