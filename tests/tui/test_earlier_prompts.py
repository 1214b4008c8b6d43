"""Messages over sessions: what Up brings back, and what is kept for the next session."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from forge_core.config.forge_config import ForgeConfig
from forge_core.redact import Redactor
from forge_core.session.prompt_history import PromptHistory, SentPrompt
from forge_tui.pastes.folded_text import folded
from forge_tui.screens.panels.history_search import HistorySearch, search
from forge_tui.widgets.choices import ChoiceList
from forge_tui.widgets.composer import Recall
from tests.support.chat_app import ChatApp, make_app, ready, say, shown, type_text, until

pytestmark = pytest.mark.slow

TIMES = itertools.count(1_000.0)


def history(config: ForgeConfig) -> PromptHistory:
    return PromptHistory(config.state_dir, Redactor(), clock=lambda: next(TIMES))


def kept(config: ForgeConfig) -> list[str]:
    return [one.text for one in history(config).read()]


def keep(config: ForgeConfig, *texts: str, folder: Path | None = None) -> None:
    for text in texts:
        assert history(config).add(text, folder or config.working_dir)


async def loaded(pilot: Pilot[None]) -> ChatApp:
    app = await ready(pilot)
    await until(pilot, lambda: app.chat.composer.recall._earlier, "earlier messages")
    return app


async def texts_of(pilot: Pilot[None], app: ChatApp, *keys: str) -> list[str]:
    seen = []
    for key in keys:
        await pilot.press(key)
        seen.append(app.chat.composer.text)
    return seen


async def test_up_continues_with_the_messages_of_earlier_sessions_of_the_folder(config: ForgeConfig) -> None:
    keep(config, "first", "second")
    keep(config, "elsewhere", folder=Path("/other"))
    async with make_app(config).run_test() as pilot:
        app = await loaded(pilot)
        await say(pilot, "now")
        await until(pilot, lambda: not app.chat.has_turn)
        await type_text(pilot, "draft")
        seen = await texts_of(pilot, app, *["up"] * 4, *["down"] * 3)
        assert seen == ["now", "second", "first", "first", "second", "now", "draft"]


async def test_what_is_sent_is_kept_for_the_next_session(config: ForgeConfig) -> None:
    async with make_app(config).run_test() as pilot:
        app = await ready(pilot)
        await type_text(pilot, "hello")
        await pilot.press("ctrl+j")
        await say(pilot, "you")
        await say(pilot, "/todo")
        await say(pilot, "my key is sk-or-v1-0123456789abcdef")
        await say(pilot, "last")
        await until(pilot, lambda: kept(config)[-1:] == ["last"])
        assert kept(config) == ["hello\nyou", "/todo", "last"]
        assert {one.folder for one in history(config).read()} == {str(config.working_dir)}
        assert app.chat.composer.recall.step(-1, "") == "last"


async def test_a_command_of_an_earlier_session_is_only_put_into_the_composer(config: ForgeConfig) -> None:
    keep(config, "!touch made", "/clear", "# remember")
    async with make_app(config).run_test() as pilot:
        app = await loaded(pilot)
        assert await texts_of(pilot, app, "up", "up", "up") == ["# remember", "/clear", "!touch made"]
        assert app.scripted.sent == []
        assert not app.chat.transcript.model.blocks


async def test_without_the_setting_nothing_is_kept_or_read(config: ForgeConfig) -> None:
    keep(config, "earlier")
    async with make_app(replace(config, history=False)).run_test() as pilot:
        app = await ready(pilot)
        await say(pilot, "now")
        await until(pilot, lambda: not app.chat.has_turn)
        assert await texts_of(pilot, app, "up", "up") == ["now", "now"]
    assert kept(config) == ["earlier"]


async def test_a_kept_paste_is_a_chip_again_and_hostile_text_is_safe(config: ForgeConfig) -> None:
    keep(config, "\ufdd0half", "\x1b]0;owned\x07", "see " + folded("line\n" * 20))
    async with make_app(config).run_test() as pilot:
        app = await loaded(pilot)
        await pilot.press("up")
        assert app.chat.composer.has_chips and app.chat.composer.document.line_count == 1
        assert app.chat.composer.typed == "see " + folded("line\n" * 20)
        for text in await texts_of(pilot, app, "home", "up", "up"):
            assert not {"\x1b", "\x07"} & set(text)
        assert app.chat.composer.text == "\ufffdhalf"


async def searching(pilot: Pilot[None], *keys: str) -> tuple[ChatApp, HistorySearch]:
    app = await ready(pilot)
    await type_text(pilot, "draft")
    await pilot.press("ctrl+r")
    await until(pilot, lambda: isinstance(app.screen, HistorySearch) and app.screen._all is not None)
    panel = app.screen
    assert isinstance(panel, HistorySearch)
    await pilot.press(*keys)
    await pilot.pause()
    return app, panel


def labels(panel: HistorySearch) -> list[str]:
    return [row.label for row in panel.query_one(ChoiceList).rows]


async def test_ctrl_r_finds_what_was_sent_and_puts_it_into_the_composer(config: ForgeConfig) -> None:
    keep(config, "fix the parser\nof dates", "!make", "fix the lexer")
    keep(config, "parser elsewhere", folder=Path("/other"))
    async with make_app(config).run_test() as pilot:
        app, panel = await searching(pilot, *"parser")
        assert labels(panel) == ["fix the parser"]
        assert "of dates" in shown(app) and "Sent in this folder" in shown(app)
        await pilot.press("tab")
        assert labels(panel) == ["parser elsewhere", "fix the parser"]
        await pilot.press("ctrl+r", "enter")
        await until(pilot, lambda: app.screen is app.chat)
        assert app.chat.composer.text == "fix the parser\nof dates"
        assert app.scripted.sent == []
        await pilot.press("ctrl+underscore")
        assert app.chat.composer.text == "draft"


async def test_esc_closes_the_search_and_changes_nothing(config: ForgeConfig) -> None:
    keep(config, "one", "two")
    async with make_app(config).run_test() as pilot:
        app, panel = await searching(pilot, "x", "y", "enter")
        assert labels(panel) == ["Nothing found"] and panel.is_current
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)
        assert app.chat.composer.text == "draft"


async def test_a_click_chooses_a_text(config: ForgeConfig) -> None:
    keep(config, "one", "two")
    async with make_app(config).run_test() as pilot:
        app, _ = await searching(pilot)
        await pilot.click(ChoiceList, offset=(3, 1))
        await until(pilot, lambda: app.screen is app.chat)
        assert app.chat.composer.text == "one"


async def test_the_search_says_that_no_history_is_kept(config: ForgeConfig) -> None:
    async with make_app(replace(config, history=False)).run_test() as pilot:
        app = await ready(pilot)
        await pilot.press("ctrl+r")
        assert app.screen is app.chat
        assert "No history is kept" in shown(app)


def test_words_are_searched_first_and_then_letters() -> None:
    texts = ["fix the Parser", "a parser\nto FIX", "run the tests"]
    sent = [SentPrompt(text, "/", 0.0) for text in texts]
    assert [one.text for one in search(sent, "fix parser")] == texts[:2]
    assert [one.text for one in search(sent, "rtt")] == texts[2:]
    assert search(sent, "zzz") == [] and search(sent, "") == sent


def test_earlier_messages_come_once_and_not_again_after_those_of_this_session() -> None:
    recall = Recall()
    recall.add("c")
    recall.set_earlier(["a", "b", "a", "c"])
    assert [recall.step(-1, "") for _ in range(4)] == ["c", "a", "b", None]
    recall.add("b")
    assert [recall.step(-1, "x") for _ in range(4)] == ["b", "c", "a", None]
    assert [recall.step(1, "") for _ in range(4)] == ["c", "b", "x", None]


def test_earlier_messages_that_come_late_keep_the_place() -> None:
    recall = Recall()
    recall.add("a")
    recall.add("b")
    assert recall.step(-1, "draft") == "b"
    recall.set_earlier(["z"])
    assert [recall.step(-1, ""), recall.step(-1, ""), recall.step(1, "")] == ["a", "z", "a"]
