"""Reverting parts of the last turn: a turn of its own that undo and redo know."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from forge_core.errors import ForgeError
from forge_core.undo import UndoReport
from forge_core.undo.file_state import FileChange
from tests.unit.undo.workspace import Workspace, make_workspace, shapes


@pytest.fixture
async def ws(tmp_path: Path) -> AsyncIterator[Workspace]:
    workspace = make_workspace(tmp_path)
    yield workspace
    await workspace.store.aclose()


async def change_of(ws: Workspace, name: str) -> FileChange:
    turn = await ws.store.last_turn()
    assert turn is not None
    return turn.changes[name]


async def set_content(ws: Workspace, name: str, data: bytes, text: str = "Reverted a part") -> UndoReport:
    """Revert a part of the change of a file, so that it holds `data`."""
    turn = await ws.store.last_turn()
    assert turn is not None
    change = turn.changes[name]
    wanted = replace(change.after, digest=sha256(data).hexdigest(), size=len(data), git="")
    return await ws.store.revert(turn.view.number, text, [FileChange(name, change.after, wanted)], [data])


async def two_lines(ws: Workspace) -> None:
    (ws.root / "a").write_text("one\ntwo\n")
    await ws.store.begin_turn("edit it")
    await ws.write("a", "1\n2\n")
    await ws.store.end_turn()


async def test_a_revert_is_a_turn_that_undo_and_redo_know(ws: Workspace) -> None:
    await two_lines(ws)
    report = await set_content(ws, "a", b"1\ntwo\n")
    assert (report.kind, report.restored, report.conflicts) == ("revert", ("a",), ())
    assert report.touched == (ws.root / "a",)
    assert "Reverted a part" in report.for_model
    assert (ws.root / "a").read_text() == "1\ntwo\n"
    assert [view.text for view in ws.store.turns()] == ["edit it", "Reverted a part"]
    contents: list[str] = []
    for step in (ws.store.undo, ws.store.undo, ws.store.redo, ws.store.redo):
        assert not (await step()).conflicts
        contents.append((ws.root / "a").read_text())
    assert contents == ["1\n2\n", "one\ntwo\n", "1\n2\n", "1\ntwo\n"]


async def test_the_last_turn_is_shown_without_what_was_reverted(ws: Workspace) -> None:
    await two_lines(ws)
    await set_content(ws, "a", b"1\ntwo\n")
    turn = await ws.store.last_turn()
    assert turn is not None
    assert turn.view.text == "edit it"
    assert await ws.store.contents([turn.changes["a"].before, turn.changes["a"].after]) == [
        b"one\ntwo\n",
        b"1\ntwo\n",
    ]
    await ws.store.undo()
    assert await ws.store.contents([(await change_of(ws, "a")).after]) == [b"1\n2\n"]
    await set_content(ws, "a", b"one\ntwo\n")
    turn = await ws.store.last_turn()
    assert turn is not None
    assert not turn.changes


async def test_a_file_that_has_changed_since_is_left_alone(ws: Workspace) -> None:
    await two_lines(ws)
    await ws.store.undo()
    await ws.store.redo()
    (ws.root / "a").write_text("mine\n")
    report = await set_content(ws, "a", b"1\ntwo\n")
    assert [(one.name, one.why) for one in report.conflicts] == [("a", "changed since")]
    assert not report.turn
    assert (ws.root / "a").read_text() == "mine\n"
    assert len(ws.store.turns()) == 1


async def test_a_refused_revert_does_not_drop_what_could_be_redone(ws: Workspace) -> None:
    await two_lines(ws)
    await set_content(ws, "a", b"1\ntwo\n")
    await ws.store.undo()
    (ws.root / "a").write_text("mine\n")
    assert (await set_content(ws, "a", b"one\n2\n")).conflicts
    (ws.root / "a").write_text("1\n2\n")
    assert (await ws.store.redo()).restored == ("a",)
    assert (ws.root / "a").read_text() == "1\ntwo\n"


async def test_a_revert_of_several_files_is_made_as_a_whole_or_not_at_all(ws: Workspace) -> None:
    (ws.root / "old").write_text("text\n" * 5)
    await ws.turn("move it", "mv old new")
    turn = await ws.store.last_turn()
    assert turn is not None
    back = [turn.changes["new"].reversed(), turn.changes["old"].reversed()]
    (ws.root / "old").write_text("another\n")
    report = await ws.store.revert(turn.view.number, "Moved back", back)
    assert [one.name for one in report.conflicts] == ["old"]
    assert (ws.root / "new").exists()
    (ws.root / "old").unlink()
    report = await ws.store.revert(turn.view.number, "Moved back", back)
    assert (report.restored, report.deleted) == (("old",), ("new",))
    await ws.store.undo()
    assert shapes(ws.root).keys() == {"new"}


async def test_reverts_are_known_after_a_restart(ws: Workspace, tmp_path: Path) -> None:
    await two_lines(ws)
    await set_content(ws, "a", b"1\ntwo\n")
    await ws.store.aclose()
    again = make_workspace(tmp_path)
    turn = await again.store.last_turn()
    assert turn is not None
    assert turn.view.text == "edit it"
    assert (await again.store.undo()).text_of_turn == "Reverted a part"
    assert (ws.root / "a").read_text() == "1\n2\n"
    await again.store.aclose()


async def test_a_kill_before_the_files_are_written_leaves_an_undo_that_works(
    ws: Workspace, tmp_path: Path
) -> None:
    await two_lines(ws)
    await set_content(ws, "a", b"1\ntwo\n")
    await ws.store.aclose()
    (ws.root / "a").write_text("1\n2\n")  # as if the record had been written and the file not yet
    again = make_workspace(tmp_path)
    assert not (await again.store.undo()).conflicts
    assert not (await again.store.undo()).conflicts
    assert (ws.root / "a").read_text() == "one\ntwo\n"
    await again.store.aclose()


@pytest.mark.parametrize("cut", range(1, 5))
async def test_a_record_that_ends_early_loads(ws: Workspace, tmp_path: Path, cut: int) -> None:
    await two_lines(ws)
    await set_content(ws, "a", b"1\ntwo\n")
    await ws.store.aclose()
    (path,) = tmp_path.rglob("turns.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    assert json.loads(lines[2])["reverts"] == 1
    path.write_bytes(b"".join(lines[:cut]))
    again = make_workspace(tmp_path)
    turn = await again.store.last_turn()
    assert (turn is None) == (cut == 1)
    await again.store.aclose()


async def test_a_path_that_could_not_be_restored_is_no_part_of_the_turn(ws: Workspace) -> None:
    await ws.store.begin_turn("a new folder")
    await ws.write("d/a", "a\n")
    await ws.store.end_turn()
    turn = await ws.store.last_turn()
    assert turn is not None
    (ws.root / "d/mine").write_text("mine\n")
    report = await ws.store.revert(
        turn.view.number, "Removed", [turn.changes[name].reversed() for name in ("d", "d/a")]
    )
    assert ([one.name for one in report.conflicts], report.deleted) == (["d"], ("d/a",))
    assert ws.store.turns()[-1].changes == (("d/a", "deleted"),)
    assert not (await ws.store.undo()).conflicts
    assert (ws.root / "d/a").read_text() == "a\n"


async def test_a_running_turn_refuses_a_revert(ws: Workspace) -> None:
    await two_lines(ws)
    change = await change_of(ws, "a")
    await ws.store.begin_turn("the next")
    with pytest.raises(ForgeError, match="A turn is running"):
        await ws.store.revert(1, "x", [change.reversed()])
    await ws.store.end_turn()


async def test_what_cannot_be_stored_is_not_reverted(tmp_path: Path) -> None:
    ws = make_workspace(tmp_path, limit_bytes=4_000)
    await two_lines(ws)
    with pytest.raises(ForgeError, match="Nothing was reverted"):
        await set_content(ws, "a", os.urandom(5_000))
    assert (ws.root / "a").read_text() == "1\n2\n"
    await ws.store.aclose()


async def test_a_file_outside_the_workspace_is_reverted(tmp_path: Path) -> None:
    ws = make_workspace(tmp_path)
    outside = tmp_path / "other" / "f"
    outside.parent.mkdir()
    outside.write_text("one\n")
    await ws.store.begin_turn("outside")
    await ws.edit(str(outside), lambda path: path.write_text("two\nthree\n"))
    await ws.store.end_turn()
    await set_content(ws, str(outside), b"two\n")
    assert outside.read_bytes() == b"two\n"
    await ws.store.undo()
    assert outside.read_bytes() == b"two\nthree\n"
    await ws.store.aclose()


async def test_a_hard_link_is_written_as_the_turn_has_written_it(ws: Workspace) -> None:
    (ws.root / "a").write_text("one\ntwo\n")
    os.link(ws.root / "a", ws.root / "b")
    await ws.turn("through both", "printf '1\\n2\\n' > a")
    change = await change_of(ws, "a")
    wanted = replace(change.after, digest=sha256(b"1\ntwo\n").hexdigest(), size=6, git="")
    await ws.store.revert(1, "part", [FileChange("a", change.after, wanted)], [b"1\ntwo\n"])
    assert (ws.root / "b").read_bytes() == (ws.root / "a").read_bytes() == b"1\ntwo\n"
    assert (ws.root / "a").stat().st_nlink == 2
