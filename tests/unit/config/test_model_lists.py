"""The favourite models and those used before, on disk."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from forge_core.config.model_lists import MOST_RECENT, ModelLists, SavedModelLists


def test_the_lists_of_an_endpoint_are_kept_apart_and_private(tmp_path: Path) -> None:
    one, other = SavedModelLists(tmp_path / "s", "a"), SavedModelLists(tmp_path / "s", "b")
    one.toggle_favourite("x/y")
    other.add_recent("local")
    assert one.read() == ModelLists(favourites=("x/y",))
    assert other.read() == ModelLists(recent=("local",))
    assert one.toggle_favourite("x/y") == ModelLists()
    assert stat.S_IMODE((tmp_path / "s" / "models.json").stat().st_mode) == 0o600


def test_a_model_that_is_used_again_keeps_its_place(tmp_path: Path) -> None:
    lists = SavedModelLists(tmp_path, "a")
    lists.add_recent("b", "a")
    assert lists.add_recent("a", "b").recent == ("b", "a")
    assert lists.add_recent("c", "a").recent == ("c", "b", "a")
    for number in range(20):
        lists.add_recent(f"m{number}")
    assert len(lists.read().recent) == MOST_RECENT
    assert lists.read().recent[0] == "m19"


@pytest.mark.parametrize("text", ["", "[", "[]", '{"endpoints": 1}', '{"endpoints": {"a": {"recent": [1]}}}'])
def test_a_damaged_file_counts_as_empty_and_is_replaced(tmp_path: Path, text: str) -> None:
    (tmp_path / "models.json").write_text(text)
    lists = SavedModelLists(tmp_path, "a")
    assert lists.read() == ModelLists()
    assert lists.toggle_favourite("x").favourites == ("x",)
    assert lists.read().favourites == ("x",)
