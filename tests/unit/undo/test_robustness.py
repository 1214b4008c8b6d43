"""What goes wrong around undo: kills, full disks, odd entries, trees too large, files that nobody may read."""

from __future__ import annotations

import asyncio
import errno
import os
import random
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from forge_core.redact import Redactor
from forge_core.undo import UndoStore
from forge_core.undo.change_recorder import ChangeRecorder
from forge_core.undo.expected_effects import Claim, ExpectedEffects, FileEffect
from forge_core.undo.snapshot.mount_points import NoMounts
from forge_core.undo.snapshot.workspace_snapshot import SnapshotDiff
from tests.unit.undo.workspace import Workspace, make_repository, make_workspace, shapes, shell

REPOSITORY = Path(__file__).resolve().parents[3]
KILLS = 60 if os.environ.get("FORGE_FULL") == "1" else 5


@pytest.fixture
async def ws(tmp_path: Path) -> AsyncIterator[Workspace]:
    workspace = make_workspace(tmp_path)
    yield workspace
    await workspace.store.aclose()


def run_python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


DIES_WHILE_UNDOING = """
    import asyncio, os, signal, sys
    from pathlib import Path
    from forge_core.undo import UndoStore

    left = int(sys.argv[3])
    def count(event, arguments):
        global left
        if event in ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "open"):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    async def main():
        store = UndoStore(Path(sys.argv[1]), Path(sys.argv[2]))
        await store.load()
        sys.addaudithook(count)
        await store.undo()
        await store.aclose()

    asyncio.run(main())
"""


@pytest.mark.slow
def test_a_kill_during_undo_leaves_no_partial_file_and_a_second_undo_completes(tmp_path: Path) -> None:
    """Killed before each of several system calls that change something, chosen at random."""
    chance = random.Random(7)
    survived = 0
    for round_number in range(KILLS):
        folder = tmp_path / str(round_number)
        folder.mkdir()
        before, after = asyncio.run(_make_a_turn(folder))
        undo = folder / "state" / "s1" / "undo"
        done = run_python(DIES_WHILE_UNDOING, str(folder / "ws"), str(undo), str(chance.randrange(60)))
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        survived += done.returncode == 0
        for name, shape in shapes(folder / "ws").items():
            is_ours = ".forge-undo-" in name
            is_folder = shape[0] == "folder"
            assert is_ours or is_folder or shape in (before.get(name), after.get(name)), name
        if done.returncode:
            asyncio.run(_undo(folder))
        assert shapes(folder / "ws") == before
    assert survived < KILLS, "nothing was killed"


async def _make_a_turn(folder: Path) -> tuple[dict, dict]:
    ws = make_workspace(folder)
    shell(
        ws.root, "mkdir -p d/e; for n in 1 2 3 4; do head -c 20000 /dev/urandom > d/$n; done; chmod 750 d/e"
    )
    before = shapes(ws.root)
    await ws.turn("much", "rm d/1; echo x >> d/2; mkdir n; echo y > n/y; rmdir d/e; ln -s d l; chmod 600 d/3")
    after = shapes(ws.root)
    await ws.store.aclose()
    return before, after


async def _undo(folder: Path) -> None:
    ws = make_workspace(folder)
    report = await ws.store.undo()
    assert report.conflicts == ()
    await ws.store.aclose()


async def test_a_torn_undo_record_loses_only_itself(tmp_path: Path) -> None:
    ws = make_workspace(tmp_path)
    (ws.root / "a").write_text("old")
    await ws.turn("one", "echo x > a")
    await ws.turn("two", "echo y > b")
    await ws.store.aclose()
    folder = tmp_path / "state" / "s1" / "undo"
    for path in [folder / "turns.jsonl", *(folder / "blobs").iterdir()]:
        with path.open("ab") as file:
            file.write(b'{"type":"turn","tur' if path.suffix == ".jsonl" else b"FUB1\x00torn")
    again = make_workspace(tmp_path)
    await again.turn("three", "echo z > c")
    await again.store.aclose()
    again = make_workspace(tmp_path)
    for _ in range(3):
        assert (await again.store.undo()).conflicts == ()
    assert shapes(again.root) == {"a": ("file", 0o644, b"old")}
    await again.store.aclose()


