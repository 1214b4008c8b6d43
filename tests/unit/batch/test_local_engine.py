"""How a task ends on this machine, and what is kept of it."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from forge_core.batch.engine import BatchJob
from forge_core.batch.local_engine import JobRun, worktree_changes
from forge_core.exit_codes import ExitCode
from forge_core.runtime import load_session_config
from forge_core.workspace.worktrees import Worktrees
from tests.support.batches import BatchFolder


async def test_a_patch_applies_whatever_the_user_has_set_for_diffs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = BatchFolder.make(tmp_path / "batch")
    made = await Worktrees(tmp_path / "state").create(folder.repo, "w")
    (made.path / "greeting.py").write_text("Welcome\n")
    (made.path / "new.bin").write_bytes(b"\0\1")
    for setting in ("noprefix = true", "mnemonicPrefix = true", "context = 0\n interHunkContext = 9"):
        (tmp_path / "config").write_text(f"[diff]\n {setting}\n")
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
        changes = await worktree_changes(made)
        applied = subprocess.run(
            ["git", "apply", "--check", "-v"],
            cwd=folder.repo,
            input=changes.patch,
            capture_output=True,
            check=False,
        )
        assert (applied.returncode, changes.added, changes.removed) == (0, 1, 1), (setting, applied.stderr)
    assert (await worktree_changes(made, max_bytes=50)).is_cut


@pytest.mark.parametrize(
    "time_limit_s, exit_code, note",
    [(None, ExitCode.INTERRUPTED, ""), (0.01, ExitCode.UNFINISHED, "it did not end within 0.01 s")],
    ids=["cancelled", "late"],
)
async def test_a_run_that_ends_by_its_interrupt_has_neither_failed_nor_crashed(
    tmp_path: Path, time_limit_s: float | None, exit_code: ExitCode, note: str
) -> None:
    folder = BatchFolder.make(tmp_path / "batch")
    began = tmp_path / "began"
    os.mkfifo(began)
    job = BatchJob(
        id="a",
        attempt=1,
        folder=str(tmp_path),
        repo=str(folder.repo),
        ref="HEAD",
        worktree="w",
        prompt="p",
        time_limit_s=time_limit_s,
    )
    program = ("sh", "-c", f"echo > '{began}'; exec sleep 600")
    run = JobRun(job, program, load_session_config(folder.path), os.environ, late_s=0.0)
    running = asyncio.ensure_future(run.run())
    if time_limit_s is None:
        await asyncio.to_thread(began.read_text)
        run.cancel()
    result = await running
    assert (result.exit_code, "; ".join(result.notes)[: len(note)]) == (exit_code, note)
