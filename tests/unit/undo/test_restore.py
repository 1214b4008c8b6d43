"""The last look at a path before it is restored."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forge_core.undo.storage.file_tree import FileTree
from tests.unit.undo.workspace import make_workspace


@pytest.mark.parametrize("method", ["put_file", "remove"])
async def test_a_file_that_changes_between_the_check_and_the_undo_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """The user saves `b.txt` while undo restores `a.txt`, after both were checked."""
    ws = make_workspace(tmp_path)
    names = ("a.txt", "b.txt") if method == "put_file" else ("new-a.txt", "new-b.txt")
    if method == "put_file":
        for name in names:
            (ws.root / name).write_text("old\n")
    await ws.store.begin_turn("change")
    for name in names:
        await ws.write(name, "made\n")
    await ws.store.end_turn()
    act: Callable[..., object] = getattr(FileTree, method)

    def during(tree: FileTree, path: str, *arguments: object, **options: object) -> object:
        if path == names[0]:
            (ws.root / names[1]).write_text("the user's\n")
        return act(tree, path, *arguments, **options)

    monkeypatch.setattr(FileTree, method, during)
    report = await ws.store.undo()
    assert (ws.root / names[1]).read_text() == "the user's\n"
    assert [conflict.name for conflict in report.conflicts] == [names[1]]
    await ws.store.aclose()
