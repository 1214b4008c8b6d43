"""What is queued: the rows above the composer, the list with its keys, and messages that enter the running turn."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from forge_core.approval import Answer, Responder
from forge_core.commands.command_table import CommandTable
from forge_core.config.forge_config import ForgeConfig
from forge_core.langchain.agent.steering import Steering
from forge_core.store.saved_session import load_session
from forge_core.tools.base import BaseTool, ExecutionContext, ToolParameter, ToolResult
from forge_tui.pastes.folded_text import folded
from forge_tui.screens.chat.queued.message_queue import MessageQueue
from forge_tui.screens.chat.queued.queue_list import QueueList
from forge_tui.screens.chat.queued.queue_rows import ENTERS, label_of
from forge_tui.screens.chat.sending import QUEUES, STEERS
from forge_tui.submitted_line import Command, UserText, parse_line
from tests.support.chat_app import ChatApp, make_app, ready, say, say_until, shown, until
from tests.support.scripted_llm import Call, Piece, ScriptedLLM
from tests.support.scripted_session import Gate, ScriptedSession
from tests.support.sessions import Answering, scripted_session
from tests.tui.conftest import OpenChat

PASTE = "\n".join(f"line {number}" for number in range(30))


def queue_of(*typed: str) -> MessageQueue:
    queue = MessageQueue()
    for text in typed:
        line = parse_line(text, CommandTable())
        assert isinstance(line, UserText | Command)
        queue.add(line)
    return queue


# The queue


def test_a_message_that_was_given_to_the_turn_is_taken_back_until_it_is_delivered() -> None:
    queue, steering = queue_of("one", "two"), Steering()
    first, second = queue.entries
    first.give(steering)
    second.give(steering)
    assert queue.next_to_give() is None
    assert first.given is not None and second.given is not None
    first.given.is_delivered = True
    assert queue.typed == ["two"] and len(queue) == 1
    assert queue.remove(first) is None
    assert queue.recall() == "two"
    assert steering.withdraw(second.given or first.given) is False
    assert queue.delivered("one") == UserText("one")
    assert queue.delivered("one") is None and queue.entries == ()


def test_what_a_turn_has_not_taken_is_sent_after_it() -> None:
    queue, steering = queue_of("one", "two"), Steering()
    queue.entries[0].give(steering)
    queue.turn_ended()
    assert queue.entries[0].given is None
    assert queue.next() == UserText("one")


def test_a_delivered_message_leaves_with_its_turn_though_its_event_was_lost() -> None:
    queue, steering = queue_of("one", "two"), Steering()
    entry = queue.entries[0]
    entry.give(steering)
    assert entry.given is not None
    entry.given.is_delivered = True
    assert queue.take_all() == [UserText("two")]


def test_only_messages_are_given_to_the_turn() -> None:
    queue = queue_of("/mode plan", "one")
    command, message = queue.entries
    assert not command.may_be_given and queue.next_to_give() is message


def test_lines_move_within_the_queue() -> None:
    queue = queue_of("one", "two", "three")
    first = queue.entries[0]
    queue.move(first, 5)
    assert queue.typed == ["two", "three", "one"]
    queue.move(first, -1)
    assert queue.typed == ["two", "one", "three"]
    assert queue.remove(first) == "one"
    queue.move(first, 1)
    assert queue.typed == ["two", "three"]


def test_a_label_is_one_safe_line_without_the_text_of_pastes() -> None:
    queue = MessageQueue()
    queue.add(UserText(f"look {PASTE}", f"look {folded(PASTE)} \x1b[31m"))
    queue.add(UserText("first\nsecond\nthird"))
    labels = [label_of(entry) for entry in queue.entries]
    assert labels[0].startswith("look [Pasted text #1 +29 lines]") and "\x1b" not in labels[0]
    assert labels[1] == "first +2 lines"


# The rows


def rows_of(app: ChatApp) -> list[str]:
    """The rows of what is queued, as they show."""
    region = app.chat.sending.queue_rows.region
    return [line.strip() for line in shown(app).split("\n")[region.y : region.bottom]] if region else []


async def test_three_rows_show_what_waits_and_how_much_more(chat: OpenChat) -> None:
    gate = Gate()
    async with chat([gate]) as (app, pilot):
        await say_until(pilot, "first", gate)
        assert rows_of(app) == []
        for text in ("one", "[b]two[/b]", "漢字 three", "four", "five"):
            await say(pilot, text)
        await until(pilot, lambda: rows_of(app)[2:] == ["↳ 漢字 three · +2 more · Alt+Q"])
        assert rows_of(app)[:2] == ["↳ one", "↳ [b]two[/b]"]
        await pilot.resize_terminal(100, 15)
        await until(pilot, lambda: rows_of(app) == ["↳ one · +4 more · Alt+Q"])
        await pilot.resize_terminal(30, 24)
        await until(pilot, lambda: len(rows_of(app)) == 3)
        await pilot.press("up")
        assert app.chat.composer.text == "five"
        gate.open()


# The list


async def listing(chat_app: tuple[ChatApp, Pilot[None]], gate: Gate, *texts: str) -> QueueList:
    app, pilot = chat_app
    await say_until(pilot, "first", gate)
    for text in texts:
        await say(pilot, text)
    await until(pilot, lambda: len(app.chat.sending.queue) == len(texts))
    await pilot.press("alt+q")
    await until(pilot, lambda: isinstance(app.screen, QueueList) and app.screen.is_mounted)
    assert isinstance(app.screen, QueueList)
    return app.screen


async def test_the_list_deletes_moves_and_edits(chat: OpenChat) -> None:
    gate = Gate()
    async with chat([gate]) as (app, pilot):
        queue = app.chat.sending.queue
        await listing((app, pilot), gate, "one", "two", "three")
        assert "3 queued" in shown(app)
        await pilot.press("down", "alt+down")
        assert queue.typed == ["one", "three", "two"]
        await pilot.press("alt+up", "shift+up")
        assert queue.typed == ["two", "one", "three"]
        await pilot.press("D")
        assert queue.typed == ["one", "three"] and "2 queued" in shown(app)
        await pilot.press("k", "j", "j", "enter")
        await until(pilot, lambda: app.screen is app.chat)
        assert app.chat.composer.text == "three" and queue.typed == ["one"]
        await pilot.press("ctrl+u", "up")
        assert queue.typed == [] and app.chat.composer.text == "one"
        await pilot.press("up")
        assert app.chat.composer.text == "two"  # the deleted one
        gate.open()


async def test_what_was_typed_comes_back_after_a_queued_message_was_edited(chat: OpenChat) -> None:
    gate = Gate()
    async with chat([gate]) as (app, pilot):
        await say_until(pilot, "first", gate)
        await say(pilot, "queued")
        await pilot.press(*"draft")
        await pilot.press("alt+q", "enter")
        await until(pilot, lambda: app.chat.composer.text == "queued")
        await pilot.press("up")
        assert app.chat.composer.text == "draft"
        gate.open()


async def test_the_list_closes_when_nothing_waits_and_opens_by_command(chat: OpenChat) -> None:
    gate = Gate()
    async with chat([gate]) as (app, pilot):
        await pilot.press("alt+q")
        await until(pilot, lambda: "Nothing is queued" in shown(app))
        await listing((app, pilot), gate, "one")
        gate.open()  # the turn ends, and "one" is sent
        await until(pilot, lambda: app.screen is app.chat)
        await until(pilot, lambda: app.scripted.sent == ["first", "one"])
        await say(pilot, "/queue")
        await until(pilot, lambda: "Nothing is queued" in shown(app))


async def test_esc_closes_the_list_and_does_not_interrupt(chat: OpenChat) -> None:
    gate = Gate()
    async with chat([gate]) as (app, pilot):
        await listing((app, pilot), gate, "one")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)
        assert app.chat.has_turn and app.chat.sending.queue.typed == ["one"]
        gate.open()


# Into the running turn


async def test_enter_on_an_empty_line_gives_the_oldest_message_to_the_turn(chat: OpenChat) -> None:
    gate = Gate()
    async with chat([gate]) as (app, pilot):
        await say_until(pilot, "first", gate)
        await until(pilot, lambda: f"❯ {QUEUES}" in shown(app))
        await say(pilot, "one")
        await say(pilot, "two")
        await until(pilot, lambda: f"❯ {STEERS}" in shown(app))
        await pilot.press("enter")
        await until(pilot, lambda: rows_of(app) == [f"→ one · {ENTERS}", "↳ two"])
        await pilot.press("alt+q", "down", "s")
        assert all(entry.given for entry in app.chat.sending.queue.entries)
        await pilot.press("escape")
        await until(pilot, lambda: f"❯ {QUEUES}" in shown(app))
        await pilot.press("up")  # the newest one is taken back
        assert app.chat.composer.text == "two"
        gate.open()  # the turn ends before its next step: the other one is the next message
        await until(pilot, lambda: app.scripted.sent == ["first", "one"])


async def test_esc_pauses_what_the_turn_was_given(chat: OpenChat) -> None:
    gate = Gate()
    async with chat([gate]) as (app, pilot):
        await say_until(pilot, "first", gate)
        await say(pilot, "one")
        await pilot.press("enter", "escape")
        await until(pilot, lambda: not app.chat.has_turn)
        assert app.scripted.sent == ["first"] and "1 queued · paused" in shown(app)
        assert rows_of(app) == ["↳ one"]


class Waiting(BaseTool):
    """Ends when the test opens it."""

    name = "wait"
    description = "Waits."
    parameters = (ToolParameter("what", "string", "for what"),)

    def __init__(self) -> None:
        self.started, self.opened = asyncio.Event(), asyncio.Event()

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        self.started.set()
        await self.opened.wait()
        return ToolResult(True, "waited")


def real_app(config: ForgeConfig, root: Path, tool: Waiting, *replies: list[Piece]) -> ChatApp:
    """The app around a real session."""

    def make(responder: Responder, scripted: ScriptedSession) -> Any:
        return scripted_session(root, replies, tools=[tool], approver=Answering(Answer.ONCE))

    return make_app(config, make_session=make)


@pytest.mark.slow
async def test_the_model_reads_the_message_in_the_same_turn(config: ForgeConfig, tmp_path: Path) -> None:
    tool = Waiting()
    app = real_app(config, tmp_path, tool, [Call("wait", {"what": "x"})], ["Only the tests, then."])
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await say(pilot, "look at all")
        await tool.started.wait()
        app.chat.composer.paste(PASTE)
        await pilot.press("enter")
        await say(pilot, "later")
        await pilot.press("enter")
        await until(pilot, lambda: len(rows_of(app)) == 2)
        session = app.session
        assert session is not None
        tool.opened.set()
        await until(pilot, lambda: "Only the tests, then." in shown(app))
        await until(pilot, lambda: not app.chat.has_turn and not app.chat.sending.queue)
        llm = session._agent.llm
        assert isinstance(llm, ScriptedLLM)
        sent = [[(one.type, one.content) for one in call] for call in llm.seen]
        assert sent[1][1:] == [("human", "look at all"), ("ai", ""), ("tool", "waited"), ("human", PASTE)]
        assert sent[2][-2:] == [("ai", "Only the tests, then."), ("human", "later")]
        text = shown(app)
        assert "sent while it worked" in text
        assert "[Pasted text #1 +29 lines]" in text and "line 17" not in text
    saved = load_session(tmp_path / "state" / "journal.jsonl")
    assert saved.queue == [] and saved.last_text == "later"
