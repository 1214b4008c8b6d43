"""The permission prompt: exact text, safe defaults, no accidental answer, one prompt at a time."""

from __future__ import annotations

import asyncio
import re

import pytest
from textual import events

from forge_core.approval import (
    Answer,
    ApprovalReply,
    Effect,
)
from forge_core.config.forge_config import ForgeConfig
from forge_core.events import LLMStart
from forge_tui.screens.prompts.permission import PermissionPrompt
from forge_tui.screens.prompts.request_text import body_of, options_of, title_of
from forge_tui.widgets.exact_text import diff_lines, exact_rows
from forge_tui.widgets.line_input import LineInput
from tests.support.asking import ask, asking
from tests.support.chat_app import (
    command_request,
    edit_request,
    make_app,
    pass_until,
    press_until,
    ready,
    say,
    shown,
    type_text,
    until,
)
from tests.support.scripted_session import Gate, answer
from tests.support.tool_events import tool_start

pytestmark = pytest.mark.slow


# What is shown


def test_titles_name_the_action_of_the_request() -> None:
    assert title_of(command_request()) == "Forge wants to run a command"
    assert title_of(command_request(agent="explore\x1b")) == "Agent explore␛ wants to run a command"
    assert title_of(edit_request()) == "Forge wants to edit a file"
    creating = edit_request(tool="write", action="create or replace a file")
    assert title_of(creating) == "Forge wants to create or replace a file"
    assert title_of(command_request(effect=Effect.READ, action="read a file")) == "Forge wants to read a file"
    fetch = command_request(effect=Effect.NETWORK, tool="fetch", action="")
    assert title_of(fetch) == "Forge wants to use the network with fetch"


def test_an_empty_session_rule_is_not_offered() -> None:
    assert [option.label for option in options_of(command_request(session_rule=""))] == [
        "Yes, once",
        "No",
        "No, and tell it why",
    ]


def test_a_diff_keeps_signs_and_roles() -> None:
    rows = exact_rows(diff_lines("@@ -1 +1 @@\n-old\n+new\n same\n"), 40)
    assert ["".join(text for _, text in row) for row in rows] == ["@@ -1 +1 @@", "- old", "+ new", "  same"]
    assert [row[-1][0] for row in rows] == ["hunk", "removed", "added", "plain"]


def test_a_tool_without_a_diff_shows_its_arguments() -> None:
    request = command_request(
        effect=Effect.NETWORK, tool="fetch", arguments={"url": "http://x", "body": "a\nb"}
    )
    texts = [line.text for line in body_of(request)]
    assert texts == ["pytest -q", "url: http://x", "body: a", "b"]


async def test_the_prompt_below_the_conversation_shows_the_whole_request(config: ForgeConfig) -> None:
    app = asking(config, command_request())
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        screen = shown(app)
        for text in (
            "do it",
            "Forge wants to run a command",
            "$ pytest -q",
            "commands ask first",
            "❯ 1 once   2 session   4 no   5 no, because…",
            "  2 allows bash(pytest tests:*)",
        ):
            assert text in screen
        assert not app.chat.composer.display


async def test_the_clock_of_the_call_is_stopped_until_the_answer(config: ForgeConfig) -> None:
    gate = Gate()
    call = tool_start("c1", "bash", {"command": "pytest -q"}, timestamp=1000.0)
    script = [LLMStart(iteration=1, model="m"), call, command_request(), gate, *answer("went on")]
    app = make_app(config, [script])
    async with app.run_test(size=(100, 30)) as pilot:
        transcript = (await ready(pilot)).chat.transcript
        transcript.clock = app.clock
        await ask(pilot)
        app.clock.pass_(40)
        transcript._tick()
        assert "● Run pytest -q\n" in shown(app)
        await press_until(pilot, "enter", gate.reached.is_set)
        app.clock.pass_(7)
        transcript._tick()
        await until(pilot, lambda: re.search(r"● Run pytest -q +7 s\n", shown(app)))
        gate.open()


async def test_an_edit_shows_its_diff(config: ForgeConfig) -> None:
    app = asking(config, edit_request())
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        screen = shown(app)
        assert "Forge wants to edit a file" in screen and "src/greet.py" in screen
        assert "-     return 'Hello ' + name" in screen
        assert "+     return f'Hello, {name}!'" in screen


