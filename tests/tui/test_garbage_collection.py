"""A full garbage collection costs in proportion to new objects, not to the whole conversation."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from forge_tui import garbage_collection

pytestmark = pytest.mark.slow


@pytest.fixture
def collector_off() -> Iterator[None]:
    callbacks = list(gc.callbacks)
    gc.disable()
    yield
    gc.callbacks[:] = callbacks
    gc.unfreeze()
    gc.collect()
    gc.freeze()  # the tests that were collected, as before (tests/conftest.py)
    gc.enable()


def test_objects_that_survive_a_full_collection_are_frozen(collector_off: None) -> None:
    garbage_collection.start()
    assert gc.isenabled()
    history = [[number] for number in range(50_000)]
    gc.collect()
    assert len(gc.get_objects()) < len(history) < gc.get_freeze_count()


def test_new_garbage_is_still_collected(collector_off: None) -> None:
    garbage_collection.start()
    gc.collect()
    for _ in range(500):
        cycle: list[object] = []
        cycle.append(cycle)
    assert gc.collect() >= 499


@pytest.mark.parametrize("new", [100, 50_000])
def test_frozen_garbage_is_freed_in_an_idle_moment_once_much_is_frozen(collector_off: None, new: int) -> None:
    class Prompt:
        def __init__(self) -> None:
            self.owner = self

    garbage_collection.start()
    prompt, history = Prompt(), [[number] for number in range(new)]
    gc.collect()
    is_there = weakref.ref(prompt)
    del prompt
    garbage_collection.collect_if_grown()
    assert len(history) == new
    assert (is_there() is None) == (new == 50_000)


def test_frozen_garbage_is_freed_by_give_back(collector_off: None) -> None:
    class Card:
        """Points to itself, as a card and its calls do."""

        def __init__(self) -> None:
            self.owner = self

    garbage_collection.start()
    card = Card()
    gc.collect()
    is_there = weakref.ref(card)
    del card
    gc.collect()
    assert is_there() is not None, "it is not looked at again"
    garbage_collection.collect_all()
    assert is_there() is None


def test_the_collector_is_unchanged_in_an_embedding_process() -> None:
    before = list(gc.callbacks), gc.get_freeze_count()
    assert gc.isenabled()
    garbage_collection.start()
    assert (gc.callbacks, gc.get_freeze_count()) == before
