"""`forge run --worktree`: the session works elsewhere, and nothing of it is lost."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.support import preloaded
from tests.support.repositories import git, make_repository, write_files
from tests.support.terminal import python

FORGE = python("-m", "forge_tui.cli")

pytestmark = pytest.mark.slow


def forge(repo: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "FORGE_HOME": str(repo.parent / "home"), "OPENROUTER_API_KEY": ""}
    return preloaded.run([*FORGE, *words], env=environment)


def run(repo: Path, *words: str) -> subprocess.CompletedProcess[str]:
    options = ("--model", "offline", "--permission-mode", "auto", "--cwd", str(repo))
    return forge(repo, "run", *options, *words)


def test_a_run_in_a_worktree_leaves_the_folder_alone_and_loses_nothing(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo", "Start")
    write_files(repo, mine="x = 1")
    done = run(repo, "create hello.py that prints hello", "--worktree=task")
    assert done.returncode == 0, done.stderr
    [path] = (tmp_path / "home").rglob("worktrees/*/task")
    assert "not committed (hello.py)" in done.stderr and str(path) in done.stderr
    assert (path / "hello.py").exists() and not (path / "mine.py").exists()
    assert (
        git(repo, "status", "--porcelain") == "?? mine.py" and git(repo, "branch") == "+ forge/task\n* main"
    )
    again = run(repo, "read hello.py", "--worktree=task")  # it is still there, and so is its file
    assert "print" in again.stdout and "The worktree stays" in again.stderr
    git(path, "add", ".")
    git(path, "commit", "-qm", "Add hello")
    kept = run(repo, "what is the git branch?", "--worktree=task")
    assert "1 commit is only on forge/task" in kept.stderr and "forge/task" in kept.stdout
    git(repo, "merge", "-q", "forge/task")
    gone = run(repo, "read hello.py", "--worktree=task")
    assert "was removed. Branch forge/task stays." in gone.stderr and not path.exists()
    assert "forge/task" in git(repo, "branch")
    used = forge(repo, "usage", "--by", "project", "--json")  # the repository has used it, not the worktree
    assert [row["project"] for row in json.loads(used.stdout)["rows"]] == [str(repo)]


def test_a_prompt_after_the_option_is_no_name(tmp_path: Path) -> None:
    done = run(make_repository(tmp_path / "repo", "Start"), "--worktree", "what is the git branch?")
    assert done.returncode == 0 and "forge/run-" in done.stdout, done.stderr


def test_a_worktree_needs_a_repository_and_a_name(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    for folder, option, complaint in (
        (tmp_path / "plain", "--worktree", "is in no git repository"),
        (make_repository(tmp_path / "repo", "Start"), "--worktree=../x", "cannot be the name of a worktree"),
        (make_repository(tmp_path / "empty"), "--worktree", "has no commit"),
    ):
        done = run(folder, "hello", option)
        assert done.returncode == 1 and complaint in done.stderr, done.stderr
        assert not [*(tmp_path / "home").rglob("worktrees/*/*-2*")]