@pytest.mark.parametrize("size", [(60, 15), (80, 24)])
async def test_the_answers_are_visible_on_a_small_terminal_below_a_long_command(
    config: ForgeConfig, size: tuple[int, int]
) -> None:
    command = "\n".join(f"echo line {number}" for number in range(100))
    app = asking(config, command_request(command))
    async with app.run_test(size=size) as pilot:
        await ask(pilot)
        screen = shown(app)
        assert "$ echo line 0" in screen and "100 lines" in screen
        for text in ("1 Yes, once", "4 No", "5 No, and tell it why"):
            assert text in screen
        await press_until(pilot, "pagedown", lambda: "echo line 99" in shown(app))
        assert "echo line 99" in shown(app)


async def test_markup_in_a_request_is_shown_literally(config: ForgeConfig) -> None:
    request = command_request("echo [/x] [bold]y", reason="[red]why[/]", session_rule="bash([/z])")
    app = asking(config, request)
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        screen = shown(app)
        assert "echo [/x] [bold]y" in screen and "[red]why[/]" in screen and "bash([/z])" in screen


# Answers


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        (["enter"], Answer.ONCE),
        (["1"], Answer.ONCE),
        (["2"], Answer.SESSION),
        (["down", "enter"], Answer.SESSION),
        (["4"], Answer.NO),
        (["escape"], Answer.NO),
    ],
)
async def test_keys_answer(config: ForgeConfig, keys: list[str], wanted: Answer) -> None:
    app = asking(config, command_request())
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        await pilot.press(*keys)
        await pass_until(app, pilot, lambda: app.scripted.replies)
        assert app.scripted.replies == [ApprovalReply(wanted)]
        await until(pilot, lambda: "went on" in shown(app))
        assert app.chat.composer.display and app.focused is app.chat.composer


@pytest.mark.parametrize(("keys", "answer"), [(["down"], Answer.SESSION), (["down", "down"], Answer.ALWAYS)])
async def test_an_edited_rule_is_checked_for_its_answer(
    config: ForgeConfig, keys: list[str], answer: Answer
) -> None:
    app = asking(config, command_request(always_rule="bash(pytest tests:*)"))
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        await pilot.press(*keys, "tab", "backspace", "backspace", "backspace")
        await type_text(pilot, "/unit:*)")
        await pilot.press("enter")
        if answer is Answer.SESSION:
            await until(pilot, lambda: app.scripted.replies)
            assert app.scripted.replies == [ApprovalReply(answer, rule="bash(pytest tests/unit:*)")]
        else:
            await until(pilot, lambda: "would allow too much" in shown(app))
            assert app.scripted.replies == []


async def test_a_refusal_can_have_a_reason(config: ForgeConfig) -> None:
    app = asking(config, command_request())
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        await pilot.press("5", "enter")
        await type_text(pilot, "use 1 make target")
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.replies)
        assert app.scripted.replies == [ApprovalReply(Answer.NO, "use 1 make target")]


async def test_escape_while_typing_a_reason_returns_to_the_prompt(config: ForgeConfig) -> None:
    app = asking(config, command_request())
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        await pilot.press("5", "enter", "x", "escape")
        await until(pilot, lambda: app.chat.composer.text == "x")
        assert app.scripted.replies == []
        await pilot.press("1", "enter")
        await until(pilot, lambda: app.scripted.replies == [ApprovalReply(Answer.ONCE)])


async def test_escape_while_asking_denies_and_does_not_interrupt(config: ForgeConfig) -> None:
    app = asking(config, command_request())
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: "went on" in shown(app))
        assert app.scripted.replies == [ApprovalReply(Answer.NO)]


async def test_no_is_preselected_for_a_destructive_request(config: ForgeConfig) -> None:
    app = asking(config, command_request("rm -rf build", is_destructive=True))
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        assert "❯ 4 no" in shown(app)
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.replies == [ApprovalReply(Answer.NO)])


async def test_a_click_answers(config: ForgeConfig) -> None:
    app = asking(config, command_request())
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        await pilot.click("PermissionPrompt ChoiceList", offset=(14, 0))
        await until(pilot, lambda: app.scripted.replies == [ApprovalReply(Answer.SESSION)])
        assert app.scripted.replies == [ApprovalReply(Answer.SESSION)]


# No answer by accident


async def test_a_click_in_the_first_half_second_does_not_answer(config: ForgeConfig) -> None:
    app = asking(config, command_request())
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot, armed=False)
        await pilot.click("PermissionPrompt ChoiceList", offset=(5, 0))
        await pilot.pause()
        assert app.scripted.replies == []


