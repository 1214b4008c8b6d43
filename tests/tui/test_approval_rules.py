"""Rules of the permission prompt: shown, editable before they are granted, checked at once."""

from __future__ import annotations

import pytest
from textual import events

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest
from forge_core.config.forge_config import ForgeConfig
from forge_tui.screens.prompts.full_view import FullView
from forge_tui.screens.prompts.permission import PermissionPrompt
from forge_tui.screens.prompts.request_text import body_of, options_of, warning_of
from forge_tui.widgets.line_input import LineInput
from tests.support.asking import ask, asking
from tests.support.chat_app import ChatApp, command_request, edit_request, shown, type_text, until

pytestmark = pytest.mark.slow


ALWAYS = "bash(pytest:*)"


def request(**changes: object) -> ApprovalRequest:
    return command_request(always_rule=ALWAYS, **changes)


def answered(app: ChatApp, *replies: ApprovalReply) -> bool:
    return app.scripted.replies == list(replies)


def test_an_answer_has_the_same_key_in_every_prompt() -> None:
    for asked in (
        request(),
        request(session_rule=""),
        command_request(),
        command_request(session_rule="", is_destructive=True),
    ):
        digits = {(option.answer, option.asks_why): option.digit for option in options_of(asked)}
        assert digits[Answer.ONCE, False] == 1
        assert digits.get((Answer.SESSION, False), 2) == 2
        assert digits.get((Answer.ALWAYS, False), 3) == 3
        assert digits[Answer.NO, False] == 4 and digits[Answer.NO, True] == 5


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        (["2", "enter"], ApprovalReply(Answer.SESSION)),
        (["3", "enter"], ApprovalReply(Answer.ALWAYS)),
        (["down", "down", "enter"], ApprovalReply(Answer.ALWAYS)),
        (["down", "tab", "enter"], ApprovalReply(Answer.SESSION)),
        (["down", "tab", "home", "X", "enter"], ApprovalReply(Answer.SESSION, rule="Xbash(pytest tests:*)")),
        (["down", "down", "tab", "backspace", "space", "x", ")", "enter"], "bash(pytest:* x)"),
        (["right", "right", "tab", "left", "backspace", "enter"], "bash(pytest:)"),
    ],
)
async def test_a_rule_is_granted_unchanged(
    config: ForgeConfig, keys: list[str], wanted: ApprovalReply | str
) -> None:
    app = asking(config, request())
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        await pilot.press(*keys)
        reply = ApprovalReply(Answer.ALWAYS, rule=wanted) if isinstance(wanted, str) else wanted
        await until(pilot, lambda: answered(app, reply))
        assert answered(app, reply)


async def test_an_invalid_rule_is_reported_and_can_be_corrected(config: ForgeConfig) -> None:
    app = asking(config, request())
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot)
        await pilot.press("down", "down", "tab", "backspace", "enter")
        await until(pilot, lambda: "Rule 'bash(pytest:*' cannot be read." in shown(app))
        assert app.scripted.replies == []
        assert app.chat.query_one(LineInput).value == "bash(pytest:*"
        await pilot.press("ctrl+u", "enter")
        await until(pilot, lambda: "The rule is empty" in shown(app))
        await type_text(pilot, "bash(ls)")
        await pilot.press("enter")
        await until(pilot, lambda: answered(app, ApprovalReply(Answer.ALWAYS, rule="bash(ls)")))


async def test_escape_restores_the_offered_rule(config: ForgeConfig) -> None:
    app = asking(config, request())
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot)
        await pilot.press("down", "down", "tab", "x", "y", "escape")
        await until(pilot, lambda: isinstance(app.focused, PermissionPrompt))
        assert app.scripted.replies == [] and f"project: {ALWAYS}" in shown(app)
        await pilot.press("enter")
        await until(pilot, lambda: answered(app, ApprovalReply(Answer.ALWAYS)))


@pytest.mark.parametrize("rows_down", [0, 1, 2])
async def test_no_letter_changes_a_rule(config: ForgeConfig, rows_down: int) -> None:
    app = asking(config, request())
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot)
        await pilot.press(*["down"] * rows_down, "e")
        await until(pilot, lambda: "No, because: e" in shown(app))
        await pilot.press("enter")
        await until(pilot, lambda: answered(app, ApprovalReply(Answer.NO, "e")))


