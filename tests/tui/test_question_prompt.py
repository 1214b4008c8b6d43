"""The model's questions: queued with other prompts, answered by keys or free text, or declined."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from textual.pilot import Pilot

from forge_core.approval import (
    Answer,
    ApprovalReply,
    Question,
    QuestionOption,
    QuestionReply,
    QuestionRequest,
)
from forge_core.config.forge_config import ForgeConfig
from forge_tui.screens.prompts.permission import PermissionPrompt
from forge_tui.screens.prompts.question import QuestionPrompt
from forge_tui.screens.prompts.question_text import AnswerSheet
from forge_tui.terminal import editor
from tests.support.asking import BOTH, DRAFT, ONE, SEVERAL, ask_questions, asking
from tests.support.chat_app import (
    ChatApp,
    command_request,
    make_app,
    pass_until,
    ready,
    shown,
    type_text,
    until,
)

pytestmark = [pytest.mark.slow, pytest.mark.sampled]


def can_answer(app: ChatApp) -> bool:
    """Whether the options show: a key that comes before is nobody's answer."""
    return not isinstance(app.focused, QuestionPrompt) or app.focused.is_answerable


async def waited_out(app: ChatApp, pilot: Pilot[None]) -> None:
    """Let the time pass in which a digit may become text, and that in which a new question takes no key."""
    prompt = app.chat.query_one(QuestionPrompt)
    await pass_until(app, pilot, lambda: not prompt.held)
    await pilot.pause()
    app.clock.pass_(1)
    await until(pilot, lambda: can_answer(app))


@pytest.mark.parametrize(
    ("request_", "keys", "wanted"),
    [
        (ONE, ["enter"], (("SQLite",),)),
        (ONE, ["2"], (("PostgreSQL",),)),
        (ONE, ["2", "enter"], (("PostgreSQL",),)),
        (ONE, ["down", "enter"], (("PostgreSQL",),)),
        (ONE, ["up", "enter", *"Redis", "enter"], (("Redis",),)),
        (ONE, ["3", "enter", *"my own", "enter"], (("my own",),)),
        (ONE, [*"my own", "enter"], (("my own",),)),
        (ONE, [*"2 of them", "enter"], (("2 of them",),)),
        (ONE, ["space", *"my own", "enter"], (("my own",),)),
        (SEVERAL, ["enter"], (("Lint",),)),
        (SEVERAL, ["space", "down", "down", "space", "enter"], (("Lint", "Tests"),)),
        (SEVERAL, ["3", "1", "enter"], (("Lint", "Tests"),)),
        (SEVERAL, ["1", "1", "2", "enter"], (("Types",),)),
        (SEVERAL, ["2", "space", *"or 3", "enter", "enter"], (("2 or 3",),)),
        (SEVERAL, ["1", "pass", "2", "space", *"or 3", "enter", "enter"], (("Lint", "2 or 3"),)),
        (SEVERAL, ["2", "4", "pass", *"docs", "enter", "enter"], (("Types", "docs"),)),
        (BOTH, ["1", "pass", "2", "enter", "pass", "enter"], (("SQLite",), ("Types",))),
        (
            BOTH,
            ["1", "pass", "2", "enter", "pass", "2", "pass", "2", "pass", "1"],
            (("PostgreSQL",), ("Types",)),
        ),
        (BOTH, ["tab", "1", "enter", "pass", "2", "enter", "pass", "enter"], (("PostgreSQL",), ("Lint",))),
        (BOTH, ["shift+tab", "enter"], ((), ())),
        (BOTH, ["tab", "tab", "enter"], ((), ())),
        (DRAFT, ["1", "enter"], (("Commit",),)),
        (DRAFT, ["2", "enter", *" Yes.", "enter"], (("Add x\n\nNew. Yes.",),)),
        (DRAFT, [*"So.", "enter"], (("Add x\n\nNew.So.",),)),
    ],
)
async def test_keys_answer(
    config: ForgeConfig, request_: QuestionRequest, keys: list[str], wanted: tuple[tuple[str, ...], ...]
) -> None:
    app = asking(config, request_)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask_questions(pilot)
        for key in keys:
            await until(pilot, lambda: can_answer(app))
            if key == "pass":
                await waited_out(app, pilot)
            else:
                await pilot.press("space" if key == " " else key)
        await pass_until(app, pilot, lambda: app.scripted.answers == [QuestionReply(wanted)])
        await until(pilot, lambda: "went on" in shown(app) and app.focused is app.chat.composer)
        assert "went on" in shown(app) and app.focused is app.chat.composer


