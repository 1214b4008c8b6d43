"""Signals that end the program: the terminal is restored first, and the exit code is 128 + the signal number.

Textual leaves mouse, paste and alternate screen on when it is terminated. Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

Leave: TypeAlias = "Callable[[int], None]"
"""Asks the app to end with an exit code; returns at once. Raises RuntimeError once its loop is closed."""

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
GRACE_S = 2.0
"""After a first signal the app may close its session; then, or on a second signal, the process just ends."""


class _Ending:
    def __init__(self) -> None:
        self.restore: Callable[[], None] = lambda: None
        self.leave: Leave | None = None
        self.is_under_way = False
        self.is_paused = False
        self.alarm: tuple[int, int] | None = None
        """Both ends of the pipe that wakes the loop."""


_ending = _Ending()


def install(restore: Callable[[], None]) -> None:
    """Handles the ending signals from now on. Only the main thread may call it."""
    _ending.restore = restore
    _ending.is_under_way = False
    for number in ENDING:
        signal.signal(number, _end)


def wake(loop: AbstractEventLoop) -> None:
    """Wakes the loop with every signal, from now on. Only the main thread may call it.

    Python runs handlers in the main thread alone, between two of its steps. A signal that another thread has
    taken, or that comes just before the loop falls asleep, waits until the loop has something else to do: in
    a terminal that has been closed that is never.
    """
    if _ending.alarm is None:
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        os.set_blocking(writer, False)
        _ending.alarm = (reader, writer)
    reader, writer = _ending.alarm
    loop.add_reader(reader, _hear, reader)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)


def _hear(reader: int) -> None:
    """By now the handlers have run."""
    with contextlib.suppress(BlockingIOError):
        os.read(reader, 4096)


def on_end(leave: Leave | None) -> None:
    """Names who is asked to end: the running app, or nobody (None)."""
    _ending.leave = leave
    _ending.is_paused = False


def is_ending() -> bool:
    """Whether a first signal has come."""
    return _ending.is_under_way


def pause() -> None:
    """Ignores SIGINT until the next `on_end`: it is meant for the program that has the terminal meanwhile."""
    _ending.leave = None
    _ending.is_paused = True


def _end(number: int, _frame: FrameType | None) -> None:
    if _ending.is_paused and number == signal.SIGINT:
        return
    code = 128 + number
    if _ending.is_under_way or (_ending.leave is None and not _ending.is_paused):
        # With nothing to close. An exception may get lost on its way: what is imported makes another of it.
        _exit_now(code)
    _ending.is_under_way = True
    timer = threading.Timer(GRACE_S, _exit_now, (code,))
    timer.daemon = True
    timer.start()
    if _ending.leave is None:
        _ending.restore()
        raise SystemExit(code)
    try:
        _ending.leave(code)
    except RuntimeError:
        _exit_now(code)


def _exit_now(code: int) -> None:
    _ending.restore()
    os._exit(code)
