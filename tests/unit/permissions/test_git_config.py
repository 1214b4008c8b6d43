"""A repository's own git config may name programs: then git commands ask."""

import shutil
import subprocess
from pathlib import Path

import pytest

from forge_core.approval import Effect
from forge_core.config.permission_mode import PermissionMode
from forge_core.permissions import Decision, PermissionPolicy
from forge_core.permissions.programs.git_config import running_setting
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
        '[core]\n# y\\\n\tfsmonitor = "evil"\n',
        '[foo] a = b ;x\\\n[core]\n\tfsmonitor = "evil"\n',
        '[core]\n\tx = a\x85[bar]\n\tfsmonitor = "evil"\n',
        '[core]\n\tx = a\u2028[bar]\n\tfsmonitor = "evil"\n',
        "[core]\n\tabbrev = 7\x0b[bar]\n\tfsmonitor = evil\n",
        "[core]\n\tworktree = ..\n",
        "[extensions]\n\tpartialClone = origin\n",
        "[extensions]\n\tobjectFormat = sha256\n",
        '[remote "origin"]\n\tpromisor = true\n',
        '[remote "origin"]\n\turl = "ext::sh -c evil"\n',
        '[protocol "ext"]\n\tallow = always\n',
        "[log]\n\tshowSignature = true\n",
        '[url "ext::sh -c evil"]\n\tinsteadOf = x:\n',
        "[nobody]\n\tknows = this\n",
        "[broken\n\tpager = evil",
    ],
)
def test_a_git_setting_that_runs_a_program_asks(tmp_path: Path, config: str) -> None:
    root = repository(tmp_path / "project", PLAIN + config)
    (root / "src").mkdir()
    for mode in (PermissionMode.ASK, PermissionMode.AUTO):
        policy = PermissionPolicy(root, mode, sandbox="full")
        for line in ("git status", "cd src && git log -1", "true | git show"):
            verdict = policy.decide("bash", ToolUse(Effect.RUN, line))
            assert verdict.decision is Decision.ASK
            assert "the repository's git config" in verdict.reason


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("[core]\n\tfsmonitor = ./evil\n", "git config runs programs: core.fsmonitor"),
        ("[core]\n\tsshCommand = evil", "git config runs programs: core.sshcommand"),
        ('[diff "x"]\n\ttextconv = evil', "git config runs programs: diff.x.textconv"),
        ('[filter "x"]\n\tclean = evil', "git config runs programs: filter.x.clean"),
        (
            '[credential "https://x"]\n\thelper = evil',
            "git config runs programs: credential.https://x.helper",
        ),
        ('[submodule "lib"]\n\turl = ../lib\n', "git config names other repositories: submodule.lib.url"),
        ("[include]\n\tpath = ../x", "git config includes another file: include.path"),
        ('[includeIf "gitdir:/"]\n\tpath = x', "git config includes another file: includeif.gitdir:/.path"),
        ("[extensions]\n\tpartialClone = origin\n", "git config lets git fetch what is missing: extensions"),
        (
            '[remote "origin"]\n\tpromisor = true\n',
            "git config lets git fetch what is missing: remote.origin",
        ),
        ('[remote "origin"]\n\turl = "ext::sh -c evil"\n', "git config runs programs: remote.origin.url"),
        ("[nobody]\n\tknows = this\n", "git config may run programs: nobody.knows"),
        ("[broken\n\tpager = evil", "git config cannot be checked: "),
    ],
)
def test_the_reason_says_what_a_setting_of_the_repository_does(
    tmp_path: Path, config: str, expected: str
) -> None:
    root = repository(tmp_path / "project", PLAIN + config)
    for mode, rules in ((PermissionMode.ASK, []), (PermissionMode.AUTO, []), (PermissionMode.ASK, ["bash"])):
        policy = PermissionPolicy(root, mode, allow=rules, sandbox="off" if rules else "full")
        verdict = policy.decide("bash", ToolUse(Effect.RUN, "git ls-files"))
        if verdict.decision is Decision.ASK:
            assert expected in verdict.reason
        else:
            assert rules, "only a rule allows it, with the programs switched off"


def test_a_plain_git_config_does_not_ask(tmp_path: Path) -> None:
    root = repository(tmp_path / "project", PLAIN)
    assert running_setting(root) == ""
    assert (
        PermissionPolicy(root, sandbox="full").decide("bash", ToolUse(Effect.RUN, "git status")).is_read_only
    )


def test_an_unreadable_git_config_asks(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / ".git").write_text("nonsense")
    assert running_setting(root)


@pytest.mark.parametrize("text", ["\ufeff[core]\n\tfsmonitor = evil\n", "\ufeff"])
def test_a_git_config_with_a_byte_order_mark_asks(tmp_path: Path, text: str) -> None:
    assert running_setting(repository(tmp_path / "project", text))


def test_a_bare_git_folder_asks(tmp_path: Path) -> None:
    root = repository(tmp_path / "project", PLAIN)
    bare = root / "sub/b.git"
    for name in ("objects", "refs"):
        (bare / name).mkdir(parents=True)
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    assert running_setting(bare) and running_setting(bare / "refs")
    policy = PermissionPolicy(root, sandbox="full")
    for line in ("cd sub/b.git && git status", "cd sub && cd b.git && git log", "git -C sub/b.git status"):
        assert policy.decide("bash", ToolUse(Effect.RUN, line)).decision is Decision.ASK
    assert policy.decide("bash", ToolUse(Effect.RUN, "git status")).decision is Decision.ALLOW


def test_a_hook_that_runs_when_the_index_is_refreshed_asks(tmp_path: Path) -> None:
    root = repository(tmp_path / "project", PLAIN)
    (root / ".git/hooks").mkdir()
    (root / ".git/hooks/post-index-change.sample").write_text("x")
    assert running_setting(root) == ""
    (root / ".git/hooks/post-index-change").write_text("#!/bin/sh\nevil\n")
    assert running_setting(root)


def test_a_split_index_asks(tmp_path: Path) -> None:
    root = repository(tmp_path / "project", PLAIN)
    (root / ".git/sharedindex.0000").write_bytes(b"")
    assert running_setting(root)


def test_the_git_config_is_searched_in_the_resolved_folder(tmp_path: Path) -> None:
    inner = repository(tmp_path / "project/s/in", "[core]\n\tfsmonitor = evil\n")
    root = repository(tmp_path / "project", PLAIN)
    (root / "link").symlink_to(inner)
    policy = PermissionPolicy(root, PermissionMode.AUTO, sandbox="full")
    for line in ("git -C s -C in status", "cd link && git status", "cd s; cd in; git status"):
        assert "git config" in policy.decide("bash", ToolUse(Effect.RUN, line)).reason


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_linked_worktrees_are_inspected_and_nested_repositories_ask(tmp_path: Path) -> None:
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
    assert "other repositories" in running_setting(root)
    git(root, "rm", "--cached", "inner")
    assert running_setting(root) == ""
    git(tmp_path / "linked", "rm", "--cached", "inner")
    assert running_setting(tmp_path / "linked") == ""
    git(root, "config", "core.pager", "evil")
    assert running_setting(tmp_path / "linked") == "core.pager"
