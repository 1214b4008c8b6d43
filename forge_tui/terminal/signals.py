"""Signals that end the program: the terminal is restored first, and the exit code is 128 + the signal number.

Textual leaves mouse reporting, bracketed paste and the alternate screen on when it is terminated. Standard
library only.

Python runs a handler in the main thread, between any two bytecodes: it may interrupt that thread while it
holds a lock of `queue`, `threading` or a file object, which are not reentrant, or where an exception is
swallowed; and while the main thread blocks, it does not run at all. So the handlers here do nothing. The
interpreter itself writes each signal's number into a pipe at once (`signal.set_wakeup_fd`), and a thread that
was started beforehand reads it there and does the rest.
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

Leave: TypeAlias = "Callable[[int], object]"
"""Asks the app to end with an exit code; returns at once. Raises RuntimeError once its loop is closed."""

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
GRACE_S = 2.0
"""After the first signal the app may close its session; then, or on a later signal, the process exits."""
_ONE_BURST_S = 0.5
"""Signals this close together count as one: for a closed window both the kernel and the shell send SIGHUP,
and the end of a session brings SIGTERM and SIGHUP."""
_RESTORE_S = 1.0
"""How long a terminal that accepts no output may delay the exit."""
_READ_BYTES = 4096


class _State:
    """The state of this module, which is one per process."""

    def __init__(self) -> None:
        self.restore: Callable[[], None] = lambda: None
        self.leave: Leave | None = None
        self.stopped_or_continued: Callable[[int], None] | None = None
        self.loop: AbstractEventLoop | None = None
        self.thread: threading.Thread | None = None
        self.reader = -1
        self.taking = threading.Lock()
        self.is_paused = False
        self.began: float | None = None
        """The time of the first signal."""
        self.code = 0
        self.is_over = False


_state = _State()


def install(restore: Callable[[], None]) -> None:
    """Handle the ending signals from now on. Call it in the main thread."""
    _state.restore = restore
    if _state.thread is None:
        _state.reader, writer = os.pipe()
        os.set_blocking(_state.reader, False)
        os.set_blocking(writer, False)
        _state.thread = threading.Thread(target=_watch, name="forge-signals", daemon=True)
        _state.thread.start()
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in ENDING:
        signal.signal(number, ignore)


def ignore(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: the thread handles the signal. With SIG_IGN or SIG_DFL instead, Python would print a
    warning on the screen about a signal that is pending."""


def wake_loop(loop: AbstractEventLoop) -> None:
    """Wake the loop at every signal from now on.

    Other handlers, such as Textual's of SIGWINCH, run in the main thread: if another thread received the
    signal, or it came just before the loop began to wait, they would wait until the loop has something else
    to do.
    """
    _state.loop = loop


def set_exit_handler(leave: Leave | None) -> None:
    """Set the function that asks the running app to exit, or None. It is called in the signal thread.

    Never returns if the process is exiting: nothing may change the terminal any more.
    """
    while _state.is_over:
        time.sleep(_RESTORE_S)
    _state.leave = leave
    _state.is_paused = False


def set_stop_handler(stopped_or_continued: Callable[[int], None]) -> None:
    """Set the function that receives SIGTSTP and SIGCONT, in order; of several at once only the last.

    It is called in the signal thread.
    """
    _state.stopped_or_continued = stopped_or_continued
    for number in (signal.SIGTSTP, signal.SIGCONT):
        signal.signal(number, ignore)


def stop_job() -> bool:
    """Stop the processes of this job, as Ctrl+Z in a shell does; False if no shell could continue them, or if
    nobody would give the terminal back (see `set_stop_handler`).

    They are all of the process group: a program that has started this one must give the terminal back too.
    """
    if _state.stopped_or_continued is None:
        return False
    group, session = os.getpgrp(), os.getsid(0)
    try:
        # A parent in another session does no job control for this one, and the leader of a session has none.
        has_shell = group != session and os.getsid(os.getppid()) == session
    except OSError:
        return False
    if has_shell:
        os.killpg(group, signal.SIGTSTP)
    return has_shell


def is_ending() -> bool:
    """Return whether an ending signal has come."""
    return _state.began is not None


def ignore_interrupts() -> None:
    """Ignore SIGINT until the next `set_exit_handler`: it is meant for the program that has the terminal."""
    _state.is_paused = True


def handle_pending() -> None:
    """Handle the signals that have come, without waiting for the thread."""
    with _state.taking:
        try:
            numbers = os.read(_state.reader, _READ_BYTES)
        except BlockingIOError:
            return
        for number in numbers:
            if number in ENDING and not (number == signal.SIGINT and _state.is_paused):
                _end(128 + number)
        job_control = [number for number in numbers if number in (signal.SIGTSTP, signal.SIGCONT)]
        if job_control and _state.stopped_or_continued is not None:
            _state.stopped_or_continued(job_control[-1])


def _watch() -> None:
    while True:
        began = _state.began
        left_s = None if began is None else max(0.0, began + GRACE_S - time.monotonic())
        if not select.select((_state.reader,), (), (), left_s)[0]:
            _exit_now(_state.code)
        handle_pending()
        if _state.loop is not None:
            with contextlib.suppress(RuntimeError):  # it has been closed
                _state.loop.call_soon_threadsafe(_do_nothing)


def _do_nothing() -> None:
    """Do nothing; before a callback runs, the loop has run pending signal handlers."""


def _end(code: int) -> None:
    now = time.monotonic()
    if _state.began is None:
        _state.began = now
        _state.code = code
        if _state.leave is None:
            _exit_now(code)
        try:
            _state.leave(code)
        except RuntimeError:
            _exit_now(code)
    elif now - _state.began > _ONE_BURST_S:
        _exit_now(code)


def _exit_now(code: int) -> NoReturn:
    """End the process, whatever its other threads are doing."""
    _state.is_over = True
    restoring = threading.Thread(target=_state.restore, name="forge-restore", daemon=True)
    try:
        restoring.start()
        restoring.join(_RESTORE_S)
    except RuntimeError:  # no thread can be started any more
        _state.restore()
    finally:
        os._exit(code)
