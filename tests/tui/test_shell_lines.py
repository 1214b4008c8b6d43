"""Lines that begin with `!`: parsing, the composer, the cards, the keys."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forge_core.commands.command_table import CommandTable
from forge_core.config.forge_config import ForgeConfig
from forge_tui.pastes.folded_text import folded
from forge_tui.screens.chat.queued.message_queue import MessageQueue
from forge_tui.screens.chat.shell_lines import EARLY, PASTED
from forge_tui.submitted_line import ShellLine, UserText, parse_line
from forge_tui.widgets.composer import Composer
from forge_tui.widgets.transcript.calls.shell_card import ShellCard
from tests.support.chat_app import ChatApp, make_app, ready, shown, until
from tests.tui.test_first_message import Held


@pytest.fixture
def app(config: ForgeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ChatApp:
    monkeypatch.setenv("SHELL", "/bin/sh")
    return make_app(replace(config, working_dir=tmp_path))


def cards(app: ChatApp) -> list[ShellCard]:
    return [block for block in app.chat.transcript.model.blocks if isinstance(block, ShellCard)]


def test_only_a_line_that_begins_with_it_is_for_the_shell() -> None:
    assert parse_line("!ls -l ", CommandTable(), has_paste=False) == ShellLine("ls -l", has_paste=False)
    assert parse_line(" !ls", CommandTable()) == UserText("!ls")
    text = "x\n" * 19 + "x"
    assert parse_line(f"!cat {folded(text)}", CommandTable()) == ShellLine(f"cat {text}", has_paste=True)
    assert parse_line("!!", CommandTable(), has_paste=False) == ShellLine("!", has_paste=False)


async def test_a_line_runs_is_repeated_and_is_news_for_the_model(app: ChatApp) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await pilot.press(*"!echo a", "exclamation_mark")
        assert app.chat.composer.has_class("-shell")
        assert "❯ !echo a!" in shown(app), "the exclamation mark shows once"
        await pilot.press("enter")
        assert not app.chat.composer.has_class("-shell")
        await until(pilot, lambda: cards(app) and cards(app)[0].state == "done")
        await pilot.press(*"!!", "enter")
        await until(pilot, lambda: len(cards(app)) == 2 and cards(app)[1].state == "done")
        assert [news.count("$ echo a!\na!\n") for news in app.scripted.news] == [1, 1]
        assert app.scripted.sent == []
        await pilot.press("up")
        assert app.chat.composer.text == "!!"


async def test_escape_interrupts_the_line(app: ChatApp) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await pilot.press(*"!sleep 60", "enter")
        await until(pilot, lambda: cards(app) and cards(app)[0].is_running)
        await pilot.pause(0.2)
        await pilot.press("escape")
        await until(pilot, lambda: cards(app)[0].state == "interrupted")


async def test_a_pasted_line_waits_for_a_second_enter(app: ChatApp) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        app.chat.composer.paste("!echo pasted")
        await pilot.press("enter")
        await until(pilot, lambda: app.chat.activity.note_text == PASTED)
        assert app.chat.composer.text == "!echo pasted" and cards(app) == []
        await pilot.press("enter")
        await until(pilot, lambda: cards(app) and cards(app)[0].state == "done")


async def test_lines_before_the_session_is_ready_wait_in_the_queue_and_run(config: ForgeConfig) -> None:
    held = Held(config, "")
    app = held.app
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press(*"!echo a", "enter", *"hi", "enter", *"!echo b", "enter")
        assert app.chat.composer.text == "" and cards(app) == []
        assert "Forge is starting · 3 queued" in shown(app) and "↳ !echo a" in shown(app)
        await pilot.press("up")
        assert app.chat.composer.text == "!echo b"
        await pilot.press("enter")
        held.release()
        await until(pilot, lambda: [one.state for one in cards(app)] == ["done", "done"])
        assert app.scripted.sent == ["hi"]
        assert "queued" not in shown(app)


async def test_a_line_that_came_before_the_app_could_read_keys_waits_for_enter(config: ForgeConfig) -> None:
    held = Held(config, "")
    app = held.app
    async with app.run_test(size=(100, 30)) as pilot:
        app.chat.composer.post_message(Composer.Submitted("!echo early", has_paste=False))
        await until(pilot, lambda: app.chat.activity.note_text == EARLY)
        held.release()
        await until(pilot, lambda: app.session is not None)
        assert app.chat.composer.text == "!echo early" and cards(app) == []
        await pilot.press("enter")
        await until(pilot, lambda: [one.state for one in cards(app)] == ["done"])


@pytest.mark.parametrize(
    "keys",
    [("ctrl+s", "ctrl+s"), ("ctrl+c", "up"), ("up",), ("ctrl+v",)],
    ids=["stashed", "cleared", "sent", "copied"],
)
async def test_a_line_that_was_not_typed_does_not_run_after_it_comes_back(
    app: ChatApp, keys: tuple[str, ...]
) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        composer = app.chat.composer
        if keys == ("up",):  # a message, of which the mark comes first when its chip is unfolded
            composer.paste("!echo pasted\n" * 20)
            await pilot.press("enter")
            await until(pilot, lambda: len(app.scripted.sent) == 1)
            await pilot.press("up")
            composer.expand_chip()
        elif "ctrl+v" in keys:
            app.copy_to_clipboard("!echo \x1bcopied")
            await pilot.press("ctrl+v")
            assert composer.text == "!echo ␛copied"
        else:
            composer.paste("!echo pasted")
            await pilot.press(*keys)
        assert composer.text.startswith("!echo")
        await pilot.press("enter")
        await until(pilot, lambda: app.chat.activity.note_text == PASTED)
        assert cards(app) == []


async def test_a_typed_line_runs_from_the_history(app: ChatApp) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await pilot.press(*"!echo a", "ctrl+c", "up", "enter")
        await until(pilot, lambda: cards(app) and cards(app)[0].state == "done")


def test_a_queued_message_with_a_chip_stays_a_message() -> None:
    queue = MessageQueue()
    line = parse_line(f" !ls {folded('x')}", CommandTable())
    assert isinstance(line, UserText)
    queue.add(line)
    assert [parse_line(typed, CommandTable()) for typed in queue.typed] == [line]


async def test_alone_it_is_explained_and_a_catastrophe_is_refused(app: ChatApp) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await pilot.press("exclamation_mark", "enter")
        await until(pilot, lambda: "runs it in a shell of your own" in shown(app))
        app.chat.composer.replace_text("!rm -rf /")
        await pilot.press("enter")
        await until(pilot, lambda: "Not run" in shown(app))
        assert cards(app) == []
