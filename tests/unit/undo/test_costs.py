"""What undo costs: a checkpoint in time (as a ratio to the bare walk), and the store in bytes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from forge_core.redact import Redactor
from forge_core.undo.attribution.command_changes import Attribution, AttributionContext, SourceFiles
from forge_core.undo.change_recorder import ChangeRecorder
from forge_core.undo.expected_effects import Claim, Covers, ExpectedEffects, FileEffect
from forge_core.undo.file_state import ABSENT, EntryKind, FileChange, FileState
from forge_core.undo.snapshot.mount_points import NoMounts
from forge_core.undo.storage.git_objects import GitObjects
from tests.unit.undo.workspace import Workspace, make_repository, make_workspace, shell

pytestmark = pytest.mark.slow


def least_cpu(work: Callable[[], object]) -> float:
    taken = []
    for _ in range(7):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def bare_walk(root: Path) -> None:
    """The least that any comparison has to do: one lstat for each entry."""
    folders = [str(root)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False) and entry.name != ".git":
                    folders.append(entry.path)


def test_a_checkpoint_of_1000_files_costs_little_more_than_a_stat_of_each(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    for number in range(1000):
        path = root / f"package{number % 50}" / f"module{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"number = {number}\n" * 20)
    make_repository(root)
    recorder = ChangeRecorder(
        root, tmp_path / "state" / "s" / "undo", 1 << 28, None, print, None, NoMounts(), Redactor()
    )
    recorder.begin_turn("x")
    recorder.after_command(recorder.before_command())
    assert stored_bytes(tmp_path / "state") == 0, "git holds every file already"
    assert least_cpu(recorder.before_command) <= 4 * least_cpu(lambda: bare_walk(root))
    recorder.close()


def test_attributing_a_tree_copy_takes_linear_time(tmp_path: Path) -> None:
    """Eight times as many files may cost 24 times as much; with a scan for each file it would be 64 times."""

    def judging(count: int) -> Callable[[], object]:
        files = {f"src/d{number % 20}/f{number}": _image(number) for number in range(count)}
        changes = [FileChange(f"copy/{name[4:]}", ABSENT, image) for name, image in files.items()]
        claim = Claim(FileEffect.COPY, "copy", Covers.BELOW, ("src",))

        def judge() -> None:
            facts = AttributionContext(
                lambda images: [None] * len(images), lambda path: None, SourceFiles(files).digests_below
            )
            found = Attribution(
                ExpectedEffects("cp", (claim,)), changes, GitObjects(tmp_path), facts
            ).explained()
            assert len(found) == count

        return judge

    assert least_cpu(judging(8_000)) <= 24 * least_cpu(judging(1_000))


def _image(number: int) -> FileState:
    return FileState(EntryKind.FILE, 0o644, f"{number:064x}", 5_000_000)


def stored_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("in_git", [True, False], ids=["git", "plain"])
@pytest.mark.parametrize("size", [2_000, 100_000])
async def test_the_undo_store_grows_only_by_changed_content(tmp_path: Path, in_git: bool, size: int) -> None:
    ws: Workspace = make_workspace(tmp_path)
    shell(ws.root, f"for n in {{1..20}}; do head -c {size} /dev/urandom > $n; done")
    if in_git:
        make_repository(ws.root)
    state = tmp_path / "state"
    await ws.turn("first checkpoint", "true")
    before = stored_bytes(state)
    for number in range(3):
        await ws.turn(f"turn {number}", f"for n in {{1..20}}; do head -c {size} /dev/urandom > $n; done")
    await ws.turn("next checkpoint", "true")
    changed = 3 * 20 * size
    overhead = 40_000  # the list of turns, a few hundred bytes for each of the 60 changes
    assert stored_bytes(state) - before <= 1.1 * changed + (overhead if size < 10_000 else 0)
    for _ in range(3):
        assert (await ws.store.undo()).conflicts == ()
    await ws.store.aclose()
