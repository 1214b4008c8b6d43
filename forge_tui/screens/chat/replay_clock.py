"""The clock of a replay: time as it was recorded, which can be sped up, paused and stepped through."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

LONGEST_WAIT_S = 3.0
"""The longest time between two steps; a recorded wait that would take longer is skipped up to there."""


class ReplayClock:
    """Waits between the steps of one recording. Everything on the screen that shows times reads it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` gives the seconds that pass for the user."""
        self._clock = clock
        self._reached = 0.0
        """The recorded time when the running wait began; without one, the present."""
        self._waiting_since: float | None = None
        self._wait_ends = 0.0
        """The recorded time up to which the clock runs in the wait."""
        self._speed: float | None = 1.0
        self.is_paused = False
        self._steps = 0
        """Steps to take while paused."""
        self._is_stepping = False
        self._changed = asyncio.Event()

    def start(self, at: float, speed: float | None) -> None:
        """Start at a recorded time. Without a speed nothing is waited for."""
        self._reached, self._speed = at, speed

    def now(self) -> float:
        """Return the recorded time, in seconds since the epoch."""
        if self._waiting_since is None or self._speed is None:
            return self._reached
        passed_s = (self._clock() - self._waiting_since) * self._speed
        return min(self._reached + passed_s, self._wait_ends)

    def toggle_pause(self) -> None:
        """Pause, or go on."""
        self.is_paused, self._steps = not self.is_paused, 0
        self._changed.set()

    def step(self) -> None:
        """Take the next step at once, and pause after it."""
        self.is_paused = True
        self._steps += 1
        self._changed.set()

    async def wait_until(self, time: float, *, is_step: bool = True) -> None:
        """Wait for a recorded time. Without `is_step`, what comes then belongs to the step before."""
        if is_step:
            self._is_stepping = False
        while not self._is_stepping:
            if self.is_paused:
                if self._steps:
                    self._steps -= 1
                    self._is_stepping = True
                else:
                    await self._change()
            elif self._speed is None or time <= self._reached:
                break
            else:
                await self._pass(time, self._speed)
        self._reached = max(self._reached, time)

    async def _pass(self, time: float, speed: float) -> None:
        """Let time pass up to `time`, or until the user pauses."""
        self._reached = max(self._reached, time - LONGEST_WAIT_S * speed)
        self._waiting_since, self._wait_ends = self._clock(), time
        try:
            async with asyncio.timeout((time - self._reached) / speed):
                await self._change()
        except TimeoutError:
            self._reached = time
        else:
            self._reached = self.now()
        finally:
            self._waiting_since = None

    async def _change(self) -> None:
        """Wait until the user pauses, goes on or steps."""
        self._changed.clear()
        await self._changed.wait()