@pytest.mark.parametrize("text", ["precious " * 50, "short and precious"])
async def test_damaged_bytes_in_the_store_are_reported_and_never_written(tmp_path: Path, text: str) -> None:
    ws = make_workspace(tmp_path)
    (ws.root / "a").write_text(text)
    await ws.turn("one", "echo x > a")
    await ws.store.aclose()
    for path in (tmp_path / "state" / "s1" / "undo" / "blobs").iterdir():
        data = bytearray(path.read_bytes())
        data[60] ^= 0xFF
        path.write_bytes(data)
    again = make_workspace(tmp_path)
    report = await again.store.undo()
    assert [one.name for one in report.conflicts] == ["a"]
    assert (again.root / "a").read_text() == "x\n"
    await again.store.aclose()


FULL_DISK = """
    import asyncio, resource, sys
    from pathlib import Path
    from forge_core.undo import UndoStore
    from tests.unit.undo.workspace import Workspace

    async def main():
        root = Path(sys.argv[1])
        troubles = []
        ws = Workspace(root, UndoStore(root, Path(sys.argv[2]), on_trouble=troubles.append))
        await ws.store.load()
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # every larger write fails, as on a full disk
        [effects] = await ws.turn("x", "rm big; echo ran > ran")
        changed = ws.changed()
        report = await ws.store.undo()
        await ws.store.aclose()
        print(changed, effects.not_undoable, troubles, report.deleted, report.not_undoable, sep="\\n")

    asyncio.run(main())
"""


def test_with_a_full_disk_the_command_runs_and_the_user_is_informed(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "big").write_bytes(random.Random(1).randbytes(50_000))
    done = run_python(FULL_DISK, str(root), str(tmp_path / "state" / "s" / "undo"))
    assert done.returncode == 0, done.stderr
    changed, lost, troubles, deleted, not_undone = done.stdout.splitlines()
    assert changed == "{'ran'}"
    assert "big (File too large)" in lost
    assert "This turn can't be undone as a whole" in troubles
    assert deleted == "('ran',)"
    assert "big" in not_undone
    assert list(root.iterdir()) == []


async def test_without_a_state_folder_only_undo_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "state").write_text("a file")
    ws = make_workspace(tmp_path)
    [effects] = await ws.turn("x", "echo x > a")
    assert (ws.root / "a").exists()
    assert "Not a directory" in effects.not_undoable[0] or "File exists" in effects.not_undoable[0]
    assert len(ws.troubles) == 1
    await ws.store.aclose()


async def test_fifos_sockets_loops_and_huge_files_are_skipped_and_reported(ws: Workspace) -> None:
    os.mkfifo(ws.root / "fifo")
    (ws.root / "loop").symlink_to("loop")
    (ws.root / "self").symlink_to(".")
    with (ws.root / "sparse").open("wb") as file:
        file.truncate(1 << 30)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(ws.root / "s"))
    [effects] = await ws.turn("x", "echo x >> sparse; rm fifo; mkfifo other; ln -sfn . loop; echo y > y")
    assert ws.changed() == {"loop", "y"}
    assert set(effects.not_undoable) == {"sparse (larger than 1 MB)", "fifo, other (not a regular file)"}
    report = await ws.store.undo()
    assert (report.restored, report.deleted) == (("loop",), ("y",))
    assert (ws.root / "loop").readlink() == Path("loop")
    assert (ws.root / "other").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_an_unreadable_folder_is_not_treated_as_deleted(ws: Workspace) -> None:
    (ws.root / "d").mkdir()
    (ws.root / "d" / "f").write_text("f")
    await ws.turn("x", "chmod 000 d; echo y > y")
    assert ws.changed() == {"d", "y"}
    assert (await ws.store.undo()).conflicts == ()
    assert shapes(ws.root)["d/f"] == ("file", 0o644, b"f")


async def test_a_workspace_with_too_many_files_is_reported_and_not_covered(tmp_path: Path) -> None:
    ws = make_workspace(tmp_path, max_entries=50)
    shell(ws.root, "mkdir d; touch d/{1..60}")
    await ws.store.begin_turn("x")
    await ws.write("edited", "x")
    effects = await ws.run("rm -r d")
    await ws.store.end_turn()
    assert effects.not_undoable == ("what the command changed: the folder holds more than 50 files",)
    assert len(ws.troubles) == 1
    report = await ws.store.undo()
    assert report.deleted == ("edited",)
    assert "more than 50 files" in report.not_undoable[0]
    await ws.store.aclose()


