"""The two columns at which everything on the screen begins."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from forge_core.approval import PlanRequest, Question, QuestionOption, QuestionRequest
from forge_core.config.permission_mode import PermissionMode
from forge_tui.screens.prompts.prompt import Prompt
from tests.support.chat_app import (
    ChatApp,
    command_request,
    edit_request,
    make_app,
    make_config,
    ready,
    say,
    say_until,
    shown,
    type_text,
    until,
)
from tests.support.scripted_session import Gate, Step

QUESTION = QuestionRequest("q", (Question("Which one?", "One", (QuestionOption("A", "it"),)),))
PLAN = PlanRequest("p", "# Plan\n\n1. Read\n2. Write", PermissionMode.ASK)


def misplaced(app: ChatApp) -> list[str]:
    """Return the rows that have something at neither edge: beside their border, only a mark or a blank, and a
    blank before the text."""
    rows = shown(app).splitlines()
    framed = [row for row in rows if row.startswith(("│", " ")) and len(row) > 3]
    return [row for row in framed if row[2] != " "]


@pytest.mark.parametrize("request_", [command_request(), edit_request(), QUESTION, PLAN])
async def test_prompts_have_marks_and_text_at_the_two_edges(tmp_path: Path, request_: Step) -> None:
    app = make_app(make_config(tmp_path), [[request_]])
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await say(pilot, "go on")
        await until(pilot, lambda: isinstance(app.focused, Prompt))
        assert misplaced(app) == []
        await pilot.press("escape")


OPENED: dict[str, str] = {
    "/theme": "forge-dark",
    "/resume": "no saved sessions",
    "/help": "Commands",
    "/config": "Settings",
    "/connect": "OpenAI",
}


async def test_panels_have_marks_and_text_at_the_two_edges(tmp_path: Path) -> None:
    app = make_app(make_config(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        for command, text in OPENED.items():
            await say(pilot, command)
            await until(pilot, lambda: len(app.screen_stack) == 2)
            has_text: Callable[[], bool] = partial(lambda text: text in shown(app), text)
            await until(pilot, has_text, command)
            assert misplaced(app) == [], command
            await pilot.press("escape")
            await until(pilot, lambda: len(app.screen_stack) == 1)


async def test_the_queue_and_completions_are_at_the_two_edges(tmp_path: Path) -> None:
    gate = Gate()
    app = make_app(make_config(tmp_path), [[gate]])
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await say_until(pilot, "go on", gate)
        await say(pilot, "and then this")
        await until(pilot, lambda: " ↳ and then" in shown(app))
        assert misplaced(app) == []
        await type_text(pilot, "/t")
        await until(pilot, lambda: " ❯ /tools" in shown(app))
        assert misplaced(app) == []
        gate.open()
