"""Files with keys that git holds: a command that may show one asks, one whose paths leave them out does not."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from forge_core.approval import Effect
from forge_core.config.permission_mode import PermissionMode
from forge_core.permissions import Decision, PermissionPolicy
from forge_core.tools.base import ToolUse

pytestmark = pytest.mark.slow

Git = Callable[..., None]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("forge_core.permissions.read_only.git_contents._FRESH_S", 0.0)
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src/a.py").write_text("x\n")
    (root / ".env.example").write_text("KEY=\n")
    return root


@pytest.fixture
def git(root: Path) -> Git:
    def run(*words: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True)

    run("init", "-q", "-b", "main")
    run("add", "-A")
    run("commit", "-qm", "one")
    return run


def decide(root: Path, line: str, mode: PermissionMode = PermissionMode.ASK) -> Decision:
    return PermissionPolicy(root, mode, sandbox="full").decide("bash", ToolUse(Effect.RUN, line)).decision


def commit_and_delete_key(root: Path, git: Git) -> None:
    (root / "conf").mkdir()
    (root / "conf/server.key").write_text("-----BEGIN PRIVATE KEY-----\nabc\n")
    git("add", "-A")
    git("commit", "-qm", "two")
    git("rm", "-q", "conf/server.key")
    git("commit", "-qm", "three")


SHOWING = [
    "git log -p", "git log -p -1", "git log -U5", "git log --patch --all", "git log -u --stat", "git log --cc",
    "git show HEAD~1", "git show", "git grep BEGIN HEAD~1", "git grep BEGIN", "git diff HEAD~2", "git diff HEAD~2 HEAD~1",
    "git diff --cached", "git diff-tree -p HEAD~1", "git log -p -- conf", "git log -p -- '*.key'", "git stash show -p",
    "git log -p -- .", "cd src && git log -p", "git log -p | head -50", "git --no-pager log -p", "git log -p -- CONF",
    "git log --word-diff", "git log -W", "git cat-file -p HEAD~1", "cd src && git show -- ../conf",
]  # fmt: skip
SAFE = [
    "git log", "git log --oneline -5", "git log --stat", "git show --stat HEAD", "git show --name-only HEAD~1",
    "git log -p -- src", "git log -p src/a.py", "git show HEAD:src/a.py", "git status", "git diff", "git diff --stat HEAD~1",
    "git grep -l BEGIN", "cd src && git log -p -- a.py", "git log -p -- '*.py'", "git log -S x --oneline",
]  # fmt: skip


@pytest.mark.parametrize("mode", [PermissionMode.ASK, PermissionMode.AUTO])
def test_what_may_show_a_key_in_the_history_asks(root: Path, git: Git, mode: PermissionMode) -> None:
    commit_and_delete_key(root, git)
    assert [line for line in SHOWING if decide(root, line, mode) is not Decision.ASK] == []
    assert [line for line in SAFE if decide(root, line, mode) is not Decision.ALLOW] == []


@pytest.mark.parametrize("mode", [PermissionMode.ASK, PermissionMode.AUTO])
def test_a_history_without_keys_does_not_ask(root: Path, git: Git, mode: PermissionMode) -> None:
    others = (
        "git log -u --stat",
        "git log --cc",
        "git log -p -- '*.key'",
        "cd src && git show -- ../conf",
    )  # for other reasons
    lines = [line for line in SHOWING + SAFE if line not in others]
    assert [line for line in lines if decide(root, line, mode) is not Decision.ALLOW] == []


def test_a_key_committed_later_is_found(root: Path, git: Git) -> None:
    assert decide(root, "git log -p") is Decision.ALLOW
    commit_and_delete_key(root, git)
    assert decide(root, "git log -p") is Decision.ASK
    assert decide(root, "git log -p") is Decision.ASK


def test_a_key_that_only_the_index_holds_is_found(root: Path, git: Git) -> None:
    (root / "id_rsa").write_text("abc\n")
    git("add", "-A")
    assert decide(root, "git diff --cached") is Decision.ASK


def test_a_key_in_an_index_that_shortens_names_is_found(root: Path, git: Git) -> None:
    git("rm", "-q", ".env.example")
    for name in ("server.kex", "server.key"):  # version 4 writes the second as "4 less, y"
        (root / name).write_text("abc\n")
    git("update-index", "--index-version", "4")
    git("add", "-A")
    assert b"server.key" not in (root / ".git/index").read_bytes()
    assert decide(root, "git diff --cached") is Decision.ASK


def test_a_key_that_only_a_stash_holds_is_found(root: Path, git: Git) -> None:
    (root / "id_rsa").write_text("abc\n")
    git("add", "-A")
    git("stash", "-q")
    assert decide(root, "git stash show -p") is Decision.ASK


def test_a_key_that_only_a_reflog_holds_is_found(root: Path, git: Git) -> None:
    commit_and_delete_key(root, git)
    git("reset", "-q", "--hard", "HEAD~2")
    assert decide(root, "git log -p ORIG_HEAD") is Decision.ASK


def test_a_key_that_only_a_tag_holds_is_found(root: Path, git: Git) -> None:
    def made(*words: str, given: str = "") -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        done = subprocess.run(
            ["git", *identity, *words], cwd=root, check=True, capture_output=True, text=True, input=given
        )
        return done.stdout.strip()

    blob = made("hash-object", "-w", "--stdin", given="abc\n")
    tree = made("mktree", given=f"100644 blob {blob}\tid_rsa\n")
    git("tag", "old", made("commit-tree", tree, "-m", "x"))
    assert decide(root, "git show old") is Decision.ASK


def test_a_key_that_only_a_merge_has_added_is_found(root: Path, git: Git) -> None:
    git("checkout", "-q", "-b", "side")
    git("commit", "-q", "--allow-empty", "-m", "side")
    git("checkout", "-q", "-b", "merged", "main")
    git("commit", "-q", "--allow-empty", "-m", "other")
    git("merge", "-q", "--no-commit", "--no-ff", "side")
    (root / "id_rsa").write_text("abc\n")
    git("add", "-A")
    git("commit", "-qm", "merge")
    git("checkout", "-q", "main")
    assert decide(root, "git show merged") is Decision.ASK


def test_the_repository_that_an_option_names_is_looked_at(root: Path, git: Git) -> None:
    (root / "lib").mkdir()
    git("init", "-q", "lib")
    line = "git -C lib log -p"
    assert decide(root, line, PermissionMode.AUTO) is Decision.ALLOW
    (root / "lib/id_rsa").write_text("abc\n")
    git("-C", "lib", "add", "id_rsa")
    git("-C", "lib", "commit", "-qm", "one")
    assert decide(root, "git log -p", PermissionMode.AUTO) is Decision.ALLOW
    assert decide(root, line, PermissionMode.AUTO) is Decision.ASK


def test_a_history_that_took_too_long_asks_until_it_can_be_read(
    root: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "forge_core.permissions.read_only.git_contents"
    with monkeypatch.context() as slow:
        slow.setattr(f"{module}._TIMEOUT_S", 0.0)
        assert decide(root, "git log -p") is Decision.ASK
    assert decide(root, "git log -p") is Decision.ASK, "it is not tried again at once"
    monkeypatch.setattr(f"{module}._UNKNOWN_S", 0.0)
    assert decide(root, "git log -p") is Decision.ALLOW


def test_no_object_that_is_missing_is_fetched(root: Path, git: Git, tmp_path: Path) -> None:
    for name, value in (
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", str(tmp_path)),
        ("remote.origin.uploadpack", f"touch {tmp_path}/fetched; false"),
    ):
        git("config", name, value)
    tree = subprocess.run(
        ["git", "rev-parse", "HEAD^{tree}"], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()
    (root / ".git/objects" / tree[:2] / tree[2:]).unlink()
    assert decide(root, "git log -p") is Decision.ASK
    assert not (tmp_path / "fetched").exists()


def test_an_index_that_cannot_be_read_asks(root: Path, git: Git) -> None:
    (root / ".git/index").write_bytes(b"DIRC\0\0\0\2\0\0\0\7id_rsa")
    assert decide(root, "git log -p") is Decision.ASK


def test_a_damaged_repository_asks(root: Path, git: Git) -> None:
    (root / ".git/refs/heads/main").write_text("0" * 39 + "1\n")
    assert decide(root, "git log -p") is Decision.ASK
