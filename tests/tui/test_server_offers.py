"""Prompts and resources of MCP servers in the composer: the menu, the palette, the help, and completion."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from forge_tui.screens.panels.help import help_content
from tests.support.chat_app import ChatApp, make_app, make_config, ready, say, shown, type_text, until
from tests.support.scripted_session import answer
from tests.support.server_sessions import declare

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("preloaded_bridge")]

HOSTILE = "\x1b[2J\u202e[bold]"
SCRIPT: dict[str, Any] = {
    "prompts/list": {
        "result": {
            "prompts": [
                {
                    "name": "greet",
                    "description": f"Say hello{HOSTILE}",
                    "arguments": [{"name": "who", "required": True}],
                },
                {"name": "plain", "description": "No arguments"},
            ]
        }
    },
    "resources/list": {
        "result": {
            "resources": [
                {"uri": "file:///readme", "name": f"Read me{HOSTILE}"},
                {"uri": "file:///a b:3", "name": "Odd"},
                {"uri": f"file:///{HOSTILE}", "name": "Bad"},
            ]
        }
    },
    "resources/templates/list": {
        "result": {"resourceTemplates": [{"name": "log", "uriTemplate": "log://{day}"}]}
    },
    "completion/complete": {"result": {"completion": {"values": ["monday", "Ann B", "x\x1b[2J"]}}},
}


@asynccontextmanager
async def chat(folder: Path) -> AsyncIterator[tuple[ChatApp, Pilot[Any]]]:
    declare(folder, SCRIPT)
    own = folder / "own"
    config = replace(make_config(folder), config_dir=own, own_extensions=(own,))
    app = make_app(config, [answer("Hello.")])
    async with app.run_test(size=(90, 24)) as pilot:
        await ready(pilot)
        await app.scripted.hooks.begin()
        assert await app.scripted.servers.settled(60) == []
        yield app, pilot


def labels(app: ChatApp) -> list[str]:
    return [row.label for row in app.chat.popup.rows] if app.chat.popup.is_open else []


async def test_prompts_are_commands_and_their_arguments_are_completed(tmp_path: Path) -> None:
    async with chat(tmp_path) as (app, pilot):
        await type_text(pilot, "/mcp__b")
        await until(pilot, lambda: labels(app) == ["/mcp__bench__greet", "/mcp__bench__plain"])
        assert "bench: Say hello␛[2J" in shown(app)
        await pilot.press("tab")
        assert app.chat.composer.text == "/mcp__bench__greet "
        await until(pilot, lambda: labels(app) == ["monday", "Ann B"])
        await pilot.press("down", "down", "tab")
        assert app.chat.composer.text == "/mcp__bench__greet 'Ann B' "
        app.chat.composer.clear_into_history()

        await say(pilot, "/mcp__bench__greet")
        await until(pilot, lambda: "/mcp__bench__greet needs the argument 'who'" in shown(app))
        await say(pilot, "/mcp__bench__gret x")
        await until(pilot, lambda: "Did you mean /mcp__bench__greet?" in shown(app))
        await say(pilot, "/mcp__bench__greet Ann")
        await until(pilot, lambda: app.scripted.sent == ["/mcp__bench__greet Ann"])
        assert re.search("PromptUse.*arguments='Ann'", repr(app.scripted.commands[-1]))
        await until(pilot, lambda: "Hello." in shown(app))

        await pilot.press("ctrl+p")
        await type_text(pilot, "plain")
        await until(pilot, lambda: "/mcp__bench__plain" in shown(app))
        await pilot.press("escape")
        help_text = help_content(200, app.chat.sending.commands.table).plain
        assert "/mcp__bench__greet who" in help_text and "\x1b" not in help_text + shown(app)


async def test_resources_are_completed_after_the_name_of_their_server(tmp_path: Path) -> None:
    async with chat(tmp_path) as (app, pilot):
        await type_text(pilot, "see @be")
        await until(pilot, lambda: labels(app) == ["bench:"])
        await pilot.press("tab")
        assert app.chat.composer.text == "see @bench:"
        await until(
            pilot, lambda: labels(app) == ["bench:file:///readme", "bench:file:///a b:3", "bench:log://"]
        )
        assert "\x1b" not in shown(app) and "Read me␛[2J" in shown(app)
        await pilot.press("down", "tab")
        assert app.chat.composer.text == 'see @"bench:file:///a b:3" '
        await type_text(pilot, "@bench:log")
        await until(pilot, lambda: labels(app) == ["bench:log://"])
        await pilot.press("tab")
        await until(pilot, lambda: labels(app) == ["bench:log://monday", "bench:log://Ann B"])
        await pilot.press("escape")
        app.chat.popup._values_came()
        assert not app.chat.popup.is_open
        await type_text(pilot, " @bench:log://t")
        await until(pilot, lambda: labels(app) == ["bench:log://monday", "bench:log://Ann B"])
        await pilot.press("tab")
        assert app.chat.composer.text == 'see @"bench:file:///a b:3" @bench:log:// @bench:log://monday '
