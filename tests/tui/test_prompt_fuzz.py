"""Random keys while prompts open and close: no error, no lost text, no answer in the grace period."""

from __future__ import annotations

import asyncio
import os
import random
from typing import Any

import pytest

from forge_core.approval import (
    PlanAnswer,
    PlanReply,
    PlanRequest,
    Question,
    QuestionOption,
    QuestionReply,
    QuestionRequest,
)
from forge_core.config.forge_config import ForgeConfig
from forge_core.config.permission_mode import PermissionMode
from forge_tui.screens.prompts.prompt import Prompt
from tests.support.chat_app import command_request, edit_request, make_app, ready, type_text, until

pytestmark = pytest.mark.property


HOSTILE = "[red]x[/] [@click=app.quit] \x1b[2J\x1b]52;c;eA==\x07 \u202e [/]\n\u200b日本"
KEYS = (
    *"123456789eqy ",
    *("enter", "escape", "tab", "shift+tab", "up", "down", "left", "right", "pageup", "pagedown"),
    *("ctrl+e", "ctrl+t", "ctrl+o", "backspace", "home", "end", "f1", "ctrl+p", "ctrl+u", "space"),
)
REQUESTS: tuple[Any, ...] = (
    command_request(HOSTILE, always_rule=f"bash({HOSTILE})", reason=HOSTILE, details={HOSTILE: HOSTILE}),
    command_request("pytest -q", always_rule="bash(pytest:*)"),
    command_request("rm -rf x", is_destructive=True, session_rule=""),
    edit_request(target=HOSTILE, tool=HOSTILE),
    PlanRequest(
        "p", f"# {HOSTILE}\n\n- {HOSTILE}\n\n| {HOSTILE} |\n| --- |\n\n```{HOSTILE}\n" * 9, PermissionMode.ASK
    ),
    QuestionRequest(
        "q",
        tuple(
            Question(HOSTILE, HOSTILE, (QuestionOption(HOSTILE, HOSTILE), QuestionOption("b")), several)
            for several in (True, False)
        ),
    ),
)


@pytest.mark.parametrize("seed", range(3 if os.environ.get("FORGE_FULL") else 1))
async def test_random_keys_around_prompts_cause_no_error(config: ForgeConfig, seed: int) -> None:
    chance = random.Random(seed)
    app = make_app(config)
    async with app.run_test(size=chance.choice([(80, 24), (60, 15), (120, 36)])) as pilot:
        await ready(pilot)
        for _ in range(8):
            request = chance.choice(REQUESTS)
            waiting = asyncio.ensure_future(app.chat.prompts.ask(request))
            await until(pilot, lambda: app.chat.query("#permission, #questions, #plan"))
            for _ in range(chance.randint(0, 12)):
                if chance.random() < 0.6:
                    app.clock.pass_(1)
                await pilot.press("space" if (key := chance.choice(KEYS)) == " " else key)
                if chance.random() < 0.1:
                    await pilot.resize_terminal(chance.randint(20, 130), chance.randint(5, 40))
            if chance.random() < 0.5:
                waiting.cancel()
            else:
                for _ in range(5):  # out of a digit, a line, a page, and at last out of the prompt
                    app.clock.pass_(1)
                    await pilot.press("escape")
            await asyncio.wait([waiting], timeout=180)
            assert waiting.done()
            await until(pilot, lambda: not app.chat.query("#permission, #questions, #plan"))
            while len(app.screen_stack) > 1:
                await pilot.press("escape")
        await until(pilot, lambda: app.focused is app.chat.composer)
        assert app.crash is None


async def test_no_typed_letter_is_lost_while_prompts_open_and_close(config: ForgeConfig) -> None:
    app = make_app(config)
    text = "please do not forget a single letter of this line, not 1 or 2 or 3"
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        for start in range(0, len(text), 11):
            request = REQUESTS[(start // 11) % len(REQUESTS)]
            waiting = asyncio.ensure_future(app.chat.prompts.ask(request))
            piece = text[start : start + 11]
            await type_text(pilot, piece[:4])
            await until(pilot, lambda: app.chat.query("#permission, #questions, #plan"))
            await until(pilot, lambda: isinstance(app.focused, Prompt))
            await type_text(pilot, piece[4:8])
            await until(pilot, lambda: app.chat.query_one(Prompt).is_writing)
            assert not waiting.done()
            app.clock.pass_(1)
            await pilot.press("escape", "escape")
            await asyncio.wait([waiting], timeout=60)
            reply = waiting.result()
            assert not isinstance(reply, QuestionReply) or reply.declined
            assert not isinstance(reply, PlanReply) or reply.answer is PlanAnswer.KEEP_PLANNING
            await until(pilot, lambda: app.focused is app.chat.composer)
            await type_text(pilot, piece[8:])
        assert app.chat.composer.text == text
