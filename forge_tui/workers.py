"""Work beside the handling of messages: how it is started, and what a fault of ours in it does."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, TypeAlias

from textual.worker import Worker, WorkerState

if TYPE_CHECKING:
    from textual.dom import DOMNode

Work: TypeAlias = Callable[[], Coroutine[None, None, None]]
"""A function and not its coroutine: that of a worker which is replaced, or whose app ends, before it begins
would never be awaited, and Python complains of that on the screen."""


def start(node: DOMNode, work: Work, group: str, *, is_replacing: bool = False) -> None:
    """Runs `work` in a worker of `node`, whose class is a `FaultsEndTheApp`.

    `is_replacing` cancels what runs in the same group.
    """
    # Textual would wrap a fault in an exception of its own, hence `exit_on_error`.
    _: Worker[None] = node.run_worker(work, group=group, exclusive=is_replacing, exit_on_error=False)


class FaultsEndTheApp:
    """A mixin for whatever starts workers; named before `App` or `Screen` in the bases."""

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR and event.worker.error is not None:
            raise event.worker.error  # the app writes it down and leaves