async def test_an_answer_is_written_in_the_editor(
    config: ForgeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = ["fail", "", "Add x and y\n\nBoth.\n"]
    seen: list[str] = []

    def edit(app: object, path: Path, root: Path) -> None:
        seen.append(path.read_text())
        if (text := written.pop(0)) == "fail":
            raise editor.EditorError("no editor was found.")
        path.write_text(text)

    monkeypatch.setattr(editor, "edit", edit)
    app = asking(config, DRAFT)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask_questions(pilot)
        assert "Commit 1 file" in shown(app) and "2 Edit…" in shown(app) and "Ctrl+G" in shown(app)
        for count in (1, 2, 3):
            await pilot.press("ctrl+g")
            await until(pilot, lambda count=count: len(seen) == count)  # type: ignore[misc]
            app.clock.pass_(1)
        await pass_until(
            app, pilot, lambda: app.scripted.answers == [QuestionReply((("Add x and y\n\nBoth.",),))]
        )
        assert seen == ["Add x\n\nNew."] * 3


async def test_all_parts_of_a_question_are_shown(config: ForgeConfig) -> None:
    app = asking(config, BOTH)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask_questions(pilot)
        screen = shown(app)
        for text in (
            "Forge has questions",
            "○ Database   ○ Checks   → Send",
            "Which database?",
            "❯ 1 SQLite      One file, no server",
            "  2 PostgreSQL  For many writers",
            "  3 Other…",
            "Esc decline",
        ):
            assert text in screen
        await pilot.press("1", "enter")
        await until(pilot, lambda: "✓ Database" in shown(app) and "❯ [ ] 1 Lint" in shown(app))
        app.clock.pass_(1)
        await pilot.press("3", "enter")
        await until(pilot, lambda: "❯ 1 Send these answers" in shown(app))
        assert "SQLite" in shown(app) and "Tests" in shown(app)


async def test_escape_closes_an_open_line_first_and_then_declines(config: ForgeConfig) -> None:
    app = asking(config, ONE)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask_questions(pilot)
        await pilot.press("3", "enter", "x", "escape")
        await until(pilot, lambda: app.chat.composer.text == "x")
        assert app.scripted.answers == []
        await pilot.press("escape")
        await until(pilot, lambda: app.scripted.answers == [QuestionReply(declined=True)])


async def test_keys_in_the_first_half_second_answer_nothing(config: ForgeConfig) -> None:
    app = asking(config, ONE)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask_questions(pilot, armed=False)
        await pilot.press("enter", "2", "enter", "escape", "down", "enter")
        await pilot.pause()
        assert app.scripted.answers == []
        await type_text(pilot, "take 2")
        await until(pilot, lambda: "Your answer: 2take 2" in shown(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.chat.composer.text == "2take 2")
        assert app.scripted.answers == []


async def test_a_click_answers_except_during_the_grace_period(config: ForgeConfig) -> None:
    app = asking(config, ONE)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask_questions(pilot, armed=False)
        await pilot.click("QuestionPrompt ChoiceList", offset=(5, 1))
        await pilot.pause()
        assert app.scripted.answers == []
        app.clock.pass_(1)
        await pilot.click("QuestionPrompt ChoiceList", offset=(5, 1))
        await until(pilot, lambda: app.scripted.answers == [QuestionReply((("PostgreSQL",),))])


async def test_permissions_and_questions_wait_in_one_queue(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        permission = asyncio.create_task(app.chat.prompts.ask(command_request("one")))
        question = asyncio.create_task(app.chat.prompts.ask(ONE))
        await until(pilot, lambda: "(1 more waiting)" in shown(app) and "$ one" in shown(app))
        assert not app.chat.query(QuestionPrompt)
        app.clock.pass_(1)
        await pilot.press("1", "enter")
        assert await permission == ApprovalReply(Answer.ONCE)
        await until(pilot, lambda: isinstance(app.focused, QuestionPrompt))
        assert not app.chat.query(PermissionPrompt)
        question.cancel()
        await until(pilot, lambda: not app.chat.query(QuestionPrompt))
        await until(pilot, lambda: app.focused is app.chat.composer)


async def test_ctrl_c_interrupts_and_removes_the_questions(config: ForgeConfig) -> None:
    app = asking(config, BOTH)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask_questions(pilot)
        await pilot.press("1", "ctrl+c")
        await until(pilot, lambda: not app.chat.has_turn and not app.chat.query(QuestionPrompt))
        assert app.scripted.answers == [] and app.chat.composer.display


LONG = QuestionRequest(
    "q1",
    tuple(
        Question(
            f"[red]Question {n}[/] \x1b[2J" + "why and what for " * 55,
            f"[@click=app.quit]h{n}[/]\u202e",
            tuple(
                QuestionOption(f"{o}[/] \x1b]52;c;x\x07" + "label " * 14, "[bold]means\u202e " + "much " * 90)
                for o in range(4)
            ),
            multi_select=n % 2 == 0,
        )
        for n in range(4)
    ),
)


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 36), (40, 16)])
async def test_untrusted_question_text_is_literal_and_the_options_stay_visible(
    config: ForgeConfig, size: tuple[int, int]
) -> None:
    app = asking(config, LONG)
    async with app.run_test(size=size) as pilot:
        await ask_questions(pilot)
        await until(pilot, lambda: "5 Other…" in shown(app) and "[red]Question 0[/]" in shown(app))
        for _ in range(9):
            await pilot.press("down", "tab")
            screen = shown(app)
            assert not {"\x1b", "\u202e", "\x07"} & set(screen)
        assert app.scripted.answers == []
        await pilot.press("escape")
        await until(pilot, lambda: app.scripted.answers == [QuestionReply(declined=True)])