async def test_a_click_that_only_brings_the_terminal_to_the_front_does_not_answer(
    config: ForgeConfig,
) -> None:
    app = asking(config, command_request())
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        app.post_message(events.AppBlur())
        await pilot.pause()
        app.post_message(events.AppFocus())
        await pilot.pause()
        await pilot.click("PermissionPrompt ChoiceList", offset=(5, 0))
        await pilot.pause()
        assert app.scripted.replies == []


async def test_other_letters_are_typed_into_the_prompt_and_do_not_answer(config: ForgeConfig) -> None:
    app = asking(config, command_request())
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        await type_text(pilot, "yes please")
        app.post_message(events.Key("ideographic_space", "\u3000"))
        await type_text(pilot, "6 9")
        await pilot.press("tab", "shift+tab", "f1", "ctrl+p")
        await pilot.pause()
        assert app.scripted.replies == []
        assert isinstance(app.focused, PermissionPrompt)
        assert len(app.screen_stack) == 1
        assert app.chat.query_one(LineInput).value == "yes please\u30006 9"


async def test_the_draft_is_kept_while_a_prompt_is_open(config: ForgeConfig) -> None:
    gate = Gate()
    app = make_app(config, [[gate, command_request(), *answer("went on")]])
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "do it")
        await until(pilot, gate.reached.is_set)
        await type_text(pilot, "my next tho")
        gate.open()
        await until(pilot, lambda: isinstance(app.focused, PermissionPrompt))
        app.clock.pass_(5)
        await pilot.press("1", "enter")
        await until(pilot, lambda: app.focused is app.chat.composer)
        assert app.scripted.replies == [ApprovalReply(Answer.ONCE)]
        await type_text(pilot, "ught")
        assert app.chat.composer.text == "my next thought"


async def test_a_prompt_closes_the_overlays_of_the_conversation(config: ForgeConfig) -> None:
    gate = Gate()
    app = make_app(config, [[gate, command_request(), *answer("went on")]])
    async with app.run_test(size=(100, 40)) as pilot:
        await ready(pilot)
        await say(pilot, "do it")
        await until(pilot, gate.reached.is_set)
        await pilot.press("f1")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        gate.open()
        await until(pilot, lambda: isinstance(app.focused, PermissionPrompt))
        assert len(app.screen_stack) == 1
        assert "Forge wants to run a command" in shown(app)


# Several, and interrupts


async def test_ctrl_c_interrupts_and_removes_the_prompt(config: ForgeConfig) -> None:
    app = asking(config, command_request())
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not app.chat.has_turn)
        await until(pilot, lambda: not app.chat.query(PermissionPrompt))
        assert app.scripted.replies == []
        assert app.chat.composer.display and app.focused is app.chat.composer


async def test_requests_are_asked_one_at_a_time_with_a_count(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        first = asyncio.create_task(app.chat.prompts.ask(command_request("one")))
        second = asyncio.create_task(app.chat.prompts.ask(command_request("two")))
        third = asyncio.create_task(app.chat.prompts.ask(command_request("three")))
        await until(pilot, lambda: "(2 more waiting)" in shown(app))
        assert "$ one" in shown(app) and len(app.chat.query(PermissionPrompt)) == 1
        third.cancel()
        await until(pilot, lambda: "(1 more waiting)" in shown(app))
        app.clock.pass_(1)
        await pilot.press("1", "enter")
        assert await first == ApprovalReply(Answer.ONCE)
        await until(pilot, lambda: "$ two" in shown(app))
        assert "waiting)" not in shown(app)
        await until(pilot, lambda: isinstance(app.focused, PermissionPrompt))
        await pilot.press("1", "enter")
        assert not second.done()
        app.clock.pass_(1)
        await pilot.press("4", "enter")
        assert await second == ApprovalReply(Answer.NO)
        await until(pilot, lambda: app.focused is app.chat.composer)


async def test_a_cancelled_wait_removes_the_prompt_and_remains_cancelled(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        waiting = asyncio.create_task(app.chat.prompts.ask(command_request()))
        await until(pilot, lambda: app.chat.query(PermissionPrompt))
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await until(pilot, lambda: not app.chat.query(PermissionPrompt))
        await type_text(pilot, "free again")
        assert app.chat.composer.text == "free again"


async def test_a_wait_that_is_cancelled_immediately_leaves_no_prompt(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        waiting = asyncio.create_task(app.chat.prompts.ask(command_request()))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await pilot.pause()
        assert not app.chat.query(PermissionPrompt)
        assert app.chat.composer.display
