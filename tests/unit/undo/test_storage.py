"""What undo keeps of turns and files, each part for itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from forge_core.redact import Redactor
from forge_core.undo.file_state import ABSENT, EntryKind, FileChange, FileState
from forge_core.undo.storage.file_tree import FileTree, TooLargeError, stamp_of
from forge_core.undo.storage.turn_history import TurnRecord
from forge_core.undo.storage.turn_log import TurnLog
from tests.unit.undo.workspace import make_workspace

KEY = "a-key-of-unknown-shape-7261"


def state(name: str) -> FileState:
    return FileState(EntryKind.FILE, 0o644, name * 64, 1)


def log_at(path: Path) -> TurnLog:
    return TurnLog(path, lambda message: None, Redactor((KEY,)))


@pytest.mark.parametrize("path", ["..", ".", "../a", "d/../a"])
def test_a_path_that_is_not_plain_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(OSError, match="not a plain path"):
        FileTree(tmp_path).status(path)


def test_a_mode_is_not_set_on_an_entry_of_another_kind(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir(mode=0o700)
    with pytest.raises(OSError, match="something else is there"):
        FileTree(tmp_path).set_mode("d", 0o644, EntryKind.FILE)
    assert (tmp_path / "d").stat().st_mode & 0o777 == 0o700


def test_a_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert FileTree(tmp_path).content("a", 5).data == b"12345"
    with pytest.raises(TooLargeError):
        FileTree(tmp_path).content("a", 4)


def test_restored_bytes_are_on_the_disk_before_the_file_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, synced = tmp_path / "a", list[tuple[int, bytes]]()
    path.write_bytes(b"one")
    sync = os.fsync

    def recording(descriptor: int) -> None:
        synced.append((os.fstat(descriptor).st_ino, path.read_bytes()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", recording)
    FileTree(tmp_path).put_file("a", b"two", 0o644)
    assert synced == [(path.stat().st_ino, b"one")]


def test_a_change_shows_although_size_and_modification_time_are_as_before(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one")
    os.utime(path, ns=(1, 1))
    before = path.stat()
    while path.stat().st_ctime_ns == before.st_ctime_ns:  # the clock of the file system may be coarse
        path.write_bytes(b"two")
        os.utime(path, ns=(1, 1))
    assert stamp_of(path.stat()) != stamp_of(before)


def test_a_turn_needs_the_contents_of_its_doubtful_changes() -> None:
    turn = TurnRecord(1, "", 0.0)
    turn.doubt(FileChange("a", state("1"), state("2")), "make")
    assert turn.digests() == {"1" * 64, "2" * 64}


def test_a_doubtful_change_that_a_later_one_does_not_follow_is_dropped() -> None:
    """The user has changed the path in between, and undo keeps what that one left."""
    turn = TurnRecord(1, "", 0.0)
    turn.doubt(FileChange("a", state("1"), state("2")), "make")
    turn.record(FileChange("a", state("3"), state("4")))
    assert not turn.doubts
    assert [(one.before, one.after) for one in turn.to_undo(())] == [(state("4"), state("3"))]


def test_the_running_turn_is_not_dropped_to_make_room(tmp_path: Path) -> None:
    log = log_at(tmp_path / "turns.jsonl")
    log.begin("go")
    log.record(FileChange("a", ABSENT, state("1")))
    assert not log.forget_oldest()
    log.end()
    assert log.forget_oldest()
    log.close()


def test_a_key_in_a_message_or_a_command_is_not_stored(tmp_path: Path) -> None:
    log = log_at(tmp_path / "turns.jsonl")
    log.begin(f"use {KEY}")
    log.doubt(FileChange("a", ABSENT, state("1")), f"curl -H {KEY}")
    log.end()
    log.close()
    stored = (tmp_path / "turns.jsonl").read_text()
    assert '"doubt"' in stored and KEY not in stored


async def test_a_change_within_git_by_a_file_tool_is_not_undone_and_is_reported(tmp_path: Path) -> None:
    ws = make_workspace(tmp_path)
    (ws.root / ".git").mkdir()
    await ws.store.begin_turn("edit")
    await ws.write(".git/config", "[core]\n")
    await ws.store.end_turn()
    assert ws.troubles == ["The change of '.git/config' can't be undone: it is git's own."]
    await ws.store.undo()
    assert (ws.root / ".git" / "config").read_text() == "[core]\n"
    await ws.store.aclose()
