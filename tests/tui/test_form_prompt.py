"""Forms and pages of MCP servers: filled in, checked, declined, cancelled, and longer than the screen."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.pilot import Pilot

from forge_core.approval import AnswerRule, Question, QuestionOption, QuestionReply, QuestionRequest
from forge_core.config.forge_config import ForgeConfig
from forge_tui.screens.prompts.question import QuestionPrompt
from tests.support.asking import ask_questions, asking
from tests.support.chat_app import ChatApp, pass_until, shown, until
from tests.support.hostile import ESCAPES

pytestmark = [pytest.mark.slow, pytest.mark.sampled]

BRANCH = Question("Release it?\n\nBranch", "Branch", (), default=("main",), is_required=True)
COUNT = Question("Count", "Count", (), words=AnswerRule(kind="integer", least=1, most=5), is_required=True)
FORCE = Question("Force", "Force", (QuestionOption("Yes"), QuestionOption("No")), words=None, default=("No",))
TAGS = Question(
    "Tags", "Tags", (QuestionOption("A"), QuestionOption("B")), True, words=None, is_required=True, most=1
)
NOTE = Question("Note", "Note", ())
FORM = QuestionRequest("q1", (BRANCH, COUNT, FORCE, TAGS, NOTE), "bench", is_form=True)
PAGE = QuestionRequest(
    "q1",
    (
        Question(
            "It wants you to open a page of example.org\nhttps://example.org/a",
            "Page",
            (QuestionOption("Do not open it"), QuestionOption("Open it in the browser", "example.org")),
            words=None,
        ),
    ),
    "bench",
)


async def press(app: ChatApp, pilot: Pilot[None], keys: list[str]) -> None:
    """Press keys; "pass" waits until the next question takes keys."""
    prompt = app.chat.query_one(QuestionPrompt)
    for key in keys:
        if key == "pass":
            await pass_until(app, pilot, lambda: not prompt.held)
            await pilot.pause()
            app.clock.pass_(1)
        await until(pilot, lambda: not prompt.is_attached or prompt.is_answerable)
        if key != "pass":
            await pilot.press("space" if key == " " else key)


@pytest.mark.parametrize(
    ("request_", "keys", "reply"),
    [
        pytest.param(
            FORM,
            [
                *("enter", *"dev", "enter", "pass"),
                *(*"12", "enter", "backspace", "enter", "pass"),
                *("space", "space", "space", "enter", "pass"),
                *("enter", "pass", "enter", "pass", "enter"),
            ],
            QuestionReply((("maindev",), ("1",), ("No",), ("A",), ())),
            id="filled-in",
        ),
        pytest.param(FORM, ["shift+tab", "2", "enter"], QuestionReply(declined=True), id="declined"),
        pytest.param(FORM, ["tab", "escape"], QuestionReply(declined=True, cancelled=True), id="cancelled"),
        pytest.param(PAGE, ["enter"], QuestionReply((("Do not open it",),)), id="page-enter"),
        pytest.param(PAGE, ["2", "enter"], QuestionReply((("Open it in the browser",),)), id="page-open"),
        pytest.param(
            PAGE,
            [*"yes", "enter", "escape", "escape"],
            QuestionReply(declined=True, cancelled=True),
            id="page-words",
        ),
    ],
)
async def test_keys_answer_a_server(
    config: ForgeConfig, request_: QuestionRequest, keys: list[str], reply: QuestionReply
) -> None:
    app = asking(config, request_)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask_questions(pilot)
        assert "The MCP server bench asks" in shown(app)
        await press(app, pilot, keys)
        await pass_until(app, pilot, lambda: bool(app.scripted.answers))
        assert app.scripted.answers == [reply]


async def test_wrong_answers_of_a_form_are_not_sent(config: ForgeConfig) -> None:
    app = asking(config, FORM)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask_questions(pilot)
        assert "❯ main" in shown(app)
        await press(app, pilot, ["tab", *"seven", "enter"])
        await until(pilot, lambda: "'seven' is not a whole number from 1 to 5." in shown(app))
        await press(app, pilot, ["escape", "shift+tab", "shift+tab", "pass", "1", "enter"])
        await until(pilot, lambda: "Count needs an answer." in shown(app))
        await press(app, pilot, ["pass", "tab", "tab", "space", "down", "space", "enter"])
        await until(pilot, lambda: "Tags takes at most 1 answer." in shown(app))
        assert app.scripted.answers == []


async def test_a_long_form_scrolls_and_escapes_of_it_do_not_reach_the_screen(config: ForgeConfig) -> None:
    long = "\n".join(f"line {number}" for number in range(60))
    hostile = " ".join(ESCAPES)
    options = tuple(QuestionOption(f"{number} {hostile}", hostile) for number in range(40))
    first = Question(long, hostile, options, words=None, default=(options[0].label,))
    request = QuestionRequest("q1", (first, *[replace(NOTE, header=hostile)] * 39), "bench", is_form=True)
    app = asking(config, request)
    async with app.run_test(size=(60, 18)) as pilot:
        await ask_questions(pilot)
        assert "1 of 40" in shown(app) and "line 0" in shown(app) and "line 59" not in shown(app)
        for _ in range(60):
            await pilot.press("pagedown")
        await until(pilot, lambda: "line 59" in shown(app))
        await press(app, pilot, ["up", "up", "shift+tab"])
        await until(pilot, lambda: "Send these answers" in shown(app))
        assert "\x1b" not in shown(app) and "\x9b" not in shown(app)
