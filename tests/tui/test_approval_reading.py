"""The permission prompt and what it does not show: *No* is selected, and no yes counts, until all was shown."""

from __future__ import annotations

import re

import pytest
from textual.pilot import Pilot

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest, Effect
from forge_core.config.forge_config import ForgeConfig
from forge_core.result import FileDiff
from forge_tui.screens.prompts.full_view import FullView
from forge_tui.screens.prompts.permission import UNREAD, PermissionPrompt
from forge_tui.screens.prompts.request_text import body_of
from forge_tui.widgets.diff.exact_diff import exact_diff
from tests.support.asking import ask, asking
from tests.support.chat_app import (
    ChatApp,
    command_request,
    edit_request,
    pass_until,
    press_until,
    shown,
    type_text,
    until,
)

pytestmark = [pytest.mark.slow, pytest.mark.sampled]

ONCE, NO = ApprovalReply(Answer.ONCE), ApprovalReply(Answer.NO)
SIZES = [(120, 36), (80, 24), (60, 15)]
LINES = "\n".join(f"echo {number}" for number in range(52))
HIDING = {
    "lines": LINES,
    "comments": "echo harmless" + "\n#" * 60 + "\npython3 evil.py",
    "one long line": "echo " + "a" * 6000 + "; python3 evil.py",
    "blank lines of other spaces": "echo harmless" + "\n\u00a0" * 60 + "\npython3 evil.py",
    "alternating blanks": "echo ok" + " \t" * 3000 + "; python3 evil.py",
    "spaces short of a fold": "echo ok" + (" " * 39 + "#") * 200 + "\npython3 evil.py",
    "comments between blank lines": "echo harmless" + "\n\n\n#" * 60 + "\npython3 evil.py",
}
"""Commands whose end is not on the screen."""
DISGUISED = {
    "zero width": "echo a\u200bb",
    "override": "echo \u202etxt.exe",
    "look-alike": "cat p\u0430sswd",
    "control": "ls\x1b[2K",
    "carriage return": "python3 evil.py #\rls",
    "tags": "ls\U000e0072",
    "filler": "ls\u3164x",
    "no-break space": "rm\u00a0x",
    "full width": "\uff52\uff4d x",
    "combining": "ls\u0335 x",
}
"""Short commands that are not what they look like."""
PLAIN = ("pytest -q", "echo caf\u00e9", "printf 'a\\tb'", "cat <<E\n\ta\nE", "echo \u65e5\u672c")


def a_long_edit(**changes: object) -> ApprovalRequest:
    diff = "@@ -0,0 +1,60 @@\n" + "".join(f"+line {number}\n" for number in range(60))
    return edit_request(diffs=(FileDiff("src/greet.py", diff, 60, 0),), **changes)


def chosen(app: ChatApp) -> str:
    prompt = app.chat.query_one(PermissionPrompt)
    return prompt._choices.rows[prompt._choices.chosen].label


async def read_to_the_end(pilot: Pilot[None], app: ChatApp, end: str) -> None:
    await press_until(pilot, "pagedown", lambda: end in shown(app))


@pytest.mark.parametrize("hiding", HIDING)
async def test_no_is_preselected_while_the_end_of_a_command_is_hidden(
    config: ForgeConfig, hiding: str
) -> None:
    app = asking(config, command_request(HIDING[hiding]))
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot)
        assert chosen(app) == "4 No"
        assert "evil.py" not in shown(app).partition("Forge wants")[2]
        assert re.search(r"run a command · \d+ of [\d,]+ lines", shown(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.replies == [NO])


@pytest.mark.parametrize("disguise", DISGUISED)
async def test_no_is_preselected_for_a_disguised_command_that_shows_completely(
    config: ForgeConfig, disguise: str
) -> None:
    app = asking(config, command_request(DISGUISED[disguise]))
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot)
        assert "\u276f 4 No" in shown(app) and " of " not in shown(app).partition("Forge wants")[2]
        await pilot.press("1", "enter")
        await until(pilot, lambda: app.scripted.replies == [ONCE])


