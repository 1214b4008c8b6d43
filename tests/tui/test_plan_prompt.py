"""A plan of the model: shown as Markdown, approved by a key, or changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forge_core.approval import PlanAnswer, PlanReply
from forge_core.config.forge_config import ForgeConfig
from forge_core.config.permission_mode import PermissionMode
from forge_core.events import ToolEnd
from forge_tui.screens.prompts.plan import PlanPrompt
from forge_tui.terminal import editor
from tests.support.asking import PLAN, ask_plan, asking
from tests.support.chat_app import make_app, pass_until, ready, say, shown, type_text, until
from tests.support.scripted_session import answer

pytestmark = [pytest.mark.slow, pytest.mark.sampled]

APPROVED, EDITS = PlanReply(PlanAnswer.APPROVE), PlanReply(PlanAnswer.ACCEPT_EDITS)


def changed(text: str = "") -> PlanReply:
    return PlanReply(PlanAnswer.KEEP_PLANNING, text)


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        (["enter"], APPROVED),
        (["1"], APPROVED),
        (["2", "enter"], EDITS),
        (["down", "enter"], EDITS),
        (["escape"], changed()),
        (["3", "enter", *"tests", "enter"], changed("tests")),
        (["up", "enter", *"tests", "enter"], changed("tests")),
        ([*"tests", "enter"], changed("tests")),
        (["2", "space", *"files", "enter"], changed("2 files")),
        (["pagedown", "pageup", "1", "enter"], APPROVED),
    ],
)
async def test_keys_answer(config: ForgeConfig, keys: list[str], wanted: PlanReply) -> None:
    app = asking(config, PLAN)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask_plan(pilot)
        await pilot.press(*keys)
        await pass_until(app, pilot, lambda: app.scripted.plans == [wanted])
        await until(pilot, lambda: "went on" in shown(app) and app.focused is app.chat.composer)


async def test_the_plan_and_the_modes_are_shown(config: ForgeConfig) -> None:
    app = asking(config, replace(PLAN, plan=PLAN.plan + "\n3. \x1b[31m[red]Test[/red]"))
    async with app.run_test(size=(80, 24)) as pilot:
        await ask_plan(pilot)
        screen = shown(app)
        for text in ("Forge has a plan", "1. Read a.py", "2. Change one line", "[red]Test[/red]"):
            assert text in screen
        assert "❯ 1 Approve · mode ask" in screen
        assert "2 Approve, and accept edits · mode accept-edits" in screen
        assert "3 Keep planning" in screen and "\x1b" not in screen


async def test_edits_are_offered_only_where_they_would_ask(config: ForgeConfig) -> None:
    app = asking(config, replace(PLAN, mode=PermissionMode.AUTO))
    async with app.run_test(size=(80, 24)) as pilot:
        await ask_plan(pilot)
        assert "1 Approve · mode auto" in shown(app) and "accept edits" not in shown(app)
        await pilot.press("2", "enter")  # no answer, so it is text
        await pass_until(app, pilot, lambda: app.scripted.plans == [changed("2")])


async def test_the_plan_can_be_edited_before_the_answer(
    config: ForgeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = ["1. Mine\x1b", "", "x" * 20_001, "fail"]
    seen: list[str] = []

    def edit(app: object, path: Path, root: Path) -> None:
        seen.append(path.read_text())
        if (text := written.pop(0)) == "fail":
            raise editor.EditorError("no editor was found.")
        path.write_text(text)

    monkeypatch.setattr(editor, "edit", edit)
    app = asking(config, PLAN)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask_plan(pilot)
        await pilot.press("ctrl+g")
        await until(pilot, lambda: "edited by you" in shown(app) and "1. Mine␛" in shown(app))
        for note in ("", "20,001 characters", "no editor was found"):
            app.clock.pass_(1)
            await pilot.press("ctrl+g")
            await until(pilot, lambda note=note: note in shown(app) and "1. Mine" in shown(app))  # type: ignore[misc]
        assert seen == [PLAN.plan, *["1. Mine\x1b"] * 3]
        await pilot.press("1", "enter")  # the editor has just closed: no key answers yet
        await pilot.pause()
        assert app.scripted.plans == []
        app.clock.pass_(1)
        await pilot.press("enter")
        await pass_until(app, pilot, lambda: app.scripted.plans == [replace(APPROVED, plan="1. Mine\x1b")])


async def test_keys_in_the_first_half_second_answer_nothing(config: ForgeConfig) -> None:
    app = asking(config, PLAN)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask_plan(pilot, armed=False)
        await pilot.press("enter", "1", "enter", "escape", "down", "enter")
        await pilot.pause()
        assert app.scripted.plans == []
        await type_text(pilot, "no")
        await until(pilot, lambda: "To change: 1no" in shown(app))


async def test_a_plan_over_a_half_typed_message_selects_no_approval(config: ForgeConfig) -> None:
    app = asking(config, PLAN)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        app.chat.composer.restore_draft("half a message", 5)
        app.chat.start_turn("go")
        await until(pilot, lambda: isinstance(app.focused, PlanPrompt))
        await until(pilot, lambda: "❯ 3 Keep planning" in shown(app))


async def test_escape_closes_an_open_line_first(config: ForgeConfig) -> None:
    app = asking(config, PLAN)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask_plan(pilot)
        await pilot.press("3", "enter", "x", "escape")
        await until(pilot, lambda: app.chat.composer.text == "x")
        assert app.scripted.plans == []
        await pilot.press("escape")
        await until(pilot, lambda: app.scripted.plans == [changed()])


@pytest.mark.parametrize("size", [(40, 12), (60, 15), (120, 36)])
async def test_a_long_plan_scrolls_beside_its_answers(config: ForgeConfig, size: tuple[int, int]) -> None:
    steps = "\n".join(f"- 漢字 step {number}." for number in range(1, 81))
    app = asking(config, replace(PLAN, plan=steps))
    async with app.run_test(size=size) as pilot:
        await ask_plan(pilot)
        assert "❯ 1 Approve" in shown(app) and "3 Keep planning" in shown(app)
        assert "漢字 step 1." in shown(app) and "step 80" not in shown(app)
        for _ in range(40):
            await pilot.press("pagedown")
        await until(pilot, lambda: "漢字 step 80." in shown(app))
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "❯ 1 Approve" in shown(app))
        app.theme = "forge-light"
        await pilot.pause()
        await pilot.press("enter")
        await pass_until(app, pilot, lambda: app.scripted.plans == [APPROVED])


async def test_the_plan_stays_in_the_conversation(config: ForgeConfig) -> None:
    end = ToolEnd(
        call_id="p1",
        name="exit_plan_mode",
        result="ok",
        success=True,
        duration_s=1.0,
        document="# Goal\n\n1. Go",
    )
    app = make_app(config, [[end, *answer("done")]])
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await say(pilot, "go")
        await until(pilot, lambda: "done" in shown(app))
        assert "Goal" in shown(app) and "1. Go" in shown(app)
        assert [one.source.strip() for one in app.chat.transcript.answers] == ["# Goal\n\n1. Go", "done"]


async def test_the_empty_composer_says_how_to_approve_a_plan_that_waits(config: ForgeConfig) -> None:
    app = make_app(replace(config, permission_mode=PermissionMode.PLAN))
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        app.scripted.plan.mode_changed(PermissionMode.PLAN)
        app.scripted.plan.present("1. Read it")
        await say(pilot, "go")
        await until(pilot, lambda: "Say what to change in the plan, or /plan approve" in shown(app))
        app.scripted.plan.approve()
        await say(pilot, "go")
        await until(pilot, lambda: len(app.scripted.sent) == 2 and "or /plan approve" not in shown(app))


async def test_the_plan_command_shows_the_plan(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        app.scripted.plan.present("1. Read **it**")
        await say(pilot, "/plan")
        await until(pilot, lambda: "1. Read it" in shown(app))
        assert "Plan, not approved yet" in shown(app)
