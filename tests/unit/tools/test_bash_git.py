"""Lines of git that run unasked because they only read: git starts no program of the repository for them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from forge_core.tools import BashTool, ExecutionContext, ToolExecutor
from forge_core.tools.shell import effects
from tests.unit.workspace.test_git_hostile import (
    Trap,
    clean_filter,
    diff_driver,
    external_diff,
    filter_from_an_included_file,
    filter_process,
    filter_with_an_equals_sign,
    fsmonitor,
    hooks_elsewhere,
    promised_objects,
    signatures,
    text_conversion,
    trap,
)

pytestmark = pytest.mark.slow


__all__ = ["trap"]

LINES = ("git status", "git diff", "git diff HEAD | head -5", "git log -p", "git show", "git show HEAD:a.txt")


@pytest.mark.parametrize(
    "arm",
    [
        fsmonitor,
        external_diff,
        diff_driver,
        text_conversion,
        clean_filter,
        filter_process,
        filter_with_an_equals_sign,
        filter_from_an_included_file,
        hooks_elsewhere,
        signatures,
        promised_objects,
    ],
    ids=lambda arm: arm.__name__,
)
async def test_git_runs_no_repository_program_even_if_wrongly_listed_as_read_only(
    trap: Trap,
    arm: Callable[[Trap], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arm(trap)
    trap.trace.unlink(missing_ok=True)
    monkeypatch.setattr(effects, "is_read_only", lambda command, folder: True)
    tool = BashTool()
    for line in LINES:
        await ToolExecutor().execute(tool, {"command": line}, ExecutionContext(trap.folder))
    await tool.aclose()
    assert not trap.trace.exists(), trap.trace.read_text()


async def test_an_approved_command_runs_with_the_repository_configuration(trap: Trap) -> None:
    """The person has allowed it: hooks and filters are theirs."""
    clean_filter(trap)
    trap.trace.unlink(missing_ok=True)
    tool = BashTool()
    await ToolExecutor().execute(tool, {"command": "git add -A"}, ExecutionContext(trap.folder))
    await tool.aclose()
    assert trap.trace.exists()
    log = subprocess.run(["git", "log", "--oneline"], cwd=trap.folder, capture_output=True, text=True)
    assert log.stdout.endswith("first\n")


async def test_read_only_git_commands_show_the_normal_git_output(
    trap: Trap,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(effects, "is_read_only", lambda command, folder: True)
    tool = BashTool()
    for line in ("git diff", "git status --short", "git log -p", "git show", "git diff HEAD --stat"):
        plain = subprocess.run(line.split(), cwd=trap.folder, capture_output=True, text=True)
        done = await ToolExecutor().execute(tool, {"command": line}, ExecutionContext(trap.folder))
        assert plain.stdout and done.success
        assert done.output.startswith(plain.stdout.rstrip("\n"))
    await tool.aclose()
