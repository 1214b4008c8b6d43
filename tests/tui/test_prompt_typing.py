"""Typing at a prompt never approves: text becomes the reason, whenever and however it arrives."""

from __future__ import annotations

import asyncio

import pytest
from textual import events
from textual.pilot import Pilot

from forge_core.approval import Answer, ApprovalReply, QuestionReply
from forge_core.config.forge_config import ForgeConfig
from forge_tui.screens.prompts.permission import PermissionPrompt
from forge_tui.screens.prompts.prompt import Prompt
from forge_tui.screens.prompts.question import QuestionPrompt
from forge_tui.widgets.line_input import LineInput
from tests.support.asking import BOTH, ONE, SEVERAL, ask, asking
from tests.support.chat_app import (
    ChatApp,
    command_request,
    make_app,
    pass_until,
    ready,
    say,
    shown,
    type_text,
    until,
)
from tests.support.scripted_session import Gate, answer

pytestmark = [pytest.mark.slow, pytest.mark.sampled]


REQUEST = command_request(always_rule="bash(pytest:*)")


def line(app: ChatApp) -> str | None:
    """What the prompt's line holds; None while it is closed."""
    prompt = app.chat.query_one(Prompt)
    return app.chat.query_one(LineInput).value if prompt.is_writing else None


def burst(app: ChatApp, text: str, *keys: str) -> None:
    """Keys that arrive at once, without the app having a chance to work in between."""
    for character in text:
        app.post_message(events.Key("space" if character == " " else character, character))
    for key in keys:
        app.post_message(events.Key(key, "\r" if key == "enter" else None))


async def typing_when_asked(pilot: Pilot[None], app: ChatApp, gate: Gate, text: str) -> None:
    """Type at the composer while Forge works, and have it ask in the middle of that."""
    await ready(pilot)
    await say(pilot, "do it")
    await until(pilot, gate.reached.is_set)
    await type_text(pilot, text)
    gate.open()
    await until(pilot, lambda: isinstance(app.focused, PermissionPrompt) and app.focused.size)


def gated(config: ForgeConfig) -> tuple[ChatApp, Gate]:
    gate = Gate()
    return make_app(config, [[gate, REQUEST, *answer("went on")]]), gate


# Text is the reason


@pytest.mark.parametrize("pause_s", [0.0, 0.4, 0.8, 5.0, 60.0])
@pytest.mark.parametrize("is_armed", [True, False])
async def test_typed_text_becomes_the_reason_for_a_denial(
    config: ForgeConfig, pause_s: float, is_armed: bool
) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot, armed=is_armed)
        await type_text(pilot, "no, use tox")
        assert "No, because: no, use tox" in shown(app)
        app.clock.pass_(pause_s)
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.replies == [ApprovalReply(Answer.NO, "no, use tox")])


@pytest.mark.parametrize("text", ["add 1", "yes, but", "e", "2 spaces, please", "12", "9", "1.", " 1"])
async def test_letters_digits_and_spaces_extend_existing_text_and_do_not_answer(
    config: ForgeConfig, text: str
) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        await type_text(pilot, text)
        app.clock.pass_(5)
        await pilot.pause()
        assert app.scripted.replies == [] and line(app) == text
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.replies == [ApprovalReply(Answer.NO, text.strip())])


@pytest.mark.parametrize("word", ["y", "Yes"])
async def test_a_bare_yes_is_no_reason_and_the_prompt_names_the_keys(config: ForgeConfig, word: str) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        await type_text(pilot, word)
        app.clock.pass_(5)
        await pilot.press("enter")
        await until(pilot, lambda: "1 allows it once, Esc says no" in shown(app))
        assert app.scripted.replies == [] and line(app) is None
        assert app.chat.composer.is_blank, "the word is no message either"
        await pilot.press("1")
        app.clock.pass_(5)
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.replies == [ApprovalReply(Answer.ONCE)])


async def test_a_digit_after_a_typing_pause_does_not_answer(config: ForgeConfig) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        await type_text(pilot, "add ")
        app.clock.pass_(0.8)
        await type_text(pilot, "1")
        app.clock.pass_(5)
        await pilot.pause()
        assert app.scripted.replies == [] and line(app) == "add 1"


