"""More files with keys than the sandbox can hide: commands then ask, as in a weak sandbox."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from forge_core.approval import deny_all
from forge_core.config.permission_mode import PermissionMode
from forge_core.permissions.policy import Decision, PermissionPolicy
from forge_core.permissions.sandbox import survey
from forge_core.permissions.sandbox.sandbox import Sandbox
from forge_core.permissions.sandbox.sandbox_state import SandboxKind, SandboxState
from forge_core.permissions.sandbox.secret_files import MAX_MASKS
from forge_core.runtime import build_session, load_session_config

FULL = SandboxState(SandboxKind.BUBBLEWRAP, program="/usr/bin/bwrap")
AUTO, ASK = PermissionMode.AUTO, PermissionMode.ASK


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with 600 files with keys."""
    for number in range(600):
        folder = tmp_path / f"root/part{number // 50}/{number}"
        folder.mkdir(parents=True)
        (folder / ".env").write_text(f"K={number}\n")
    return tmp_path / "root"


def policy(root: Path, mode: PermissionMode) -> tuple[PermissionPolicy, Sandbox]:
    sandbox = Sandbox(FULL, root, state_dir=root.parent / "state")
    return PermissionPolicy(root, mode, sandbox="full", unmasked_reason=sandbox.unmasked_reason), sandbox


def test_commands_ask_while_there_are_more_files_than_can_be_hidden(root: Path) -> None:
    for mode, line in ((AUTO, "python x.py"), (AUTO, "rg K ."), (ASK, "grep -r K ."), (ASK, "rg K")):
        found = policy(root, mode)[0].explain(line)
        assert found.decision is Decision.ASK, (mode, line)
    auto, _ = policy(root, AUTO)
    assert f"can hide {MAX_MASKS} files" in auto.explain("python x.py").reason
    assert auto.explain("ls").decision is Decision.ALLOW
    for number in range(600 - MAX_MASKS):
        assert auto.explain("make").decision is Decision.ASK
        (root / f"part{number // 50}/{number}/.env").unlink()
    assert auto.explain("make").decision is Decision.ALLOW


def test_a_plan_runs_no_search_that_could_read_them(root: Path) -> None:
    planning, _ = policy(root, PermissionMode.PLAN)
    assert planning.explain("rg K").decision is Decision.DENY
    assert planning.explain("ls").decision is Decision.ALLOW


def test_files_that_git_holds_anyway_do_not_count(root: Path) -> None:
    git = ["git", "-C", str(root)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-f", "."], check=True)
    auto, sandbox = policy(root, AUTO)
    assert sandbox.unmasked_reason() == ""
    assert auto.explain("make").decision is Decision.ALLOW
    for number in range(MAX_MASKS + 1):
        (root / f"part{number // 50}/{number}/.env").write_text("K=changed\n")
    assert auto.explain("make").decision is Decision.ASK


@pytest.mark.parametrize(("name", "value"), [("MAX_ENTRIES", 100), ("MAX_SECRETS", 511)])
def test_commands_ask_when_the_search_for_files_reaches_a_limit(
    root: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: int
) -> None:
    monkeypatch.setattr(survey, name, value)
    found = policy(root, AUTO)[0].explain("make")
    assert (found.decision, "too large" in found.reason) == (Decision.ASK, True)


def test_a_session_asks_its_own_sandbox(root: Path) -> None:
    config = load_session_config(root, flags={"model": "offline", "permission_mode": "auto"})
    environment = build_session(config, deny_all)._environment
    if environment.sandbox_state.strength != "full":
        pytest.skip(f"no full sandbox here: {environment.sandbox_state.reason}")
    assert f"can hide {MAX_MASKS} files" in environment.policy.explain("make").reason
