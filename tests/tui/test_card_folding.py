"""Folding cards in the whole app: by the key over what the mouse points at, and what keeps it folded or not."""

from __future__ import annotations

from typing import Any

from textual.pilot import Pilot

from forge_core.config.forge_config import ForgeConfig
from forge_core.events import LLMChunk, LLMStart, ToolEnd
from tests.support.chat_app import ChatApp, make_app, ready, say, shown, until
from tests.support.scripted_session import Gate, answer
from tests.support.tool_events import tool_start


def ran(call_id: str, name: str, result: str, **arguments: Any) -> list[Any]:
    return [
        tool_start(call_id, name, arguments),
        ToolEnd(call_id=call_id, name=name, result=result, success=True, duration_s=0.4),
    ]


CALLS = [
    LLMStart(iteration=1, model="m"),
    *ran("1", "read", "text of a", path="a.py"),
    *ran("2", "read", "text of b", path="b.py"),
    *ran("3", "edit", "text of the edit", path="c.py"),
    *ran("4", "write", "text of the write", path="d.py"),
]


async def with_cards(pilot: Pilot[None]) -> ChatApp:
    app = await ready(pilot)
    await say(pilot, "go")
    await until(pilot, lambda: app.scripted.sent and not app.chat.has_turn)
    return app


def row_of(app: ChatApp, text: str) -> int:
    rows = shown(app).split("\n")
    return next(y for y, row in enumerate(rows) if text in row) - app.chat.transcript.region.y


async def fold_at(pilot: Pilot[None], app: ChatApp, text: str) -> None:
    """Ctrl+O with the pointer over the row that shows `text`."""
    y = row_of(app, text)
    await pilot.hover("Transcript", offset=(6, y))
    await pilot.press("ctrl+o")
    await pilot.pause()


async def test_ctrl_o_unfolds_the_card_under_the_mouse_and_only_that_one(config: ForgeConfig) -> None:
    async with make_app(config, [CALLS]).run_test(size=(100, 30)) as pilot:
        app = await with_cards(pilot)
        y = row_of(app, "Edit c.py")
        await fold_at(pilot, app, "Edit c.py")
        assert "text of the edit" in shown(app) and "text of the write" not in shown(app)
        assert row_of(app, "Edit c.py") == y, "what was folded stays under the pointer"
        await fold_at(pilot, app, "Read 2 files")
        await fold_at(pilot, app, "Read b.py")
        assert "text of b" in shown(app) and "text of a" not in shown(app)
        await fold_at(pilot, app, "text of b")
        assert "text of b" not in shown(app) and "Read b.py" in shown(app), "the innermost one folds"


async def test_ctrl_o_with_the_mouse_elsewhere_unfolds_and_folds_all(config: ForgeConfig) -> None:
    async with make_app(config, [CALLS]).run_test(size=(100, 30)) as pilot:
        app = await with_cards(pilot)
        await pilot.hover("Composer")
        await pilot.press("ctrl+o")
        await pilot.pause()
        assert all(text in shown(app) for text in ("text of the edit", "text of the write", "Read b.py"))
        await pilot.press("ctrl+o")
        await pilot.pause()
        assert "text of" not in shown(app) and "Read b.py" not in shown(app)


async def test_unfolded_cards_stay_unfolded_after_theme_changes_and_resizes(config: ForgeConfig) -> None:
    async with make_app(config, [CALLS]).run_test(size=(100, 30)) as pilot:
        app = await with_cards(pilot)
        await fold_at(pilot, app, "Read 2 files")
        await fold_at(pilot, app, "Read a.py")
        before = [
            row.split() for row in shown(app).split("\n") if row.startswith(" │ ") and "Ask about" not in row
        ]
        assert len(before) == 3 and before[1][-3:] == ["text", "of", "a"]
        app.theme = "forge-light"
        await pilot.pause()
        for size in ((60, 30), (40, 24), (100, 30)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert [
                row.split()
                for row in shown(app).split("\n")
                if row.startswith(" │ ") and "Ask about" not in row
            ] == before
        assert "text of the edit" not in shown(app)


THOUGHT = LLMChunk(text="it must be\nthe other file", kind="reasoning")
THINKING = [LLMStart(iteration=1, model="m"), THOUGHT, *answer("so it is")[1:]]


async def test_ctrl_o_unfolds_and_folds_reasoning_too(config: ForgeConfig) -> None:
    async with make_app(config, [THINKING, CALLS]).run_test(size=(100, 30)) as pilot:
        app = await with_cards(pilot)
        await pilot.hover("Composer")
        await pilot.press("ctrl+o")
        await until(pilot, lambda: "the other file" in shown(app))
        await pilot.press("ctrl+o")
        await until(pilot, lambda: "the other file" not in shown(app))
        await say(pilot, "go on")
        await until(pilot, lambda: "Write d.py" in shown(app) and not app.chat.has_turn)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: "the other file" in shown(app) and "text of the edit" in shown(app))
        await pilot.press("ctrl+o")
        await until(pilot, lambda: "the other file" not in shown(app) and "text of" not in shown(app))


async def test_ctrl_o_folds_the_reasoning_under_the_mouse_and_keeps_its_line_there(
    config: ForgeConfig,
) -> None:
    async with make_app(config, [THINKING, CALLS]).run_test(size=(100, 30)) as pilot:
        app = await with_cards(pilot)
        y = row_of(app, "Thought briefly")
        await fold_at(pilot, app, "Thought briefly")
        assert "the other file" in shown(app)
        assert row_of(app, "Thought briefly") == y
        await pilot.click("Transcript", offset=(6, y + 2))
        await pilot.pause()
        assert "the other file" in shown(app), "a click on its text leaves it as it is"
        await fold_at(pilot, app, "the other file")
        assert "the other file" not in shown(app)
        await pilot.click("Transcript", offset=(6, row_of(app, "Thought briefly")))
        await until(pilot, lambda: "the other file" in shown(app))


async def test_streaming_reasoning_unfolds_to_its_full_text(config: ForgeConfig) -> None:
    gate = Gate()
    lines = "".join(f"line {number}\n" for number in range(12))
    script = [
        LLMStart(iteration=1, model="m"),
        LLMChunk(text=lines, kind="reasoning"),
        gate,
        *answer("so it is")[1:],
    ]
    async with make_app(config, [script]).run_test(size=(100, 30)) as pilot:
        app = await ready(pilot)
        await say(pilot, "go")
        await gate.reached.wait()
        await until(pilot, lambda: "line 11" in shown(app))
        assert "line 5" not in shown(app)
        await fold_at(pilot, app, "Thinking…")
        assert "line 0" in shown(app)
        gate.open()
        await until(pilot, lambda: "so it is" in shown(app))
        assert "line 0" in shown(app)
