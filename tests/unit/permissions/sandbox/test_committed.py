"""Files with keys that git holds in the same state: hidden from lines that only read, else named in a prompt."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from forge_core.config.permission_mode import PermissionMode
from forge_core.permissions.policy import Decision, PermissionPolicy
from forge_core.permissions.read_only.committed_files import can_hide_committed
from forge_core.permissions.sandbox import secret_files
from forge_core.permissions.sandbox.sandbox import Sandbox
from forge_core.permissions.sandbox.sandbox_state import SandboxKind, SandboxState
from forge_core.permissions.shell.syntax import read_line
from tests.unit.permissions.sandbox.conftest import bwrap_works, needs_bwrap

AUTO, ASK = PermissionMode.AUTO, PermissionMode.ASK
FULL = SandboxState(SandboxKind.BUBBLEWRAP, program=shutil.which("bwrap") or "/usr/bin/bwrap")
SECRETS = (".env", "keys/deploy.key", "app/credentials.json")


def git(root: Path, *words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    done = subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository that has committed files with keys, and an example of one."""
    root = tmp_path / "root"
    for name in SECRETS:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("-----BEGIN PRIVATE KEY-----\nTOKEN=quince\n")
    (root / ".env.example").write_text("TOKEN=medlar\n")
    (root / "a.py").write_text("TOKEN = 1\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-f", ".")
    git(root, "commit", "-q", "-m", "first")
    return root


def policy(root: Path, mode: PermissionMode = AUTO) -> PermissionPolicy:
    box = Sandbox(FULL, root, state_dir=root.parent / "state")
    return PermissionPolicy(
        root,
        mode,
        sandbox="full",
        unmasked_reason=box.unmasked_reason,
        committed_reason=box.committed_reason,
    )


def run(root: Path, line: str) -> str:
    box = Sandbox(FULL, root, state_dir=root.parent / "state")
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(root.parent / "home")}
    hides = can_hide_committed(read_line(line), root)
    with box.launch(["bash", "-c", line], root, environment, hides_committed=hides) as launch:
        done = subprocess.run(
            launch.argv,
            cwd=root,
            env=dict(launch.environment),
            pass_fds=launch.pass_fds,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    assert box.tidy()
    return done.stdout


HIDDEN = [
    "grep -rn TOKEN .", "rg --hidden TOKEN", "rg TOKEN | head", "cd app && grep -r TOKEN", "grep -r TOKEN . > out.txt",
    "git ls-files | xargs grep -n TOKEN", "find . -type f -exec grep -H TOKEN {} +",
    "git log --oneline -1; rg TOKEN", "timeout 5 grep -r TOKEN . || true", "cat app/*",
]  # fmt: skip
SHOWN = [
    "git status && rg TOKEN", "git ls-files -m; grep -r TOKEN .", "python3 x.py", "grep -r TOKEN .; make",
    "cat .env", "grep TOKEN keys/deploy.key", "find . -name x -delete", "sed -i s/a/b/ a.py", "git diff", "$X -r TOKEN .",
    "f() { grep -r x .; }; f", "cat a.py >> .env", "rg --pre ./x TOKEN",
]  # fmt: skip


@pytest.mark.parametrize("line", HIDDEN)
def test_lines_that_only_read_can_do_without_them(root: Path, line: str) -> None:
    assert can_hide_committed(read_line(line), root)


@pytest.mark.parametrize("line", SHOWN)
def test_other_lines_see_them_as_git_does(root: Path, line: str) -> None:
    assert not can_hide_committed(read_line(line), root)


def test_a_search_shows_nothing_of_them(root: Path) -> None:
    if not bwrap_works():
        pytest.skip(needs_bwrap)
    for line in (*HIDDEN[:4], *HIDDEN[5:8]):
        output = run(root, line.replace("rg ", "grep -r ") if shutil.which("rg") is None else line)
        assert "quince" not in output, line
        assert "denied" not in output, line
    assert "medlar" in run(root, HIDDEN[0]), "an example is there to be read"
    assert "TOKEN = 1" in run(root, HIDDEN[0])
    assert "quince" in run(root, SHOWN[4]), "the user has allowed to read that very file"


def test_git_sees_no_change(root: Path) -> None:
    if not bwrap_works():
        pytest.skip(needs_bwrap)
    assert run(root, "git status --porcelain") == ""
    assert run(root, "git status --porcelain; grep -rc TOKEN .").count("deploy.key:1") == 1
    assert git(root, "status", "--porcelain") == ""


@pytest.mark.parametrize("mode", [AUTO, ASK])
def test_a_search_beside_git_that_compares_files_asks_and_names_them(
    root: Path, mode: PermissionMode
) -> None:
    found = policy(root, mode).explain("git status && rg TOKEN")
    assert found.decision is Decision.ASK
    assert found.reason == (
        "committed files with keys are not hidden in this line: .env, app/credentials.json, keys/deploy.key"
    )
    for line in ("rg TOKEN", "git log --oneline -1; rg TOKEN", "git status", "git status; ls -R"):
        assert policy(root, mode).explain(line).decision is Decision.ALLOW, line
    git(root, "rm", "-q", "-r", "--cached", ".")
    assert policy(root, mode).explain("git status && rg TOKEN").decision is Decision.ALLOW, "they are hidden"


def test_an_answer_for_the_session_covers_the_line(root: Path) -> None:
    deciding = policy(root, ASK)
    deciding.allow_for_session("bash(git status && rg TOKEN)")
    assert deciding.explain("git status && rg TOKEN").decision is Decision.ALLOW


def test_a_search_asks_when_there_are_more_than_can_be_hidden(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secret_files, "MAX_MASKS", 2)
    found = policy(root).explain("rg TOKEN")
    assert found.decision is Decision.ASK
    assert "the sandbox can hide only 2 files" in found.reason
    assert policy(root).explain("make").decision is Decision.ALLOW, "git shows them to any program as well"


def test_key_files_among_the_programs_of_a_home_are_hidden(root: Path) -> None:
    if not bwrap_works():
        pytest.skip(needs_bwrap)
    home = root.parent / "home"
    for name in ("dotfiles/bin/deploy.key", ".local/lib/tool/.env", ".local/bin/ca.pem", "dotfiles/bin/tool"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("-----BEGIN PRIVATE KEY-----\nquince\n")
    (home / ".local/bin/ca.pem").write_text("-----BEGIN CERTIFICATE-----\nmedlar\n")
    (home / "bin").symlink_to("dotfiles/bin")
    assert run(root, "cat ~/bin/tool").endswith("quince\n")
    assert "quince" not in run(root, "cat ~/bin/deploy.key ~/dotfiles/bin/deploy.key ~/.local/lib/tool/.env")
    assert "medlar" in run(root, "cat ~/.local/bin/ca.pem")
