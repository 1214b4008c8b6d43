"""Deadlines for the reads of a stream: one timer per stream instead of one per read."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TypeVar

from forge_core.llm.http.connection import ASLEEP_S, time_asleep_s

T = TypeVar("T")

LOOK_S = 5.0
"""Between two checks whether the machine has slept; also the time for a connection to resume after that."""


class ReadWatchdog(AbstractContextManager["ReadWatchdog"]):
    """Ends a read that takes too long with TimeoutError.

    `asyncio.timeout` around each read costs about 7 µs per token; here a read only sets two fields, which the
    timer checks when it fires. Time between reads, when the consumer is busy, does not count. The
    limit is counted from the last `progress`, so a peer that sends bytes without ever completing an event is
    ended too.

    The clock of the limit stops while the machine sleeps, and connections rarely survive that: after a sleep,
    a read that brings nothing within LOOK_S seconds is ended.
    """

    def __init__(self, limit_s: float, asleep_s: Callable[[], float] = time_asleep_s) -> None:
        self._loop = asyncio.get_running_loop()
        self._limit_s = limit_s
        self._since = self._loop.time()
        self._asleep_s = asleep_s
        self._slept_s = asleep_s()
        self._woke: float | None = None
        self._task: asyncio.Task[object] | None = None
        self._has_fired = False
        self._timer = self._loop.call_later(min(limit_s, LOOK_S), self._look)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()

    def progress(self, limit_s: float | None = None) -> None:
        """Restart the limit, with another value if given."""
        self._since = self._loop.time()
        if limit_s is not None and limit_s != self._limit_s:
            self._limit_s = limit_s
            self._timer.cancel()
            self._timer = self._loop.call_later(min(limit_s, LOOK_S), self._look)

    @property
    def was_lost_asleep(self) -> bool:
        """Whether nothing has come since the machine woke."""
        return self._woke is not None and self._since <= self._woke

    async def read(self, item: Awaitable[T]) -> T | None:
        """Return the item; None at the end of an iterator. Raise TimeoutError at the limit."""
        self._task = task = asyncio.current_task()
        try:
            return await item
        except StopAsyncIteration:
            return None
        except asyncio.CancelledError:
            # Our own cancellation becomes a TimeoutError. Any other, even one at the same time, leaves a
            # count above 0 and must propagate.
            if self._has_fired and task is not None and task.uncancel() == 0:
                raise TimeoutError from None
            raise
        finally:
            self._task = None

    def _look(self) -> None:
        # The timer is not moved by each read: reads only set `_since`, and the timer checks it here.
        now = self._loop.time()
        left_s = min(self._since + self._limit_s, self._end_after_sleep(now)) - now
        if left_s <= 0 and self._task is not None:
            self._has_fired = True
            self._task.cancel()
            return
        # At the limit with no read waiting, the consumer is busy: look again soon, but without spinning.
        self._timer = self._loop.call_later(min(max(left_s, min(0.05, self._limit_s)), LOOK_S), self._look)

    def _end_after_sleep(self, now: float) -> float:
        slept_s = self._asleep_s()
        if slept_s - self._slept_s > ASLEEP_S:
            self._slept_s, self._woke = slept_s, now
        return self._woke + LOOK_S if self._woke is not None and self.was_lost_asleep else math.inf
