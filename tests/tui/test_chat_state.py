"""The objects that the conversation screen owns: the queue, the modes, Ctrl+C twice, and finding."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_core.commands.command_table import CommandTable
from forge_core.config.forge_config import ForgeConfig
from forge_core.config.permission_mode import PermissionMode
from forge_tui.screens.chat.keys import MODE_CYCLE, TWICE_S, DoublePress, ModeCycle
from forge_tui.screens.chat.queued.message_queue import MessageQueue
from forge_tui.submitted_line import Command, UserText, parse_line
from tests.support.chat_app import FakeClock, make_app, make_config, ready, until
from tests.support.scripted_session import ScriptedSession, answer


class Line:
    """An activity line that only remembers its note."""

    def __init__(self) -> None:
        self.shown = ""

    def note(self, text: str, duration_s: float) -> None:
        self.shown = text

    def end_note(self, text: str) -> None:
        if self.shown == text:
            self.shown = ""


def test_ctrl_c_counts_as_the_second_press_while_the_note_is_shown() -> None:
    clock, line = FakeClock(), Line()
    key = DoublePress(clock, line, "Ctrl+C again leaves Forge")
    assert not key.is_second_press
    key.press(" · and so on")
    assert line.shown == "Ctrl+C again leaves Forge · and so on"
    clock.pass_(TWICE_S)
    assert key.is_second_press
    clock.pass_(0.1)
    assert not key.is_second_press


def test_another_key_resets_the_ctrl_c_count_and_clears_only_its_note() -> None:
    clock, line = FakeClock(), Line()
    key = DoublePress(clock, line, "Ctrl+C again leaves Forge")
    key.press()
    key.reset()
    assert not key.is_second_press and line.shown == ""
    key.press()
    line.note("Copied 7 characters", 2.0)
    key.reset()
    assert line.shown == "Copied 7 characters"


def test_modes_cycle_without_a_session_and_the_last_one_is_applied_to_a_new_session(tmp_path: Path) -> None:
    session = ScriptedSession(make_config(tmp_path), [])
    modes = ModeCycle(PermissionMode.ASK)
    assert [modes.advance(None) for _ in MODE_CYCLE] == [*MODE_CYCLE[1:], MODE_CYCLE[0]]
    modes.advance(None)
    modes.apply(session)
    assert session.status.mode is PermissionMode.ACCEPT_EDITS


def test_the_mode_of_a_continued_session_stays_when_none_was_chosen_before(tmp_path: Path) -> None:
    session = ScriptedSession(make_config(tmp_path), [])
    session.set_mode(PermissionMode.PLAN)
    ModeCycle(PermissionMode.ASK).apply(session)
    assert session.status.mode is PermissionMode.PLAN


def test_the_mode_cycle_continues_from_the_session_mode_and_restarts_after_yolo(
    tmp_path: Path,
) -> None:
    session = ScriptedSession(make_config(tmp_path), [])
    modes = ModeCycle(PermissionMode.ASK)
    session.set_mode(PermissionMode.PLAN)
    assert modes.advance(session) is PermissionMode.AUTO
    session.set_mode(PermissionMode.YOLO)
    assert modes.advance(session) is PermissionMode.ASK


def test_mode_auto_without_a_full_sandbox_is_explained_once(tmp_path: Path) -> None:
    session = ScriptedSession(make_config(tmp_path), [])
    modes = ModeCycle(PermissionMode.PLAN)
    session.set_mode(PermissionMode.PLAN)
    assert not modes.must_explain_auto(session)
    modes.advance(session)
    assert not modes.must_explain_auto(session)  # a full sandbox
    session.sandbox = "sandbox: off"
    assert modes.must_explain_auto(session)
    assert not modes.must_explain_auto(session)


def queue_of(*typed: str) -> MessageQueue:
    queue = MessageQueue()
    for text in typed:
        line = parse_line(text, CommandTable())
        assert isinstance(line, UserText | Command)
        queue.add(line)
    return queue


def test_the_queue_returns_its_oldest_line_and_recalls_its_newest_as_typed() -> None:
    queue = queue_of("one", "/mode plan", " /usr/bin")
    assert queue.next() == UserText("one")
    assert queue.recall() == " /usr/bin"
    assert queue.recall() == "/mode plan"
    assert queue.recall() is None


def test_a_paused_queue_returns_nothing_and_shows_how_to_resume() -> None:
    queue = queue_of("one")
    queue.pause()
    assert queue.next() is None and not queue.is_next
    assert queue.text == "1 queued · paused, empty Enter sends"
    queue.is_paused = False
    assert queue.is_next and queue.next() == UserText("one")


@pytest.mark.parametrize("typed", [(), ("one",)])
def test_a_held_queue_returns_nothing_and_cannot_be_paused(typed: tuple[str, ...]) -> None:
    queue = queue_of(*typed)
    with queue.held():
        assert queue.is_next and queue.next() is None
        queue.pause()
        assert not queue.is_paused


async def test_the_find_bar_replaces_the_activity_line_while_it_is_open(config: ForgeConfig) -> None:
    app = make_app(config, [answer("The parser lives in cli.py.")])
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        find = app.chat.find
        find.close(is_kept=True)
        assert not find.is_open and app.chat.activity.display
        await find.open()
        assert find.is_open and not app.chat.activity.display
        find.close(is_kept=True)
        assert not find.is_open and app.chat.activity.display


async def test_f9_releases_the_mouse_also_over_an_overlay(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await pilot.press("f1")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("f9")
        await until(pilot, lambda: app.chat.activity.is_mouse_released)
        await pilot.press("f9")
        await until(pilot, lambda: not app.chat.activity.is_mouse_released)
