import os
import subprocess
from pathlib import Path

import pytest

from forge_core.errors import WorkspaceError
from forge_core.workspace.git import branch, run_git


def git(folder: Path, *arguments: str) -> str:
    environment = {
        **os.environ,
        "GIT_AUTHOR_NAME": "n",
        "GIT_AUTHOR_EMAIL": "e@example.org",
        "GIT_COMMITTER_NAME": "n",
        "GIT_COMMITTER_EMAIL": "e@example.org",
    }
    return subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True, env=environment
    ).stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("one\n")
    git(folder, "add", "a.txt")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def test_the_branch_is_read_from_any_folder_below(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "feature/x")
    (repository / "a/b").mkdir(parents=True)
    assert branch(repository / "a/b") == "feature/x"


def test_an_unborn_branch_has_its_name(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk")
    assert branch(tmp_path) == "trunk"


def test_a_detached_head_gives_a_short_commit_id(repository: Path) -> None:
    git(repository, "checkout", "-q", "--detach")
    assert branch(repository) == git(repository, "rev-parse", "HEAD").strip()[:7]


def test_a_worktree_has_its_own_branch(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    git(repository, "pack-refs", "--all")
    assert branch(tmp_path / "side") == "side"
    assert branch(repository) == "main"


def test_without_a_repository_there_is_no_branch(tmp_path: Path) -> None:
    assert branch(tmp_path) is None
    assert branch(tmp_path / "missing/deep") is None


@pytest.mark.parametrize(
    "head", ["", "garbage", "ref:", "ref: refs/heads/\x1b[31mred", "ref: refs/heads/.invalid\n"]
)
def test_an_invalid_head_gives_no_branch(repository: Path, head: str) -> None:
    (repository / ".git/HEAD").write_text(head)
    assert branch(repository) is None


def test_a_fifo_as_head_does_not_block(repository: Path) -> None:
    (repository / ".git/HEAD").unlink()
    os.mkfifo(repository / ".git/HEAD")
    assert branch(repository) is None


async def test_run_git_returns_the_output_of_git(repository: Path) -> None:
    (repository / "a.txt").write_text("two\n")
    answer = await run_git(repository, "diff")
    assert answer.returncode == 0
    assert "+two" in answer.stdout


async def test_nothing_that_a_repository_names_is_run(repository: Path) -> None:
    """Canaries in every place from which git is known to start programs during status, diff, log and show."""
    canary = repository / "canary.sh"
    ran = repository.parent / "ran"
    canary.write_text(f'#!/bin/sh\necho "$0 $*" >> {ran}\ncat\n')
    canary.chmod(0o755)
    program = str(canary)
    for key in (
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "gpg.program",
        "credential.helper",
        "pager.diff",
        "pager.log",
    ):
        git(repository, "config", key, program)
    git(repository, "config", "filter.evil.required", "true")
    git(repository, "config", "log.showSignature", "true")
    hooks = repository / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-index-change", "post-checkout", "pre-commit"):
        (hooks / hook).write_text(canary.read_text())
        (hooks / hook).chmod(0o755)
    (repository / ".gitattributes").write_text("* diff=evil filter=evil\n")
    (repository / "a.txt").write_text("changed\n")
    for call in (("status", "--porcelain"), ("diff",), ("log", "-p"), ("show",), ("diff", "--stat", "HEAD")):
        answer = await run_git(repository, *call)
        assert answer.returncode == 0, answer.stderr
    assert not ran.exists(), ran.read_text()
    git(repository, "status")
    assert ran.exists(), "the canaries must be able to sing"


async def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="git could not be run"):
        await run_git(tmp_path / "missing", "status")
