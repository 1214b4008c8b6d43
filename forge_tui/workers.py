"""Starts work in Textual workers, where a bug in it ends the app, and in threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from textual.worker import Worker, WorkerState

if TYPE_CHECKING:
    from textual.dom import DOMNode

Work: TypeAlias = Callable[[], Coroutine[None, None, None]]
"""A function, not its coroutine: a worker that is replaced before it begins, or whose app ends, never awaits
it, and Python would print a warning about that on the screen."""

T = TypeVar("T")


def start(node: DOMNode, work: Work, group: str, *, is_replacing: bool = False) -> None:
    """Run `work` in a worker of `node`, whose class must inherit `WorkerErrorsEndApp`.

    `is_replacing` cancels the workers of the same group.
    """
    # With `exit_on_error` Textual would wrap the exception in one of its own. Without a description it takes
    # the `repr` of the work, with all arguments: 0.3 s for a large saved session.
    _: Worker[None] = node.run_worker(
        work, group=group, description=group, exclusive=is_replacing, exit_on_error=False
    )


async def in_thread(work: Callable[[], T]) -> T:
    """Run `work` in a daemon thread, so that exiting never waits for an import."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # from now on a cancelled wait leaves it alone

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="forge-warm-up", daemon=True).start()
    return await asyncio.wrap_future(future)


class WorkerErrorsEndApp:
    """Mixin for apps and screens that start workers; precedes `App` or `Screen` in the bases."""

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR and event.worker.error is not None:
            raise event.worker.error  # the app logs it and exits
