"""One lock for each file that is being edited."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from weakref import WeakValueDictionary

_locks: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()


@asynccontextmanager
async def locked(paths: Iterable[Path]) -> AsyncIterator[None]:
    """Holds the locks of these real paths, taken in one order everywhere so that nobody waits in a ring."""
    async with AsyncExitStack() as stack:
        for path in sorted({str(path) for path in paths}):
            await stack.enter_async_context(_lock_for(path))
        yield


def _lock_for(path: str) -> asyncio.Lock:
    key = (id(asyncio.get_running_loop()), path)
    lock = _locks.get(key)
    if lock is None:
        lock = _locks[key] = asyncio.Lock()
    return lock
