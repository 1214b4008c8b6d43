"""Garbage collection without visible pauses, however long the conversation.

A full collection traverses every object of the program: 60 ms and more after the imports, growing with the
history, in the middle of an answer. Therefore the objects of the warm-up are frozen, and those that have
survived a full collection, once there are many. A frozen cycle that becomes garbage leaks. Freezing after
every full collection would freeze, each time, the prompt that is open, the workers and the calls of the turn:
several hundred kilobytes of cycles.
"""

from __future__ import annotations

import gc

_FULL = 2
"""The index of the oldest generation."""
_MOST_TRAVERSED = 20_000
"""Objects that a full collection may traverse each time: some 3 ms."""


def start() -> None:
    """Enable collection. Do nothing if it is enabled already, as in a process that embeds the app."""
    if gc.isenabled():
        return
    gc.freeze()
    gc.callbacks.append(_freeze_survivors)
    gc.enable()


def collect_all() -> None:
    """Collect everything once, after a conversation was cleared: its blocks form cycles."""
    if _freeze_survivors in gc.callbacks:
        gc.unfreeze()
        gc.collect()


def _freeze_survivors(phase: str, info: dict[str, int]) -> None:
    if phase == "stop" and info["generation"] == _FULL and len(gc.get_objects()) > _MOST_TRAVERSED:
        gc.freeze()
