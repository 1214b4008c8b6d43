from pathlib import Path

import pytest

from forge_core.errors import ConfigError
from forge_core.permissions.guard.destruction import is_destructive
from forge_core.permissions.rules.command_rules import RuleMatch, covers, meets
from forge_core.permissions.rules.grants import session_pattern
from forge_core.permissions.rules.rule import Rule, moved_rules, parse_rule
from forge_core.permissions.shell.syntax import read_line


def allows_command(rule: Rule, command: str, root: Path, *, is_granted: bool = False) -> bool:
    """Whether the rule alone covers the whole line."""
    if rule.line == command.strip():
        return True
    reading = read_line(command)
    if reading.problem or reading.functions or reading.features:
        return False
    return all(covers(rule, one, root, is_granted=is_granted) for one in reading.commands if not one.is_hint)


def denies_command(rule: Rule, command: str) -> bool:
    return meets(rule, read_line(command), Path("/nowhere")) is RuleMatch.YES


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("bash", Rule("bash")),
        ("bash(*)", Rule("bash")),
        ("bash(git status:*)", Rule("bash", "git status:*")),
        (" edit( src/** ) ", Rule("edit", "src/**")),
        ("bash(echo (a))", Rule("bash", "echo (a)")),
        ("*(secret/**)", Rule("*", "secret/**")),
    ],
)
def test_a_rule_is_read(text: str, rule: Rule) -> None:
    assert parse_rule(text) == rule
    assert parse_rule(str(rule)) == rule


@pytest.mark.parametrize("text", ["", "(x)", "bash(", "bash)", "bash()", "bash( )", "ba sh(x)", "bash(x) y"])
def test_an_invalid_rule_is_rejected_with_its_text(text: str) -> None:
    with pytest.raises(ConfigError, match="Rule"):
        parse_rule(text)


@pytest.mark.parametrize(
    ("rule", "command", "allowed"),
    [
        ("git status:*", "git status", True),
        ("git status:*", "git status -s", True),
        ("git status:*", "  git status -s ", True),
        ("git status:*", "git statusx", False),
        ("git status:*", "git status; rm x", False),
        ("git status:*", "git status && rm x", False),
        ("git status:*", "git status || rm x", False),
        ("git status:*", "git status | sh", False),
        ("git status:*", "git status & rm x", False),
        ("git status:*", "git status > x", False),
        ("git status:*", "git status < /etc/x", False),
        ("git status:*", "git status < .env", False),
        ("git status:*", "git 'status' -s && g\\it status", True),
        ("git status:*", "git status $(rm x)", False),
        ("git status:*", "git status `rm x`", False),
        ("git status:*", "git status $X", False),
        ("git status:*", "git status\nrm x", False),
        ("git status:*", "git status\r\nrm x", False),
        ("git status:*", "git status {a,b}", True),
        ("git status:*", "git status (x)", False),
        ("git status:*", "git  status", True),
        ("git status:*", "X=1 git status", False),
        ("git status:*", "sudo git status", False),
        ("git status", "git status", True),
        ("git status", "git status -s", False),
        ("ls *", "ls *", True),
        ("ls *", "ls -la", False),
        ("a && b", "a && b", True),
        ("a && b", "a && b && c", False),
        ("=echo x:*", "echo x:*", True),
        ("=echo x:*", "echo x y", False),
        (":*", "anything", False),
    ],
)
def test_an_allow_rule_covers_a_whole_command_or_fails_closed(
    rule: str, command: str, allowed: bool, tmp_path: Path
) -> None:
    assert allows_command(Rule("bash", rule), command, tmp_path) is allowed


@pytest.mark.parametrize(
    "command",
    [
        "git push",
        "git push origin main",
        "/usr/bin/git push",
        "true && git push",
        "sudo git push",
        "bash -c 'git push'",
        "echo $(git push)",
        'echo "$(git push)"',
        "`git push`",
        "git\tpush",
        "'git' \"push\"",
        "g\\it push",
        "git pu''sh",
        "$'git' push",
        "git \\\n push",
        "env X=1 git push",
        "xargs git push",
        "find . -exec git push \\;",
        "if true; then git push; fi",
        "it's git push",
    ],
)
def test_a_deny_rule_matches_its_words_in_any_spelling(command: str) -> None:
    assert denies_command(Rule("bash", "git push:*"), command)


def test_a_deny_rule_does_not_match_other_commands() -> None:
    assert not denies_command(Rule("bash", "git push:*"), "git pull && pushd x")
    assert not denies_command(Rule("bash", "rm:*"), "npm run format")


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("git diff --stat", "git diff:*"),
        ("pytest -q tests", "pytest:*"),
        ("npm run test", "npm run test:*"),
        ("npm run test -- -x", "npm run test -- -x"),
        (".venv/bin/python -m pytest -x", ".venv/bin/python -m pytest:*"),
        ("pytest -k 'a or b'", "pytest:*"),
        ("pytest -p evil", "pytest -p evil"),
        ("git log --output=x", "git log --output=x"),
        ("git show HEAD:.env", "git show HEAD:.env"),
        ("git branch --list", "git branch --list:*"),
        ("git branch", "git branch"),
        ("npm install left-pad", "npm install left-pad"),
        ("cat a", "cat a"),
        ("make test", "make test"),
        ("git push", "git push"),
        ("rm x", "rm x"),
        ("python3 x.py", "python3 x.py"),
        ("bash x.sh", "bash x.sh"),
        ("env A=1 x", "env A=1 x"),
        ("docker run x sh", "docker run x sh"),
        ("uv run python x.py", "uv run python x.py"),
        ("ls -la; rm x", "ls -la; rm x"),
        ("ls | sh", "ls | sh"),
        ("echo x:*", "=echo x:*"),
        ("git -c core.pager=x log", "git -c core.pager=x log"),
    ],
)
def test_a_session_rule_is_a_prefix_only_for_harmless_programs(
    command: str, pattern: str, tmp_path: Path
) -> None:
    assert session_pattern(command, tmp_path) == pattern


@pytest.mark.parametrize("command", ["git diff", "a; b", "echo x:*", "=x", "rm -rf build", "x\ny", " ls "])
def test_a_session_rule_covers_its_own_command(command: str, tmp_path: Path) -> None:
    rule = parse_rule(f"bash({session_pattern(command, tmp_path)})")
    assert allows_command(rule, command, tmp_path, is_granted=True)


@pytest.mark.parametrize(
    "command", ["rm x", "a && rm x", "git push", "git reset --hard", "curl x", "sudo ls", "find . -delete"]
)
def test_commands_that_are_hard_to_undo_are_marked(command: str) -> None:
    assert is_destructive(command)


@pytest.mark.parametrize("command", ["ls", "pytest", "git status", "echo rm", "make test"])
def test_harmless_commands_are_not_marked(command: str) -> None:
    assert not is_destructive(command)


def test_rules_with_the_path_of_a_folder_are_moved_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    rules = ["read(~/shop/plans/)", "edit(/home/ada/shop)", "read(/home/ada/shop2/**)", "read(plans/**)"]
    moved = moved_rules([*rules, "bash", "mcp__git"], Path("/home/ada/shop"), Path("/state/[1]/shop"))
    assert [*moved] == [r"read(/state/\[1\]/shop/plans/)", r"edit(/state/\[1\]/shop)"]
