"""Which files declare hooks, and what of them runs."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from forge_core.config.forge_config import ForgeConfig
from forge_core.extensions.hooks.approved_hooks import HookApprovals
from forge_core.extensions.hooks.hook_files import HookTable, load_hooks
from forge_core.runtime import load_session_config


@pytest.fixture
def config(tmp_path: Path) -> ForgeConfig:
    (tmp_path / "work").mkdir()
    loaded = load_session_config(tmp_path / "work", trust=True)
    return dataclasses.replace(loaded, own_extensions=(loaded.config_dir, tmp_path / ".claude"))


def declare(path: Path, hooks: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"hooks": hooks}))


def run(command: object, **fields: object) -> dict[str, object]:
    return {"type": "command", "command": command, **fields}


def skipped(table: HookTable) -> list[str]:
    return [one.text for one in table.skipped]


def test_all_files_count_in_their_order_and_only_the_users_own_needs_no_approval(
    config: ForgeConfig, tmp_path: Path
) -> None:
    work = config.working_dir
    for number, path in enumerate(
        (
            config.config_dir / "hooks.json",
            tmp_path / ".claude/settings.json",
            work / ".forge/hooks.json",
            work / ".claude/settings.json",
            work / ".claude/settings.local.json",
        )
    ):
        declare(path, {"Stop": [{"hooks": [run(f"h{number}")]}]})

    hooks = load_hooks(config).hooks

    assert [hook.command for hook in hooks] == ["h0", "h1", "h2", "h3", "h4"]
    assert [hook.source.needs_approval for hook in hooks] == [False, True, True, True, True]


def test_nothing_of_a_project_counts_before_it_is_trusted(config: ForgeConfig) -> None:
    declare(config.working_dir / ".claude/settings.json", {"Stop": [{"hooks": [run("x")]}]})

    assert load_hooks(dataclasses.replace(config, is_trusted=False)) == HookTable()
    assert load_hooks(dataclasses.replace(config, safe=True)) == HookTable()


def nested(levels: int) -> object:
    return [nested(levels - 1)] if levels else []


BAD: list[tuple[object, str]] = [
    ({"type": "http", "url": "https://a.example"}, "http"),
    ({"type": "prompt", "prompt": "Is it good?"}, "prompt"),
    ({"type": "agent", "prompt": "Look"}, "agent"),
    ({"type": "mcp_tool", "tool": "x"}, "mcp_tool"),
    ({"type": "mystery"}, "mystery"),
    ("text", "not an object"),
    (run(""), "no command"),
    (run(7), "no command"),
    (run("x", args="-v"), "args"),
    (run("x", timeout="5"), "timeout"),
    (run("x", timeout=True), "timeout"),
    (run("x", timeout=0), "above 0"),
    (run("x", shell="powershell"), "powershell"),
    (run("x" * 20_001), "20,000 characters"),
    (run("x", note=nested(30)), "nested too deeply"),
    (run("x", note="y" * 60_000), "its entry is longer than"),
    (run("x", args=["y" * 20_000]), "20,000 characters"),
    (run("x", **{"if": f"Bash({' ' * 1_000})"}), "if has more than"),
    (run("x", **{"if": ["Bash"]}), "if is not a string"),
]


def test_a_bad_entry_is_listed_and_hides_no_other(config: ForgeConfig) -> None:
    groups = [{"hooks": [entry]} for entry, _ in BAD]
    declare(
        config.config_dir / "hooks.json",
        {
            "PreToolUse": [*groups, {"matcher": "([", "hooks": [run("regex")]}, {}, {"hooks": [run("good")]}],
            "Stop": [{"hooks": [run("never", **{"if": "Bash(git *)"})]}],
            "Setup": [{"hooks": [run("unknown")]}],
            "SubagentStop": {"hooks": []},
        },
    )

    table = load_hooks(config)

    assert [hook.command for hook in table.hooks] == ["good"]
    texts = skipped(table)
    assert len(texts) == len(BAD) + 5
    for text, (_, expected) in zip(texts, BAD, strict=False):
        assert expected in text
    assert texts[len(BAD) :] == [
        "PreToolUse regex: its matcher '([' is not a regular expression: unterminated character set at position 1",
        "PreToolUse : it has no list of hooks",
        "Stop never: if is only for events of tool calls",
        "Setup unknown: Forge has no such event",
        "SubagentStop : it is not a list",
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"{", "Expecting"),
        (b"[]", "not a JSON object"),
        (b'{"hooks": []}', "hooks is not an object"),
        (b"\xff\xfe", "decode"),
        (b"[" * 100_000, "nested too deeply"),
        (b" " * 1_000_001, "more than"),
        (b"", ""),
        (b'\xef\xbb\xbf{"hooks": {}}', ""),
        (b'{"disableAllHooks": true, "hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}}', ""),
    ],
    ids=["cut", "list", "wrong type", "no UTF-8", "deep", "long", "empty", "BOM", "disabled"],
)
def test_a_file_that_cannot_be_read_hides_no_other(config: ForgeConfig, content: bytes, problem: str) -> None:
    declare(config.config_dir / "hooks.json", {"Stop": [{"hooks": [run("own")]}]})
    (config.working_dir / ".claude").mkdir()
    (config.working_dir / ".claude/settings.json").write_bytes(content)

    table = load_hooks(config)

    assert [hook.command for hook in table.hooks] == ["own"]
    assert [problem in one for one in table.problems] == ([True] if problem else [])


def test_a_link_out_of_the_project_is_not_read(config: ForgeConfig, tmp_path: Path) -> None:
    declare(tmp_path / "elsewhere.json", {"Stop": [{"hooks": [run("x")]}]})
    (config.working_dir / ".forge").mkdir()
    (config.working_dir / ".forge/hooks.json").symlink_to(tmp_path / "elsewhere.json")

    table = load_hooks(config)

    assert table.hooks == ()
    assert "link to a file outside the project" in table.problems[0]


def test_names_and_limits(config: ForgeConfig) -> None:
    declare(
        config.config_dir / "hooks.json",
        {
            "PreToolUse": [
                {
                    "hooks": [
                        run('python3 -u "$CLAUDE_PROJECT_DIR"/.claude/hooks/check.py --fast', timeout=9999),
                        run("check.py", args=["-v", "two words"], failClosed=True),
                        run("A=b make lint", timeout=0.5),
                        run("./make -v", args=[], timeout=10**400),
                        run("make-2"),
                        run("python3 -c \"import sys; sys.exit(2 if 'x' in 'y' else 0)\""),
                        run("bash", args=["-c", "./run me"]),
                    ]
                }
            ],
            "SessionEnd": [{"hooks": [run("bye", timeout=30)]}],
        },
    )

    hooks = load_hooks(config).hooks

    assert [(hook.name, hook.timeout_s) for hook in hooks] == [
        ("PreToolUse:check.py", 600.0),
        ("PreToolUse:check.py-2", 60.0),
        ("PreToolUse:make", 0.5),
        ("PreToolUse:make--v", 600.0),
        ("PreToolUse:make-2", 60.0),
        ("PreToolUse:python3", 60.0),
        ("PreToolUse:bash", 60.0),
        ("SessionEnd:bye", 2.0),
    ]
    assert hooks[1].command_line == "check.py -v 'two words'"
    assert hooks[3].command_line == "'./make -v'"
    assert [hook.fails_closed for hook in hooks] == [False, True, *[False] * 6]


def test_every_hook_has_a_key_of_its_own(config: ForgeConfig) -> None:
    commands = ["a-2", "a", "a", "a-2", "a"]
    declare(config.config_dir / "hooks.json", {"Stop": [{"hooks": [run(one) for one in commands]}]})

    assert [hook.name for hook in load_hooks(config).hooks] == [
        "Stop:a-2",
        "Stop:a",
        "Stop:a-3",
        "Stop:a-2-2",
        "Stop:a-4",
    ]


def test_an_entry_cannot_hide_when_it_runs(config: ForgeConfig) -> None:
    entry = run("x", event="Stop", matcher="Bash")
    declare(config.working_dir / ".forge/hooks.json", {"PreToolUse": [{"matcher": "*", "hooks": [entry]}]})

    [hook] = load_hooks(config).hooks

    assert hook.entry == {"type": "command", "command": "x", "event": "PreToolUse", "matcher": "*"}


def test_only_so_many_hooks_of_a_file_count(config: ForgeConfig) -> None:
    declare(config.config_dir / "hooks.json", {"Stop": [{"hooks": [run("x")] * 230}]})
    declare(config.working_dir / ".forge/hooks.json", {"Stop": [{"hooks": [run("y")]}]})

    table = load_hooks(config)

    assert [hook.command for hook in table.hooks] == [*["x"] * 200, "y"]
    assert skipped(table) == ["30 more : the file declares more than 200 hooks"]


def test_a_hook_that_cannot_be_bound_to_its_files_is_not_run(config: ForgeConfig) -> None:
    many = config.working_dir / "many"
    many.mkdir()
    for number in range(201):
        (many / str(number)).touch()
    declare(config.working_dir / ".forge/hooks.json", {"Stop": [{"hooks": [run("sh many/*"), run("y")]}]})

    approvals = HookApprovals.load(config)

    assert [one.hook.command for one in approvals.waiting] == ["y"]
    assert skipped(approvals.table) == ["Stop sh many/*: its command line names more than 200 files"]
