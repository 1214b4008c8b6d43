"""The permission prompt for a tool of an MCP server: whose it is, every argument, and what its server claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest
from forge_core.config.forge_config import ForgeConfig
from forge_core.permissions.policy import PermissionPolicy
from forge_core.tools.base import ExecutionContext
from forge_core.tools.executor import ToolExecutor
from forge_tui.screens.prompts.full_view import FullView
from forge_tui.screens.prompts.permission import PermissionPrompt
from forge_tui.screens.prompts.request_text import all_facts, body_of, facts_of, is_disguised, title_of
from forge_tui.widgets.exact_text import spans
from tests.support.asking import ask, asking
from tests.support.chat_app import until
from tests.support.server_tools import LOG, PROGRAM, Recorder, declared, server_tool

pytestmark = pytest.mark.usefixtures("preloaded_bridge")

WORKSPACE = Path("/home/ada/src/engine")
ANYTHING: Mapping[str, Any] = {"type": "object"}


async def request_for(
    folder: Path,
    arguments: Mapping[str, Any],
    *,
    entry: Mapping[str, Any] = PROGRAM,
    **listed: Any,
) -> ApprovalRequest:
    """What the executor asks for a call."""
    asked: list[ApprovalRequest] = []

    async def approve(request: ApprovalRequest) -> ApprovalReply:
        asked.append(request)
        return ApprovalReply(Answer.NO)

    tool = server_tool(declared(folder, entry), Recorder(), {**LOG, "inputSchema": ANYTHING, **listed})
    executor = ToolExecutor(PermissionPolicy(folder), approve)
    await executor.execute(tool, dict(arguments), ExecutionContext(folder))
    return asked[0]


def shown(request: ApprovalRequest) -> list[str]:
    return [f"{line.gutter}{''.join(text for _, text in spans(line))}".rstrip() for line in body_of(request)]


def facts(request: ApprovalRequest) -> str:
    return facts_of(request, WORKSPACE, room=400)


async def test_the_prompt_names_the_server_and_the_tool_as_the_server_has_them(tmp_path: Path) -> None:
    request = await request_for(tmp_path, {}, name="l.o\ng\u202e \u0430bc")
    assert title_of(request) == "Forge wants to call a tool of the MCP server 'git'"
    assert shown(request) == ["l.o", "g‹U+202E› ‹U+0430›bc", "  (no arguments)"]


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        (5, ["  x: 5"]),
        ("5", ['  x: "5"']),
        (None, ["  x: null"]),
        (True, ["  x: true"]),
        ("", ['  x: ""']),
        ('say "hi"\\n', ['  x: "say \\"hi\\"\\\\n"']),
        ("a\u202eb\u200bc", ['  x: "a‹U+202E›b‹U+200B›c"']),
        ("a\x1b[31mb", ['  x: "a\\u001b[31mb"']),
        ("one\n\x1b]0;x\x07\nlimit: 5", ["  x:", "  │ one", "  │ ␛]0;x␇", "  │ limit: 5"]),
        ([1, "a"], ['  x: [1, "a"]']),
        ({"a": {"b": ["c" * 60]}}, [
            "  x: {", '      "a": {', '        "b": [', f'          "{"c" * 60}"', "        ]", "      }", "    }",
        ]),
    ],
)  # fmt: skip
async def test_every_argument_is_shown_exactly(tmp_path: Path, value: object, lines: list[str]) -> None:
    assert shown(await request_for(tmp_path, {"x": value})) == ["log", *lines]


async def test_an_argument_cannot_be_taken_for_another(tmp_path: Path) -> None:
    request = await request_for(tmp_path, {"a: 1\nb": 2, "c d": 3, "e_f.g-h$": 4})
    assert shown(request) == ["log", '  "a: 1\\nb": 2', '  "c d": 3', "  e_f.g-h$: 4"]


async def test_what_the_server_says_is_shown_as_its_claim(tmp_path: Path) -> None:
    hints = {"readOnlyHint": True, "openWorldHint": True}
    text = "Show the commits.\x1b[2J\n\nNewest first.\nThird.\nFourth."
    request = await request_for(tmp_path, {}, description=text, annotations=hints)
    assert facts(request) == (
        "not sandboxed · The server says that it only reads and reaches other systems: Show the commits.␛[2J "
        "Newest first. Third. …"
    )
    assert [line.text for line in all_facts(request, WORKSPACE)][-6:] == [
        "Server declared in .mcp.json",
        "The server says that it only reads and reaches other systems:",
        "Show the commits.␛[2J",
        "Newest first.",
        "Third.",
        "Fourth.",
    ]


@pytest.mark.parametrize(
    ("entry", "place"),
    [
        ({"command": "x"}, "not sandboxed"),
        ({"command": "x", "sandbox": "strict"}, "sandboxed"),
        ({"url": "https://mcp.example.com/a?b=${TOKEN}"}, "Sent to https://mcp.example.com"),
        ({"url": "http://ada:secret@mcp.example.com:80"}, "Sent to http://mcp.example.com:80"),
    ],
)
async def test_the_facts_say_where_the_call_goes(
    tmp_path: Path, entry: Mapping[str, Any], place: str
) -> None:
    request = await request_for(tmp_path, {}, entry=entry)
    assert facts(request).split(" · ")[0] == place


async def test_hints_choose_words_only(tmp_path: Path) -> None:
    plain = await request_for(tmp_path, {})
    for hints in ({"readOnlyHint": True}, {"destructiveHint": True}, {"destructiveHint": False}):
        other = await request_for(tmp_path, {}, annotations=hints)
        assert (other.is_destructive, other.is_usual_reason) == (plain.is_destructive, plain.is_usual_reason)
    assert "The server says that it may destroy data:" in facts(
        await request_for(tmp_path, {}, annotations={"destructiveHint": True})
    )


async def test_a_change_is_shown_with_the_call(tmp_path: Path) -> None:
    changes = ("its server", "its description:", "-Old \x1b", "+New", " same")
    request = replace(await request_for(tmp_path, {"x": 1}), changes=changes, is_usual_reason=False)
    assert shown(request)[2:] == [
        "",
        "Changed since you allowed it:",
        "its server",
        "its description:",
        "- Old ␛",
        "+ New",
        "  same",
    ]


async def test_invisible_characters_in_an_argument_are_suspect(tmp_path: Path) -> None:
    assert not is_disguised(await request_for(tmp_path, {"x": "häuser 日本"}))
    for value in ("a\u200bb", ["a\u200bb"], {"a\u200bb": 1}, "a\nb\u202e"):
        assert is_disguised(await request_for(tmp_path, {"x": value}))


async def test_long_arguments_are_read_in_the_full_view_before_a_yes(
    config: ForgeConfig, tmp_path: Path
) -> None:
    text = "\n".join(f"line {number}" for number in range(100))
    app = asking(config, await request_for(tmp_path, {"text": text, "after": "the end"}))
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot)
        prompt = app.screen.query_one(PermissionPrompt)
        await pilot.press("1", "enter")
        assert prompt.is_attached
        await pilot.press("ctrl+e")
        await until(pilot, lambda: isinstance(app.screen, FullView))
        await pilot.press("end", "escape")
        app.clock.pass_(1.1)
        await pilot.press("1", "enter")
        await until(pilot, lambda: not prompt.is_attached)
