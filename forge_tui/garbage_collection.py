"""Garbage collection without visible pauses, however long the conversation.

A full collection looks at every object of the program: 60 ms and more after the imports, growing with the
history, in the middle of an answer. The objects of the warm-up, and all that survive a full collection, are
therefore frozen. A cycle that becomes garbage later than that leaks; such cycles are few and small.
"""

from __future__ import annotations

import gc

_FULL = 2
"""Number of the oldest generation."""


def start() -> None:
    """Enable collection. Do nothing if it is enabled already: then the process is not ours alone."""
    if gc.isenabled():
        return
    gc.freeze()
    gc.callbacks.append(_freeze_survivors)
    gc.enable()


def collect_all() -> None:
    """Collect everything once, after a conversation was cleared: its cards refer to each other."""
    if _freeze_survivors in gc.callbacks:
        gc.unfreeze()
        gc.collect()


def _freeze_survivors(phase: str, info: dict[str, int]) -> None:
    if phase == "stop" and info["generation"] == _FULL:
        gc.freeze()