@pytest.mark.parametrize("command", PLAIN)
async def test_yes_is_preselected_for_a_plain_command_that_shows_completely(
    config: ForgeConfig, command: str
) -> None:
    app = asking(config, command_request(command))
    async with app.run_test(size=(60, 15)) as pilot:
        await ask(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.replies == [ONCE])


@pytest.mark.parametrize(
    ("size", "title"),
    [
        ((120, 36), "Forge wants to run a command \u00b7 18 of 52 lines \u00b7 Ctrl+E shows all"),
        ((80, 24), "Forge wants to run a command \u00b7 8 of 52 lines \u00b7 Ctrl+E shows all"),
        ((60, 15), "Forge wants to run a command \u00b7 4 of 52 lines"),
    ],
)
async def test_the_title_says_how_much_is_not_shown(
    config: ForgeConfig, size: tuple[int, int], title: str
) -> None:
    app = asking(config, command_request(LINES))
    async with app.run_test(size=size) as pilot:
        await ask(pilot)
        await until(pilot, lambda: title in shown(app))
        assert f"{title} \u2500" in shown(app)


@pytest.mark.parametrize("keys", [("1", "enter"), ("up", "up", "enter"), ("2", "enter"), ("3", "enter")])
async def test_a_yes_to_what_was_not_shown_does_not_answer(
    config: ForgeConfig, keys: tuple[str, ...]
) -> None:
    request = command_request(LINES, always_rule="bash(echo:*)")
    app = asking(config, request)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot)
        for _ in range(3):
            await pilot.press(*keys)
            app.clock.pass_(1)
            await pilot.pause()
        assert app.scripted.replies == [] and UNREAD[:40] in shown(app)
        await read_to_the_end(pilot, app, "echo 51")
        assert UNREAD[:40] not in shown(app)
        await press_until(pilot, "enter", lambda: app.scripted.replies)
        assert app.scripted.replies[0].answer is not Answer.NO


async def test_a_digit_alone_does_not_answer_before_all_was_shown(config: ForgeConfig) -> None:
    app = asking(config, command_request(LINES))
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot)
        await pilot.press("1")
        await pass_until(app, pilot, lambda: UNREAD[:40] in shown(app))
        assert app.scripted.replies == [] and chosen(app) == "1 Yes, once"


async def test_a_click_on_yes_does_not_answer_before_all_was_shown(config: ForgeConfig) -> None:
    app = asking(config, command_request(LINES))
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot)
        await pilot.click("PermissionPrompt ChoiceList", offset=(5, 0))
        await until(pilot, lambda: UNREAD[:40] in shown(app))
        assert app.scripted.replies == []


async def test_an_edited_rule_does_not_answer_before_all_was_shown(config: ForgeConfig) -> None:
    app = asking(config, command_request(LINES))
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot)
        await pilot.press("up", "tab", "enter")
        await until(pilot, lambda: UNREAD[:40] in shown(app))
        assert app.scripted.replies == []


@pytest.mark.parametrize("keys", [("end",), ("pagedown",) * 9])
async def test_the_full_view_counts_as_shown_once_its_end_is_on_the_screen(
    config: ForgeConfig, keys: tuple[str, ...]
) -> None:
    app = asking(config, command_request(LINES))
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot)
        await pilot.press("ctrl+e")
        await until(pilot, lambda: isinstance(app.screen, FullView) and "rows 1" in shown(app))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, FullView))
        app.clock.pass_(1)
        await pilot.press("1", "enter")
        await until(pilot, lambda: UNREAD[:40] in shown(app))
        await pilot.press("ctrl+e")
        await until(pilot, lambda: isinstance(app.screen, FullView) and "rows 1" in shown(app))
        await pilot.press(*keys)
        await until(pilot, lambda: "echo 51" in shown(app))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, FullView))
        app.clock.pass_(1)
        await pilot.press("1", "enter")
        await until(pilot, lambda: app.scripted.replies == [ONCE])


