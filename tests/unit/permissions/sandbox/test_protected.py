"""What is held read-only in a workspace, and what outside of it becomes writable."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_core.permissions.sandbox.protected import protection


@pytest.fixture
def git_dir(tmp_path: Path) -> Path:
    """The git directory of a linked working tree `tmp_path/linked`, in a repository elsewhere."""
    git_dir = tmp_path / "repository/.git/worktrees/linked"
    git_dir.mkdir(parents=True)
    (tmp_path / "repository/.git/HEAD").write_text("ref: refs/heads/main\n")
    (git_dir / "commondir").write_text("../..\n")
    (git_dir / "gitdir").write_text(f"{tmp_path}/linked/.git\n")
    return git_dir


def workspace(folder: Path, git_dir: Path) -> Path:
    folder.mkdir()
    (folder / ".git").write_text(f"gitdir: {git_dir}\n")
    return folder


def test_a_linked_working_tree_may_write_to_its_repository(tmp_path: Path, git_dir: Path) -> None:
    found = protection(workspace(tmp_path / "linked", git_dir))
    assert found.writable == [tmp_path / "repository/.git"]
    assert git_dir / "gitdir" in found.read_only


def test_a_forged_git_file_does_not_open_the_working_tree_of_another_folder(
    tmp_path: Path, git_dir: Path
) -> None:
    assert protection(workspace(tmp_path / "forged", git_dir)).writable == []


def test_a_forged_git_directory_does_not_open_another_repository(tmp_path: Path, git_dir: Path) -> None:
    forged = tmp_path / "forged/own"
    root = workspace(forged.parent, forged)
    forged.mkdir()
    (forged / "gitdir").write_text(f"{root}/.git\n")
    (forged / "commondir").write_text(f"{tmp_path}/repository/.git\n")
    assert protection(root).writable == []


def test_start_up_files_of_a_home_in_the_workspace_are_held(tmp_path: Path) -> None:
    (tmp_path / "me").mkdir()
    (tmp_path / "me/.bashrc").write_text("\n")
    assert tmp_path / "me/.bashrc" in protection(tmp_path, homes=[tmp_path / "me"]).read_only
    assert tmp_path / "me/.bashrc" not in protection(tmp_path, homes=[tmp_path.parent]).read_only


def test_the_git_file_of_a_submodule_is_held(tmp_path: Path) -> None:
    entry = tmp_path / "lib/.git"
    entry.parent.mkdir()
    entry.write_text("gitdir: ../.git/modules/lib\n")
    assert entry in protection(tmp_path, nested=[entry]).read_only
