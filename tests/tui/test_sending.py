"""What the user sends: what starts at once, what waits, and what an empty line does."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from forge_core.commands.command_table import CommandTable
from forge_core.config.forge_config import ForgeConfig
from forge_tui.screens.chat.sending import QUEUES, RESUMES, SENDS_QUEUE, Sending
from forge_tui.submitted_line import UserText
from forge_tui.widgets.composer import Composer
from forge_tui.widgets.welcome.welcome_text import PLACEHOLDER
from tests.support.chat_app import make_app, ready, say, say_until, shown, until
from tests.support.scripted_session import Gate, answer

if TYPE_CHECKING:
    from forge_tui.screens.chat.screen import ChatScreen


class Screen:
    """The part of the conversation screen that sending uses; it remembers what was asked of it."""

    def __init__(self) -> None:
        self.has_turn = False
        self.session: object | None = SimpleNamespace(can_retry=False)
        self.calls: list[str] = []
        self.queue_text = ""
        self.activity = SimpleNamespace(show_queue=self._show_queue)
        self.unsent = SimpleNamespace(save=lambda: None)
        self.composer = SimpleNamespace(
            remember=lambda text, has_paste: self.calls.append(f"remember {text}")
        )
        self.sessions = SimpleNamespace(leave_queue=lambda: self.calls.append("leave queue"))

    def _show_queue(self, text: str) -> None:
        self.queue_text = text

    def run_worker(self, work: Callable[[], object], **options: object) -> None:
        """No worker runs: what is sent is not kept for later sessions."""

    def start_turn(self, text: str, typed: str = "") -> None:
        self.has_turn = True
        self.calls.append(f"turn {text}")

    def resume_turn(self) -> None:
        self.calls.append("resume")

    def complain(self, text: str) -> None:
        self.calls.append(f"complain {text}")


def sending() -> tuple[Sending, Screen]:
    screen = Screen()
    return Sending(cast("ChatScreen", screen)), screen


def submit(sends: Sending, text: str) -> None:
    sends.submit(cast(Composer.Submitted, SimpleNamespace(text=text, has_paste=False)))


def test_a_message_starts_a_turn_and_the_next_one_waits_for_its_end() -> None:
    sends, screen = sending()
    submit(sends, "one")
    submit(sends, "two")
    assert screen.calls == ["remember one", "turn one", "remember two"]
    assert screen.queue_text == "1 queued"
    screen.has_turn = False
    sends.start_next()
    assert screen.calls[-1] == "turn two" and screen.queue_text == ""


def test_a_message_waits_for_the_session_unless_there_will_be_none() -> None:
    sends, screen = sending()
    screen.session = None
    sends.send(UserText("early"))
    assert screen.queue_text == "Forge is starting · 1 queued" and screen.calls == []
    sends.failure = "No key."
    sends.send(UserText("late"))
    assert screen.calls == ["complain No key."] and len(sends.queue) == 1


def test_an_empty_line_sends_what_is_paused_and_else_resumes_a_failed_turn() -> None:
    sends, screen = sending()
    sends.queue.put_back([UserText("kept")])
    sends.start_next()
    assert screen.calls == []
    screen.session = cast("Any", SimpleNamespace(can_retry=True))
    submit(sends, "")
    assert screen.calls == ["turn kept"]
    screen.has_turn = False
    submit(sends, " ")
    assert screen.calls == ["turn kept", "resume"]


def test_a_recalled_message_is_no_longer_queued() -> None:
    sends, screen = sending()
    screen.has_turn = True
    submit(sends, "one")
    assert sends.recall() == "one" and screen.queue_text == ""
    assert sends.recall() is None


def test_an_unknown_command_is_reported_and_remembered() -> None:
    sends, screen = sending()
    sends.commands.table = CommandTable()
    submit(sends, "/nonsense")
    assert screen.calls[0] == "remember /nonsense" and screen.calls[1].startswith(
        "complain There is no command"
    )
    sends.run_by_name("nonsense")
    sends.run_by_name(None)
    assert len(screen.calls) == 2


async def test_the_placeholder_says_what_enter_does(config: ForgeConfig) -> None:
    gate = Gate()
    app = make_app(config, [[gate, *answer("One.")], answer("Two.")])
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        assert f"│❯ {PLACEHOLDER}" in shown(app)
        await say_until(pilot, "one", gate)
        await until(pilot, lambda: f"│❯ {QUEUES}" in shown(app))
        await say(pilot, "two")
        await pilot.press("escape")
        gate.open()
        await until(pilot, lambda: f"│❯ {SENDS_QUEUE}" in shown(app))
        await pilot.press("enter")
        await until(pilot, lambda: f"│❯ {PLACEHOLDER}" in shown(app) and not app.chat.has_turn)


async def test_the_placeholder_offers_to_resume_a_failed_turn(config: ForgeConfig) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        app.scripted.can_retry = True
        app.chat.refresh_status()
        await until(pilot, lambda: f"│❯ {RESUMES}" in shown(app))