async def test_a_burst_of_text_and_enter_denies_with_that_text(config: ForgeConfig) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        burst(app, "2 spaces, please", "home", "enter")
        await until(pilot, lambda: app.scripted.replies == [ApprovalReply(Answer.NO, "2 spaces, please")])


@pytest.mark.parametrize("text", ["1\n3 things", "1", "yes, so\n", "\n1\n", "2"])
async def test_a_paste_at_a_permission_prompt_is_text(config: ForgeConfig, text: str) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        app.post_message(events.Paste(text))
        await until(pilot, lambda: line(app) == text.strip("\n").replace("\n", "⏎"))
        app.clock.pass_(5)
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.replies == [ApprovalReply(Answer.NO, text.strip())])


async def test_a_paste_too_long_for_the_line_goes_to_the_composer(config: ForgeConfig) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        app.post_message(events.Paste("1 word " * 3_000))
        await until(pilot, lambda: len(app.chat.composer.text) == 21_000)
        app.clock.pass_(5)
        await pilot.press("enter", "enter")
        await until(pilot, lambda: app.scripted.replies)
        assert [reply.answer for reply in app.scripted.replies] == [Answer.NO]


async def test_keys_right_after_a_paste_follow_it(config: ForgeConfig) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        for event in (events.Paste("first "), events.Key("1", "1"), events.Paste(" y"), events.Key("z", "z")):
            app.post_message(event)
        await until(pilot, lambda: line(app) == "first 1 yz")
        assert app.scripted.replies == []


@pytest.mark.parametrize("is_armed", [True, False])
async def test_new_line_keys_insert_a_new_line_and_do_not_answer(config: ForgeConfig, is_armed: bool) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot, armed=is_armed)
        await pilot.press("ctrl+j", "a", "shift+enter", "alt+enter", "b", "ctrl+enter", "backspace")
        app.post_message(events.Key("shift+\r", "\r"))
        await until(pilot, lambda: line(app) == "⏎a⏎⏎b⏎")
        await pilot.press("escape")
        await until(pilot, lambda: app.chat.composer.text == "\na\n\nb\n")
        assert app.scripted.replies == []


@pytest.mark.parametrize("name", ["ctrl+1", "alt+1", "super+1", "left_shift", "f5", "ctrl+y"])
async def test_keys_with_modifiers_do_not_answer(config: ForgeConfig, name: str) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        app.post_message(events.Key(name, None))
        await pilot.pause()
        app.clock.pass_(5)
        await pilot.pause()
        assert app.scripted.replies == [] and line(app) is None


# Back to the composer


async def test_escape_moves_the_text_to_the_composer_and_focus_to_the_prompt(config: ForgeConfig) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        await type_text(pilot, "use 1 tab")
        await pilot.press("escape")
        assert line(app) is None and app.chat.composer.text == "use 1 tab"
        assert app.scripted.replies == []
        await pilot.press("1", "enter")
        await until(pilot, lambda: app.scripted.replies == [ApprovalReply(Answer.ONCE)])
        await until(pilot, lambda: app.focused is app.chat.composer)
        assert app.chat.composer.text == "use 1 tab"


@pytest.mark.parametrize("keys", [("x", "escape"), ("x", "backspace")])
async def test_enter_denies_after_typed_text_was_deleted(config: ForgeConfig, keys: tuple[str, ...]) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        await pilot.press(*keys)
        app.clock.pass_(5)
        await pilot.press("enter", "enter")
        await until(pilot, lambda: app.scripted.replies == [ApprovalReply(Answer.NO)])


async def test_arrows_change_the_choice_only_when_the_line_is_empty(config: ForgeConfig) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        await pilot.press("x", "up", "down", "left", "up")
        assert line(app) == "x"
        await pilot.press("delete", "up")
        assert line(app) is None and "❯ 4 no" in shown(app)
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.replies == [ApprovalReply(Answer.NO)])


