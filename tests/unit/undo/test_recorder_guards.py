"""Guards of undo's recorder and storage that a neighbouring one would hide."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from forge_core.tools.effect_analysis.command_lines import expected_effects
from forge_core.undo import ExpectedEffects, UndoStore
from forge_core.undo.snapshot.mount_points import NoMounts
from tests.unit.undo.workspace import Workspace, make_repository, make_workspace, shell


@pytest.fixture
async def ws(tmp_path: Path) -> AsyncIterator[Workspace]:
    made = make_workspace(tmp_path)
    yield made
    await made.store.aclose()


async def run_script(ws: Workspace, text: str) -> tuple[str, ...]:
    """Run a command whose line says nothing of what it changes, and which owns new files of tools; return
    what may be the user's."""
    expected = replace(ExpectedEffects("sh script"), owns_new=lambda path: path.endswith(".json"))
    await ws.store.begin_turn("script")
    watch = await ws.store.before_command(expected)
    shell(ws.root, text)
    effects = await ws.store.after_command(watch, exit_status=0)
    await ws.store.end_turn()
    return effects.doubtful


async def test_only_new_files_of_tools_are_the_commands(ws: Workspace) -> None:
    (ws.root / "old.json").write_text("{}\n")
    doubtful = await run_script(ws, "echo '[]' > old.json; echo '[]' > new.json")
    assert doubtful == ("old.json",)
    await ws.store.undo()
    assert (ws.root / "old.json").read_text() == "[]\n"
    assert not (ws.root / "new.json").exists()


async def test_a_repository_that_the_user_made_between_two_commands_stays_the_users(ws: Workspace) -> None:
    await ws.turn("first", "echo x > a")
    shell(ws.root, "git init -q --bare own")
    assert "own/b" in await run_script(ws, "echo x > own/b")
    await ws.store.undo()
    assert (ws.root / "own/b").exists()


async def test_a_placeholder_of_the_sandbox_is_no_change_of_git(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    make_repository(root)

    class Placed(NoMounts):
        def placeholders(self) -> frozenset[Path]:
            return frozenset({root / ".git/config.worktree"})

    store = UndoStore(root, tmp_path / "undo", mounts=Placed())
    await store.begin_turn("turn")
    watch = await store.before_command(ExpectedEffects("true"))
    for name in ("config.worktree", "commondir"):
        (root / ".git" / name).touch()
    effects = await store.after_command(watch)
    assert [path for path in effects.changed if path.startswith(".git/")] == [".git/commondir"]
    await store.end_turn()
    await store.aclose()


async def test_what_another_command_writes_after_the_end_of_one_is_not_doubted(ws: Workspace) -> None:
    recorder = ws.store._recorder
    await ws.store.begin_turn("two at once")
    first, second = [await ws.store.before_command(expected_effects("date > a", ws.root)) for _ in range(2)]
    ended_ns = time.time_ns()
    shell(ws.root, "sleep 0.02; date > a")
    effects = recorder.after_command(first, ended_ns, exit_status=0)
    assert effects.doubtful == ()
    await ws.store.after_command(second, exit_status=0)
    await ws.store.end_turn()
    assert ws.changed() == {"a"}


async def test_the_bytes_before_an_edit_in_progress_are_kept_when_their_turn_is_dropped(
    tmp_path: Path,
) -> None:
    """Of a file outside the workspace, to whose bytes the snapshot does not refer."""
    ws = make_workspace(tmp_path, limit_bytes=100_000)
    path, other, old = tmp_path / "a", tmp_path / "b", os.urandom(40_000)
    path.write_bytes(old)
    await ws.store.begin_turn("first")
    await ws.store.capture(path)
    path.write_bytes(b"new")
    await ws.store.end_turn()
    path.write_bytes(old)
    other.write_bytes(os.urandom(61_000))
    await ws.store.begin_turn("second")
    await ws.store.capture(path)
    await ws.store.capture(other)
    path.write_bytes(b"newer")
    other.write_bytes(b"newer")
    await ws.store.end_turn()
    await ws.store.undo()
    assert path.read_bytes() == old
    await ws.store.aclose()


async def test_an_undo_reports_what_later_turns_have_lost(ws: Workspace) -> None:
    await ws.turn("edit", "echo x > a")
    await ws.turn("large", "head -c 1500000 /dev/zero > large")
    report = await ws.store.undo()
    assert report.deleted == ("a",)
    assert any("large" in line for line in report.not_undoable)


async def test_undo_keeps_the_owner_and_the_attributes_of_a_file(ws: Workspace) -> None:
    path = ws.root / "a"
    path.write_text("old\n")
    await ws.store.begin_turn("edit")
    await ws.write("a", "new\n")
    await ws.store.end_turn()
    owner = (1234, 1234) if os.geteuid() == 0 else (os.getuid(), os.getgid())
    os.chown(path, *owner)
    try:
        os.setxattr(path, "user.forge", b"1")
    except OSError:
        pytest.skip("the file system has no extended attributes")
    assert not (await ws.store.undo()).conflicts
    assert path.read_text() == "old\n"
    assert ((path.stat().st_uid, path.stat().st_gid), os.getxattr(path, "user.forge")) == (owner, b"1")


async def test_an_undo_is_on_the_disk_before_it_returns(
    ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "state/s1/undo/turns.jsonl"
    await ws.turn("edit", "echo x > a")
    synced: list[bytes] = []
    fsync = os.fsync

    def note(descriptor: int) -> None:
        if os.fstat(descriptor).st_ino == log.stat().st_ino:
            synced.append(log.read_bytes())
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    await ws.store.undo()
    assert b'"undone"' in synced[-1]
