"""The files with uncommitted changes: right, and without running anything that a repository names."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from forge_core.workspace.git import changed_paths


def make_repository(folder: Path) -> None:
    for arguments in (
        ("init", "-q"),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"),
    ):
        subprocess.run(("git", *arguments), cwd=folder, check=True)


async def test_changed_new_and_deleted_files_are_listed(tmp_path: Path) -> None:
    assert await changed_paths(tmp_path) == []
    make_repository(tmp_path)
    assert await changed_paths(tmp_path) == []
    (tmp_path / "a\nb.py").touch()
    (tmp_path / "c.py").touch()
    subprocess.run(("git", "add", "c.py"), cwd=tmp_path, check=True)
    (tmp_path / "c.py").unlink()
    assert await changed_paths(tmp_path) == ["c.py", "a\nb.py"]
    (tmp_path / "sub/new").mkdir(parents=True)
    (tmp_path / "sub/new/caf\udce9").touch()
    assert await changed_paths(tmp_path) == ["c.py", "a\nb.py", "sub/"]
    (tmp_path / "sub/known").touch()
    subprocess.run(("git", "add", "sub/known"), cwd=tmp_path, check=True)
    assert await changed_paths(tmp_path / "sub") == ["../c.py", "known", "../a\nb.py", "new/"]


async def test_without_git_nothing_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_repository(tmp_path)
    (tmp_path / "a.py").touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert await changed_paths(tmp_path) == []


async def test_a_repository_cannot_make_the_list_run_a_program(tmp_path: Path) -> None:
    make_repository(tmp_path)
    subprocess.run(("git", "config", "core.fsmonitor", "touch ran; false"), cwd=tmp_path, check=True)
    (tmp_path / "a.py").touch()
    assert await changed_paths(tmp_path) == ["a.py"]
    assert not (tmp_path / "ran").exists()
