"""Which hooks an event concerns."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_core.extensions.hooks.hook_input import claude_calls
from forge_core.extensions.hooks.matching import CalledTool, holds, matcher_problem, matches
from forge_core.tools.base import ExecutionContext
from forge_core.tools.registry import builtin_tools

TOOLS = {tool.name: tool for tool in builtin_tools()}


@pytest.mark.parametrize(
    ("matcher", "name", "expected"),
    [
        ("", "Bash", True),
        ("*", "Bash", True),
        ("Bash", "Bash", True),
        ("Bash", "BashOutput", False),
        ("bash", "Bash", False),
        ("Edit|Write", "Write", True),
        ("Edit, Write", "Write", True),
        ("Edit,Write", "MultiEdit", False),
        ("mcp__my-server", "mcp__my-server2__x", False),
        ("mcp__.*", "mcp__memory__read", True),
        ("mcp__memory__.*", "mcp__other__read", False),
        ("^Notebook", "NotebookEdit", True),
        ("Edit.*", "MultiEdit", True),
        (".*", "Anything", True),
        ("startup|resume", "resume", True),
    ],
)
def test_a_matcher_is_a_list_of_exact_names_or_a_searched_expression(
    matcher: str, name: str, expected: bool
) -> None:
    assert matches(matcher, (name,)) is expected


@pytest.mark.parametrize(
    "matcher",
    [
        "(a+)+$",
        r"(?:(?:\w?){30}){30}!",
        ".*.*.*.*.*.*!",
        "(|a|aa)" * 30 + "!",
        r"\w?" * 30 + "!",
        "(?x)(a+) +$",
        "(?#[)(a+)+]",
        "a|b(c*)+",
        "a{99999999999999999999}",
        "(" * 900,
        "a" * 1_001,
    ],
    ids=range(11),
)
def test_a_matcher_that_could_take_very_long_is_refused(matcher: str) -> None:
    assert matcher_problem(matcher)


@pytest.mark.parametrize(
    "matcher",
    [
        "",
        "*",
        "Edit|Write",
        "mcp__.*__(read|write).*",
        "^(?!Bash).*$",
        "(Multi)?Edit",
        "[]*+(]x+",
        r"\(a+\)+|b.*?|c{2,3}",
    ],
)
def test_other_matchers_can_be_used(matcher: str) -> None:
    assert not matcher_problem(matcher)


def called(tool_name: str, root: Path, **arguments: object) -> CalledTool:
    tool, context = TOOLS[tool_name], ExecutionContext(root)
    [call] = claude_calls(tool, arguments, context)
    return CalledTool(call.names, tool.use(arguments, context), context.folders)


LINES = [
    ("Bash(git *)", "git status", True),
    ("Bash(git *)", "ls", False),
    ("Bash(git *)", "cd x && git push", True),
    ("Bash(git *)", "FOO=1 git push", True),
    ("Bash(git *)", "echo $(git log)", True),
    ("Bash(git *)", "sudo git push", True),
    ("Bash(git *)", "bash -c 'git push'", True),
    ("Bash(git *)", "echo a | xargs git add", True),
    ("Bash(git push:*)", "git status", False),
    ("Bash(git push:*)", "git -C sub push origin", True),
    ("Bash(rm -rf *)", "rm -r -f x", True),
    ("Bash(npm test)", "npm test", True),
    ("Bash(npm test)", "npm run build", False),
    ("Bash(git * --force)", "ls", True),  # it cannot be translated, so the hook runs
    ("Bash", "ls", True),
    ("bash(ls:*)", "ls -l", True),
    ("Read(*.py)", "ls", False),
    ("Bash(git *)", '"$X" status', True),  # what runs is unknown
]


@pytest.mark.parametrize(("condition", "line", "expected"), LINES)
def test_the_rule_of_if_looks_at_every_command_of_a_line(
    condition: str, line: str, expected: bool, tmp_path: Path
) -> None:
    assert holds(condition, called("bash", tmp_path, command=line)) is expected


@pytest.mark.parametrize(
    ("condition", "tool", "path", "expected"),
    [
        ("Edit(src/**)", "edit", "src/a.py", True),
        ("Edit(src/**)", "edit", "docs/a.md", False),
        ("Edit(*.ts)", "write", "deep/in/a.ts", True),
        ("Write(*.ts)", "write", "a.ts", True),
        ("Write(*.ts)", "edit", "a.ts", False),
        ("Read(.env)", "read", ".env", True),
        ("Read(//etc/**)", "read", "/etc/passwd", True),
        ("Bash(git *)", "edit", "a.py", False),
        ("", "edit", "a.py", True),
    ],
)
def test_the_rule_of_if_looks_at_the_real_paths(
    condition: str, tool: str, path: str, expected: bool, tmp_path: Path
) -> None:
    arguments = {"file_path": path, "old_string": "a", "new_string": "b", "content": ""}
    assert holds(condition, called(tool, tmp_path, **arguments)) is expected
