"""The picker of saved sessions: what it lists, how it finds, and what its keys do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from forge_core.config.forge_config import ForgeConfig
from forge_core.redact import Redactor
from forge_core.session.saved_sessions import SavedSessions
from forge_core.session.session import ForgeSession
from forge_core.store.journal import Journal, journal_path
from forge_tui.screens.panels.session_picker import SessionPicker
from forge_tui.widgets.choices import ChoiceList
from tests.support.chat_app import ChatApp, make_app, ready, shown, type_text, until

pytestmark = pytest.mark.slow

PARSER, OTHER, CLASS = "20261120-100000-00000a", "20261121-100000-00000b", "20261121-110000-00000c"
NOW = 10_000.0


def write(
    state: Path, session_id: str, *texts: str, folder: str = "/w", at: float = 0.0, **about: str
) -> Path:
    """Write the journal of a session."""
    path = journal_path(state, session_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    records: list[tuple[str, dict[str, Any]]] = [
        ("session", {"id": session_id, "working_dir": folder, "provider": "openrouter", **about}),
    ]
    for text in texts:
        usage = {"prompt_tokens": 1, "cost_usd": "0" if about.get("provider") == "offline" else "0.25"}
        records += [
            ("user", {"text": text, "model": "a/b", "mode": "ask"}),
            ("llm_end", {"usage": usage, "model": "a/b"}),
        ]
    lines = [{"type": kind, "timestamp": at, "data": data, "v": 2} for kind, data in records]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def state(tmp_path: Path) -> Path:
    state = tmp_path / "state"
    write(state, PARSER, "Fix the parser", "Now the tests", at=NOW - 7_200)
    write(state, OTHER, "Explain this", folder="/other", at=NOW - 60)
    write(state, CLASS, "Rename a class", at=NOW - 300, provider="offline")
    return state


class Picked:
    """An open picker, and what it returned."""

    def __init__(self, app: ChatApp, pilot: Pilot[None], picker: SessionPicker) -> None:
        self.app = app
        self.pilot = pilot
        self.picker = picker
        self.result: list[tuple[str, bool] | None] = []

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.settle()

    async def type(self, text: str) -> None:
        await type_text(self.pilot, text)
        await self.settle()

    async def settle(self) -> None:
        await until(self.pilot, lambda: not self.picker._is_changing)
        await self.pilot.pause()

    @property
    def titles(self) -> list[str]:
        return [row.label for row in self.picker.query_one(ChoiceList).rows]

    @property
    def screen(self) -> str:
        return shown(self.app)


async def opened(pilot: Pilot[None], state: Path, folder: str = "/w", session: object = None) -> Picked:
    app = await ready(pilot)
    sessions = SavedSessions(state, Redactor())
    picker = SessionPicker(sessions, Path(folder), cast("ForgeSession", session), clock=lambda: NOW)
    picked = Picked(app, pilot, picker)
    app.push_screen(picker, picked.result.append)
    await until(pilot, lambda: picker._all is not None)
    await pilot.pause()
    return picked


@pytest.fixture
def app(config: ForgeConfig) -> ChatApp:
    return make_app(config)


async def test_the_sessions_of_this_folder_are_listed_with_the_last_used_first(
    app: ChatApp, state: Path
) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        picked = await opened(pilot, state)
        assert picked.titles == ["Rename a class", "Fix the parser"]
        assert "Sessions of this folder" in picked.screen
        assert "5 min ago · 1 turn · offline" in picked.screen
        assert "2 h ago · 2 turns · $0.50" in picked.screen


async def test_tab_shows_those_of_all_folders_and_keeps_the_chosen_one(app: ChatApp, state: Path) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        picked = await opened(pilot, state)
        await picked.press("down")
        await picked.press("tab")
        assert picked.titles == ["Explain this", "Rename a class", "Fix the parser"]
        assert "Sessions of all folders" in picked.screen
        await picked.press("enter")
        assert picked.result == [(PARSER, False)]


async def test_a_folder_without_sessions_begins_with_those_of_all_folders(app: ChatApp, state: Path) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        picked = await opened(pilot, state, folder="/nowhere")
        assert len(picked.titles) == 3
        await picked.press("tab")
        assert picked.titles == ["There are no sessions of this folder yet; Tab shows those of all folders"]
        await picked.press("enter")
        await picked.press("ctrl+x")
        await picked.press("ctrl+r")
        assert picked.result == [] and picked.picker.is_current


async def test_without_any_session_the_list_says_so(app: ChatApp, tmp_path: Path) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        picked = await opened(pilot, tmp_path / "empty")
        assert picked.titles == ["There are no saved sessions yet"]
        await picked.press("down", "enter")
        assert picked.picker.is_current
        await picked.press("escape")
        assert picked.result == [None]


@pytest.mark.parametrize(
    ("typed", "titles"),
    [
        ("parser", ["Fix the parser"]),
        ("PARSER fix", ["Fix the parser"]),
        ("tests", ["Fix the parser"]),
        ("rcl", ["Rename a class"]),
        ("zzz", ["Nothing found"]),
    ],
)
async def test_typing_finds_words_of_the_title_or_message_or_letters_of_the_title(
    app: ChatApp, state: Path, typed: str, titles: list[str]
) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        picked = await opened(pilot, state)
        await picked.type(typed)
        assert picked.titles == titles


async def test_ctrl_f_continues_in_a_copy(app: ChatApp, state: Path) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        picked = await opened(pilot, state)
        await picked.press("ctrl+f")
        assert picked.result == [(CLASS, True)]


async def test_a_click_continues_the_session_of_its_row(app: ChatApp, state: Path) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        picked = await opened(pilot, state)
        await pilot.click(ChoiceList, offset=(5, 1))
        await pilot.pause()
        assert picked.result == [(PARSER, False)]


async def test_a_new_title_is_typed_saved_and_found(app: ChatApp, state: Path) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        picked = await opened(pilot, state)
        await picked.type("parser")
        await picked.press("ctrl+r")
        search = picked.picker.query_one(Input)
        assert search.value == "Fix the parser"
        search.value = ""
        await picked.type("Grammar")
        await picked.press("enter")
        assert search.value == "" and picked.titles == ["Rename a class", "Grammar"]
        assert "❯ Grammar" in picked.screen
        assert SavedSessions(state, Redactor()).find("Grammar").id == PARSER
        assert picked.result == []


async def test_escape_keeps_the_old_title_and_the_list(app: ChatApp, state: Path) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        picked = await opened(pilot, state)
        await picked.press("ctrl+r")
        await picked.type("zzz")
        await picked.press("escape")
        assert picked.picker.is_current and picked.titles == ["Rename a class", "Fix the parser"]
        assert SavedSessions(state, Redactor()).list()[1].title == "Rename a class"


async def test_an_empty_title_is_refused(app: ChatApp, state: Path) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        picked = await opened(pilot, state)
        await picked.press("ctrl+r")
        picked.picker.query_one(Input).value = "   "
        await picked.press("enter")
        assert "A title needs at least one character" in picked.screen
        await picked.press("escape")
        assert picked.titles[0] == "Rename a class"


async def test_a_session_is_deleted_only_by_a_second_press_on_it(app: ChatApp, state: Path) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        picked = await opened(pilot, state)
        await picked.press("ctrl+x")
        assert "Ctrl+X again deletes 'Rename a class'" in picked.screen
        await picked.press("down", "ctrl+x")
        assert "Ctrl+X again deletes 'Fix the parser'" in picked.screen
        await picked.press("tab", "tab", "ctrl+x")
        assert len(SavedSessions(state, Redactor()).list()) == 3
        await picked.press("ctrl+x")
        assert picked.titles == ["Rename a class"]
        assert not journal_path(state, PARSER).exists()


async def test_deleting_the_last_session_leaves_an_empty_list(app: ChatApp, state: Path) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        picked = await opened(pilot, state, folder="/other")
        await picked.press("ctrl+x", "ctrl+x")
        assert picked.titles == ["There are no sessions of this folder yet; Tab shows those of all folders"]


class OpenSession:
    """The session that is open in the chat."""

    id = PARSER

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def rename(self, title: str) -> str:
        self.journal.record("title", {"title": title})
        return title


async def test_the_open_session_can_be_renamed_and_not_deleted(app: ChatApp, state: Path) -> None:
    journal = Journal(journal_path(state, PARSER), Redactor())
    journal.claim()
    try:
        async with app.run_test(size=(100, 30)) as pilot:
            picked = await opened(pilot, state, session=OpenSession(journal))
            assert "open · 2 turns" in picked.screen
            await picked.press("down", "ctrl+x", "ctrl+x")
            assert "This session is open" in picked.screen and journal_path(state, PARSER).exists()
            await picked.press("ctrl+r")
            await picked.type(" again")
            await picked.press("enter")
            assert picked.titles == ["Rename a class", "Fix the parser again"]
    finally:
        journal.close()
    assert SavedSessions(state, Redactor()).find("Fix the parser again").id == PARSER


@pytest.mark.parametrize("keys", [("ctrl+x", "ctrl+x"), ("ctrl+r", "x", "enter")])
async def test_a_session_that_another_forge_has_open_is_left_alone(
    app: ChatApp, state: Path, keys: tuple[str, ...]
) -> None:
    journal = Journal(journal_path(state, CLASS), Redactor())
    journal.claim()
    try:
        async with app.run_test(size=(100, 30)) as pilot:
            picked = await opened(pilot, state)
            for key in keys:
                await picked.press(key)
            assert "is open in another Forge" in picked.screen
    finally:
        journal.close()
    assert SavedSessions(state, Redactor()).find("Rename a class").id == CLASS


HOSTILE = "\x1b[31mred\x1b]0;owned\x07 [bold]x[/bold] \u202egnp.exe 日本語の題名 👨‍👩‍👧 \x00\x9b2J"


@pytest.mark.parametrize("size", [(80, 24), (40, 12), (20, 7)])
async def test_hostile_and_wide_titles_keep_the_frame_whole(
    app: ChatApp, state: Path, size: tuple[int, int]
) -> None:
    for number in range(12):
        write(
            state,
            f"20261122-1000{number:02}-00000d",
            f"{number} {HOSTILE * 3}",
            folder="/w\x1b[2J",
            at=NOW + number,
        )
    async with app.run_test(size=size) as pilot:
        picked = await opened(pilot, state, folder="/w\x1b[2J")
        for _ in range(4):
            await picked.press("down")
        await picked.press("ctrl+r")
        rows = app.screen._compositor.render_strips()
        text = "".join(segment.text for strip in rows for segment in strip if not segment.control)
        assert not set(text) & set("\x1b\x07\x00\x9b\u202e")
        assert all(strip.cell_length == size[0] for strip in rows)


async def test_hundreds_of_sessions_scroll_and_are_found(app: ChatApp, state: Path) -> None:
    for number in range(400):
        write(state, f"20261201-{number:06}-00000e", f"Task number {number}", at=NOW + number)
    async with app.run_test(size=(80, 24)) as pilot:
        picked = await opened(pilot, state)
        assert len(picked.titles) == 402
        await picked.press("up")  # to the last one
        assert "❯ Fix the parser" in picked.screen
        await picked.type("number 37")
        assert picked.titles[0] == "Task number 379"
        assert ["37" in title for title in picked.titles[:15]] == [True] * 14 + [False]


async def test_keys_that_come_before_the_list_do_nothing(app: ChatApp, state: Path) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        sessions = SavedSessions(state, Redactor())
        picker = SessionPicker(sessions, Path("/w"), clock=lambda: NOW)
        picker._load = _never  # type: ignore[method-assign]
        app.push_screen(picker)
        await pilot.pause()
        await pilot.press("enter", "down", "ctrl+x", "ctrl+x", "ctrl+r", "ctrl+f", "tab")
        await pilot.pause()
        assert picker.is_current and "Reading the sessions" in shown(app)


async def _never() -> None:
    """A list that takes very long."""


async def test_the_keys_below_the_list_are_dropped_whole_from_the_last_one(
    config: ForgeConfig, state: Path
) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        app.push_screen(SessionPicker(SavedSessions(state, Redactor()), Path("/w"), clock=lambda: NOW))
        kept = "Enter continue · Tab folders · Ctrl+R rename"
        all_keys = f"{kept} · Ctrl+F fork · Ctrl+X delete"
        for width, keys in ((80, all_keys), (60, kept), (100, all_keys)):
            await pilot.resize_terminal(width, 15)
            await until(pilot, lambda keys=keys: f"─ {keys} ─╯" in shown(app))  # type: ignore[misc]
