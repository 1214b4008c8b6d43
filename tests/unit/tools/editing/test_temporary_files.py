"""What a write leaves beside its target: nothing, also of one that was killed, and nothing of others is taken."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from forge_core.errors import ToolError
from forge_core.tools.editing import atomic_write
from forge_core.tools.editing.atomic_write import WriteTarget, write_file
from forge_core.tools.editing.text import sha256
from forge_core.workspace.beneath import opened_folder

STUCK = """
import os, sys
from pathlib import Path
from forge_core.tools.editing import atomic_write
from forge_core.tools.editing.text import sha256
path = Path(sys.argv[1])
def stay(descriptor, data):
    os.write(descriptor, data[:3])
    print("writing", flush=True)
    sys.stdin.read()
atomic_write.write_all = stay
atomic_write.write_file(atomic_write.WriteTarget(path), b"second", sha256(b"first") if path.exists() else None)
"""


def stuck_writer(path: Path) -> subprocess.Popen[bytes]:
    """A process in the middle of a write."""
    writer = subprocess.Popen(
        [sys.executable, "-c", STUCK, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == b"writing\n"
    return writer


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


@pytest.mark.parametrize("name", ["a.txt", "other.txt", "new.txt"])
def test_the_next_write_into_a_folder_removes_temporary_files_of_a_killed_one(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "a.txt").write_text("first")
    (tmp_path / "other.txt").write_text("first")
    writer = stuck_writer(tmp_path / "a.txt")
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    assert len(names(tmp_path)) == 3
    write_file(WriteTarget(tmp_path / name), b"third", None if name == "new.txt" else sha256(b"first"))
    assert names(tmp_path) == sorted({"a.txt", "other.txt", name})
    assert (tmp_path / name).read_bytes() == b"third"


def test_the_temporary_file_of_a_live_process_is_kept(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("first")
    writer = stuck_writer(tmp_path / "a.txt")
    try:
        before = names(tmp_path)
        write_file(WriteTarget(tmp_path / "b.txt"), b"third", sha256(b"first"))
        assert names(tmp_path) == before
        assert str(writer.pid) in before[0]
    finally:
        writer.communicate(b"")
    assert names(tmp_path) == ["a.txt", "b.txt"]


def test_a_locked_temporary_file_is_kept_although_its_process_id_is_unknown(tmp_path: Path) -> None:
    """As when the folder is shared with a container, which counts its processes for itself."""
    import fcntl

    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    theirs = tmp_path / f".forge-{gone.pid}-{'0' * 8}-{'0' * 8}.tmp"
    with theirs.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        write_file(WriteTarget(tmp_path / "a.txt"), b"x", None)
        assert theirs.exists()
    write_file(WriteTarget(tmp_path / "b.txt"), b"x", None)
    assert names(tmp_path) == ["a.txt", "b.txt"]


def test_a_temporary_file_of_an_earlier_process_with_the_same_id_is_removed(tmp_path: Path) -> None:
    """In a container the first process has the same number each time."""
    (tmp_path / f".forge-{os.getpid()}-{'0' * 8}-{'0' * 8}.tmp").write_bytes(b"x")
    write_file(WriteTarget(tmp_path / "a.txt"), b"x", None)
    assert names(tmp_path) == ["a.txt"]


def test_a_temporary_file_of_this_process_is_kept_before_it_is_locked(tmp_path: Path) -> None:
    """Another thread may write into the folder between the creation of the file and its lock."""
    with opened_folder(tmp_path, Path("/")) as folder, atomic_write.temporary_file(folder) as (name, _):
        other = f"{name.rpartition('-')[0]}-00000000.tmp"
    (tmp_path / other).write_bytes(b"")
    write_file(WriteTarget(tmp_path / "a.txt"), b"x", None)
    assert names(tmp_path) == [other, "a.txt"]


def test_only_files_with_the_exact_temporary_name_are_removed(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    stem = f".forge-{gone.pid}-00000000-00000000"
    (tmp_path / f"{stem}.tmp").mkdir()
    (tmp_path / f"{stem}.tmp2").write_text("x")
    (tmp_path / f"x{stem}.tmp").write_text("x")
    (tmp_path / ".forge-undo-1.tmp").write_text("x")
    (tmp_path / ".forge-0-00000000-00000000.tmp").write_text("x")
    (tmp_path / ".forge-99999999999999-00000000-00000000.tmp").write_text("x")
    os.mkfifo(tmp_path / f".forge-{gone.pid}-00000000-00000001.tmp")
    (tmp_path / f".forge-{gone.pid}-00000000-00000002.tmp").symlink_to("a.txt")
    before = names(tmp_path)
    write_file(WriteTarget(tmp_path / "a.txt"), b"x", None)
    assert names(tmp_path) == sorted([*before, "a.txt"])


def test_a_leftover_hard_link_is_removed_before_the_file_is_replaced(tmp_path: Path) -> None:
    """Else the file would have two names, and be written in place."""
    path = tmp_path / "a.txt"
    path.write_text("first")
    (tmp_path / f".forge-{os.getpid()}-{'0' * 8}-{'0' * 8}.tmp").hardlink_to(path)
    inode = path.stat().st_ino
    write_file(WriteTarget(path), b"second", sha256(b"first"))
    assert names(tmp_path) == ["a.txt"]
    assert path.stat().st_ino != inode


def test_folders_created_by_a_failed_write_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").mkdir()
    target = WriteTarget(tmp_path / "there" / "new" / "deep" / ("n" * 300), tmp_path)
    with pytest.raises(ToolError, match="too long"):
        write_file(target, b"x", None)
    assert names(tmp_path / "there") == []

    def full(descriptor: int, data: bytes) -> None:
        (tmp_path / "there" / "new" / "theirs").write_text("kept")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic_write, "write_all", full)
    with pytest.raises(ToolError, match="the disk is full"):
        write_file(WriteTarget(tmp_path / "there" / "new" / "deep" / "a.txt", tmp_path), b"x", None)
    assert names(tmp_path / "there") == ["new"]
    assert names(tmp_path / "there" / "new") == ["theirs"]


def test_folders_stay_when_the_write_succeeds(tmp_path: Path) -> None:
    write_file(WriteTarget(tmp_path / "a" / "b" / "c.txt", tmp_path), b"x", None)
    assert (tmp_path / "a" / "b" / "c.txt").read_bytes() == b"x"
