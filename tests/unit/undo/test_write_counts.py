"""How often files are written, as inotify tells it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from forge_core.undo.attribution.write_counts import WriteCounts

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is an interface of Linux")


@pytest.mark.parametrize("text", ["x", ""], ids=["with content", "empty"])
def test_identical_consecutive_writes_are_counted_individually(tmp_path: Path, text: str) -> None:
    counts = WriteCounts(tmp_path, ["a.txt"])
    for _ in range(200):
        with (tmp_path / "a.txt").open("a") as file:
            file.write(text)
    assert counts.of("a.txt") == 200
    counts.close()


def test_tree_writes_are_counted_in_existing_folders(tmp_path: Path) -> None:
    for name in ("src/deep", ".github", "src/node_modules/lib"):
        (tmp_path / name).mkdir(parents=True)
    counts = WriteCounts(tmp_path, [], ["", ".github"])
    for name in ("a", "src/deep/b", ".github/c"):
        (tmp_path / name).write_text("x")
        assert counts.of(name) == 1
    assert counts.of("src/node_modules/lib/d") is None
    counts.close()
