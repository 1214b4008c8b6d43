"""The line above the composer ticks in place."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forge_core.config.forge_config import ForgeConfig
from forge_core.events import LLMChunk, LLMStart
from forge_core.text_width import clip_parts
from forge_tui.widgets.activity import FRAME_S, STILL_FRAME, ActivityLine
from tests.support.chat_app import ChatApp, command_request, make_app, ready, say, shown, until
from tests.support.scripted_session import Gate, answer

pytestmark = pytest.mark.slow


async def test_updating_spinner_clock_and_figures_triggers_no_layout(config: ForgeConfig) -> None:
    gate = Gate()
    app = make_app(
        config, [[LLMStart(iteration=1, model="m"), LLMChunk(text="thinking"), gate, *answer("y")]]
    )
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "hello")
        await until(pilot, gate.reached.is_set)
        await until(pilot, lambda: "thinking" in shown(app))
        layouts = app.screen._layout_updates, app.chat.transcript._layout_updates
        for seconds, text in ((59, "59 s"), (60, "1 min 59 s"), (6000, "1 h 41 min")):
            app.clock.pass_(seconds)
            await until(pilot, lambda text=text: f"· {text} ·" in shown(app), text)  # type: ignore[misc]
        assert (app.screen._layout_updates, app.chat.transcript._layout_updates) == layouts
        gate.open()


async def test_a_prompt_shows_its_waiting_time_and_the_turn_clock_keeps_running(config: ForgeConfig) -> None:
    first, second = Gate(), Gate()
    script = [first, command_request(), second, *answer("done")]
    app = make_app(config, [script])
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "hello")
        await until(pilot, first.reached.is_set)
        app.clock.pass_(90)
        await until(pilot, lambda: "Working · 1 min 30 s" in shown(app))
        first.open()
        await until(pilot, lambda: "Waiting for your answer · 0 s" in shown(app))
        app.clock.pass_(25)
        await until(pilot, lambda: "Waiting for your answer · 25 s" in shown(app))
        await pilot.press("1", "enter")
        await until(pilot, second.reached.is_set)
        await until(pilot, lambda: "Working · 1 min 55 s" in shown(app))
        second.open()


async def test_with_reduced_motion_only_the_time_changes(config: ForgeConfig) -> None:
    gate = Gate()
    app = make_app(replace(config, reduced_motion=True), [[gate, *answer("done")]])
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "hello")
        await until(pilot, gate.reached.is_set)
        line = app.chat.activity
        first = line.text
        app.clock.pass_(FRAME_S)
        assert first == line.text == f"{STILL_FRAME} Working · 0 s · Esc to interrupt"
        gate.open()


def last_rows(app: ChatApp) -> str:
    return "\n".join(shown(app).splitlines()[-6:])


async def test_on_a_narrow_line_whole_parts_are_dropped_instead_of_cut(config: ForgeConfig) -> None:
    gate = Gate()
    app = make_app(config, [[LLMStart(iteration=1, model="m"), LLMChunk(text="hm"), gate, *answer("y")]])
    async with app.run_test(size=(60, 20)) as pilot:
        await ready(pilot)
        await say(pilot, "hello")
        await until(pilot, gate.reached.is_set)
        await pilot.press("f9")
        app.chat.activity.show_new_below(True)
        await until(pilot, lambda: "F9: mouse · ↓ Ctrl+End" in shown(app))
        assert "Esc to interrupt" in last_rows(app) or "0 s" in last_rows(app)
        assert "…" not in last_rows(app)
        gate.open()
    assert clip_parts("a b · c d · e", 9) == "a b · c d"
    assert clip_parts("a b · c d · e", 8) == "a b"
    assert clip_parts("abcdef", 4) == "abc…"


@pytest.mark.parametrize("width", [60, 120])
async def test_notes_and_the_mouse_state_show_beside_the_find_line(config: ForgeConfig, width: int) -> None:
    app = make_app(config)
    async with app.run_test(size=(width, 20)) as pilot:
        await ready(pilot)
        await pilot.press("ctrl+f", "x")
        app.chat.activity.note("Copied 7 characters", 60)
        await until(pilot, lambda: "Copied 7 characters" in last_rows(app))
        assert "Find x" in last_rows(app)
        app.chat.activity.note("gone", 0.01)
        await until(pilot, lambda: "no match" in last_rows(app))
        await pilot.press("f9")
        await until(pilot, lambda: "F9" in last_rows(app))
        await pilot.press("f9")
        await until(pilot, lambda: "F9" not in last_rows(app))


async def test_f9_toggles_mouse_capture_over_a_panel(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(160, 40)) as pilot:
        await ready(pilot)
        await pilot.press("f1")
        await until(pilot, lambda: "Esc close" in shown(app))
        await pilot.press("f9")
        assert app.chat.query_one(ActivityLine).is_mouse_released
        await until(pilot, lambda: "mouse released · F9" in shown(app))
        await pilot.press("escape", "f9")
        await until(pilot, lambda: "mouse released" not in shown(app))


@pytest.mark.parametrize("is_nested_in_tmux", [False, True])
async def test_inside_gnu_screen_mouse_capture_is_off_at_first(
    config: ForgeConfig, monkeypatch: pytest.MonkeyPatch, is_nested_in_tmux: bool
) -> None:
    monkeypatch.setenv("STY", "1234.pts-0.host")
    if is_nested_in_tmux:
        monkeypatch.setenv("TMUX", "/tmp/tmux-0/default,1,0")
    app = make_app(config)
    async with app.run_test(size=(100, 20)) as pilot:
        await ready(pilot)
        assert ("mouse released · F9" in shown(app)) is not is_nested_in_tmux
        await pilot.press("f9")
        await until(pilot, lambda: ("mouse released · F9" in shown(app)) is is_nested_in_tmux)
        assert app.crash is None
