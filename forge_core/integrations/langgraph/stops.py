"""Why a run of a graph ends before its answer, where that is no failure of model or tool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forge_core.errors import ForgeError
from forge_core.result import StoppedReason


class LimitReachedError(ForgeError):
    """A limit of the run is passed; no further call is made."""

    def __init__(self, reason: StoppedReason, message: str) -> None:
        super().__init__(message)
        self.reason: StoppedReason = reason


class GraphPausedError(ForgeError):
    """The graph waits for a person: at a node it was told to pause at, or in `interrupt()`."""

    def __init__(
        self, thread_id: str, interrupts: Sequence[Any], nodes: Sequence[str], *, can_resume: bool
    ) -> None:
        where = f" before {', '.join(nodes)}" if nodes else ""
        todo = (
            "Call resume() to go on."
            if can_resume
            else "It has no checkpointer, so it cannot be resumed: give one."
        )
        super().__init__(f"The graph of thread {thread_id!r} is paused{where}. {todo}")
        self.thread_id = thread_id
        self.interrupts = tuple(interrupts)
        """The values given to `interrupt()`; empty at a node."""
        self.nodes = tuple(nodes)
        """The nodes that come next, where a checkpointer knows them."""
        self.can_resume = can_resume
