"""Writing: whole or not at all, in its place or nowhere."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from forge_core.config.permission_mode import PermissionMode
from forge_core.errors import ToolError
from forge_core.permissions.policy import PermissionPolicy
from forge_core.tools import EditTool, ExecutionContext, ToolExecutor, ToolResult, WriteTool
from forge_core.tools.builtin.apply_patch import ApplyPatchTool
from forge_core.tools.builtin.multi_edit import MultiEditTool
from forge_core.tools.editing.atomic_write import (
    WriteTarget,
    check_writable,
    read_file,
    remove_file,
    write_file,
)
from forge_core.tools.editing.file_changes import commit, current_file
from forge_core.tools.editing.text import sha256
from forge_core.workspace.beneath import openat2

pytestmark = pytest.mark.slow


RACES = 3_000 if os.environ.get("FORGE_FULL") else 300
KILLS = 100 if os.environ.get("FORGE_FULL") else 8


async def write(
    context: ExecutionContext, path: str, text: str, policy: PermissionPolicy | None = None
) -> ToolResult:
    return await ToolExecutor(policy).execute(WriteTool(), {"file_path": path, "content": text}, context)


SWAP = """
import os, sys
os.chdir(sys.argv[1])
print("ready", flush=True)
junk = 0
while True:
    try:
        os.rename("dir", "away"); os.symlink(sys.argv[2], "dir"); os.unlink("dir"); os.rename("away", "dir")
    except OSError:  # a write has made the folder anew meanwhile
        for name in ("dir", "away"):
            try:
                junk += 1
                os.rename(name, f"junk{junk}" if name == "dir" else "dir")
            except OSError:
                pass
"""


@pytest.mark.parametrize("is_judged", [True, False])
async def test_a_write_does_not_follow_a_link_that_replaced_a_folder(tmp_path: Path, is_judged: bool) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    (work / "dir").mkdir(parents=True)
    outside.mkdir()
    policy = PermissionPolicy(work, PermissionMode.ACCEPT_EDITS) if is_judged else None
    swapper = subprocess.Popen([sys.executable, "-c", SWAP, str(work), str(outside)], stdout=subprocess.PIPE)
    try:
        assert swapper.stdout is not None
        swapper.stdout.readline()
        context = ExecutionContext(work)
        ended = [await write(context, f"dir/f{number}", "x", policy) for number in range(RACES)]
        assert swapper.poll() is None
    finally:
        swapper.kill()
        swapper.communicate()
    assert list(outside.iterdir()) == []
    assert any(one.success for one in ended)


WRITER = """
import sys
from pathlib import Path
from forge_core.tools.editing.atomic_write import WriteTarget, write_file
from forge_core.tools.editing.text import sha256
path = Path(sys.argv[1])
one, two = b"1" * 300_000, b"2" * 300_000
print("ready", flush=True)
while True:
    write_file(WriteTarget(path), two, sha256(one)); write_file(WriteTarget(path), one, sha256(two))
"""


def test_a_file_is_whole_whenever_its_writer_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for number in range(KILLS):
        path.write_bytes(b"1" * 300_000)
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        writer.stdout.readline()
        threading.Event().wait(number * 0.0017)  # another moment each time
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        assert path.read_bytes() in (b"1" * 300_000, b"2" * 300_000)


def test_a_full_disk_leaves_every_file_unchanged(tmp_path: Path) -> None:
    """A child with a limit on the size of files: its write fails half-way, as on a full disk."""
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "hard.txt").write_text("one\n")
    (tmp_path / "name.txt").hardlink_to(tmp_path / "hard.txt")
    program = """
import resource, signal, sys
from pathlib import Path
from forge_core.errors import ToolError
from forge_core.tools.editing.atomic_write import WriteTarget, write_file
from forge_core.tools.editing.text import sha256
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
for name in ("a.txt", "hard.txt"):
    try:
        write_file(WriteTarget(Path(name).resolve()), b"x" * 300_000, sha256(b"one\\n"))
    except ToolError as error:
        print(error)
try:
    write_file(WriteTarget(Path("new.txt").absolute()), b"x" * 300_000, None)
except ToolError as error:
    print(error)