async def test_text_typed_into_a_cancelled_prompt_moves_to_the_composer(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        waiting = asyncio.ensure_future(app.chat.prompts.ask(REQUEST))
        await until(pilot, lambda: isinstance(app.focused, PermissionPrompt))
        app.clock.pass_(1)
        await type_text(pilot, "not this")
        waiting.cancel()
        await until(pilot, lambda: app.focused is app.chat.composer)
        assert app.chat.composer.text == "not this"


# Digits


@pytest.mark.parametrize(
    ("digit", "wanted"), [("1", Answer.ONCE), ("2", Answer.SESSION), ("3", Answer.ALWAYS), ("4", Answer.NO)]
)
async def test_a_digit_answers_when_no_other_key_follows(
    config: ForgeConfig, digit: str, wanted: Answer
) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        await pilot.press(digit)
        assert f"❯ {digit} " in shown(app) and app.scripted.replies == []
        await pass_until(app, pilot, lambda: app.scripted.replies == [ApprovalReply(wanted)])


async def test_a_digit_waits_half_a_second_before_it_answers(config: ForgeConfig) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        await pilot.press("1")
        for _ in range(3):
            app.clock.pass_(0.12)
            await pilot.pause(0.1)  # the ticks that look at the clock
            assert app.scripted.replies == []
        await type_text(pilot, " more time")
        assert line(app) == "1 more time" and app.scripted.replies == []


async def test_a_digit_does_not_answer_right_after_the_app_was_blocked(config: ForgeConfig) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        await pilot.press("1")
        app.clock.pass_(3)  # as after a stall: keys may still be unread
        await pilot.pause(0.12)
        assert app.scripted.replies == []
        await type_text(pilot, "st draft")
        assert line(app) == "1st draft"


@pytest.mark.parametrize("key", ["escape", "backspace"])
async def test_a_digit_can_be_cancelled(config: ForgeConfig, key: str) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        await pilot.press("down", "1", key)
        assert "❯ 2 session" in shown(app)
        app.clock.pass_(5)
        await pilot.pause(0.12)
        assert app.scripted.replies == [] and line(app) is None


async def test_a_held_digit_key_is_text(config: ForgeConfig) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        burst(app, "1" * 20)
        await until(pilot, lambda: line(app) == "1" * 20)
        assert app.scripted.replies == []


async def test_an_early_digit_does_not_answer_and_shows_a_note(config: ForgeConfig) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot, armed=False)
        await pilot.press("1", "enter")
        await pass_until(app, pilot, lambda: "Press 1 again to answer" in shown(app))
        assert app.scripted.replies == [] and line(app) is None
        app.clock.pass_(1)
        await pilot.press("1", "enter")
        await until(pilot, lambda: app.scripted.replies == [ApprovalReply(Answer.ONCE)])


# A message that was being typed