async def test_ignored_files_are_summarised_briefly(ws: Workspace) -> None:
    (ws.root / ".gitignore").write_text("node_modules/\n*.log\nout*/\n__pycache__/\n")
    shell(ws.root, "mkdir node_modules __pycache__ out{1..9}; touch a.log")
    [effects] = await ws.turn(
        "build", "touch node_modules/{1..500} out{1..9}/x __pycache__/y; echo x > a.log; echo y > y"
    )
    assert ws.changed() == {"y"}
    assert effects.not_undoable == ("a.log, node_modules/, out1/, out2/ and 7 others (ignored by git)",)


async def test_changing_ignore_rules_does_not_delete_or_claim_files(ws: Workspace) -> None:
    (ws.root / ".gitignore").write_text("secret\n")
    (ws.root / "secret").write_text("mine")
    (ws.root / "seen").write_text("mine too")
    await ws.turn("x", "echo seen > .gitignore; echo x > new")
    assert ws.changed() == {".gitignore", "new"}
    report = await ws.store.undo()
    assert (report.restored, report.deleted, report.conflicts) == ((".gitignore",), ("new",), ())
    assert shapes(ws.root).keys() == {".gitignore", "secret", "seen"}
    await ws.turn("y", "rm seen; echo more > secret")
    assert ws.changed() == {"seen"}


async def test_new_ignore_rules_apply_from_the_next_command(ws: Workspace) -> None:
    (ws.root / ".gitignore").write_text("was/\n")
    shell(ws.root, "mkdir was; echo old > was/f")
    await ws.turn("x", "echo will/ > .gitignore")
    [effects] = await ws.turn("y", "mkdir will; echo x > will/f; echo new > was/f")
    assert ws.changed() == {"was/f"}
    assert effects.not_undoable == ("will/ (ignored by git)",)
    assert (await ws.store.undo()).restored == ("was/f",)
    assert (ws.root / "was" / "f").read_text() == "old\n"


async def test_the_undo_store_stays_within_its_limit_and_drops_the_oldest_turns(tmp_path: Path) -> None:
    ws = make_workspace(tmp_path, limit_bytes=200_000)
    (ws.root / "a").write_bytes(b"first")
    for number in range(12):
        await ws.turn(f"turn {number}", "head -c 30000 /dev/urandom > a")
    blobs = tmp_path / "state" / "s1" / "undo" / "blobs"
    assert sum(path.stat().st_size for path in blobs.iterdir()) <= 200_000
    texts = [view.text for view in ws.store.turns()]
    assert texts == [f"turn {number}" for number in range(12 - len(texts), 12)]
    assert 3 <= len(texts) < 7
    for _ in texts:
        assert (await ws.store.undo()).conflicts == ()
    assert (await ws.store.undo()).turn == 0
    await ws.store.aclose()
    again = make_workspace(tmp_path)
    await again.store.load()
    assert [view.text for view in again.store.turns()] == texts
    await again.store.aclose()


async def test_a_file_that_does_not_fit_evicts_no_earlier_turn(tmp_path: Path) -> None:
    ws = make_workspace(tmp_path, limit_bytes=100_000)
    await ws.turn("small", "echo x > a")
    shell(ws.root, "head -c 95000 /dev/urandom > large; head -c 60000 /dev/urandom > other")
    [effects] = await ws.turn("next", "rm large; rm other; echo y > b")
    assert effects.not_undoable == ("large (the store for undo is full)",)
    assert [view.text for view in ws.store.turns()] == ["small", "next"]
    assert (await ws.store.undo()).restored == ("other",)
    assert (await ws.store.undo()).deleted == ("a",)
    await ws.store.aclose()


async def test_files_are_private_and_a_second_process_does_not_share_the_store(tmp_path: Path) -> None:
    ws = make_workspace(tmp_path)
    await ws.turn("x", "echo x > a")
    for path in (tmp_path / "state" / "s1" / "undo").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    other = make_workspace(tmp_path)
    [effects] = await other.turn("y", "echo y > a")
    assert len(other.troubles) == 1
    assert effects.not_undoable
    await other.store.aclose()
    await ws.store.aclose()


