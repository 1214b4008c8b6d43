"""Garbage collection without pauses that a person could see, however long the conversation.

A full collection looks at every object of the program: 60 ms and more after the imports, growing with the
history, in the middle of an answer. What the warm-up made and what has survived one full collection is
therefore not looked at again; a cycle that dies later than that stays, and those are few and small.
"""

from __future__ import annotations

import gc

_FULL = 2
"""The oldest generation's number."""


def start() -> None:
    """Turn collecting on. Does nothing where it is on already: the process is not ours alone."""
    if gc.isenabled():
        return
    gc.freeze()
    gc.callbacks.append(_freeze_survivors)
    gc.enable()


def give_back() -> None:
    """Look at everything once, for a conversation that is over: its cards point to each other."""
    if _freeze_survivors in gc.callbacks:
        gc.unfreeze()
        gc.collect()


def _freeze_survivors(phase: str, info: dict[str, int]) -> None:
    if phase == "stop" and info["generation"] == _FULL:
        gc.freeze()
