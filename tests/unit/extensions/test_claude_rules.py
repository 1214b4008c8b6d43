"""Rules in the spelling of Claude Code."""

from __future__ import annotations

import pytest

from forge_core.errors import ConfigError
from forge_core.extensions.claude_rules import claude_name, forge_names, translate_rule
from forge_core.tools.registry import builtin_tools


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("Bash", ["bash"]),
        ("Bash(*)", ["bash"]),
        ("Bash(git:*)", ["bash(git:*)"]),
        ("Bash(git diff *)", ["bash(git diff:*)"]),
        ("Bash(npm run build)", ["bash(=npm run build)"]),
        ("Bash(echo (a))", ["bash(=echo (a))"]),
        ("Read(//etc/hosts)", ["read(/etc/hosts)"]),
        ("Read(~/notes/**)", ["read(~/notes/**)"]),
        ("Read(/src/**)", ["read(src/**)"]),
        ("Read(./a.txt)", ["read(./a.txt)"]),
        ("Read(*.py)", ["read(*.py)"]),
        ("Edit(src/**)", ["edit(src/**)", "multi_edit(src/**)", "apply_patch(src/**)"]),
        ("Write", ["write"]),
        ("edit(src/**)", ["edit(src/**)"]),
        ("mcp__git__log", ["mcp__git__log"]),
        ("TodoWrite", ["todo"]),
        ("Skill(pdf)", ["skill(pdf)"]),
    ],
)
def test_a_rule_is_translated(text: str, rules: list[str]) -> None:
    assert sorted(map(str, translate_rule(text))) == sorted(rules)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Bash(git * main)", "a * inside the command"),
        ("Bash(git log*)", "a * inside the command"),
        ("WebFetch(domain:example.com)", "names the tool 'WebFetch', which Forge does not have"),
        ("Skill(pdf *)", "has a pattern, which Forge does not support for skill"),
        ("TodoWrite(x)", "has a pattern, which Forge does not support for todo"),
        ("Bash(git", "cannot be read"),
        ("", "cannot be read"),
    ],
)
def test_what_cannot_be_translated_exactly_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason.replace("*", r"\*")):
        translate_rule(text)


def test_every_built_in_tool_has_a_name_there_and_is_found_by_it() -> None:
    for tool in builtin_tools():
        assert tool.name in forge_names(claude_name(tool))
        assert forge_names(tool.name) == (tool.name,)
    assert forge_names("Nonsense") == ()