async def test_moving_through_the_options_does_not_shift_the_layout(config: ForgeConfig) -> None:
    described = Question(
        "Which?", "W", (QuestionOption("a", "short"), QuestionOption("b", "long " * 40), QuestionOption("c"))
    )
    app = asking(config, QuestionRequest("q", (described,)))
    async with app.run_test(size=(80, 24)) as pilot:
        await ask_questions(pilot)
        rows = [number for number, row in enumerate(shown(app).splitlines()) if "a  short" in row]
        for _ in range(5):
            await pilot.press("down")
            await pilot.pause()
            assert [n for n, row in enumerate(shown(app).splitlines()) if "a  short" in row] == rows


async def test_no_answer_is_accepted_while_the_options_are_hidden(config: ForgeConfig) -> None:
    app = asking(config, ONE)
    async with app.run_test(size=(60, 6)) as pilot:
        await ask_questions(pilot)
        await pilot.press("1", "enter", "3", "enter")
        await pilot.pause()
        assert app.scripted.answers == []
        await pilot.resize_terminal(60, 20)
        await until(pilot, lambda: "3 Other…" in shown(app) and can_answer(app))
        await pilot.press("1", "enter")
        await until(pilot, lambda: app.scripted.answers == [QuestionReply((("SQLite",),))])


def test_free_text_replaces_an_option_and_an_option_free_text() -> None:
    sheet = AnswerSheet(ONE)
    sheet.write(0, "mine")
    sheet.mark(0, 1)
    assert sheet.reply() == QuestionReply((("PostgreSQL",),))
    sheet.write(0, "mine")
    assert sheet.reply() == QuestionReply((("mine",),))
    sheet.write(0, "")
    assert sheet.next_open == 0