async def test_a_rule_that_cannot_be_typed_cannot_be_edited(config: ForgeConfig) -> None:
    app = asking(config, request(session_rule="bash(=ls \x1b[2K\u202e\nrm)"))
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        await pilot.press("down", "tab")
        await until(pilot, lambda: "cannot be edited in one line" in shown(app))
        assert "␛[2K‹U+202E›" in shown(app) and "\u202e" not in shown(app)
        await pilot.press("enter")
        await until(pilot, lambda: answered(app, ApprovalReply(Answer.SESSION)))


async def test_text_pasted_into_a_rule_or_reason_becomes_one_sanitized_line(config: ForgeConfig) -> None:
    app = asking(config, request())
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        await pilot.press("5", "enter")
        app.post_message(events.Paste("use\x1b[2K make\n  and [red]not\u202e this\n"))
        await until(pilot, lambda: "make⏎  and [red]not" in shown(app))
        assert "\u202e" not in shown(app) and "\x1b" not in shown(app)
        await pilot.press("enter")
        await until(
            pilot, lambda: answered(app, ApprovalReply(Answer.NO, "use␛[2K make\n  and [red]not\\u202e this"))
        )


# All of it


async def test_the_full_view_shows_the_whole_request_and_its_keys_do_not_answer(config: ForgeConfig) -> None:
    command = "\n".join(f"echo line {number}" for number in range(100))
    app = asking(config, request(target=command, reason="because " * 100))
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot)
        await until(pilot, lambda: "more rows: PageDown, Ctrl+E" in shown(app))
        await pilot.press("ctrl+e")
        await until(pilot, lambda: isinstance(app.screen, FullView))
        await until(pilot, lambda: "echo line 20" in shown(app) and "Esc back to the answers" in shown(app))
        await pilot.press("1", "2", "3", "4", "5", "enter", "y", "n", "end")
        await until(pilot, lambda: "Answer 3 would allow:" in shown(app) and ALWAYS in shown(app))
        assert "because because" in shown(app)
        await pilot.press("home")
        await until(pilot, lambda: "$ echo line 0" in shown(app))
        await pilot.press("ctrl+e")
        await until(pilot, lambda: isinstance(app.focused, PermissionPrompt))
        assert app.scripted.replies == []
        await pilot.press("1", "enter")  # the grace begins again
        await pilot.pause()
        assert app.scripted.replies == []
        app.clock.pass_(1)
        await pilot.press("1", "enter")
        await until(pilot, lambda: answered(app, ApprovalReply(Answer.ONCE)))


async def test_the_full_view_closes_with_its_prompt(config: ForgeConfig) -> None:
    app = asking(config, request())
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot)
        await pilot.press("ctrl+e")
        await until(pilot, lambda: isinstance(app.screen, FullView))
        app.chat.interrupt()
        await until(pilot, lambda: not app.chat.has_turn and len(app.screen_stack) == 1)
        await until(pilot, lambda: app.focused is app.chat.composer)
        assert app.focused is app.chat.composer


async def test_the_count_of_hidden_rows_decreases_while_scrolling(config: ForgeConfig) -> None:
    command = "\n".join(f"echo line {number}" for number in range(20))
    app = asking(config, command_request(command))
    async with app.run_test(size=(100, 24)) as pilot:
        await ask(pilot)
        await until(pilot, lambda: "10 more rows" in shown(app))
        await pilot.press("pagedown")
        await until(pilot, lambda: "1 more row:" in shown(app))
        await pilot.press("pagedown")
        await until(pilot, lambda: "more row" not in shown(app) and "echo line 19" in shown(app))
        assert "more row" not in shown(app) and "echo line 19" in shown(app)


# Several files


def test_a_change_of_several_files_names_each(config: ForgeConfig) -> None:
    one = edit_request().diffs[0]
    asked = edit_request(
        tool="apply_patch",
        target="2 files",
        diffs=(one, type(one)("src/[red]\u202eb.py", "@@ -1 +1 @@\n-a\n+\u0430dmin\n", 1, 1)),
    )
    lines = [line.text for line in body_of(asked)]
    assert "src/greet.py" in lines and "src/[red]\u202eb.py" in lines
    assert "RIGHT-TO-LEFT OVERRIDE" in warning_of(asked) and "CYRILLIC" not in warning_of(edit_request())
