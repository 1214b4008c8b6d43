"""Playing a recorded session on the screen: it looks as it did, its keys work, and nothing is done again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.strip import Strip

from forge_core.approval import Answer
from forge_core.config.forge_config import ForgeConfig
from forge_core.errors import PaymentRequiredError
from forge_core.events import LLMChunk
from forge_core.session.playback import Playback
from forge_core.store.saved_session import load_session
from forge_core.tools.builtin.bash import BashTool
from forge_core.tools.builtin.todo import TodoTool
from forge_core.tools.builtin.write import WriteTool
from forge_tui.app import ForgeApp
from forge_tui.replay import ReplayApp
from forge_tui.screens.chat.environment import Environment
from forge_tui.screens.chat.replay_clock import LONGEST_WAIT_S, ReplayClock
from forge_tui.screens.chat.replay_screen import PIECES, ReplayScreen, _pieces
from tests.support.chat_app import FakeClock, make_app, ready, shown, until
from tests.support.scripted_llm import Call, Gate, Reasoning
from tests.support.sessions import Answering, scripted_session
from tests.support.skipped_time import run_skipping, use_clock
from tests.support.terminal import Terminal, python
from tests.support.transcripts import row_text
from tests.unit.session.test_playback import START, ended, recorded, tool, user
from tests.unit.store.test_recorded_journals import JOURNALS, NAMES

pytestmark = pytest.mark.slow

SIZE = (100, 30)
FAST = 1000.0
"""For recordings with seconds between their steps."""
TODO = [{"content": "Write it", "status": "in_progress", "active_form": "Writing it"}]
REPLIES = [
    [
        Reasoning("Let me look.\n"),
        "I *write* it.\n\n```python\nprint(1)\n```\n",
        Call("todo", {"items": TODO}, id="a"),
        Call("write", {"file_path": "a.py", "content": "print(1)\n"}, id="b"),
    ],
    [Call("bash", {"command": "printf 'one\\ntwo\\n'; exit 3"}, id="c")],
    ["Done: a file, and a command that failed.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"],
    ["The ", "second answer."],
    [PaymentRequiredError("the account is empty")],
]


def replay(
    config: ForgeConfig, path: Path, *, speed: float | None = None, until: int | None = None
) -> ReplayApp:
    playback = Playback(load_session(path), until=until)
    environment = Environment(clock=FakeClock(), branch=lambda folder: "", home=Path("/home/ada"))
    return ReplayApp(config, playback, speed=speed, environment=environment)


def screen_of(app: ForgeApp) -> ReplayScreen:
    assert isinstance(app.chat, ReplayScreen)
    return app.chat


async def played(pilot: Pilot[None]) -> ReplayApp:
    """Wait for the end; gives the app."""
    app = pilot.app
    assert isinstance(app, ReplayApp)
    await until(pilot, lambda: screen_of(app).has_ended and is_painted(app))
    return app


def is_painted(app: ForgeApp) -> bool:
    """Whether the conversation and its scroll bar are as they will stay."""
    transcript = app.chat.transcript
    bar = transcript.vertical_scrollbar
    shown = (bar.window_virtual_size, bar.window_size, bar.position)
    is_right = shown == (transcript.virtual_size.height, transcript.size.height, transcript.scroll_y)
    return is_right and transcript._flush_handle is None and transcript._scrollbar_handle is None


def conversation(app: ForgeApp) -> list[Strip]:
    """The rows of the conversation as they are on the screen, without the scroll bar: its size is estimated
    where blocks have never been in view."""
    region = app.chat.transcript.region
    rows = app.screen._compositor.render_strips()[region.y : region.bottom]
    return [strip.crop(0, region.width - 1).simplify() for strip in rows]


def without_bar(app: ForgeApp) -> list[Strip]:
    """The rows of the screen, without the scroll bar of the conversation."""
    region, rows = app.chat.transcript.region, app.screen._compositor.render_strips()
    beside = [strip.crop(region.right).simplify() for strip in rows[region.y : region.bottom]]
    return [*rows[: region.y], *conversation(app), *beside, *rows[region.bottom :]]


def all_rows(app: ForgeApp) -> list[str]:
    """The text of the whole conversation, also of what is not in view."""
    model = app.chat.transcript.model
    rows = (row for index in range(len(model.blocks)) for row in model.rendered(index).rows)
    return [row_text(row) for row in rows]


async def run_live(config: ForgeConfig, folder: Path) -> tuple[Path, list[Strip], list[str]]:
    """Run a few turns on the screen; return the journal, what the screen shows, and the whole conversation."""
    gate = Gate()
    replies = [*REPLIES, ["Interrupted in the ", "mid", gate, "dle."], ["The end."]]
    session = scripted_session(
        folder, replies, tools=(TodoTool(), WriteTool(), BashTool()), approver=Answering(Answer.ONCE)
    )
    app = make_app(config, make_session=lambda responder, scripted: session)
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot)
        for text in ("write a.py", "and now?", "go on", "then this", "finish"):
            before = session.last_result
            app.chat.composer.replace_text(text)
            await pilot.press("enter")
            if text == "then this":
                await until(pilot, gate.reached.is_set)
                await pilot.press("escape")
            await until(pilot, lambda last=before: session.last_result is not last and not app.chat.has_turn)
        await until(pilot, lambda: is_painted(app))
        rows, text = conversation(app), all_rows(app)
    return folder / "state" / "journal.jsonl", rows, text


async def test_the_last_screen_is_that_of_the_live_run_and_two_replays_are_the_same(
    config: ForgeConfig, tmp_path: Path
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    journal, live, text = await run_live(config, folder)
    files = contents(tmp_path)
    pictures = []
    for _ in range(2):
        async with replay(config, journal).run_test(size=SIZE) as pilot:
            app = await played(pilot)
            assert "\n".join(strip.text for strip in conversation(app)) == "\n".join(
                strip.text for strip in live
            )
            assert conversation(app) == live
            assert all_rows(app) == text
            assert [todo.content for todo in app.chat.todos.todos] == ["Write it"]
            pictures.append(without_bar(app))
    assert pictures[0] == pictures[1]
    for part in (
        "write a.py", "Thought", "I write it.", "print(1)", "a.py", "one", "second answer.", "is empty", "in the mid",
        "interrupted", "The end.",
    ):  # fmt: skip
        assert any(part.lower() in row.lower() for row in text), part
    assert contents(tmp_path) == files


@pytest.mark.parametrize("name", NAMES)
async def test_journals_of_the_first_build_play_to_their_end(config: ForgeConfig, name: str) -> None:
    last = {"plain_answer": "help shows all", "tools_and_error": "takes no tools", "retry_and_reset": "third"}
    async with replay(config, JOURNALS / f"{name}.jsonl").run_test(size=SIZE) as pilot:
        app = await played(pilot)
        assert last[name] in shown(app)
        assert "Replay" in shown(app) and " end │" in shown(app)


async def test_the_keys_pause_step_and_leave(config: ForgeConfig, tmp_path: Path) -> None:
    chunk = ("llm_chunk", {"text": "one two three", "kind": "answer"})
    saved = recorded(tmp_path, user("hello"), ("llm_start", {"model": "m"}), chunk, ended(), user("next"))
    app = replay(config, saved.path, speed=FAST)
    app.chat.action_toggle_pause()  # type: ignore[attr-defined]
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: " paused │" in shown(app))
        assert "▎ hello" not in shown(app)
        await pilot.press("right")
        await until(pilot, lambda: "▎ hello" in shown(app))
        await pilot.press("right", "right")
        await until(pilot, lambda: "one two three" in shown(app))
        assert "▎ next" not in shown(app) and app.chat.has_turn
        assert "Working" in shown(app) and "Space to go on" in shown(app)
        await pilot.press("space")
        await until(pilot, lambda: screen_of(app).has_ended)
        assert "▎ next" in shown(app)
        await pilot.press("q")
    assert app.return_code == 0


@pytest.mark.parametrize("key", ["escape", "ctrl+c", "ctrl+d"])
async def test_other_keys_leave_as_well(config: ForgeConfig, key: str) -> None:
    app = replay(config, JOURNALS / "plain_answer.jsonl")
    async with app.run_test(size=SIZE) as pilot:
        await played(pilot)
        await pilot.press(key)
        assert app.return_code == 0


async def test_what_would_change_something_has_no_effect(config: ForgeConfig) -> None:
    app = replay(config, JOURNALS / "tools_and_error.jsonl")
    async with app.run_test(size=SIZE) as pilot:
        await played(pilot)
        before = shown(app)
        await pilot.press("ctrl+p", "shift+tab", "ctrl+b", *"/new", "enter", *"hello", "enter")
        await pilot.pause()
        assert shown(app) == before and len(app.screen_stack) == 1


async def test_finding_and_help_give_the_keys_back_to_the_replay(config: ForgeConfig) -> None:
    app = replay(config, JOURNALS / "tools_and_error.jsonl")
    async with app.run_test(size=SIZE) as pilot:
        await played(pilot)
        await pilot.press("ctrl+f", *"calc")
        await until(pilot, lambda: "Find calc" in shown(app))
        await pilot.press("escape", "f1")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        assert "Pause, or go on" in shown(app) and "/reset" not in shown(app)
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert app.is_running and app.focused is screen_of(app).bar
        await pilot.press("q")
        assert app.return_code == 0


async def test_requests_for_permission_show_with_their_answers(config: ForgeConfig, tmp_path: Path) -> None:
    def answer(call_id: str, decision: str, reason: str = "") -> tuple[str, dict[str, Any]]:
        data = {"call_id": call_id, "decision": decision, "rule": "", "by": "person", "reason": reason}
        return "permission", data

    end = {"result": "", "success": True, "duration_s": 1.0}
    saved = recorded(
        tmp_path,
        *(user("x"), tool("c1"), tool("c2", target="rm -r build"), answer("c1", "allow")),
        *(answer("c2", "deny", "not that"), tool("c1", "tool_end", **end), tool("c2", "tool_end", **end)),
        ended(),
    )
    app = replay(config, saved.path, speed=FAST)
    app.chat.action_toggle_pause()  # type: ignore[attr-defined]
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: " paused │" in shown(app))
        await pilot.press(*["right"] * 5)
        await until(pilot, lambda: "Permission asked: Run rm -r build · not answered yet" in shown(app))
        await pilot.press(*["right"] * 2)
        await until(pilot, lambda: "Permission asked: Run make · allowed" in shown(app))
        assert "Permission asked: Run rm -r build · denied: not that" in shown(app)
        await pilot.press("space")
        await until(pilot, lambda: screen_of(app).has_ended)
        assert "Permission asked" not in shown(app)


async def test_a_rewind_and_a_reset_are_shown_as_they_were(config: ForgeConfig, tmp_path: Path) -> None:
    rewound = [user("first"), ended(), user("second"), ended(), ("rewind", {"turn": 2, "undone": []})]
    saved = recorded(tmp_path, *rewound)
    async with replay(config, saved.path).run_test(size=SIZE) as pilot:
        app = await played(pilot)
        text = shown(app)
        assert "▎ first" in text and "▎ second" not in text and "was rewound" in text
    saved = recorded(tmp_path, *rewound, ("reset", {}), user("third"), ended())
    async with replay(config, saved.path).run_test(size=SIZE) as pilot:
        text = shown(await played(pilot))
        assert "▎ first" not in text and "▎ third" in text


async def test_a_bill_after_the_last_turn_is_shown(config: ForgeConfig, tmp_path: Path) -> None:
    estimate = {"prompt_tokens": 80, "completion_tokens": 20, "cost_usd": "0.05", "estimated": True}
    cut = ("llm_end", {"usage": estimate, "total_usage": estimate, "cost_usd": "0.05", "model": "a/b"})
    bill = ("bill", {"of": START + 2, "usage": {**estimate, "cost_usd": "0.0375", "estimated": False}})
    saved = recorded(tmp_path, user("x"), cut, ended("cancelled"), bill)
    app = replay(config, saved.path)
    async with app.run_test(size=SIZE) as pilot:
        await played(pilot)
        assert "$0.038 " in shown(app) and "~$" not in shown(app)


async def test_damaged_lines_are_skipped_with_a_notice(config: ForgeConfig, tmp_path: Path) -> None:
    saved = recorded(tmp_path, user("first"), ended())
    with saved.path.open("a") as file:
        file.write('{"v": 2, "type": "us')
    async with replay(config, saved.path).run_test(size=SIZE) as pilot:
        text = shown(await played(pilot))
        assert "1 damaged line was left out of the session's record" in text and "▎ first" in text


async def test_it_ends_after_the_turn_of_the_wanted_message(config: ForgeConfig, tmp_path: Path) -> None:
    saved = recorded(tmp_path, user("first"), ended(), user("second"), ended())
    async with replay(config, saved.path, until=1).run_test(size=SIZE) as pilot:
        text = shown(await played(pilot))
        assert "▎ first" in text and "▎ second" not in text and "message 1 of 1" in text


async def test_a_resize_in_the_middle_leaves_the_same_last_screen(config: ForgeConfig) -> None:
    path = JOURNALS / "tools_and_error.jsonl"
    async with replay(config, path).run_test(size=SIZE) as pilot:
        expected = conversation(await played(pilot))
    app = replay(config, path, speed=FAST)
    app.chat.action_toggle_pause()  # type: ignore[attr-defined]
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: " paused │" in shown(app))
        await pilot.press(*["right"] * 12)
        await pilot.resize_terminal(60, 20)
        await pilot.press("space")
        await pilot.resize_terminal(*SIZE)
        await until(pilot, lambda: conversation(app) == expected)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    clock = FakeClock()
    use_clock(monkeypatch, clock, 0.0)
    return clock


def test_times_are_divided_by_the_speed_and_long_waits_are_cut(clock: FakeClock) -> None:
    async def run(speed: float | None) -> Iterator[float]:
        replay_clock, began, passed = ReplayClock(clock), clock.now, []
        replay_clock.start(100.0, speed)
        for moment in (100.0, 104.0, 103.0, 1104.0):
            await replay_clock.wait_until(moment)
            passed.append(round(clock.now - began, 3))
            assert replay_clock.now() == max(moment, 104.0 if moment > 100.0 else 100.0)
        return iter(passed)

    assert list(run_skipping(clock, run(2.0))) == [0, 2, 2, 2 + LONGEST_WAIT_S]
    assert list(run_skipping(clock, run(8.0))) == [0, 0.5, 0.5, 0.5 + LONGEST_WAIT_S]
    assert list(run_skipping(clock, run(None))) == [0, 0, 0, 0]


def test_the_clock_shows_the_recorded_time_and_stands_still_while_paused(clock: FakeClock) -> None:
    async def run() -> None:
        replay_clock = ReplayClock(clock)
        replay_clock.start(100.0, 2.0)
        waiting = asyncio.create_task(replay_clock.wait_until(104.0))
        await asyncio.sleep(1.0)
        assert replay_clock.now() == 102.0
        replay_clock.toggle_pause()
        await asyncio.sleep(50.0)
        assert replay_clock.now() == 102.0 and not waiting.done()
        replay_clock.toggle_pause()
        await asyncio.sleep(0.5)
        assert replay_clock.now() == 103.0
        await waiting
        assert replay_clock.now() == 104.0

    run_skipping(clock, run())


@pytest.mark.parametrize(
    "text",
    ["", "a", "one two  three\nfour\tfive " * 9, "日本語のテキスト", " " * 40, "x" * 500, "e\u0301 " * 20],
)
def test_a_text_is_shown_in_a_few_pieces_of_whole_words(text: str) -> None:
    pieces = [piece.text for piece in _pieces(LLMChunk(text=text)) if isinstance(piece, LLMChunk)]
    assert "".join(pieces) == text and 1 <= len(pieces) <= PIECES
    assert all(piece[-1:].isspace() for piece in pieces[:-1])


def test_a_text_with_control_sequences_is_not_divided() -> None:
    chunk = LLMChunk(text="\x1b]0;a title with words\x07 and \x1b[31m red " * 5)
    assert list(_pieces(chunk)) == [chunk]


# The program


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.pty
def test_the_program_plays_a_session_and_leaves_everything_as_it_was(_own_home: Path) -> None:
    sessions = _own_home / "forge" / "state" / "sessions"
    sessions.mkdir(parents=True)
    (sessions / "20261120-100000-00000a.jsonl").write_bytes((JOURNALS / "tools_and_error.jsonl").read_bytes())
    before = contents(sessions)
    command = python("-m", "forge_tui.cli", "replay", "20261120", "--speed", "max")
    with Terminal(command, size=SIZE, folder=_own_home) as terminal:
        terminal.wait_for(" end │")
        assert "takes no tools" in terminal.text
        terminal.send("q")
        assert terminal.wait_for_exit() == 0
    assert {name: text for name, text in contents(sessions).items() if name in before} == before
    assert [path.name for path in sessions.iterdir() if path.is_dir()] == []


@pytest.mark.pty
def test_the_program_reports_a_session_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "torn.jsonl").write_text('{"v": 2, "ty')
    with Terminal(python("-m", "forge_tui.cli", "replay", "torn.jsonl"), folder=tmp_path) as terminal:
        assert terminal.wait_for_exit() == 1
        assert "'torn.jsonl' holds no session of Forge." in terminal.text
