"""Signals that end the program: the terminal is restored first, and the exit code is 128 + the signal number.

Textual leaves mouse, paste and alternate screen on when it is terminated. Standard library only.

Python runs a handler in the main thread, between any two of its steps: it may have interrupted that thread
inside one of the locks of `queue`, `threading` or a file object, which none of them can take twice, or where
an exception is swallowed; and while the main thread waits for something it does not run at all. So the
handlers here do nothing. The interpreter itself writes each signal's number into a pipe the moment it comes
(`signal.set_wakeup_fd`), and a thread that was started beforehand reads it there and does the rest.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, NoReturn, TypeAlias

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

Leave: TypeAlias = "Callable[[int], None]"
"""Asks the app to end with an exit code; returns at once. Raises RuntimeError once its loop is closed."""

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
GRACE_S = 2.0
"""After a first signal the app may close its session; then, or on a later signal, the process just ends."""
_ONE_BURST_S = 0.5
"""Signals this close together mean one thing: a closed window's SIGHUP comes from the kernel and from the
shell, and a session's end brings SIGTERM and SIGHUP."""
_RESTORE_S = 1.0
"""How long a terminal that takes no output may hold up the end."""
_READ_BYTES = 4096


class _Ending:
    def __init__(self) -> None:
        self.restore: Callable[[], None] = lambda: None
        self.leave: Leave | None = None
        self.stopped_or_continued: Callable[[int], None] = lambda _: None
        self.loop: AbstractEventLoop | None = None
        self.thread: threading.Thread | None = None
        self.reader = -1
        self.taking = threading.Lock()
        self.is_paused = False
        self.began: float | None = None
        """When the first signal came."""
        self.code = 0
        self.is_over = False


_ending = _Ending()


def install(restore: Callable[[], None]) -> None:
    """Handles the ending signals from now on. Only the main thread may call it."""
    _ending.restore = restore
    if _ending.thread is None:
        _ending.reader, writer = os.pipe()
        os.set_blocking(_ending.reader, False)
        os.set_blocking(writer, False)
        _ending.thread = threading.Thread(target=_watch, name="forge-signals", daemon=True)
        _ending.thread.start()
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in ENDING:
        signal.signal(number, ignore)


def ignore(_number: int, _frame: FrameType | None) -> None:
    """A handler for what the thread sees to, or for nothing. With SIG_IGN or SIG_DFL in its place Python
    complains on the screen of a signal that was on its way."""


def wake(loop: AbstractEventLoop) -> None:
    """Wakes the loop with every signal, from now on.

    A handler of others, as that of SIGWINCH, waits for the main thread: where another thread has taken the
    signal, or where it comes just before the loop falls asleep, until the loop has something else to do.
    """
    _ending.loop = loop


def on_end(leave: Leave | None) -> None:
    """Names who is asked to end: the running app, or nobody (None). Called in a thread of its own.

    Never returns where the end has begun without asking: nobody is to take the terminal any more.
    """
    while _ending.is_over:
        time.sleep(_RESTORE_S)
    _ending.leave = leave
    _ending.is_paused = False


def on_stop(stopped_or_continued: Callable[[int], None]) -> None:
    """Names who hears of SIGTSTP and SIGCONT, in the order in which they came; of some that came together
    only the last counts. Called in a thread of its own."""
    _ending.stopped_or_continued = stopped_or_continued
    for number in (signal.SIGTSTP, signal.SIGCONT):
        signal.signal(number, ignore)


def is_ending() -> bool:
    """Whether a first signal has come."""
    return _ending.began is not None


def pause() -> None:
    """Ignores SIGINT until the next `on_end`: it is meant for the program that has the terminal meanwhile."""
    _ending.is_paused = True


def take() -> None:
    """Sees to what has come until now, without waiting for the thread."""
    with _ending.taking:
        try:
            numbers = os.read(_ending.reader, _READ_BYTES)
        except BlockingIOError:
            return
        for number in numbers:
            if number in ENDING and not (number == signal.SIGINT and _ending.is_paused):
                _end(128 + number)
        job_control = [number for number in numbers if number in (signal.SIGTSTP, signal.SIGCONT)]
        if job_control:
            _ending.stopped_or_continued(job_control[-1])


def _watch() -> None:
    while True:
        began = _ending.began
        left_s = None if began is None else max(0.0, began + GRACE_S - time.monotonic())
        if not select.select((_ending.reader,), (), (), left_s)[0]:
            _exit_now(_ending.code)
        take()
        if _ending.loop is not None:
            with contextlib.suppress(RuntimeError):  # it has been closed
                _ending.loop.call_soon_threadsafe(_hear)


def _hear() -> None:
    """By now the handlers have run."""


def _end(code: int) -> None:
    now = time.monotonic()
    if _ending.began is None:
        _ending.began = now
        _ending.code = code
        if _ending.leave is None:
            _exit_now(code)
        try:
            _ending.leave(code)
        except RuntimeError:
            _exit_now(code)
    elif now - _ending.began > _ONE_BURST_S:
        _exit_now(code)


def _exit_now(code: int) -> NoReturn:
    """Ends the process, whatever its other threads are doing or waiting for."""
    _ending.is_over = True
    restoring = threading.Thread(target=_ending.restore, name="forge-restore", daemon=True)
    try:
        restoring.start()
        restoring.join(_RESTORE_S)
    except RuntimeError:  # no thread can be started any more
        _ending.restore()
    finally:
        os._exit(code)
