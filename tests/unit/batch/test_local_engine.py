"""What is kept of a task that has run on this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from forge_core.batch.local_engine import worktree_changes
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
