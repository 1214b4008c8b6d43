"""Which calls of servers' tools run, which ask, and which never run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest, Effect
from forge_core.config.permission_mode import PermissionMode
from forge_core.errors import ConfigError
from forge_core.extensions.claude_rules import forge_names, translate_rule
from forge_core.extensions.hooks.matching import CalledTool, holds
from forge_core.mcp.mcp_tool import McpTool
from forge_core.permissions.policy import Decision, PermissionPolicy
from forge_core.permissions.rules.rule import parse_rule
from forge_core.tools.base import ExecutionContext, ToolResult
from forge_core.tools.executor import ToolExecutor
from tests.support.server_tools import LOG, Recorder, declared, server_tool

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY
REMOTE: Mapping[str, Any] = {"url": "https://mcp.example.com/mcp"}


@dataclass
class Desk:
    """A session with one tool, and what its user was asked."""

    folder: Path
    policy: PermissionPolicy
    tool: McpTool
    caller: Recorder
    answer: Answer = Answer.ONCE
    is_there: bool = True
    requests: list[ApprovalRequest] = field(default_factory=list)

    async def approve(self, request: ApprovalRequest) -> ApprovalReply:
        self.requests.append(request)
        return ApprovalReply(self.answer) if self.is_there else request.unanswered("nobody is there")

    async def call(self, **arguments: Any) -> ToolResult:
        executor = ToolExecutor(self.policy, self.approve)
        return await executor.execute(self.tool, arguments or {"repo": "."}, ExecutionContext(self.folder))


def desk(folder: Path, entry: Mapping[str, Any] | None = None, **rules: Any) -> Desk:
    caller = Recorder()
    server = declared(folder) if entry is None else declared(folder, entry)
    return Desk(folder, PermissionPolicy(folder, **rules), server_tool(server, caller), caller)


def decision(folder: Path, tool: McpTool, **rules: Any) -> Decision:
    use = tool.use({"repo": "."}, ExecutionContext(folder))
    return PermissionPolicy(folder, **rules).decide(tool.name, use).decision


@pytest.mark.parametrize(
    "mode", [PermissionMode.ASK, PermissionMode.ACCEPT_EDITS, PermissionMode.AUTO, PermissionMode.PLAN]
)
@pytest.mark.parametrize("entry", [{"command": "ls"}, REMOTE])
def test_every_call_asks_and_none_is_made_in_plan_mode(
    tmp_path: Path, entry: Mapping[str, Any], mode: PermissionMode
) -> None:
    caller = Recorder()
    for name in ("log", "ls", "read"):
        tool = server_tool(declared(tmp_path, entry), caller, {**LOG, "name": name})
        wanted = DENY if mode is PermissionMode.PLAN else ASK
        assert decision(tmp_path, tool, mode=mode, sandbox="full", project_allow=[tool.name]) is wanted


def test_the_effect_is_that_of_the_transport(tmp_path: Path) -> None:
    assert desk(tmp_path).tool.effect is Effect.RUN
    assert desk(tmp_path, REMOTE).tool.effect is Effect.NETWORK


@pytest.mark.parametrize(
    ("entry", "hints", "wanted"),
    [
        ({}, {"readOnlyHint": True}, DENY),
        ({"trust_annotations": True}, {}, DENY),
        ({"trust_annotations": True}, {"readOnlyHint": "yes"}, DENY),
        ({"trust_annotations": True}, {"readOnlyHint": True, "destructiveHint": True}, DENY),
        ({"trust_annotations": True}, {"readOnlyHint": True}, ASK),
    ],
)
def test_plan_mode_believes_hints_only_where_the_entry_says_so(
    tmp_path: Path, entry: Mapping[str, Any], hints: Mapping[str, Any], wanted: Decision
) -> None:
    server = declared(tmp_path, {"command": "git", **entry})
    tool = server_tool(server, Recorder(), {**LOG, "annotations": hints})
    use = tool.use({}, ExecutionContext(tmp_path))
    verdict = PermissionPolicy(tmp_path, PermissionMode.PLAN).decide(tool.name, use)
    assert verdict.decision is wanted
    assert wanted is ASK or "trust_annotations" in verdict.reason


@pytest.mark.parametrize(
    ("rule", "is_covered"),
    [
        ("mcp__git", True),
        ("mcp__git__*", True),
        ("mcp__git__log", True),
        ("mcp__git(*)", True),
        ("*", True),
        ("mcp__git__lo", False),
        ("mcp__gi", False),
        ("mcp__gi__*", False),
        ("mcp__git__log__*", False),
        ("mcp__github__*", False),
        ("bash", False),
        ("network", False),
        ("edit", False),
    ],
)
def test_rules_name_a_tool_or_its_server(tmp_path: Path, rule: str, is_covered: bool) -> None:
    tool = desk(tmp_path).tool
    assert (decision(tmp_path, tool, allow=[rule]) is ALLOW) is is_covered
    assert (decision(tmp_path, tool, deny=[rule], mode=PermissionMode.YOLO) is DENY) is is_covered
    assert (decision(tmp_path, tool, ask=[rule], allow=["mcp__git"]) is ASK) is is_covered


@pytest.mark.parametrize("rule", ["mcp__git__log(x)", "mcp__git(a*)", "mcp__git__*(x)"])
def test_rules_for_servers_take_no_pattern(rule: str) -> None:
    for read in (parse_rule, translate_rule):
        with pytest.raises(ConfigError, match="pattern"):
            read(rule)


def test_an_allow_rule_for_a_tool_covers_no_server_of_that_name(tmp_path: Path) -> None:
    tool = server_tool(declared(tmp_path, name="git__log"), Recorder(), {**LOG, "name": "push"})
    assert tool.name == "mcp__git__log__push"
    for rule in ("mcp__git__log", "mcp__git", "mcp__git__*"):
        assert decision(tmp_path, tool, allow=[rule]) is ASK
    assert decision(tmp_path, tool, allow=["mcp__git__log__*"]) is ALLOW
    assert decision(tmp_path, tool, deny=["mcp__git__log"]) is DENY


def test_a_deny_rule_holds_for_a_name_that_had_to_be_changed(tmp_path: Path) -> None:
    """A server could list two tools that would share a name, and so change the names of both."""
    plain = desk(tmp_path).tool
    renamed = McpTool("mcp__git__log_0123abcd", plain.listed, plain.server, Recorder(), "f")
    assert decision(tmp_path, renamed, deny=["mcp__git__log"]) is DENY
    assert decision(tmp_path, renamed, allow=["mcp__git__log"]) is ASK


@pytest.mark.parametrize("rule", ["mcp__git", "mcp__git__*", "mcp__git__log"])
def test_rules_of_claude_code_and_hooks_name_a_tool_or_its_server(tmp_path: Path, rule: str) -> None:
    tool = desk(tmp_path).tool
    assert [str(one) for one in translate_rule(rule)] == [rule]
    use = tool.use({"repo": "."}, ExecutionContext(tmp_path))
    called = CalledTool((*tool.claude_names, tool.name), use, PermissionPolicy(tmp_path).folders)
    assert holds(rule, called)
    assert not holds(rule.replace("git", "jira"), called)
    assert forge_names(rule, [tool]) == (tool.name,)


async def test_a_headless_run_is_told_the_option_that_allows_the_call(tmp_path: Path) -> None:
    here = desk(tmp_path)
    here.is_there = False
    result = await here.call()
    assert not result.success and "--allow mcp__git__log" in (result.error or "")
    assert here.caller.calls == []


@pytest.mark.parametrize("mode", [*PermissionMode])
@pytest.mark.parametrize("allow", [[], ["mcp__git"]])
async def test_arguments_are_checked_before_anyone_is_asked(
    tmp_path: Path, mode: PermissionMode, allow: list[str]
) -> None:
    here = desk(tmp_path, mode=mode, allow=allow)
    result = await here.call(repo=7)
    assert not result.success
    if mode is not PermissionMode.PLAN:
        assert "repo: 7 is not of type 'string'" in (result.error or "")
    assert (here.requests, here.caller.calls) == ([], [])


async def test_a_tool_that_changes_while_the_user_is_asked_is_not_called(tmp_path: Path) -> None:
    here = desk(tmp_path)

    async def change(request: ApprovalRequest) -> ApprovalReply:
        here.caller.has_changed = True
        return ApprovalReply(Answer.ONCE)

    executor = ToolExecutor(here.policy, change)
    result = await executor.execute(here.tool, {"repo": "."}, ExecutionContext(tmp_path))
    assert not result.success and "changed" in (result.error or "")
    assert here.caller.calls == []


async def test_the_request_shows_what_the_user_decides_by(tmp_path: Path) -> None:
    here = desk(tmp_path)
    await here.call(repo=".", limit=5)
    [request] = here.requests
    shown = request.server_tool
    assert shown is not None
    assert (shown.server, shown.name, shown.description) == ("git", "log", LOG["description"])
    assert request.arguments == {"repo": ".", "limit": 5}
    assert (request.sandbox, request.session_rule, request.always_rule) == (
        "off",
        "mcp__git__log",
        "mcp__git__log",
    )


@pytest.mark.parametrize("answer", [Answer.SESSION, Answer.ALWAYS])
@pytest.mark.parametrize("rule", ["mcp__git", "mcp__git__*", "mcp__git__push", "mcp__other__log"])
async def test_a_prompt_grants_only_the_tool_that_it_shows(tmp_path: Path, answer: Answer, rule: str) -> None:
    here = desk(tmp_path)

    async def edit_rule(request: ApprovalRequest) -> ApprovalReply:
        return ApprovalReply(answer, rule=rule)

    executor = ToolExecutor(here.policy, edit_rule)
    result = await executor.execute(here.tool, {"repo": "."}, ExecutionContext(tmp_path))
    assert result.success and here.policy.rules() == ()


HELD = (
    {"path": ".env"},
    {"path": "link"},
    {"paths": ["a.txt", {"path": "~/.ssh/id_ed25519"}]},
    {"uri": "file:///home/x/server%2Epem"},
    {"path": "/home/x/.config/forge/mcp.json"},
    {"path": "/home/x/.local/state/forge"},
    {"path": ".git/hooks/pre-commit"},
    {"path": "sub/../.mcp.json"},
)
FREE: tuple[Mapping[str, Any], ...] = (
    {"path": "a.txt"},
    {"title": "Read .env"},
    {"text": "line\n.env"},
    {"path": "/elsewhere/a b.txt", "depth": 3, "all": None},
    {"path": "~nobody-of-this-name/x"},
    {"text": "x" * 10_000},
)


@pytest.mark.parametrize("arguments", [*HELD, *FREE], ids=lambda one: str(one)[:60])
@pytest.mark.parametrize("rule", ["mcp__git", "mcp__git__log"])
def test_no_allow_rule_covers_keys_and_files_that_programs_act_on(
    tmp_path: Path, rule: str, arguments: Mapping[str, Any]
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / ".env")
    for entry, mode, expected in (
        ({}, PermissionMode.ASK, ASK if arguments in HELD else ALLOW),
        ({}, PermissionMode.YOLO, ALLOW),
        (REMOTE, PermissionMode.ASK, ALLOW),
    ):
        tool = desk(tmp_path, entry or None).tool
        policy = PermissionPolicy(tmp_path, mode=mode, allow=[rule])
        verdict = policy.decide(tool.name, tool.use(dict(arguments), ExecutionContext(tmp_path)))
        assert verdict.decision is expected, verdict.reason
        assert verdict.decision is ALLOW or not (verdict.session_rule or verdict.always_rule)
