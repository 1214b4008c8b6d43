"""Lines of git under allow rules, without a sandbox: what only reads starts no program of the repository, and
what cannot be kept from doing so asks."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest
from forge_core.config.permission_mode import PermissionMode
from forge_core.permissions import Decision, PermissionPolicy
from forge_core.tools import BashTool, ExecutionContext, ToolExecutor
from tests.unit.workspace.test_git import git
from tests.unit.workspace.test_git_hostile import (
    Trap,
    clean_filter,
    diff_driver,
    external_diff,
    filter_from_an_included_file,
    filter_of_a_worktree,
    filter_process,
    filter_with_an_equals_sign,
    fsmonitor,
    hook,
    hooks_elsewhere,
    promised_objects,
    signatures,
    submodule,
    text_conversion,
    trap,
)

pytestmark = pytest.mark.slow
__all__ = ["trap"]


def pagers(trap: Trap) -> None:
    trap.set("core.pager", "pager.diff", "pager.log", "pager.status", "core.editor", "credential.helper")


def alias_of_a_reading_command(trap: Trap) -> None:
    trap.set("alias.status", "alias.log", value=f"!{trap.canary}")


def nested_fsmonitor(trap: Trap) -> None:
    """A repository of its own in the work tree, with a config of its own."""
    inner = trap.folder / "nested"
    inner.mkdir()
    git(inner, "init", "-q")
    git(inner, "config", "core.fsmonitor", str(trap.canary))
    git(inner, "config", "diff.evil.textconv", str(trap.canary))


ARMS = [
    fsmonitor,
    external_diff,
    diff_driver,
    text_conversion,
    clean_filter,
    filter_process,
    filter_with_an_equals_sign,
    filter_from_an_included_file,
    filter_of_a_worktree,
    hook,
    hooks_elsewhere,
    signatures,
    promised_objects,
    submodule,
    pagers,
    alias_of_a_reading_command,
    nested_fsmonitor,
]
RULES = {
    "named": [
        "bash(git status:*)",
        "bash(git diff:*)",
        "bash(git log:*)",
        "bash(git show:*)",
        "bash(git blame:*)",
    ],
    "wide": ["bash(git:*)", "bash(cd:*)", "bash(head:*)"],
    "everything": ["bash"],
}
LINES = (
    "git status",
    "git diff",
    "git diff --stat HEAD",
    "git log -p --all | head -5",
    "git show HEAD:a.txt",
    "git blame a.txt",
    "git status --short; git diff > /dev/null",
    "timeout 20 git status -v",
)


OTHER_LINES = (
    "git annotate a.txt",
    "git whatchanged -p --all",
    "git range-diff HEAD~1 HEAD HEAD",
    "git fsck",
    "git check-attr -a a.txt",
    "git name-rev HEAD",
    "git show-branch --all",
    "git merge-tree HEAD HEAD",
    "git var GIT_PAGER",
    "git difftool --no-prompt HEAD~1",
    "git mergetool --no-prompt",
    "git submodule status",
    "git submodule summary",
    "git archive HEAD",
    "git archive --format=evil HEAD",
    "git interpret-trailers a.txt",
    "git help status",
    "git verify-commit HEAD",
    "git ls-remote origin",
    "git remote show origin",
    "git annotate a.txt | head -1; git fsck && git status",
)
"""Reading of which only a rule makes Forge allow it."""


def archive_format(trap: Trap) -> None:
    trap.set("tar.evil.command", "tar.tar.gz.command")


def viewers(trap: Trap) -> None:
    trap.set("man.evil.cmd", "difftool.evil.cmd", "mergetool.evil.cmd", "browser.evil.cmd")
    for name in ("man.viewer", "diff.tool", "merge.tool", "web.browser"):
        trap.set(name, value="evil")
    trap.set("help.format", value="man")


def trailers(trap: Trap) -> None:
    trap.set("trailer.evil.cmd", "trailer.evil.command")
    trap.set("trailer.evil.key", value="Evil")


def transports(trap: Trap) -> None:
    trap.set("core.sshCommand", "remote.origin.uploadpack", "core.gitProxy")
    trap.set("remote.origin.url", value=str(trap.folder))


def alias_of_a_deprecated_command(trap: Trap) -> None:
    trap.set("alias.whatchanged", value=f"!{trap.canary}")


class Asked:
    """Answers every prompt in the same way, and keeps the requests."""

    def __init__(self, answer: Answer = Answer.NO) -> None:
        self.answer = answer
        self.requests: list[ApprovalRequest] = []

    async def __call__(self, request: ApprovalRequest) -> ApprovalReply:
        self.requests.append(request)
        return ApprovalReply(self.answer)


async def run(policy: PermissionPolicy, approver: Asked, *lines: str) -> list[bool]:
    tool = BashTool()
    executor = ToolExecutor(policy, approver)
    done = [
        (await executor.execute(tool, {"command": line}, ExecutionContext(policy.root))).success
        for line in lines
    ]
    await tool.aclose()
    return done


@pytest.mark.sampled  # 17 arms of three rules: every third case has each arm once
@pytest.mark.parametrize("arm", ARMS, ids=lambda arm: arm.__name__)
@pytest.mark.parametrize("rules", RULES)
async def test_no_rule_lets_reading_git_start_a_program_of_the_repository(
    trap: Trap, arm: Callable[[Trap], None], rules: str
) -> None:
    arm(trap)
    trap.trace.unlink(missing_ok=True)
    asked = Asked()
    lines = [*LINES, *(f"cd nested && {line}" for line in LINES[:2] if (trap.folder / "nested").is_dir())]
    done = await run(PermissionPolicy(trap.folder, allow=RULES[rules]), asked, *lines)
    assert not trap.trace.exists(), trap.trace.read_text()
    assert all("git config" in one.reason or "git " in one.reason for one in asked.requests)
    assert sum(done) + len(asked.requests) == len(lines), "what does not ask succeeds"


RARER_ARMS = [*ARMS, archive_format, viewers, trailers, transports, alias_of_a_deprecated_command]


@pytest.mark.parametrize("arm", RARER_ARMS, ids=lambda arm: arm.__name__)
async def test_no_rule_lets_rarer_reading_start_a_program_of_the_repository(
    trap: Trap, arm: Callable[[Trap], None]
) -> None:
    arm(trap)
    trap.trace.unlink(missing_ok=True)
    asked = Asked()
    policy = PermissionPolicy(trap.folder, allow=RULES["wide"])
    # The gate tries a third of the lines with each arm, others with its neighbours.
    part = slice(None) if os.environ.get("FORGE_FULL") else slice(RARER_ARMS.index(arm) % 3, None, 3)
    for line in OTHER_LINES[part]:
        await run(policy, asked, line)
        assert not trap.trace.exists(), line


@pytest.mark.parametrize(
    ("arm", "line", "setting"),
    [
        (archive_format, "git archive --format=evil HEAD", "tar.evil.command"),
        (viewers, "git help status", "man.evil.cmd"),
        (trailers, "git interpret-trailers a.txt", "trailer.evil.cmd"),
        (transports, "git ls-remote origin", "core.sshcommand"),
        (transports, "git remote show origin", "core.sshcommand"),
        (fsmonitor, "git submodule status", "core.fsmonitor"),
        (fsmonitor, "git fsck; make", "core.fsmonitor"),
    ],
)
async def test_reading_that_cannot_do_without_programs_asks_and_names_the_setting(
    trap: Trap, arm: Callable[[Trap], None], line: str, setting: str
) -> None:
    arm(trap)
    asked = Asked()
    await run(PermissionPolicy(trap.folder, allow=["bash"]), asked, line)
    assert len(asked.requests) == 1
    assert setting in asked.requests[0].reason


async def test_rarer_reading_that_can_be_held_does_not_ask_under_a_rule(trap: Trap) -> None:
    fsmonitor(trap)
    hooks_elsewhere(trap)
    text_conversion(trap)
    trap.trace.unlink(missing_ok=True)
    asked = Asked()
    lines = ("git annotate a.txt", "git fsck", "git check-attr -a a.txt", "git name-rev HEAD")
    assert all(await run(PermissionPolicy(trap.folder, allow=["bash(git:*)"]), asked, *lines))
    assert asked.requests == []
    assert not trap.trace.exists()


async def test_programs_that_a_repository_does_not_set_do_not_ask(trap: Trap) -> None:
    trap.set("core.hooksPath", value=".husky")
    asked = Asked()
    policy = PermissionPolicy(trap.folder, allow=["bash(git:*)"])
    assert all(await run(policy, asked, "git archive HEAD", "git submodule status"))
    assert asked.requests == []


@pytest.mark.parametrize(
    "arm", [fsmonitor, text_conversion, hook, hooks_elsewhere, pagers], ids=lambda arm: arm.__name__
)
async def test_what_can_be_switched_off_does_not_ask_under_a_rule(
    trap: Trap, arm: Callable[[Trap], None]
) -> None:
    arm(trap)
    trap.trace.unlink(missing_ok=True)
    asked = Asked()
    assert all(await run(PermissionPolicy(trap.folder, allow=RULES["named"]), asked, *LINES[:3], *LINES[5:]))
    assert asked.requests == []
    assert not trap.trace.exists()


@pytest.mark.parametrize(
    ("arm", "line"),
    [
        (external_diff, "git diff"),
        (diff_driver, "git diff HEAD"),
        (clean_filter, "git status"),
        (filter_with_an_equals_sign, "git diff --stat"),
        (filter_from_an_included_file, "git status"),
        (promised_objects, "git status"),
        (submodule, "git status"),
    ],
)
async def test_what_cannot_be_switched_off_asks_each_time_and_says_why(
    trap: Trap, arm: Callable[[Trap], None], line: str
) -> None:
    arm(trap)
    asked = Asked(Answer.ONCE)
    policy = PermissionPolicy(trap.folder, allow=["bash(git status:*)", "bash(git diff:*)", f"bash({line})"])
    assert all(await run(policy, asked, line, line))
    assert len(asked.requests) == 2
    for request in asked.requests:
        assert "the repository's git config" in request.reason
        assert (request.session_rule, request.always_rule) == ("", "")


async def test_the_options_that_switch_drivers_off_need_no_question(trap: Trap) -> None:
    external_diff(trap)
    diff_driver(trap)
    trap.trace.unlink(missing_ok=True)
    asked = Asked()
    policy = PermissionPolicy(trap.folder, allow=["bash(git diff:*)"])
    assert all(
        await run(policy, asked, "git diff --no-ext-diff", "git diff --no-textconv --no-ext-diff HEAD")
    )
    assert asked.requests == []
    assert not trap.trace.exists()


async def test_filters_do_not_matter_to_what_reads_only_the_history(trap: Trap) -> None:
    clean_filter(trap)
    trap.trace.unlink(missing_ok=True)
    asked = Asked()
    policy = PermissionPolicy(trap.folder, allow=["bash(git:*)"])
    assert all(await run(policy, asked, "git log -p", "git show HEAD", "git rev-parse HEAD"))
    assert asked.requests == []
    assert not trap.trace.exists()


async def test_a_session_grant_and_a_yes_run_with_the_programs_switched_off(trap: Trap) -> None:
    fsmonitor(trap)
    trap.trace.unlink(missing_ok=True)
    asked = Asked(Answer.SESSION)
    policy = PermissionPolicy(trap.folder)
    assert all(await run(policy, asked, "git status", "git status --short"))
    assert [request.session_rule for request in asked.requests] == ["bash(git status:*)"]
    assert not trap.trace.exists()
    assert all(await run(PermissionPolicy(trap.folder), Asked(Answer.ONCE), "git status"))
    assert not trap.trace.exists()


async def test_an_alias_of_a_reading_command_reads_with_the_programs_switched_off(
    trap: Trap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[alias]\n\tst = status --short\n\tx = !true\n")
    monkeypatch.setenv("HOME", str(home))
    fsmonitor(trap)
    trap.trace.unlink(missing_ok=True)
    for rules in (["bash(git st:*)"], ["bash(git:*)"], ["bash"], ["bash(git st)"]):
        asked = Asked()
        assert all(await run(PermissionPolicy(trap.folder, allow=rules), asked, "git st"))
        assert asked.requests == []
        assert not trap.trace.exists(), rules
    trap.set("alias.st", value="log --oneline")
    assert all(await run(PermissionPolicy(trap.folder, allow=["bash"]), Asked(), "git st"))
    assert not trap.trace.exists()


@pytest.mark.parametrize(
    "value", ["!{}", "-c core.fsmonitor={} status", "grep -O{} one", "push ext::{}", "diff --ext-diff"]
)
async def test_an_alias_of_the_repository_that_does_more_than_read_asks(trap: Trap, value: str) -> None:
    trap.set("alias.st", value=value.format(trap.canary))
    trap.trace.unlink(missing_ok=True)
    for rules in (["bash(git st:*)"], ["bash(git:*)"], ["bash"], ["bash(git st)"]):
        asked = Asked()
        assert (
            await run(PermissionPolicy(trap.folder, allow=rules), asked, "git st", "cd . && git st")
            == [False] * 2
        )
        assert all("alias.st" in request.reason for request in asked.requests)
        assert len(asked.requests) == 2
        assert not trap.trace.exists()


MIXED = (
    "make && git status",
    "GIT_CONFIG_COUNT=0 git status",
    "export GIT_CONFIG_COUNT=0; git status",
    "printf -v GIT_CONFIG_COUNT 0; git status",
    "for GIT_CONFIG_COUNT in 0; do git status; done",
    'git() { command git "$@"; }; git status',
    "env -i PATH=$PATH git status",
    "unset GIT_CONFIG_COUNT; git status",
    "((GIT_CONFIG_COUNT=0)); git status",
    "git add -A; git status",
    "echo $(git status)$(make)",
)


@pytest.mark.parametrize("line", MIXED)
async def test_a_line_that_also_runs_something_else_asks(trap: Trap, line: str) -> None:
    fsmonitor(trap)
    trap.trace.unlink(missing_ok=True)
    asked = Asked()
    await run(PermissionPolicy(trap.folder, allow=["bash", f"bash(={line})"]), asked, line)
    assert [("core.fsmonitor" in one.reason) for one in asked.requests] == [True]
    assert not trap.trace.exists()


async def test_hooks_that_reading_does_not_run_do_not_matter_to_a_mixed_line(trap: Trap) -> None:
    hooks = trap.folder / ".husky"
    hooks.mkdir()
    (hooks / "pre-commit").write_text(trap.canary.read_text())
    git(trap.folder, "config", "core.hooksPath", ".husky")
    asked = Asked()
    policy = PermissionPolicy(trap.folder, allow=["bash"])
    assert all(await run(policy, asked, "true && git add -A && git status"))
    assert asked.requests == []
    (hooks / "post-index-change").write_text(trap.canary.read_text())
    await run(policy, asked, "true && git add -A && git status")
    assert len(asked.requests) == 1


async def test_a_config_that_changes_after_the_decision_starts_nothing(
    trap: Trap, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = PermissionPolicy(trap.folder, allow=["bash(git status:*)", "bash(git diff:*)"])
    decide = policy.decide

    def decide_then_arm(*arguments: object) -> object:
        verdict = decide(*arguments)  # type: ignore[arg-type]
        fsmonitor(trap)
        clean_filter(trap)
        trap.trace.unlink(missing_ok=True)
        return verdict

    monkeypatch.setattr(policy, "decide", decide_then_arm)
    assert await run(policy, Asked(), "git status") == [True]
    assert not trap.trace.exists()


async def test_git_config_shows_what_the_repository_has(trap: Trap) -> None:
    trap.set("core.fsmonitor")
    tool = BashTool()
    executor = ToolExecutor(PermissionPolicy(trap.folder, allow=["bash(git config:*)"]), Asked())
    line = {"command": "git config --get core.fsmonitor"}
    result = await executor.execute(tool, line, ExecutionContext(trap.folder))
    await tool.aclose()
    assert result.output.startswith(str(trap.canary))


async def test_yolo_reads_with_the_programs_switched_off_and_never_asks(trap: Trap) -> None:
    fsmonitor(trap)
    trap.trace.unlink(missing_ok=True)
    asked = Asked()
    policy = PermissionPolicy(trap.folder, PermissionMode.YOLO)
    assert all(await run(policy, asked, "git status", "git diff --no-ext-diff"))
    assert asked.requests == []
    assert not trap.trace.exists()


def test_in_a_full_sandbox_a_rule_or_a_grant_covers_git_in_a_folder_with_submodules(trap: Trap) -> None:
    submodule(trap)
    use = BashTool().describe_use({"command": "git status"}, ExecutionContext(working_dir=trap.folder))
    for policy in (
        PermissionPolicy(trap.folder, allow=["bash(git status:*)"], sandbox="full"),
        PermissionPolicy(trap.folder, sandbox="full"),
    ):
        verdict = policy.decide("bash", use)
        if verdict.decision is Decision.ASK:
            assert "git config" in verdict.reason
            policy.allow_for_session(verdict.session_rule)
        assert policy.decide("bash", use).decision is Decision.ALLOW
    outside = PermissionPolicy(trap.folder, allow=["bash(git status:*)"], sandbox="off").decide("bash", use)
    assert outside.decision is Decision.ASK
    assert outside.session_rule == ""