@pytest.mark.parametrize("pause_s", [0.0, 0.4, 0.8, 2.5])
@pytest.mark.parametrize("rest", ["1", "1 more thing", "", "2", "x"])
async def test_a_half_typed_message_continues_in_the_line_of_the_prompt(
    config: ForgeConfig, rest: str, pause_s: float
) -> None:
    app, gate = gated(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await typing_when_asked(pilot, app, gate, "also add ")
        app.clock.pass_(pause_s)
        await type_text(pilot, rest)
        await pilot.press("enter")
        await pilot.pause()
        assert app.scripted.replies == [] and line(app) == f"also add {rest}"
        await pilot.press("escape")
        await until(pilot, lambda: app.chat.composer.text == f"also add {rest}")
        assert app.scripted.replies == []


async def test_enter_after_a_half_typed_message_never_approves(config: ForgeConfig) -> None:
    app, gate = gated(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await typing_when_asked(pilot, app, gate, "also this")
        app.clock.pass_(300)
        await pilot.press("enter", "enter", "enter")
        await until(pilot, lambda: app.scripted.replies)
        assert app.scripted.replies[0].answer is Answer.NO
        await until(pilot, lambda: app.focused is app.chat.composer)
        assert app.chat.composer.text == "also this" and app.scripted.sent == ["do it"]


async def test_enter_does_not_approve_when_the_message_was_typed_long_before(config: ForgeConfig) -> None:
    app, gate = gated(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "do it")
        await until(pilot, gate.reached.is_set)
        await type_text(pilot, "also this")
        app.clock.pass_(600)
        gate.open()
        await until(pilot, lambda: isinstance(app.focused, PermissionPrompt) and app.focused.size)
        app.clock.pass_(1)
        await pilot.press("enter")
        await pilot.pause()
        assert app.scripted.replies == []
        await pilot.press("escape", "1", "enter")
        await until(pilot, lambda: app.scripted.replies == [ApprovalReply(Answer.ONCE)])


@pytest.mark.parametrize("key", ["ctrl+f", "ctrl+p", "f1"])
async def test_enter_meant_for_a_screen_the_prompt_closed_does_not_approve(
    config: ForgeConfig, key: str
) -> None:
    app, gate = gated(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "do it")
        await until(pilot, gate.reached.is_set)
        await pilot.press(key)
        await until(pilot, lambda: app.focused is not app.chat.composer)
        gate.open()
        await until(pilot, lambda: isinstance(app.focused, PermissionPrompt) and app.focused.size)
        app.clock.pass_(1)
        await pilot.press("enter")
        await pilot.pause()
        assert app.scripted.replies == []


async def test_keys_typed_while_a_prompt_opens_keep_their_order(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        asked = asyncio.ensure_future(app.chat.prompts.ask(REQUEST))
        text = "no, not 1 of these 22 files, please"
        for character in text:
            burst(app, character)
            await asyncio.sleep(0)
        await until(pilot, lambda: isinstance(app.focused, PermissionPrompt) and line(app) == text)
        assert not asked.done()
        asked.cancel()


async def test_backspace_edits_a_half_typed_message(config: ForgeConfig) -> None:
    app, gate = gated(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await typing_when_asked(pilot, app, gate, "one\ntwp"[:3])
        await pilot.press("backspace", "d", "e")
        await until(pilot, lambda: line(app) == "onde")


async def test_digits_answer_when_a_half_typed_message_has_been_idle(config: ForgeConfig) -> None:
    app, gate = gated(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await typing_when_asked(pilot, app, gate, "later")
        assert "Keys continue your message" in shown(app)
        app.clock.pass_(4)
        await pilot.press("1", "enter")
        await until(pilot, lambda: app.scripted.replies == [ApprovalReply(Answer.ONCE)])
        await until(pilot, lambda: app.focused is app.chat.composer)
        assert app.chat.composer.text == "later"


async def test_arrows_and_enter_answer_despite_a_half_typed_message(config: ForgeConfig) -> None:
    app, gate = gated(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await typing_when_asked(pilot, app, gate, "later")
        app.clock.pass_(1)
        await pilot.press("up", "up", "up", "up", "enter")
        await until(pilot, lambda: app.scripted.replies == [ApprovalReply(Answer.ONCE)])


# Keys that are held, and what comes after


async def test_a_held_enter_does_not_answer_a_prompt_that_opens_meanwhile(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        first = asyncio.ensure_future(app.chat.prompts.ask(REQUEST))
        second = asyncio.ensure_future(app.chat.prompts.ask(REQUEST))
        await until(pilot, lambda: isinstance(app.focused, PermissionPrompt))
        for _ in range(40):
            app.clock.pass_(0.1)
            await pilot.press("enter")
        assert not first.done()
        app.clock.pass_(1)
        await pilot.press("enter")
        assert await first == ApprovalReply(Answer.ONCE)
        await until(pilot, lambda: "$ pytest -q" in shown(app) and "more waiting" not in shown(app))
        for _ in range(20):
            app.clock.pass_(0.1)
            await pilot.press("enter")
        assert not second.done()
        second.cancel()


@pytest.mark.parametrize("keys", [["1"], ["1", "enter"], ["n", "o"]])
async def test_typing_continues_in_the_next_prompt_without_an_answer(
    config: ForgeConfig, keys: list[str]
) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        first = asyncio.ensure_future(app.chat.prompts.ask(REQUEST))
        second = asyncio.ensure_future(app.chat.prompts.ask(REQUEST))
        await until(pilot, lambda: isinstance(app.focused, PermissionPrompt))
        app.clock.pass_(1)
        await pilot.press("4", "enter")
        assert await first == ApprovalReply(Answer.NO)
        await until(pilot, lambda: isinstance(app.focused, PermissionPrompt) and app.focused.size)
        await pilot.press(*keys)
        await pilot.pause()
        assert not second.done()
        second.cancel()


async def test_enter_right_after_an_answer_does_not_send_the_draft(config: ForgeConfig) -> None:
    app, gate = gated(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await typing_when_asked(pilot, app, gate, "half a mess")
        app.clock.pass_(5)
        await pilot.press("1", "enter")
        await until(pilot, lambda: app.focused is app.chat.composer)
        for _ in range(5):
            app.clock.pass_(0.1)
            await pilot.press("enter")
        assert app.scripted.sent == ["do it"] and app.chat.composer.text == "half a mess"
        await type_text(pilot, "age")
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.sent == ["do it", "half a message"])


async def test_text_typed_right_after_the_answering_enter_goes_to_the_composer(
    config: ForgeConfig,
) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        burst(app, "no", "enter")
        burst(app, "hello 1", "enter")
        await until(pilot, lambda: app.scripted.replies == [ApprovalReply(Answer.NO, "no")])
        await until(pilot, lambda: app.chat.composer.text == "hello 1")
        assert len(app.scripted.sent) == 1


async def test_a_key_pressed_before_the_prompt_could_be_seen_does_not_answer(config: ForgeConfig) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        late = events.Key("enter", "\r")
        late.time -= 2  # it has waited that long in the queue
        app.post_message(late)
        await pilot.pause()
        assert app.scripted.replies == []


async def test_a_click_reported_before_its_focus_event_does_not_answer(config: ForgeConfig) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        app.post_message(events.AppBlur())
        await pilot.pause()
        await pilot.click("PermissionPrompt ChoiceList", offset=(5, 0))
        await pilot.pause()
        assert app.scripted.replies == []


async def test_ctrl_c_interrupts_within_the_first_half_second(config: ForgeConfig) -> None:
    app = asking(config, REQUEST)
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot, armed=False)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not app.chat.has_turn)
        assert app.scripted.replies == []


# Questions


async def test_text_typed_at_a_question_is_a_custom_answer(config: ForgeConfig) -> None:
    app = asking(config, ONE)
    async with app.run_test(size=(80, 24)) as pilot:
        await questions(pilot, app)
        await type_text(pilot, "2 of them, ")
        app.clock.pass_(5)
        await type_text(pilot, "1 each")
        await pilot.press("enter")
        wanted = QuestionReply((("2 of them, 1 each",),))
        await until(pilot, lambda: app.scripted.answers == [wanted])


async def test_escape_moves_the_text_typed_at_a_question_to_the_composer(config: ForgeConfig) -> None:
    app = asking(config, SEVERAL)
    async with app.run_test(size=(80, 24)) as pilot:
        await questions(pilot, app)
        await type_text(pilot, "12 or so")
        assert line(app) == "12 or so" and "[x]" not in shown(app)
        await pilot.press("escape")
        assert app.chat.composer.text == "12 or so" and line(app) is None
        await pilot.press("enter")
        await pilot.pause()
        assert app.scripted.answers == [] and line(app) == ""


async def test_a_held_enter_key_answers_only_one_question(config: ForgeConfig) -> None:
    app = asking(config, BOTH)
    async with app.run_test(size=(80, 24)) as pilot:
        await questions(pilot, app)
        for _ in range(30):
            await pilot.press("enter")
            app.clock.pass_(0.03)
        assert app.scripted.answers == [] and "✓ Database   ○ Checks" in shown(app)


async def test_text_typed_at_the_review_declines_with_that_reason(config: ForgeConfig) -> None:
    app = asking(config, BOTH)
    async with app.run_test(size=(80, 24)) as pilot:
        await questions(pilot, app)
        await pilot.press("shift+tab")
        await type_text(pilot, "wait, 1 moment")
        assert "No answers, because: wait, 1 moment" in shown(app)
        await pilot.press("enter")
        wanted = QuestionReply(declined=True, reason="wait, 1 moment")
        await until(pilot, lambda: app.scripted.answers == [wanted])


async def questions(pilot: Pilot[None], app: ChatApp) -> None:
    await ready(pilot)
    await say(pilot, "do it")
    await until(pilot, lambda: isinstance(app.focused, QuestionPrompt) and app.focused.is_answerable)
    app.clock.pass_(1)
