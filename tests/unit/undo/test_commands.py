"""`/undo` and `/redo` as a person reads them, over a real session."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from forge_core.commands.result import Failure, Text
from forge_core.commands.undo_commands import redo, undo
from forge_core.session.session import ForgeSession
from forge_core.undo import UndoStore
from tests.support.commands import run_command
from tests.support.sessions import scripted_session
from tests.unit.undo.workspace import Workspace, shapes


@pytest.fixture
async def table(tmp_path: Path) -> AsyncIterator[tuple[ForgeSession, Workspace]]:
    root = tmp_path / "ws"
    root.mkdir()
    session = scripted_session(root, [["hello"]])
    store = UndoStore(root, tmp_path / "state" / "s" / "undo")
    session._environment.undo = store
    yield session, Workspace(root, store)
    await store.aclose()


async def read(command: object) -> str:
    result = await command  # type: ignore[misc]
    assert isinstance(result, Text)
    return result.body


async def test_undo_lists_each_file_and_redo_brings_them_back(table: tuple[ForgeSession, Workspace]) -> None:
    session, ws = table
    (ws.root / "a.py").write_text("a")
    (ws.root / "c.py").write_text("c")
    await ws.turn("fix the\nparser", "echo b > a.py; echo d > c.py; echo x > new.py")
    (ws.root / "c.py").write_text("mine")
    assert await read(undo("", session)) == (
        "Undid what “fix the parser” did to files.\n"
        "\nRestored\n  a.py\n"
        "\nRemoved\n  new.py\n"
        "\nLeft alone\n  c.py  changed since\n"
        "\n/redo restores it. /undo again goes back one more turn."
    )
    assert await read(redo("", session)) == (
        "Redid what “fix the parser” did to files.\n\nWritten\n  a.py\n  new.py\n\n/undo undoes it again."
    )
    assert (ws.root / "c.py").read_text() == "mine"


async def test_conflicts_are_listed_with_their_reasons_and_nothing_else_is_touched(
    table: tuple[ForgeSession, Workspace],
) -> None:
    session, ws = table
    for name in ("edited", "folder", "link"):
        (ws.root / name).write_text("old\n")
    for name in ("gone/one", "moved/two"):
        (ws.root / name).parent.mkdir()
        (ws.root / name).write_text("old\n")
    files = "edited folder link gone/one moved/two"
    await ws.turn("change all", f"for f in {files}; do echo new > $f; done; mkdir d e; echo x > d/f")
    (ws.root / "edited").write_text("mine\n")
    for name in ("folder", "link"):
        (ws.root / name).unlink()
    (ws.root / "folder").mkdir()
    (ws.root / "link").symlink_to("edited")
    for name in ("d", "e", "gone"):
        shutil.rmtree(ws.root / name)
    (ws.root / "moved").rename(ws.root / "elsewhere")
    (ws.root / "moved").symlink_to("elsewhere")
    found = shapes(ws.root)
    assert await read(undo("", session)) == (
        "Nothing of “change all” was left to undo.\n"
        "\nWere gone already\n  d\n  d/f\n  e\n"
        "\nLeft alone\n"
        "  edited     changed since\n"
        "  folder     now a folder in its place\n"
        "  gone/one   deleted since\n"
        "  link       now a link in its place\n"
        "  moved/two  deleted since\n"
        "\n/redo restores it. /undo again goes back one more turn."
    )
    assert shapes(ws.root) == found
    (ws.root / "d").write_text("mine\n")
    (ws.root / "e").write_text("mine\n")
    found = shapes(ws.root)
    assert await read(redo("", session)) == (
        "Nothing of “change all” could be redone.\n"
        "\nLeft alone\n"
        "  d    changed since\n"
        "  d/f  its folder is now a file or a link\n"
        "  e    changed since\n"
        "\nNo file was touched."
    )
    assert shapes(ws.root) == found


async def test_undone_files_must_be_read_again_and_the_model_is_informed(
    table: tuple[ForgeSession, Workspace],
) -> None:
    session, ws = table
    path = ws.root / "a.py"
    path.write_text("a")
    await ws.turn("change", "echo b > a.py")
    files = session._environment.files
    files[str(path)] = "hash"
    files["/elsewhere"] = "hash"
    await undo("", session)
    assert files == {"/elsewhere": "hash"}
    assert session._news.lines == [
        "[The user undid file changes of an earlier turn; as before it are: a.py.]"
    ]


async def test_the_arguments_of_undo_are_case_insensitive(table: tuple[ForgeSession, Workspace]) -> None:
    session, ws = table
    (ws.root / "a.py").write_text("a")
    assert await read(run_command("/undo LIST", session)) == "No turn has changed files yet."
    await ws.turn("write", "echo b > a.py")
    assert "a.py" in await read(run_command("/undo All", session))
    assert (ws.root / "a.py").read_text() == "a"


async def test_nothing_to_undo_and_unknown_arguments_are_reported(
    table: tuple[ForgeSession, Workspace],
) -> None:
    session, _ = table
    assert await read(undo("", session)) == "Nothing to undo."
    assert await read(redo("", session)) == "Nothing to redo."
    assert await read(undo("list", session)) == "No turn has changed files yet."
    assert isinstance(await run_command("/undo everything", session), Failure)
    assert isinstance(await run_command("/redo all", session), Failure)
    session._environment.undo = None
    assert isinstance(await undo("", session), Failure)


async def test_the_list_shows_turns_latest_first_and_marks_the_next(
    table: tuple[ForgeSession, Workspace],
) -> None:
    session, ws = table
    (ws.root / ".gitignore").write_text("out/\n")
    (ws.root / "out").mkdir()
    await ws.turn("first " * 30, "echo 1 > a; echo 2 > b")
    await ws.turn("second", "rm a; mv b c; echo 3 > d; chmod 600 d")
    await ws.turn("third", "echo 4 > e")
    await undo("", session)
    lines = [line for line in (await read(undo("list", session))).splitlines() if line]
    assert lines[0].startswith("  ") and lines[0].endswith("1 created  (undone)")
    assert lines[1].startswith("› ") and lines[1].endswith("1 created, 1 moved, 1 deleted")
    assert lines[2].endswith("…  2 created")
    assert lines[3] == "Not covered here: out/ (ignored by git)"


async def test_names_and_prompts_reach_the_screen_without_control_characters(
    table: tuple[ForgeSession, Workspace],
) -> None:
    session, ws = table
    await ws.turn("\x1b]0;owned\x07 do", "touch $'\\e[31mred\\nline' $'\\xff'")
    for body in (await read(undo("list", session)), await read(undo("", session))):
        assert not any(ord(letter) < 32 and letter != "\n" for letter in body)
        body.encode()


async def test_many_undone_files_are_counted(table: tuple[ForgeSession, Workspace]) -> None:
    session, ws = table
    await ws.turn("many", "touch f{1..100}")
    body = await read(undo("", session))
    assert "  … and 60 more" in body
    assert body.count("\n") < 60


async def test_the_undo_report_contains_absolute_paths_of_all_touched_files(
    table: tuple[ForgeSession, Workspace],
) -> None:
    _, ws = table
    await ws.turn("x", "echo x > a; ln -s a l")
    report = await ws.store.undo()
    assert sorted(report.touched) == [ws.root / "a", ws.root / "l"]
    assert dataclasses.replace(report, restored=(), deleted=()).for_model == ""
