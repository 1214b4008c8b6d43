"""The last look at a path before it is restored."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from forge_core.undo import UndoStore
from forge_core.undo.snapshot.mount_points import NoMounts
from forge_core.undo.storage.file_tree import FileTree
from tests.unit.undo.workspace import make_workspace, shapes


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


async def test_a_folder_that_holds_a_file_of_the_user_stays_with_a_conflict(tmp_path: Path) -> None:
    ws = make_workspace(tmp_path)
    await ws.turn("make", "mkdir d && echo x > d/made")
    (ws.root / "d" / "mine").write_text("the user's\n")
    report = await ws.store.undo()
    assert [path.name for path in (ws.root / "d").iterdir()] == ["mine"]
    assert [(one.name, one.why) for one in report.conflicts] == [
        ("d", "it holds files that are not this turn's")
    ]
    await ws.store.aclose()


async def test_a_file_that_a_running_sandbox_is_mounted_over_is_restored_in_place(tmp_path: Path) -> None:
    """Replacing it would lift the mount."""
    path = tmp_path / "ws" / "a.txt"

    class Mounted(NoMounts):
        def in_use(self) -> frozenset[Path]:
            return frozenset({path})

    path.parent.mkdir()
    path.write_text("old\n")
    store = UndoStore(path.parent, tmp_path / "undo", mounts=Mounted())
    await store.begin_turn("edit")
    await store.capture(path)
    path.write_text("new\n")
    await store.end_turn()
    with path.open() as same:  # else the number of the file could be given to a new one
        assert not (await store.undo()).conflicts
        assert os.fstat(same.fileno()).st_ino == path.stat().st_ino
    assert path.read_text() == "old\n"
    await store.aclose()


async def test_a_link_made_since_to_a_file_with_several_keeps_its_content(tmp_path: Path) -> None:
    ws = make_workspace(tmp_path)
    path, other, kept = ws.root / "a", tmp_path / "outside", ws.root / "kept"
    path.write_text("old\n")
    other.hardlink_to(path)
    await ws.turn("change", "echo tool > a")
    kept.hardlink_to(path)
    await ws.store.undo()
    assert (path.read_text(), kept.read_text()) == ("old\n", "tool\n")
    await ws.store.aclose()


@pytest.mark.parametrize("is_continued", [False, True])
@pytest.mark.parametrize(
    ("replace", "kind"),
    [
        (lambda path, outside: path.symlink_to(outside), "link"),
        (lambda path, outside: path.mkdir(), "folder"),
        (lambda path, outside: os.mkfifo(path), "special file"),
    ],
)
async def test_what_has_taken_the_place_of_a_file_is_left_alone_and_named(
    tmp_path: Path, replace: Callable[[Path, Path], object], kind: str, is_continued: bool
) -> None:
    ws, outside = make_workspace(tmp_path), tmp_path / "outside"
    path = ws.root / "a.txt"
    path.write_text("old\n")
    outside.write_text("new\n")  # as the file had been left
    await ws.store.begin_turn("edit")
    await ws.write("a.txt", "new\n")
    await ws.store.end_turn()
    if is_continued:
        await ws.store.aclose()
        ws = make_workspace(tmp_path)
    path.unlink()
    replace(path, outside)
    before = shapes(tmp_path / "ws")
    report = await ws.store.undo()
    assert [(one.name, one.why) for one in report.conflicts] == [("a.txt", f"now a {kind} in its place")]
    assert (shapes(tmp_path / "ws"), outside.read_text()) == (before, "new\n")
    await ws.store.aclose()
