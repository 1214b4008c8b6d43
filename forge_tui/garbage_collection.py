"""Garbage collection without visible pauses, however long the conversation.

A full collection traverses every object of the program: 60 ms and more after the imports, growing with the
history, in the middle of an answer. Therefore the objects of the warm-up, and all that survive a full
collection, are frozen. A frozen cycle that becomes garbage leaks, such as a prompt that was open during a
collection. These are collected while the user is idle.
"""

from __future__ import annotations

import gc

_FULL = 2
"""The index of the oldest generation."""
_GROWTH = 20_000
"""Newly frozen objects after which everything is collected in an idle moment: those of some 60 turns."""


class _Frozen:
    """How many objects were frozen when everything was collected last."""

    count = 0


def start() -> None:
    """Enable collection. Do nothing if it is enabled already, as in a process that embeds the app."""
    if gc.isenabled():
        return
    gc.freeze()
    _Frozen.count = gc.get_freeze_count()
    gc.callbacks.append(_freeze_survivors)
    gc.enable()


def collect_all() -> None:
    """Collect everything once, after a conversation was cleared: its blocks form cycles."""
    if _freeze_survivors in gc.callbacks:
        gc.unfreeze()
        gc.collect()
        _Frozen.count = gc.get_freeze_count()


def collect_if_grown() -> None:
    """Do the same where many objects were frozen since; for idle moments, as it takes 0.1 s and more."""
    if gc.get_freeze_count() > _Frozen.count + _GROWTH:
        collect_all()


def _freeze_survivors(phase: str, info: dict[str, int]) -> None:
    if phase == "stop" and info["generation"] == _FULL:
        gc.freeze()