"""
    told = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert told.count("the disk is full") == 3
    assert (tmp_path / "a.txt").read_text() == (tmp_path / "hard.txt").read_text() == "one\n"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.txt", "hard.txt", "name.txt"]


class Meddler:
    """Somebody who changes `b.txt` between the check and the write."""

    async def capture(self, path: Path) -> None:
        if path.name == "b.txt":
            path.write_text("theirs\n")

    async def before_command(self) -> object: ...

    async def after_command(self, watch: object) -> object: ...

    async def settle(self) -> None: ...


async def test_written_files_are_rolled_back_when_a_later_file_fails(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "b.txt").write_text("one\n")

    context = ExecutionContext(tmp_path, before_images=Meddler())  # type: ignore[arg-type]
    edits = [{"file_path": name, "old_string": "one", "new_string": "two"} for name in ("a.txt", "b.txt")]
    result = await ToolExecutor().execute(MultiEditTool(), {"edits": edits}, context)
    assert "another program has just changed" in (result.error or "")
    assert "The other 1 file of this call were restored" in (result.error or "")
    assert (tmp_path / "a.txt").read_text() == "one\n"
    assert (tmp_path / "b.txt").read_text() == "theirs\n"


async def test_folders_created_for_a_rolled_back_file_are_removed(tmp_path: Path) -> None:
    """Those that were there before stay, also when they are empty, and so does one that others use by now."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "b.txt").write_text("one\n")

    files = ("new/deep/a.txt", "new/deep/er/c.txt", "empty/d.txt", "empty/new/e.txt")
    added = "".join(f"*** Add File: {name}\n+x\n" for name in files)
    patch = f"*** Begin Patch\n{added}*** Update File: b.txt\n@@\n-one\n+two\n*** End Patch"
    context = ExecutionContext(tmp_path, before_images=Meddler())  # type: ignore[arg-type]
    result = await ToolExecutor().execute(ApplyPatchTool(), {"patch": patch}, context)
    assert "The other 4 files of this call were restored" in (result.error or "")
    left = sorted(str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*"))
    assert left == ["b.txt", "empty"]


def test_a_folder_created_for_a_rolled_back_file_is_kept_when_in_use(tmp_path: Path) -> None:
    target = WriteTarget(tmp_path / "new" / "deep" / "a.txt", tmp_path)
    made = write_file(target, b"x", None)
    (tmp_path / "new" / "theirs").mkdir()
    remove_file(target, sha256(b"x"), made)
    assert [one.name for one in (tmp_path / "new").iterdir()] == ["theirs"]


async def test_a_link_out_of_the_workspace_is_followed_only_after_approval(tmp_path: Path) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    outside.mkdir()
    (outside / "a.txt").write_text("one\n")
    (work / "link").symlink_to(outside)
    params = {"file_path": "link/a.txt", "old_string": "one", "new_string": "two"}
    result = await ToolExecutor().execute(EditTool(), params, ExecutionContext(work))
    assert "leads out of the workspace" in (result.error or "")
    context = ExecutionContext(work)
    context.agreed = frozenset({outside.resolve() / "a.txt"})
    assert (await EditTool().execute(params | {"replace_all": False}, context)).success
    context.agreed = frozenset({work.resolve() / "a.txt"})
    with pytest.raises(ToolError, match="not what was approved"):
        await EditTool().execute(params | {"old_string": "two", "new_string": "3"}, context)
    assert (outside / "a.txt").read_text() == "two\n"


async def test_an_explicitly_named_path_outside_the_workspace_can_be_written(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    result = await write(ExecutionContext(work), str(tmp_path / "outside" / "a.txt"), "x\n")
    assert result.success
    assert (tmp_path / "outside" / "a.txt").read_text() == "x\n"
    assert (await write(ExecutionContext(work), "../b.txt", "x\n")).success


async def test_a_dangling_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    assert "does not exist" in ((await write(ExecutionContext(tmp_path), "link", "x")).error or "")
    assert not (tmp_path / "nowhere").exists()


async def test_devices_and_large_files_are_rejected(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(50 * 1024 * 1024 + 1)
    params = {"old_string": "a", "new_string": "b"}
    for path, words in ((str(tmp_path / "large"), "50 MB"), ("/dev/null", "character device")):
        result = await ToolExecutor().execute(
            EditTool(), {"file_path": path, **params}, ExecutionContext(tmp_path)
        )
        assert words in (result.error or "")


def test_a_file_is_deleted_only_if_unchanged_since_it_was_read(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("theirs")
    with pytest.raises(ToolError, match="another program has just changed"):
        remove_file(WriteTarget(path), sha256(b"ours"))
    remove_file(WriteTarget(path), sha256(b"theirs"))
    assert not path.exists()


async def test_calls_on_the_same_files_in_any_order_never_deadlock(tmp_path: Path) -> None:
    context = ExecutionContext(tmp_path)
    for name in "ab":
        (tmp_path / name).write_text("".join(f"line {number:02}\n" for number in range(20)))

    async def both(number: int) -> ToolResult:
        names = "ab" if number % 2 else "ba"
        edits = [
            {"file_path": name, "old_string": f"line {number:02}", "new_string": f"done {number:02}"}
            for name in names
        ]
        return await ToolExecutor().execute(MultiEditTool(), {"edits": edits}, context)

    assert all(one.success for one in await asyncio.gather(*(both(number) for number in range(20))))
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text()
    assert "line" not in (tmp_path / "a").read_text()


@pytest.fixture
def ordinary_folder() -> Iterator[Path]:
    """A folder of an ordinary user, who the test runs as: root may write in every folder."""
    uid, nobody = os.geteuid(), 65534
    openat2()  # imports ctypes, which may be where only root can read
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        if uid == 0:
            os.chown(folder, nobody, -1)
            os.seteuid(nobody)
        try:
            yield folder
        finally:
            os.seteuid(uid)


def test_a_file_in_a_read_only_folder_is_written_in_place(ordinary_folder: Path) -> None:
    path = ordinary_folder / "a.txt"
    path.write_text("one")
    inode = path.stat().st_ino
    ordinary_folder.chmod(0o555)
    try:
        write_file(WriteTarget(path), b"two", sha256(b"one"))
    finally:
        ordinary_folder.chmod(0o755)
    assert (path.read_text(), path.stat().st_ino) == ("two", inode)


def test_a_file_with_two_names_that_has_changed_is_not_written_in_place(tmp_path: Path) -> None:
    path, other = tmp_path / "a.txt", tmp_path / "b.txt"
    path.write_text("newer")
    other.hardlink_to(path)
    with pytest.raises(ToolError, match="has just changed"):
        write_file(WriteTarget(path), b"two", sha256(b"one"))
    assert path.read_text() == other.read_text() == "newer"


@pytest.mark.parametrize("expected", [None, sha256(b"one")])
def test_the_new_bytes_are_on_the_disk_before_the_file_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: str | None
) -> None:
    path, synced = tmp_path / "a.txt", list[tuple[int, bytes | None]]()
    if expected is not None:
        path.write_bytes(b"one")
    sync = os.fsync

    def recording(descriptor: int) -> None:
        synced.append((os.fstat(descriptor).st_ino, path.read_bytes() if path.exists() else None))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", recording)
    write_file(WriteTarget(path), b"two", expected)
    before = None if expected is None else b"one"
    assert synced == [(path.stat().st_ino, before), (tmp_path.stat().st_ino, b"two")]


def test_bytes_written_in_place_are_on_the_disk_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, synced = tmp_path / "a.txt", list[tuple[int, bytes]]()
    path.write_bytes(b"one")
    (tmp_path / "b.txt").hardlink_to(path)
    sync = os.fsync

    def recording(descriptor: int) -> None:
        synced.append((os.fstat(descriptor).st_ino, path.read_bytes()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", recording)
    write_file(WriteTarget(path), b"two", sha256(b"one"))
    assert synced[-1] == (path.stat().st_ino, b"two")


@pytest.mark.parametrize("links", [1, 2])
def test_a_file_that_became_read_only_after_the_check_is_not_written(tmp_path: Path, links: int) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one")
    path.chmod(0o444)
    if links == 2:
        (tmp_path / "b.txt").hardlink_to(path)
    with pytest.raises(ToolError, match=r"'a\.txt' is read-only"):
        write_file(WriteTarget(path), b"two", sha256(b"one"))
    assert path.read_bytes() == b"one"


def test_a_file_marked_read_only_counts_as_read_only_for_root_too(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one")
    check_writable(path)
    path.chmod(0o444)
    with pytest.raises(ToolError, match=r"'a\.txt' is read-only"):
        check_writable(path)


async def test_a_call_with_a_file_that_became_read_only_writes_none_of_its_files(tmp_path: Path) -> None:
    """Not even the files before it, to restore them afterwards."""
    context, paths = ExecutionContext(tmp_path), (tmp_path / "a.txt", tmp_path / "b.txt")
    for path in paths:
        path.write_text("one")
    files = [current_file(path, context) for path in paths]
    os.utime(paths[0], (1, 1))
    paths[1].chmod(0o444)
    with pytest.raises(ToolError, match=r"'b\.txt' is read-only"):
        await commit([file.changed(b"two", "one", "two") for file in files], context)
    assert (paths[0].read_text(), paths[0].stat().st_mtime) == ("one", 1)


async def test_a_file_is_deleted_only_after_every_other_file_of_the_call_is_written(tmp_path: Path) -> None:
    context, gone = ExecutionContext(tmp_path, before_images=Meddler()), tmp_path / "a.txt"  # type: ignore[arg-type]
    gone.write_text("one\n")
    (tmp_path / "b.txt").write_text("one\n")
    os.utime(gone, (1, 1))
    lines = ["*** Delete File: a.txt", "*** Update File: b.txt", "@@", "-one", "+two"]
    patch = "\n".join(["*** Begin Patch", *lines, "*** End Patch"])
    result = await ToolExecutor().execute(ApplyPatchTool(), {"patch": patch}, context)
    assert "another program has just changed" in (result.error or "")
    assert gone.stat().st_mtime == 1  # a file that was restored would be new


def test_a_pipe_that_took_the_place_of_a_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.txt")
    with pytest.raises(OSError, match="not a regular file"):
        read_file(WriteTarget(tmp_path / "a.txt"), 100)


def test_a_write_into_a_workspace_that_is_gone_fails_and_makes_no_folder(tmp_path: Path) -> None:
    base = tmp_path / "gone"
    with pytest.raises(ToolError, match="could not be written"):
        write_file(WriteTarget(base / "new" / "a.txt", base), b"x", None)
    assert list(tmp_path.iterdir()) == []
