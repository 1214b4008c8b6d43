"""Stopping a run, and counting its time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from forge_core.result import StoppedReason

_T = TypeVar("_T")


class RunClock:
    """Counts seconds, except those spent waiting for the user."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._started = now()
        self._paused_s = 0.0
        self._pauses = 0
        self._paused_since = 0.0

    def elapsed(self) -> float:
        """Return the seconds since the clock was made, without pauses."""
        paused = self._paused_s + (self._now() - self._paused_since if self._pauses else 0.0)
        return self._now() - self._started - paused

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock. Pauses may nest and overlap: two queued prompts count once."""
        if not self._pauses:
            self._paused_since = self._now()
        self._pauses += 1
        try:
            yield
        finally:
            self._pauses -= 1
            if not self._pauses:
                self._paused_s += self._now() - self._paused_since


class StopSignal:
    """A request to end a run early. The first reason wins."""

    def __init__(self) -> None:
        self.reason: StoppedReason | None = None
        self.event = asyncio.Event()
        """Set together with the reason; tools wait for it."""
        self._listeners: list[Callable[[], object]] = []

    def set(self, reason: StoppedReason) -> None:
        """Stop the run, unless it is being stopped already."""
        if self.reason is not None:
            return
        self.reason = reason
        self.event.set()
        for listener in list(self._listeners):
            listener()

    async def sleep(self, seconds: float) -> bool:
        """Wait; return False as soon as the signal is set."""
        try:
            async with asyncio.timeout(seconds):
                await self.event.wait()
        except TimeoutError:
            return self.reason is None
        return False

    async def ends(self, waiting: Coroutine[Any, Any, None]) -> None:
        """Await `waiting`, and cancel it as soon as the signal is set."""
        task = asyncio.ensure_future(waiting)
        try:
            with self.calling(task.cancel):
                await asyncio.wait([task])
        finally:
            task.cancel()

    async def result_of(self, work: Coroutine[None, None, _T]) -> _T | None:
        """Await `work` and return its result; cancel it and return None when the signal is set."""
        task = asyncio.ensure_future(work)
        try:
            with self.calling(task.cancel):
                await asyncio.wait([task])
        finally:
            task.cancel()
            await asyncio.wait([task])
        return None if task.cancelled() else task.result()

    @contextmanager
    def calling(self, listener: Callable[[], object]) -> Iterator[None]:
        """Call `listener` once when the signal is set; immediately if it is set already."""
        self._listeners.append(listener)
        try:
            if self.reason is not None:
                listener()
            yield
        finally:
            self._listeners.remove(listener)


class Deadline:
    """Sets a stop signal to "timeout" when `clock` has advanced by `seconds` within the `with` block.

    With None as `seconds` it never does.
    """

    def __init__(self, seconds: float | None, clock: RunClock, stop: StopSignal) -> None:
        self._clock = clock
        self._stop = stop
        self._end = None if seconds is None else clock.elapsed() + seconds
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        self._arm()

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _arm(self) -> None:
        if self._end is None:
            return
        left = self._end - self._clock.elapsed()
        if left <= 0:
            self._stop.set("timeout")
        else:
            # A pause moves the end while the timer runs, so the timer only checks again.
            self._timer = asyncio.get_running_loop().call_later(left, self._arm)