async def test_what_was_shown_stays_shown_after_a_resize(config: ForgeConfig) -> None:
    app = asking(config, command_request(LINES))
    async with app.run_test(size=(120, 36)) as pilot:
        await ask(pilot)
        await pilot.press("pagedown")
        await pilot.resize_terminal(70, 20)
        await read_to_the_end(pilot, app, "echo 51")
        await pilot.resize_terminal(60, 15)
        await until(pilot, lambda: "of 52 lines" in shown(app))
        app.clock.pass_(1)
        await pilot.press("1", "enter")
        await until(pilot, lambda: app.scripted.replies == [ONCE])


async def test_yes_is_deselected_when_a_resize_hides_what_was_never_shown(config: ForgeConfig) -> None:
    request = command_request("make one\nmake two", session_rule="bash(" + "x" * 700 + ":*)")
    app = asking(config, request)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot)
        assert chosen(app) == "1 Yes, once"
        await pilot.press("2", "enter")  # the rule is longer than the prompt
        await until(pilot, lambda: UNREAD[:40] in shown(app))
        await pilot.press("1", "enter")
        await until(pilot, lambda: app.scripted.replies == [ONCE])


@pytest.mark.parametrize("size", SIZES)
async def test_blank_lines_are_folded_so_that_the_end_shows(
    config: ForgeConfig, size: tuple[int, int]
) -> None:
    app = asking(config, command_request("echo harmless" + "\n" * 41 + "python3 evil.py"))
    async with app.run_test(size=size) as pilot:
        await ask(pilot)
        assert "\u22ee \u2026 40 empty lines \u2026" in shown(app) and "python3 evil.py" in shown(app)
        assert "of 3 lines" not in shown(app)


@pytest.mark.parametrize(
    ("command", "rows"),
    [
        ("a" + "\n" * 4 + "b", ["a", "", "", "", "b"]),
        ("a" + "\n" * 5 + "b", ["a", "\u2026 4 empty lines \u2026", "b"]),
        ("a\n  \n\t\n \t \n\nb", ["a", "\u2026 4 blank lines \u2026", "b"]),
        ("\n\n\n\nb", ["\u2026 4 empty lines \u2026", "b"]),
        ("a\n\n\n\n\n", ["a", "\u2026 5 empty lines \u2026"]),
        ("a\n\n#\n\n#\n\nb", ["a", "", "#", "", "#", "", "b"]),
    ],
)
def test_long_runs_of_blank_lines_are_counted(command: str, rows: list[str]) -> None:
    assert [line.text for line in body_of(command_request(command))] == rows


def test_blank_lines_of_a_diff_are_counted_by_sign() -> None:
    diff = "@@ -1,2 +1,9 @@\n one\n" + "+\n" * 5 + "+two\n" + "-\n" * 4 + " end\n"
    lines = body_of(edit_request(diffs=(FileDiff("src/greet.py", diff, 6, 4),)), exact_diff)
    assert [line.gutter + line.text for line in lines[1:]] == [
        "1 1   one",
        "  \u22ee + \u2026 5 empty lines \u2026",
        "  7 + two",
        "  \u22ee - \u2026 4 empty lines \u2026",
        "6 8   end",
    ]
    assert [line.role for line in lines[1:]] == ["plain", "added", "added", "removed", "plain"]


# Edits


async def test_a_long_edit_that_can_be_undone_keeps_yes_and_says_how_much_is_hidden(
    config: ForgeConfig,
) -> None:
    app = asking(config, a_long_edit(is_undoable=True))
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot)
        assert "Forge wants to edit a file \u00b7 +60 \u22120 \u00b7 8 of 61 lines" in shown(app)
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.replies == [ONCE])


