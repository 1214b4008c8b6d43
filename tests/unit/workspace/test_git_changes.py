"""The count of uncommitted changes: right, and without running anything that a repository names."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from forge_core.workspace.git import count_changes


def make_repository(folder: Path) -> None:
    for arguments in (
        ("init", "-q"),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"),
    ):
        subprocess.run(("git", *arguments), cwd=folder, check=True)


async def test_changed_and_new_files_are_counted(tmp_path: Path) -> None:
    assert await count_changes(tmp_path) == 0
    make_repository(tmp_path)
    assert await count_changes(tmp_path) == 0
    (tmp_path / "a\nb.py").touch()
    (tmp_path / "c.py").touch()
    subprocess.run(("git", "add", "c.py"), cwd=tmp_path, check=True)
    assert await count_changes(tmp_path) == 2
    (tmp_path / "sub").mkdir()
    assert await count_changes(tmp_path / "sub") == 2


async def test_without_git_nothing_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_repository(tmp_path)
    (tmp_path / "a.py").touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert await count_changes(tmp_path) == 0


async def test_a_repository_cannot_make_the_count_run_a_program(tmp_path: Path) -> None:
    make_repository(tmp_path)
    subprocess.run(("git", "config", "core.fsmonitor", "touch ran; false"), cwd=tmp_path, check=True)
    (tmp_path / "a.py").touch()
    assert await count_changes(tmp_path) == 1
    assert not (tmp_path / "ran").exists()
