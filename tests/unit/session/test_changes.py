"""What the last turn did to files: read from what undo keeps, before and after, without touching anything."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from forge_core.session.changes import TurnChanges, changes_of
from forge_core.undo.expected_effects import Claim, ExpectedEffects, FileEffect, Proof
from forge_core.workspace.change_source import ChangedFile, ChangeList, ChangeStatus, Counts, FilePatch
from forge_core.workspace.work_tree import WorkTreeChanges
from tests.unit.undo.workspace import Workspace, make_repository, make_workspace, shapes


@pytest.fixture
async def ws(tmp_path: Path) -> AsyncIterator[Workspace]:
    workspace = make_workspace(tmp_path)
    yield workspace
    await workspace.store.aclose()


async def everything(
    ws: Workspace,
) -> tuple[ChangeList, Mapping[str, Counts], Mapping[str, FilePatch]]:
    changes = TurnChanges(ws.store)
    found = await changes.read()
    counts: dict[str, Counts] = {}
    async for batch in changes.counts(found.files):
        counts |= batch
    return found, counts, {file.path: await changes.patch(file) for file in found.files}


def statuses(found: ChangeList) -> dict[str, tuple[ChangeStatus, str]]:
    return {file.path: (file.status, file.note) for file in found.files}


@pytest.mark.parametrize("in_git", [True, False])
async def test_changes_by_edits_and_commands_are_shown_against_the_previous_state(
    ws: Workspace, in_git: bool
) -> None:
    (ws.root / "edited").write_text("one\ntwo\n")
    (ws.root / "gone").write_text("bye\n")
    (ws.root / "script").write_text("#!/bin/sh\n")
    (ws.root / "old name").write_text("stays the same\n" * 5)
    if in_git:
        make_repository(ws.root)
    await ws.store.begin_turn("do things")
    await ws.write("edited", "one\n2\n")
    await ws.run(
        "rm gone; chmod 755 script; mv 'old name' 'new name'; mkdir deep; printf 'x' > deep/new; : > empty"
    )
    before = shapes(ws.root)
    found, counts, patches = await everything(ws)
    await ws.store.end_turn()
    assert (await everything(ws))[0] == found
    assert shapes(ws.root) == before
    assert found.title == "Last turn: do things"
    assert statuses(found) == {
        "deep/new": (ChangeStatus.ADDED, ""),
        "edited": (ChangeStatus.CHANGED, ""),
        "empty": (ChangeStatus.ADDED, ""),
        "gone": (ChangeStatus.DELETED, ""),
        "new name": (ChangeStatus.RENAMED, ""),
        "script": (ChangeStatus.CHANGED, "mode 644 → 755"),
    }
    assert counts["edited"] == Counts(1, 1)
    assert counts["gone"] == Counts(0, 1)
    assert patches["edited"].text == (
        "diff --git a/edited b/edited\n--- a/edited\n+++ b/edited\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    )
    assert "+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n" in patches["gone"].text
    assert "@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n" in patches["deep/new"].text
    assert {path: patch.remark for path, patch in patches.items() if patch.remark} == {
        "empty": "An empty file.",
        "new name": "Renamed from old name; its content is the same.",
        "script": "Only its mode changed: 644 → 755.",
    }


async def test_a_turn_without_changes_is_reported(ws: Workspace) -> None:
    (ws.root / "a").write_text("1\n")
    assert (await everything(ws))[0].remark == "There was no turn in this session yet."
    await ws.turn("first", "echo 2 > a")
    assert statuses((await everything(ws))[0]) == {"a": (ChangeStatus.CHANGED, "")}
    await ws.turn("second", "ls")
    found, _, _ = await everything(ws)
    assert (found.title, found.files) == ("Last turn: second", ())
    assert found.remark == "The last turn changed no files."


async def test_undone_changes_are_not_shown(ws: Workspace) -> None:
    (ws.root / "a").write_text("1\n")
    await ws.turn("first", "echo 2 > a")
    await ws.store.undo()
    found, _, _ = await everything(ws)
    assert found.files == ()
    assert "/redo" in found.remark
    await ws.store.redo()
    assert statuses((await everything(ws))[0]) == {"a": (ChangeStatus.CHANGED, "")}


async def test_non_text_changes_are_described(ws: Workspace) -> None:
    (ws.root / "data").write_bytes(b"\0" * 10)
    (ws.root / "text").write_text("x\n")
    (ws.root / "latin").write_bytes("caf\u00e9\n".encode("latin-1"))
    (ws.root / "wide").write_bytes("one\n".encode("utf-16"))
    await ws.turn(
        "x",
        r"printf '\0\0' > data; rm text; ln -s /etc/passwd text; printf 'caf\xe9s\n' > latin; iconv -f UTF-8 -t UTF-16 <<< two > wide",
    )
    found, counts, patches = await everything(ws)
    assert patches["data"].remark == "Binary: 10 → 2 bytes."
    assert counts["data"] == Counts(None, None)
    assert statuses(found)["text"] == (ChangeStatus.CHANGED, "was a file, is a link")
    assert "-x\n+/etc/passwd\n" in patches["text"].text
    assert "-café\n+cafés\n" in patches["latin"].text
    assert "-one\n+two\n" in patches["wide"].text


async def test_changed_files_can_have_any_name(ws: Workspace) -> None:
    names = [b"new\nline", b"\xff\xfe", b"-rf", b"\x1b[31m", b" ", b'"\\']
    await ws.store.begin_turn("odd")
    claims = tuple(Claim(FileEffect.CREATE, os.fsdecode(name), proof=Proof.END) for name in names)
    watch = await ws.store.before_command(ExpectedEffects("odd", claims))
    for name in names:
        Path(os.fsdecode(os.fsencode(ws.root) + b"/" + name)).write_text("x\n")
    await ws.store.after_command(watch, exit_status=0)
    await ws.store.end_turn()
    found, counts, patches = await everything(ws)
    assert {file.path for file in found.files} == {os.fsdecode(name) for name in names}
    assert set(counts.values()) == {Counts(1, 0)}
    for patch in patches.values():
        lines = patch.text.split("\n")
        assert (len(lines), lines[2], *lines[4:]) == (7, "--- /dev/null", "@@ -0,0 +1 @@", "+x", "")


async def test_carriage_returns_and_whole_files_are_kept(ws: Workspace) -> None:
    (ws.root / "dos").write_bytes(b"".join(b"%d\r\n" % number for number in range(50)))
    await ws.turn("x", "sed -i 's/^25\\r$/x/' dos")
    changes = TurnChanges(ws.store)
    (file,) = (await changes.read()).files
    assert "-25\r\n+x\n" in (await changes.patch(file)).text
    whole = (await changes.patch(file, is_whole=True)).text
    assert "@@ -1,50 +1,50 @@" in whole
    assert whole.count("\r\n") == 50


async def test_ten_megabytes_are_compared(ws: Workspace) -> None:
    line = "x" * 99 + "\n"
    (ws.root / "big").write_text(line * 50_000 + "end\n" + line * 50_000)
    await ws.store.begin_turn("big")
    await ws.edit("big", lambda path: path.write_text(line * 50_000 + "END\n" + line * 50_000))
    await ws.store.end_turn()
    found, counts, patches = await everything(ws)
    assert len(found.files) == 1
    assert counts["big"] == Counts(1, 1)
    assert "-end\n+END\n" in patches["big"].text
    assert len(patches["big"].text) < 2_000


async def test_content_that_is_no_longer_stored_is_reported(ws: Workspace) -> None:
    changes = TurnChanges(ws.store)
    assert (await changes.patch(ChangedFile("never", ChangeStatus.CHANGED))).remark
    (ws.root / "a").write_text("1\n")
    await ws.turn("x", "echo 2 > a")
    (file,) = (await changes.read()).files
    for path in (ws.store._recorder._folder / "blobs").glob("*"):
        path.write_bytes(b"")
    assert (await changes.patch(file)).remark == "Its content is no longer kept."


async def test_without_undo_the_turn_cannot_be_shown(tmp_path: Path) -> None:
    found = await changes_of("turn", tmp_path, None).read()
    assert found.files == ()
    assert "Undo is off" in found.remark
    assert isinstance(changes_of("worktree", tmp_path, None), WorkTreeChanges)