async def test_old_sessions_are_pruned_and_those_in_use_are_not(tmp_path: Path) -> None:
    busy = make_workspace(tmp_path)
    await busy.turn("x", "echo x > a")
    for name in ("old", "fresh"):
        store = UndoStore(busy.root, tmp_path / "state" / name / "undo")
        await store.load()
        await store.aclose()
    for name in ("old", "s1"):
        folder = tmp_path / "state" / name / "undo"
        for path in [folder, *folder.rglob("*")]:
            os.utime(path, (1, 1))
    mine = UndoStore(busy.root, tmp_path / "state" / "mine" / "undo")
    await mine.load()
    assert sorted(path.parent.name for path in (tmp_path / "state").glob("*/undo")) == ["fresh", "mine", "s1"]
    await mine.aclose()
    await busy.store.aclose()


async def test_objects_that_git_has_lost_are_a_conflict(ws: Workspace) -> None:
    (ws.root / "a").write_text("first\n" * 50)
    make_repository(ws.root)
    await ws.turn("x", "echo x > a; echo y > b")
    shell(ws.root, "rm -rf .git")
    report = await ws.store.undo()
    assert [(one.name, one.why) for one in report.conflicts] == [
        ("a", "its other content can't be read: git no longer holds it")
    ]
    assert report.deleted == ("b",)


FILTERS = {
    "line ends": "git config core.autocrlf true",
    "attributes": "echo '* text eol=crlf' > .gitattributes",
    "a filter": "echo '*.txt filter=rot' > .gitattributes; git config filter.rot.clean 'tr a-z n-za-m';"
    " git config filter.rot.smudge 'tr a-z n-za-m'",
    "ident": "echo '*.txt ident' > .gitattributes",
}


@pytest.mark.parametrize("setup", FILTERS.values(), ids=FILTERS.keys())
async def test_git_filters_never_lead_to_wrong_bytes(ws: Workspace, setup: str) -> None:
    shell(ws.root, f"git init -q .; {setup}")
    (ws.root / "a.txt").write_bytes(b"hello $Id$ \r\nworld\r\n")
    shell(ws.root, "git add -A; git commit -qm x; rm a.txt; git checkout -q -- a.txt")
    before = shapes(ws.root)
    await ws.turn("x", "echo x > a.txt")
    assert (await ws.store.undo()).conflicts == ()
    assert shapes(ws.root) == before


async def test_nothing_that_a_repository_names_is_run(ws: Workspace, tmp_path: Path) -> None:
    (ws.root / "a.txt").write_text("a\n")
    make_repository(ws.root)
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    trap.chmod(0o755)
    shell(
        ws.root,
        f"echo '* filter=x diff=x' > .gitattributes; git config filter.x.clean {trap};"
        f"git config filter.x.smudge {trap}; git config core.fsmonitor {trap};"
        f"git config diff.external {trap}; git config core.hooksPath {tmp_path}; rm -f {tmp_path}/ran",
    )
    await ws.turn("x", "echo x > a.txt; rm .gitattributes")
    await ws.store.undo()
    assert not (tmp_path / "ran").exists()


async def test_commits_stay_and_are_reported(ws: Workspace) -> None:
    (ws.root / "a").write_text("a")
    make_repository(ws.root)
    [effects] = await ws.turn("x", "echo b > a; git commit -qam second")
    assert effects.not_undoable == ("git's own history: commits and branches",)
    report = await ws.store.undo()
    assert (ws.root / "a").read_text() == "a"
    assert "commits" in report.not_undoable[0]


class BlindRecorder(ChangeRecorder):
    """Cannot scan the workspace."""

    def _update(self) -> SnapshotDiff:
        raise OSError(errno.EIO, "input/output error")


def test_a_command_that_cannot_be_tracked_leaves_no_thread_behind(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    recorder = BlindRecorder(
        tmp_path / "ws", tmp_path / "undo", 1 << 20, None, print, None, NoMounts(), Redactor()
    )
    expected = ExpectedEffects("touch a", (Claim(FileEffect.WRITE, "a"),))
    with pytest.raises(OSError, match="input/output error"):
        recorder.before_command(expected)
    recorder.close()
    assert "forge-writes" not in {thread.name for thread in threading.enumerate()}
