"""What each key does in each state, and that the table of keys is complete."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from textual import events

from forge_core.config.forge_config import ForgeConfig
from forge_core.config.permission_mode import PermissionMode
from forge_core.events import LLMStart
from forge_tui.app import ForgeApp
from forge_tui.keymap import KEYS, WITHOUT_TEXT, KeyContext, bindings, help_rows
from forge_tui.screens.chat.queued.queue_list import QueueList
from forge_tui.screens.chat.replay_screen import ReplayScreen
from forge_tui.screens.chat.screen import ChatScreen
from forge_tui.screens.diff.screen import DiffScreen
from forge_tui.screens.panels.connect_picker import ConnectPicker
from forge_tui.screens.panels.history_search import HistorySearch
from forge_tui.screens.panels.jobs_panel import JobsPanel
from forge_tui.screens.panels.model_picker import ModelPicker
from forge_tui.screens.panels.servers.servers_panel import ServersPanel
from forge_tui.screens.panels.session_picker import SessionPicker
from forge_tui.screens.panels.settings_panel import SettingsPanel
from forge_tui.screens.prompts.note import NotePrompt
from forge_tui.screens.prompts.permission import PermissionPrompt
from forge_tui.screens.prompts.plan import PlanPrompt
from forge_tui.screens.prompts.programs import ProgramsPrompt
from forge_tui.screens.prompts.question import QuestionPrompt
from forge_tui.widgets.composer import Composer
from forge_tui.widgets.find_bar import FindLine
from tests.support.chat_app import make_app, ready, say, shown, type_text, until
from tests.support.scripted_session import Gate, ScriptedSession, answer

pytestmark = pytest.mark.slow

OWNERS = {
    KeyContext.COMPOSER: Composer,
    KeyContext.CHAT: ChatScreen,
    KeyContext.WELCOME: ChatScreen,
    KeyContext.FIND: FindLine,
    KeyContext.DIFF: DiffScreen,
    KeyContext.JOBS: JobsPanel,
    KeyContext.SERVERS: ServersPanel,
    KeyContext.SESSIONS: SessionPicker,
    KeyContext.HISTORY: HistorySearch,
    KeyContext.QUEUE: QueueList,
    KeyContext.MODELS: ModelPicker,
    KeyContext.ENDPOINTS: ConnectPicker,
    KeyContext.PROMPT: PermissionPrompt,
    KeyContext.QUESTIONS: QuestionPrompt,
    KeyContext.REPLAY: ReplayScreen,
    KeyContext.SETTINGS: SettingsPanel,
    KeyContext.NOTE: NotePrompt,
    KeyContext.PROGRAMS: ProgramsPrompt,
    KeyContext.PLAN: PlanPrompt,
}
LONG = "\n\n".join(f"paragraph {number}" for number in range(60))


def test_every_row_of_the_key_help_has_a_label_and_a_summary() -> None:
    for where in KeyContext:
        rows = help_rows(where)
        assert rows and all(label and summary for label, summary in rows)


def test_bindings_have_unique_ids_and_only_real_keys() -> None:
    found = [binding for where in KeyContext for binding in bindings(where)]
    assert len({binding.id for binding in found}) == len(found)
    assert len(found) == len([key for key in KEYS if key.keys])


def test_key_ids_do_not_depend_on_their_position() -> None:
    ids = {key.id: key.keys for key in KEYS}
    assert len(ids) == len(KEYS)
    assert ids["chat.interrupt"] == "escape"
    assert ids["prompt.answer_3"] == "3"
    assert {binding.id for binding in bindings(KeyContext.CHAT)} <= ids.keys()


def test_letters_are_keys_in_both_cases_unless_the_other_has_its_own_meaning() -> None:
    keys = {binding.id: binding.key for binding in bindings(KeyContext.DIFF)}
    assert keys["diff.next_file"] == "n,N"
    assert keys["diff.toggle_whole_file"] == "E,e"
    assert (keys["diff.keep"], keys["diff.keep_file"]) == ("a", "A")
    assert keys["diff.scroll_bottom"] == "end,G,ctrl+end"


@pytest.mark.parametrize("context", [context for context in KeyContext if context not in WITHOUT_TEXT])
def test_no_key_is_a_letter_where_text_is_typed(context: KeyContext) -> None:
    keys = [key for binding in bindings(context) for key in binding.key.split(",")]
    assert not [key for key in keys if len(key) == 1 and key.isalpha()]


def test_every_key_has_an_action() -> None:
    for key in KEYS:
        owner: type = OWNERS[key.context]
        name = key.action.partition("(")[0]
        if name.startswith("app."):
            owner, name = ForgeApp, name.removeprefix("app.")
        assert not name or callable(getattr(owner, f"action_{name}", None)), key.id


async def test_ctrl_c_copies_a_selection_of_the_composer(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await type_text(pilot, "copy me")
        await pilot.press("shift+home", "ctrl+c")
        assert app.clipboard == "copy me"
        assert app.chat.composer.text == "copy me"
        await pilot.pause()
        assert "Copied 7 characters" in shown(app)


async def test_ctrl_c_copies_what_the_mouse_selected_in_the_conversation(config: ForgeConfig) -> None:
    app = make_app(config, [answer("The parser lives in cli.py.")])
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "where?")
        await until(pilot, lambda: "The parser lives" in shown(app))
        row = next(y for y, line in enumerate(shown(app).splitlines()) if "The parser lives" in line)
        column = shown(app).splitlines()[row].index("parser")
        await pilot.mouse_down(offset=(column, row))
        await pilot.hover(offset=(column + 11, row))
        await pilot.mouse_up(offset=(column + 11, row))
        await pilot.pause()
        await pilot.press("ctrl+c")
        assert app.clipboard.startswith("parser live")
        assert app.is_running


async def test_ctrl_c_interrupts_a_turn_and_keeps_the_draft(config: ForgeConfig) -> None:
    gate = Gate()
    app = make_app(config, [[LLMStart(iteration=1, model="m"), gate]])
    async with app.run_test() as pilot:
        await ready(pilot)
        await say(pilot, "go")
        await until(pilot, gate.reached.is_set)
        await type_text(pilot, "draft")
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not app.chat.has_turn)
        assert app.chat.composer.text == "draft"


async def test_ctrl_c_clears_the_composer(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await type_text(pilot, "nonsense")
        await pilot.press("ctrl+c")
        assert app.chat.composer.text == ""
        await pilot.pause()
        assert "Ctrl+C again leaves Forge" in shown(app)


async def test_up_restores_the_text_that_ctrl_c_cleared(config: ForgeConfig) -> None:
    """It may have been meant for a turn that has just ended."""
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await type_text(pilot, "two pages")
        await pilot.press("ctrl+j", *"of text", "ctrl+c")
        await until(pilot, lambda: app.chat.composer.is_blank)
        assert "Up brings the text back" in app.chat.activity.note_text
        await pilot.press("up")
        await until(pilot, lambda: app.chat.composer.text == "two pages\nof text")


async def test_ctrl_c_without_text_or_turn_offers_to_exit(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: app.chat.activity.note_text == "Ctrl+C again leaves Forge")


@pytest.mark.parametrize("key", ["x", "down", "escape"])
async def test_the_next_key_removes_the_note_about_leaving(config: ForgeConfig, key: str) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: "Ctrl+C again leaves Forge" in shown(app))
        await pilot.press(key)
        await until(pilot, lambda: "Ctrl+C again leaves" not in shown(app))
        await pilot.press("ctrl+c")
        assert app.is_running, "it is the first of two again"


async def test_the_next_key_keeps_other_notes(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await pilot.press("ctrl+c")
        app.chat.activity.note("Copied")
        await pilot.press("x")
        assert app.chat.activity.note_text == "Copied"


async def test_ctrl_c_twice_within_two_seconds_exits(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await pilot.press("ctrl+c")
        app.clock.pass_(1.9)
        await pilot.press("ctrl+c")
    assert app.return_code == 0


async def test_ctrl_c_twice_with_a_pause_between_does_not_leave(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await pilot.press("ctrl+c")
        app.clock.pass_(2.1)
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert app.is_running


@pytest.mark.parametrize("between", ["a", "left", "enter", "escape"])
async def test_ctrl_c_after_another_key_does_not_exit(config: ForgeConfig, between: str) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await pilot.press("ctrl+c", between, "ctrl+c")
        await pilot.pause()
        assert app.is_running
        await pilot.press("ctrl+c")
    assert app.return_code == 0


async def test_ctrl_c_after_a_paste_does_not_exit(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await pilot.press("ctrl+c")
        app.post_message(events.Paste("text"))
        await until(pilot, lambda: app.chat.composer.text == "text")
        await pilot.press("ctrl+c")
        assert app.is_running and app.chat.composer.text == ""


async def test_ctrl_c_interrupts_a_turn_started_after_the_first_ctrl_c(config: ForgeConfig) -> None:
    gate, second = Gate(), Gate()
    app = make_app(config, [[gate, *answer("one")], [second]])
    async with app.run_test() as pilot:
        await ready(pilot)
        await say(pilot, "go")
        await until(pilot, gate.reached.is_set)
        await say(pilot, "next")
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not app.chat.has_turn)
        await pilot.press("enter")
        await until(pilot, second.reached.is_set)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not app.chat.has_turn)
        assert app.is_running


async def test_a_turn_that_starts_between_two_ctrl_c_presses_is_interrupted(config: ForgeConfig) -> None:
    may_build, gate = threading.Event(), Gate()

    def slowly(approver: object, session: ScriptedSession) -> ScriptedSession:
        assert may_build.wait(60)
        return session

    app = make_app(config, [[gate]], make_session=slowly)
    async with app.run_test() as pilot:
        await say(pilot, "go")
        await pilot.press("ctrl+c")
        may_build.set()
        await until(pilot, gate.reached.is_set)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not app.chat.has_turn)
        assert app.is_running


async def test_ctrl_d_exits_only_when_the_composer_is_empty(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await type_text(pilot, "ab")
        await pilot.press("left", "ctrl+d")
        assert app.chat.composer.text == "a"
        await pilot.press("backspace", "ctrl+d")
    assert app.return_code == 0


async def test_shift_tab_cycles_the_permission_mode(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(120, 30)) as pilot:
        await ready(pilot)
        seen = []
        for _ in range(4):
            await pilot.press("shift+tab")
            seen.append(app.scripted.status.mode)
            await pilot.pause()
            assert str(seen[-1]) in shown(app).splitlines()[-1]
        assert seen == [
            PermissionMode.ACCEPT_EDITS,
            PermissionMode.PLAN,
            PermissionMode.AUTO,
            PermissionMode.ASK,
        ]


async def test_mode_auto_without_a_sandbox_explains_once_what_still_asks(config: ForgeConfig) -> None:
    app = make_app(config)
    told = "commands that may write still ask"
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        for _ in range(4):
            await pilot.press("shift+tab")
        assert told not in shown(app)
        app.scripted.sandbox = "sandbox: OFF - bwrap not found. Commands that may write will ask."
        for _ in range(8):
            await pilot.press("shift+tab")
        await until(pilot, lambda: told in shown(app))
        assert shown(app).count(told) == 1


async def test_shift_tab_continues_from_a_mode_set_by_a_command_and_skips_yolo(
    config: ForgeConfig,
) -> None:
    app = make_app(replace(config, permission_mode=PermissionMode.YOLO))
    async with app.run_test(size=(120, 30)) as pilot:
        await ready(pilot)
        await until(pilot, lambda: "yolo" in shown(app).splitlines()[-1])
        await pilot.press("shift+tab")
        assert app.scripted.status.mode is PermissionMode.ASK
        app.scripted.set_mode(PermissionMode.PLAN)
        await pilot.press("shift+tab")
        assert app.scripted.status.mode is PermissionMode.AUTO


async def test_ctrl_b_reports_that_no_command_runs(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(120, 30)) as pilot:
        await ready(pilot)
        await pilot.press("ctrl+b")
        await until(
            pilot, lambda: "No command is running that could continue in the background" in shown(app)
        )
        assert "No command is running that could continue in the background" in shown(app)


async def test_one_escape_with_nothing_open_and_nothing_running_does_nothing(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await type_text(pilot, "keep")
        await pilot.press("escape")
        assert app.chat.composer.text == "keep"


@pytest.mark.parametrize(
    ("key", "back"), [("pageup", "pagedown"), ("ctrl+home", "ctrl+end"), ("home", "end")]
)
async def test_keys_scroll_the_conversation_while_the_composer_is_empty(
    config: ForgeConfig, key: str, back: str
) -> None:
    app = make_app(config, [answer(LONG)])
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await say(pilot, "write a lot")
        await until(pilot, lambda: "paragraph 59" in shown(app))
        await pilot.press(key)
        await until(pilot, lambda: "paragraph 59" not in shown(app))
        await pilot.press(back)
        await until(pilot, lambda: "paragraph 59" in shown(app))
        assert "paragraph 59" in shown(app)


async def test_home_and_end_move_in_the_line_while_the_composer_has_text(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await type_text(pilot, "bc")
        await pilot.press("home", "a", "end", "d")
        assert app.chat.composer.text == "abcd"


async def test_tab_keeps_the_focus_in_the_composer(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test() as pilot:
        await pilot.press("tab")
        await type_text(pilot, "x")
        assert app.chat.composer.text == "x"


async def test_spinner_and_elapsed_time_update_in_one_fixed_row(
    config: ForgeConfig,
) -> None:
    gate = Gate()
    app = make_app(config, [[gate]])
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        region = app.chat.activity.region
        await say(pilot, "go")
        await until(pilot, gate.reached.is_set)
        await until(pilot, lambda: "Working · 0 s · Esc to interrupt" in shown(app))
        app.clock.pass_(75)
        await until(pilot, lambda: "1 min 15 s" in shown(app))
        assert app.chat.activity.region == region and region.height == 1
        gate.open()
        await until(pilot, lambda: "Enter send" in shown(app))
        assert app.chat.activity.region == region
