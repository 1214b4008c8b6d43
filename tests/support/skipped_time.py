"""An event loop that skips what it would wait for: an hour of timers takes as long as their work."""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest
import textual._time
import textual.widget

from tests.support.chat_app import FakeClock

T = TypeVar("T")


class _Skipping(selectors.DefaultSelector):
    """Moves the clock on where nothing is there to be read."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0 if timeout else timeout)
        if not ready and timeout:
            self._clock.pass_(timeout)
        return ready


def use_clock(monkeypatch: pytest.MonkeyPatch, clock: Callable[[], float], epoch: float) -> None:
    """Makes `clock` the time for asyncio, Textual and Forge, and `epoch` the date at its zero."""
    monkeypatch.setattr(time, "monotonic", clock)
    monkeypatch.setattr(time, "time", lambda: epoch + clock())
    monkeypatch.setattr(textual._time, "get_time", clock)
    monkeypatch.setattr(textual.widget, "monotonic", clock)


def run_skipping(clock: FakeClock, work: Coroutine[Any, Any, T]) -> T:
    """Runs `work` to its end. `clock` must be in use."""
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(_Skipping(clock))) as runner:
        return runner.run(work)
