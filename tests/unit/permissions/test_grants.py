"""What "always in this project" offers, what it saves, and what it refuses to save."""

from pathlib import Path

import pytest

from forge_core.approval import Effect
from forge_core.errors import ConfigError
from forge_core.permissions import Decision, PermissionPolicy
from forge_core.permissions.shell_rules import is_destructive
from forge_core.tools.base import ToolUse

ALLOW, ASK = Decision.ALLOW, Decision.ASK


def running(command: str) -> ToolUse:
    return ToolUse(Effect.RUN, command, is_destructive=is_destructive(command))


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("git status -s", "bash(git status:*)"),
        ("git add src", "bash(git add:*)"),
        ("git commit -m 'x y'", "bash(git commit:*)"),
        ("npm test", "bash(npm test:*)"),
        ("npm run build -- --watch", "bash(npm run build:*)"),
        ("pytest -q tests", "bash(pytest:*)"),
        ("python -m pytest -q", "bash(python -m pytest:*)"),
        ("cargo build --release", "bash(cargo build:*)"),
        ("go test ./...", "bash(go test:*)"),
        ("cd src && pytest -q", ""),
        ("ruff check . && ruff check src", "bash(ruff check:*)"),
        ("pytest | tail", ""),
        ("mkdir -p a/b", "bash(mkdir:*)"),
        ("git push", ""),
        ("git reset --hard", ""),
        ("git -c a=b status", ""),
        ("rm x", ""),
        ("rm -rf build", ""),
        ("bash x.sh", ""),
        ("sh -c 'ls'", ""),
        ("env A=1 pytest", ""),
        ("A=1 pytest", ""),
        ("python x.py", ""),
        ("python3 -c 'print(1)'", ""),
        ("node x.js", ""),
        ("sudo apt install x", ""),
        ("xargs ls", ""),
        ("find . -name x", ""),
        ("ssh host ls", ""),
        ("eval ls", ""),
        ("awk 1 x", ""),
        ("make test", ""),
        ("docker run x", ""),
        ("curl http://x", ""),
        ("npx tsx x.ts", ""),
        ("uv run python x.py", ""),
        ("./build.sh", ""),
        ("pytest $X", ""),
        ("pytest 'x", ""),
    ],
)
def test_the_rule_offered_is_program_and_subcommand_or_nothing(
    tmp_path: Path, command: str, rule: str
) -> None:
    policy = PermissionPolicy(tmp_path)
    verdict = policy.decide("bash", running(command))
    assert verdict.decision is not ALLOW
    assert verdict.always_rule == rule
    if rule:
        saved: list[str] = []
        saving = PermissionPolicy(tmp_path, save_rule=saved.append)
        saving.allow_always(rule)
        assert saved == [rule]
        assert saving.decide("bash", running(command)).decision is ALLOW


@pytest.mark.parametrize(
    "command",
    [
        "git status; rm -rf x",
        "git status > /etc/passwd",
        "git status $(evil)",
        "GIT_PAGER=evil git status",
        "git -c core.pager=evil status",
        "git status | sh",
        "./git status",
        "git statusx",
        "sudo git status",
    ],
)
def test_a_rule_for_a_subcommand_covers_nothing_beside_it(tmp_path: Path, command: str) -> None:
    policy = PermissionPolicy(tmp_path)
    policy.allow_always("bash(git status:*)")
    assert policy.decide("bash", running(command)).decision is ASK


@pytest.mark.parametrize(
    "rule",
    [
        "bash", "bash(*)", "*", "bash(:*)", "bash(bash:*)", "bash(sh -c:*)", "bash(python:*)", "bash(python3.11:*)",
        "bash(/usr/bin/python3 -c:*)", "bash(env:*)", "bash(env A=1:*)", "bash(sudo:*)", "bash(sudo apt:*)", "bash(xargs:*)",
        "bash(find:*)", "bash(ssh host:*)", "bash(eval:*)", "bash(awk:*)", "bash(make:*)", "bash(make test:*)",
        "bash(docker run:*)", "bash(curl:*)", "bash(npx:*)", "bash(npm:*)", "bash(git:*)", "bash(git push:*)", "bash(git -c:*)",
        "bash(node:*)", "bash(time:*)", "bash(timeout 5:*)", "bash(rm:*)", "bash(git status; rm:*)", "bash($X:*)",
        "bash('py'thon:*)", "bash(unknown:*)", "network", "network(*)", "network(curl:*)", "edit", "write(*)", "edit(**)",
        "edit(/**)", "edit(/etc/**)", "edit(~/**)", "edit(../x)", "write(.env)", "multi_edit",
    ],
)  # fmt: skip
def test_what_would_allow_too_much_is_not_saved(tmp_path: Path, rule: str) -> None:
    saved: list[str] = []
    policy = PermissionPolicy(tmp_path, save_rule=saved.append)
    with pytest.raises(ConfigError, match="Rule"):
        policy.allow_always(rule)
    assert saved == []
    assert policy.rules() == ()


def test_the_person_may_write_such_a_rule_by_hand(tmp_path: Path) -> None:
    policy = PermissionPolicy(tmp_path, allow=["bash(python:*)", "bash(bash:*)"])
    assert policy.decide("bash", running("python x.py")).decision is ALLOW
    assert policy.decide("bash", running("bash x.sh")).decision is ALLOW


def test_a_session_is_granted_no_more_than_for_good(tmp_path: Path) -> None:
    policy = PermissionPolicy(tmp_path)
    for rule in ("bash", "bash(python:*)", "*"):
        with pytest.raises(ConfigError):
            policy.allow_for_session(rule)
    policy.allow_for_session("bash(git add:*)")
    assert policy.decide("bash", running("git add x")).decision is ALLOW


@pytest.mark.parametrize(
    ("names", "rule"),
    [
        (["src/a.py"], "edit(src/**)"),
        (["src/a.py", "src/b.py"], "edit(src/**)"),
        (["a.py"], "edit(./*)"),
        (["src/a.py", "b.py"], ""),
        (["../x"], ""),
        ([".env"], ""),
        (["we[i]rd/a"], r"edit(we\[i\]rd/**)"),
    ],
)
def test_the_rule_offered_for_a_file_is_its_folder(tmp_path: Path, names: list[str], rule: str) -> None:
    root = tmp_path / "project"
    root.mkdir()
    policy = PermissionPolicy(root)
    use = ToolUse(Effect.WRITE, names[0], tuple(root / name for name in names))
    assert policy.decide("edit", use).always_rule == rule
    if rule:
        policy.allow_always(rule)
        assert policy.decide("edit", use).decision is ALLOW
        assert policy.decide("edit", ToolUse(Effect.WRITE, "x", (root / "other/x",))).decision is ASK


def test_rules_are_listed_added_and_removed(tmp_path: Path) -> None:
    policy = PermissionPolicy(tmp_path, allow=["read"], project_deny=["bash(x:*)"])
    policy.add("deny", "bash(rm:*)")
    policy.add("ask", "edit")
    assert [tuple(entry) for entry in policy.rules()] == [
        ("deny", "bash(rm:*)"),
        ("project deny", "bash(x:*)"),
        ("ask", "edit"),
        ("allow", "read"),
    ]
    assert policy.remove("bash( rm:* )")
    assert not policy.remove("bash(rm:*)")
    assert not policy.remove("bash(x:*)"), "a project's rule stays"
    with pytest.raises(ConfigError):
        policy.add("allow", "bash(")