async def test_a_long_edit_that_cannot_be_undone_preselects_no(config: ForgeConfig) -> None:
    app = asking(config, a_long_edit())
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot)
        assert chosen(app) == "4 No"
        await pilot.press("1", "enter")
        await until(pilot, lambda: UNREAD[:40] in shown(app))
        assert app.scripted.replies == []


@pytest.mark.parametrize("added", ["x = '\u202e'", "imp\u043ert os", "a\u200bb"])
async def test_a_disguised_edit_that_cannot_be_undone_preselects_no(config: ForgeConfig, added: str) -> None:
    diffs = (FileDiff("src/greet.py", f"@@ -1 +1 @@\n-old\n+{added}\n", 1, 1),)
    for is_undoable, wanted in ((False, "4 No"), (True, "1 Yes, once")):
        app = asking(config, edit_request(diffs=diffs, is_undoable=is_undoable))
        async with app.run_test(size=(80, 24)) as pilot:
            await ask(pilot)
            assert chosen(app) == wanted


async def test_disguised_arguments_of_another_tool_preselect_no(config: ForgeConfig) -> None:
    request = command_request(
        "https://x.example", effect=Effect.NETWORK, tool="fetch", arguments={"body": "a\u2060b"}
    )
    app = asking(config, request)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot)
        assert chosen(app) == "4 No"


async def test_words_typed_before_reading_are_a_reason_and_no_answer(config: ForgeConfig) -> None:
    app = asking(config, command_request(LINES))
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot)
        await type_text(pilot, "1 is enough")
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.replies == [ApprovalReply(Answer.NO, "1 is enough")])


async def test_keys_held_down_do_not_allow_what_was_not_shown(config: ForgeConfig) -> None:
    for key in ("enter", "1", "space", "up"):
        app = asking(config, command_request(LINES))
        async with app.run_test(size=(80, 24)) as pilot:
            await ask(pilot)
            await pilot.press("1")
            for _ in range(30):
                await pilot.press(key)
                app.clock.pass_(0.03)
            assert all(reply.answer is Answer.NO for reply in app.scripted.replies)
            if not app.scripted.replies:
                await pilot.press("escape", "escape", "escape")


CUT = {
    "network in the title": command_request("rm -rf build", needs_network=True),
    "another folder": command_request("make", details={"Folder": "/" + "very/long/" * 30 + "end"}),
    "a long reason": command_request("make", reason="It runs outside of the sandbox " * 12),
}
"""Requests with a fact beside the command that a small window cuts off."""


@pytest.mark.parametrize("size", [(30, 14), (40, 10), (40, 12)])
@pytest.mark.parametrize("name", CUT)
async def test_a_fact_that_is_cut_off_counts_as_not_shown(
    config: ForgeConfig, name: str, size: tuple[int, int]
) -> None:
    app = asking(config, CUT[name])
    async with app.run_test(size=size) as pilot:
        await ask(pilot)
        await pilot.press("enter")
        await pilot.pause()
        assert all(reply.answer is Answer.NO for reply in app.scripted.replies)


@pytest.mark.parametrize("name", CUT)
async def test_a_fact_that_is_cut_off_is_at_the_end_of_the_body(config: ForgeConfig, name: str) -> None:
    app = asking(config, CUT[name])
    async with app.run_test(size=(50, 40)) as pilot:
        await ask(pilot)
        text = "".join(shown(app).split())
        fact = {"network in the title": "networkaccess", "another folder": "/end", "a long reason": "sandbox"}
        assert fact[name] in text


async def test_facts_that_fit_are_shown_once(config: ForgeConfig) -> None:
    app = asking(config, command_request("make", needs_network=True, details={"Folder": "/etc/other"}))
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot)
        assert shown(app).count("/etc/other") == 1
        assert shown(app).count("network access") == 1
        assert "With network access" not in shown(app)
