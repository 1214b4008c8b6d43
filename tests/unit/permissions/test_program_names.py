"""A denied program under another name: a link found through PATH, an alias in git's config."""

import time
from pathlib import Path

import pytest

from forge_core.approval import Effect
from forge_core.config.permission_mode import PermissionMode
from forge_core.permissions import Decision, PermissionPolicy
from forge_core.tools.base import ToolUse

BOLD = (PermissionMode.AUTO, PermissionMode.YOLO)


def decide(policy: PermissionPolicy, command: str) -> Decision:
    return policy.decide("bash", ToolUse(Effect.RUN, command)).decision


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders of links: `bin`, which PATH names, and `own`, which only a line may name."""
    for folder in ("bin", "own", "box", "project"):
        (tmp_path / folder).mkdir()
    for name in ("busybox", "rustup"):
        (tmp_path / "box" / name).write_text("#!/bin/sh\n")
        (tmp_path / "box" / name).chmod(0o755)
    for link, target in {
        "bin/del": "/bin/rm",
        "bin/twice": "del",
        "bin/round": "round",
        "bin/rm": "../box/busybox",
        "bin/applet": "../box/busybox",
        "bin/cargo": "../box/rustup",
        "own/gone": "/bin/rm",
    }.items():
        (tmp_path / link).symlink_to(target)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return tmp_path


@pytest.mark.parametrize("mode", BOLD)
def test_a_link_found_on_the_path_counts_as_its_target_program(programs: Path, mode: PermissionMode) -> None:
    rules = ["bash(rm:*)", "bash(busybox:*)", "bash(rustup:*)"]
    policy = PermissionPolicy(programs / "project", mode, allow=["bash"], deny=rules, sandbox="full")
    for line in (
        "del x",
        "twice x",
        "true && del x",
        "env del x",
        "xargs del < n",
        "find . -name n -exec del {} +",
        f"PATH={programs}/own:$PATH; gone x",
        f"export PATH=$PATH:{programs}/own; gone x",
        f"PATH={programs}/own gone x",
        f"PATH=$PWD:$PATH:{programs}/own:. gone x",
        "PATH=../own:$PATH gone x",
    ):
        assert decide(policy, line) is Decision.DENY, line
    for line in ("applet x", "cargo x", "round x", "gone x", "echo del", "ls -l"):
        assert decide(policy, line) is Decision.ALLOW, line


def test_a_link_created_after_a_decision_is_considered_in_the_next_one(programs: Path) -> None:
    policy = PermissionPolicy(programs / "project", PermissionMode.YOLO, deny=["bash(rm:*)"])
    for line in ("later x", "./later x"):
        assert decide(policy, line) is Decision.ALLOW
    (programs / "bin/later").symlink_to("/bin/rm")
    (programs / "project/later").symlink_to("/bin/rm")
    for line in ("later x", "./later x"):
        assert decide(policy, line) is Decision.DENY


ALIASES = r"""
[alias]
	p = push
	pp = p --tags
	quoted = "push"  ; to the server
	up = -c color.ui=never push
	sh = !git push
	odd = "!f() { git push \"$@\"; }; f"
	raw = send-pack
	del = !rm -f
	lg = log --oneline \
		--graph
	st = status
	sets = -c alias.z=push z
	loop = loop2
	loop2 = loop
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with aliases of its own, of the person's, and of a file that these include."""
    project, home = tmp_path / "project", tmp_path / "home"
    (project / "sub").mkdir(parents=True)
    (project / ".git").mkdir()
    (project / ".git/config").write_text("[core]\n\tbare = false\n" + ALIASES)
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[alias] away = push\n[include]\n\tpath = more\n[user]\n\tname = \u2713\n"
    )
    (home / "more").write_text('[ALIAS "Inc"]\n\tcommand = push # there\n')
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return project


@pytest.mark.parametrize("mode", BOLD)
def test_an_alias_in_a_git_config_counts_as_its_command(project: Path, mode: PermissionMode) -> None:
    rules = ["bash(rm:*)", "bash(git push:*)"]
    policy = PermissionPolicy(project, mode, allow=["bash"], deny=rules, sandbox="full")
    for line in (
        "git p",
        "git P origin",
        "git pp",
        "git quoted",
        "git up x",
        "git sh",
        "git del x",
        "git away",
        "git inc",
        "git -C sub p",
        "cd sub && git p",
        "true; sudo git --no-pager p",
        "git --attr-source HEAD p",
    ):
        assert decide(policy, line) is Decision.DENY, line
    for line in (
        "git odd",
        "git raw",
        "git loop",
        "GIT_DIR=x git y",
        "git --git-dir=x y",
        "HOME=. git y",
        "git -C $X y",
        "git sets",
    ):
        assert decide(policy, line) is Decision.ASK, line
    for line in ("git lg", "git st", "git log p", "git commit -m p", "git unknown", "git -C /nowhere st"):
        assert decide(policy, line) is Decision.ALLOW, line


def test_a_line_with_many_folders_is_decided_quickly(project: Path) -> None:
    policy = PermissionPolicy(project, PermissionMode.YOLO, deny=["bash(git push:*)"])
    started = time.process_time()
    assert decide(policy, "".join(f"cd a{at}; git b{at}; " for at in range(200))) is Decision.ASK
    assert time.process_time() - started < 5, "about 0.1 s; it was minutes"


def test_all_definitions_of_an_alias_are_considered(project: Path) -> None:
    policy = PermissionPolicy(project, PermissionMode.YOLO, deny=["bash(git log --graph:*)"])
    assert decide(policy, "git lg") is Decision.DENY


@pytest.mark.parametrize(
    "config", ["[alias\n\tx = push", "[alias]\n# a \\\n\tx = push\n", "[alias]\n\tx = y\r\r\n"]
)
def test_an_ambiguous_git_config_may_define_any_alias(project: Path, config: str) -> None:
    (project / ".git/config").write_bytes(config.encode())
    policy = PermissionPolicy(project, PermissionMode.YOLO, deny=["bash(git push:*)"])
    assert decide(policy, "git x") is Decision.ASK
    assert decide(policy, "git status") is Decision.ALLOW
