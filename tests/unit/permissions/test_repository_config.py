"""A repository's own git config may name programs: then git commands ask."""

import shutil
import subprocess
from pathlib import Path

import pytest

from forge_core.approval import Effect
from forge_core.config.models import PermissionMode
from forge_core.permissions import Decision, PermissionPolicy
from forge_core.permissions.repository_config import running_setting
from forge_core.tools.base import ToolUse

PLAIN = (
    '[core]\n\tbare = false\n\tfsmonitor = false\n[remote "o"]\n\turl = x:y\n[branch "main"]\n\tremote = o\n'
)


def repository(root: Path, config: str) -> Path:
    (root / ".git").mkdir(parents=True)
    (root / ".git/config").write_text(config)
    return root


@pytest.mark.parametrize(
    "config",
    [
        "[core]\n\tfsmonitor = ./evil\n",
        "[CORE] FSMonitor=evil\n",
        "[core]\n\tpager = evil",
        "[core]\n\thooksPath = hooks",
        "[core]\n\tsshCommand = evil",
        "[diff]\n\texternal = evil",
        '[diff "x"]\n\ttextconv = evil',
        '[diff "x"]\n\tcommand = evil',
        '[filter "x"]\n\tclean = evil',
        '[filter "a\\"b"]\n\tprocess = evil',
        "[alias]\n\tx = !evil",
        "[include]\n\tpath = ../evil",
        '[includeIf "gitdir:/"]\n\tpath = true',
        "[gpg]\n\tprogram = evil",
        '[gpg "ssh"]\n\tprogram = evil',
        "[diff.x]\n\ttextconv = evil",
        "[core]\n\tpag\\\ner = x\n[core]\n\tpager = evil",
        "[broken\n\tpager = evil",
    ],
)
def test_a_setting_that_runs_a_program_makes_git_ask(tmp_path: Path, config: str) -> None:
    root = repository(tmp_path / "project", PLAIN + config)
    (root / "src").mkdir()
    for mode in (PermissionMode.ASK, PermissionMode.AUTO):
        policy = PermissionPolicy(root, mode, sandbox="full")
        for line in ("git status", "cd src && git log -1", "git -C src diff", "true | git show"):
            verdict = policy.decide("bash", ToolUse(Effect.RUN, line))
            assert verdict.decision is Decision.ASK
            assert "git config runs programs" in verdict.reason


def test_a_plain_config_does_not(tmp_path: Path) -> None:
    root = repository(tmp_path / "project", PLAIN)
    assert running_setting(root) == ""
    assert (
        PermissionPolicy(root, sandbox="full").decide("bash", ToolUse(Effect.RUN, "git status")).is_read_only
    )


def test_what_cannot_be_read_counts_as_one(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / ".git").write_text("nonsense")
    assert running_setting(root)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_worktrees_and_inner_repositories_are_looked_into(tmp_path: Path) -> None:
    def git(folder: Path, *words: str) -> None:
        author = ("-c", "user.name=x", "-c", "user.email=x", "-c", "protocol.file.allow=always")
        subprocess.run(["git", *author, *words], cwd=folder, check=True, capture_output=True)

    root, inner = tmp_path / "root", tmp_path / "root/inner"
    inner.mkdir(parents=True)
    git(root, "init")
    git(inner, "init")
    git(inner, "commit", "--allow-empty", "-m", "x")
    git(root, "add", "inner")
    git(root, "commit", "-m", "x")
    git(root, "worktree", "add", "../linked")
    assert running_setting(root) == running_setting(tmp_path / "linked") == ""
    git(inner, "config", "core.fsmonitor", "evil")
    assert running_setting(root) == "core.fsmonitor"
    git(inner, "config", "--unset", "core.fsmonitor")
    git(root, "config", "core.pager", "evil")
    assert running_setting(tmp_path / "linked") == "core.pager"
