"""Rewinding on the screen: Esc twice, the choice of a message and of what goes back, the conversation after
it; over a real session that is continued."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from forge_core.approval import Responder
from forge_core.config.forge_config import ForgeConfig
from forge_core.runtime import build_session
from forge_core.session.rewinder import RewindPoint
from forge_tui.screens.chat.environment import Environment
from forge_tui.screens.chat.rewinding import PAUSE_S
from forge_tui.screens.panels.rewind_picker import RewindPicker
from tests.support.chat_app import ChatApp, FakeClock, make_app, ready, say, shown, type_text, until
from tests.support.scripted_session import answer
from tests.unit.session.test_rewinder import AFTER, Table, allow

pytestmark = pytest.mark.slow


@pytest.fixture
async def table(tmp_path: Path) -> AsyncIterator[Table]:
    made = Table(tmp_path / "work")
    with made.server:
        yield made


async def continued(table: Table) -> ChatApp:
    """Return the app, which continues the session of the table."""
    session = await table.start()
    await session.aclose()

    def make(config: ForgeConfig, resume: str | None, responder: Responder) -> Any:
        return build_session(table.config, allow, resume=resume or session.id)

    clock = FakeClock()
    app = ChatApp(
        table.config, make, environment=Environment(version="0.1.0", clock=clock, branch=lambda folder: "")
    )
    app.clock = clock
    return app


async def opened(app: ChatApp, pilot: Pilot[None]) -> None:
    """Wait for the conversation, and open the picker with two presses of Esc."""
    await ready(pilot)
    await until(pilot, lambda: "write b" in shown(app))
    await pilot.press("escape")
    await until(pilot, lambda: "Esc again rewinds" in shown(app))
    await pilot.press("escape")
    await until(pilot, lambda: is_open(app))


def is_open(app: ChatApp) -> bool:
    return isinstance(app.screen, RewindPicker)


async def test_two_presses_of_esc_rewind_conversation_and_files_and_give_the_message_back(
    table: Table,
) -> None:
    app = await continued(table)
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(app, pilot)
        assert "1 file · " in shown(app) and "1 file changed since: b.txt" in shown(app)
        await pilot.press("up")
        assert "2 files changed since: a.txt, b.txt" in shown(app)
        await pilot.press("enter")
        await until(pilot, lambda: "Rewind to before “change a”" in shown(app))
        await pilot.press("enter", "enter")  # as a key that is held repeats
        assert is_open(app)
        app.clock.pass_(1)
        await pilot.press("enter")
        await until(pilot, lambda: "Rewound the conversation and the files" in shown(app))
        assert app.chat.composer.text == "change a"
        assert table.files() == {"a.txt": "one\n"}
        await until(pilot, lambda: "write a" in shown(app))
        assert "write b" not in shown(app)
        assert [block.source for block in app.chat.transcript.answers] == ["Done."]
        app.chat.composer.clear_into_history()
        await say(pilot, "/rewind undo")
        await until(pilot, lambda: "as before the rewind" in shown(app))
        await until(pilot, lambda: "write b" in shown(app))
        assert table.files() == AFTER


async def test_esc_goes_back_to_the_messages_and_then_closes_without_a_change(table: Table) -> None:
    app = await continued(table)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "Continue in a copy" in shown(app))
        await pilot.press("escape")
        await until(pilot, lambda: "Continue in a copy" not in shown(app))
        assert is_open(app)
        await pilot.press("escape")
        await until(pilot, lambda: not is_open(app))
        assert table.files() == AFTER and app.chat.composer.text == ""
        assert "write b" in shown(app)


@pytest.mark.parametrize(
    ("moves", "files", "draft"), [(1, AFTER, "write b"), (2, {"a.txt": "two\n"}, "")], ids=["chat", "files"]
)
async def test_one_of_conversation_and_files_goes_back_alone(
    table: Table, moves: int, files: dict[str, str], draft: str
) -> None:
    app = await continued(table)
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(app, pilot)
        await pilot.press("enter", *["down"] * moves)
        app.clock.pass_(1)
        await pilot.press("enter")
        await until(pilot, lambda: "Rewound the" in shown(app))
        assert table.files() == files
        assert app.chat.composer.text == draft


async def test_a_copy_continues_before_the_message_and_leaves_the_session(table: Table) -> None:
    app = await continued(table)
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(app, pilot)
        before = app.chat.session_id
        await pilot.press("enter", "up")
        app.clock.pass_(1)
        await pilot.press("enter")
        await until(pilot, lambda: app.chat.session_id not in ("", before))
        await until(pilot, lambda: app.chat.composer.text == "write b")
        await until(pilot, lambda: "change a" in shown(app))
        assert len(app.chat.sessions.saved().load(before).turns) == 3
        assert len(app.chat.sessions.saved().load(app.chat.session_id).turns) == 2
        assert table.files() == AFTER


async def test_a_part_is_summarised_from_a_message_on(table: Table) -> None:
    app = await continued(table)
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(app, pilot)
        await pilot.press("enter", "up", "up")
        await until(pilot, lambda: "Summarise from here" in shown(app))
        app.clock.pass_(1)
        await pilot.press("enter")
        await until(pilot, lambda: "nothing to compact yet" in shown(app))
        assert "write b" in shown(app) and table.files() == AFTER and app.chat.composer.text == ""


async def test_markup_in_a_message_shows_as_it_was_written(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        app.push_screen(RewindPicker([RewindPoint(1, "[bold red]a[/] [oops", 0.0, 0, (), ())]))
        await until(pilot, lambda: is_open(app) and "❯ [bold red]a[/] [oops" in shown(app))
        await pilot.press("enter")
        await until(pilot, lambda: "Rewind to before “[bold red]a[/] [oops”" in shown(app))


async def test_rewinding_to_the_first_message_shows_an_empty_conversation(table: Table) -> None:
    app = await continued(table)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "/rewind 1")
        await until(pilot, lambda: "Rewound the" in shown(app))
        assert app.chat.transcript.answers == []
        assert app.chat.composer.text == "write a"
        assert table.files() == {}


async def with_one_turn(
    config: ForgeConfig, then: Callable[[ChatApp, Pilot[None]], Any], *, passes: float = PAUSE_S
) -> None:
    app = make_app(config, [answer("Hello there.")])
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "hi")
        await until(pilot, lambda: "Hello there." in shown(app) and not app.chat.has_turn)
        app.clock.pass_(passes)
        await then(app, pilot)


async def test_esc_right_after_a_turn_does_not_count(config: ForgeConfig) -> None:
    async def check(app: ChatApp, pilot: Pilot[None]) -> None:
        await pilot.press("escape", "escape")
        await pilot.pause()
        assert "Esc again rewinds" not in shown(app)

    await with_one_turn(config, check, passes=PAUSE_S - 0.1)


async def test_another_key_or_time_between_the_presses_begins_again(config: ForgeConfig) -> None:
    async def check(app: ChatApp, pilot: Pilot[None]) -> None:
        await pilot.press("escape")
        await until(pilot, lambda: "Esc again rewinds" in shown(app))
        await pilot.press("up", "down")
        await until(pilot, lambda: "Esc again rewinds" not in shown(app))
        await pilot.press("escape")
        app.clock.pass_(60.0)
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is app.chat

    await with_one_turn(config, check)


async def test_two_presses_of_esc_clear_a_draft_and_up_brings_it_back(config: ForgeConfig) -> None:
    async def check(app: ChatApp, pilot: Pilot[None]) -> None:
        composer = app.chat.composer
        await type_text(pilot, "draft")
        await pilot.press("escape")
        await until(pilot, lambda: "Esc again clears the message" in shown(app))
        assert composer.text == "draft"
        await pilot.press("escape")
        await until(pilot, lambda: composer.is_blank)
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is app.chat, "the press that cleared does not count for a rewind"
        await pilot.press("up")
        assert composer.text == "draft"
        await pilot.press("escape")
        await type_text(pilot, "s")
        await pilot.press("escape")
        await pilot.pause()
        assert composer.text == "drafts", "another key between them begins again"

    await with_one_turn(config, check)


async def test_esc_leaves_a_draft_alone_with_vim_keys(config: ForgeConfig) -> None:
    async def check(app: ChatApp, pilot: Pilot[None]) -> None:
        await say(pilot, "/vim on")
        await until(pilot, lambda: app.chat.composer.key_mode is not None)
        await type_text(pilot, "draft")
        await pilot.press("escape", "escape", "escape", "escape")
        await pilot.pause()
        assert app.chat.composer.text == "draft"

    await with_one_turn(config, check)


@pytest.mark.parametrize("line", ["/rewind 3", "/rewind 3 chat", "/undo"])
async def test_a_message_sent_during_a_rewind_starts_its_turn_afterwards(table: Table, line: str) -> None:
    """It would be lost from the conversation, or its changes undone, in the middle of the rewind."""
    app = await continued(table)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await until(pilot, lambda: "write b" in shown(app))
        for text in (line, "hello"):
            for character in text:
                app.post_message(events.Key("space" if character == " " else character, character))
            app.post_message(events.Key("enter", "\r"))
        await until(pilot, lambda: "More." in shown(app))
        await until(pilot, lambda: not app.chat.has_turn)
        turns = [turn.text for turn in app.chat.sessions.saved().load(app.chat.session_id).turns]
        kept = [] if "rewind" in line else ["write b"]
        assert turns == ["write a", "change a", *kept, "hello"]
        assert ("b.txt" in table.files()) == ("chat" in line)
        requests = table.server.requests[-1].json["messages"]
        assert [one["content"].partition("\n")[0] for one in requests if one["role"] == "user"] == turns
