"""Every key of every row of the table reaches its action in every state that has it.

What an action does has its own tests; here a row fails that no key reaches, or that no state has.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual import events
from textual.actions import parse
from textual.dom import DOMNode
from textual.keys import key_to_character
from textual.pilot import Pilot

from forge_core.config.forge_config import ForgeConfig
from forge_tui.keymap import KEYS, KeyContext, bindings
from forge_tui.screens.chat.queued.queue_list import QueueList
from forge_tui.screens.chat.screen import ChatScreen
from forge_tui.screens.diff.screen import DiffScreen
from forge_tui.screens.panels.history_search import HistorySearch
from forge_tui.screens.panels.jobs_panel import JobsPanel
from forge_tui.screens.panels.session_picker import SessionPicker
from forge_tui.screens.prompts.prompt import Prompt
from tests.support.asking import PLAN, SEVERAL, ask, ask_plan, ask_questions
from tests.support.chat_app import ChatApp, command_request, make_app, ready, say, type_text, until
from tests.support.scripted_session import Gate, Step, answer

pytestmark = pytest.mark.slow


class RecordingApp(ChatApp):
    """An app that writes down the actions of keys instead of running them, once it `records`."""

    records = False
    actions: list[str]

    async def run_action(
        self,
        action: str | tuple[str, str, tuple[object, ...]],
        default_namespace: DOMNode | None = None,
        namespaces: object = None,
    ) -> bool:
        if not self.records:
            return await super().run_action(action, default_namespace)  # type: ignore[arg-type]
        if isinstance(default_namespace, ChatScreen):
            _, name, parameters = parse(str(action))
            if not default_namespace.check_action(name, parameters):
                return False
        self.actions.append(str(action))
        # As if it had skipped, so that what else the key is bound to follows; a prompt would take the key as text.
        return isinstance(self.focused, Prompt)


State = Callable[[Pilot[None]], Awaitable[object]]
"""Brings an app into a state."""


async def empty(pilot: Pilot[None]) -> None:
    await ready(pilot)


async def choosing_offers(pilot: Pilot[None]) -> None:
    app = await ready(pilot)
    await until(pilot, lambda: bool(app.chat.welcome.offers))
    await pilot.press("tab")


async def with_text(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await type_text(pilot, "abc")


async def running(pilot: Pilot[None]) -> None:
    app = await ready(pilot)
    await say(pilot, "go")
    await until(pilot, lambda: app.chat.has_turn)


async def finding(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await say(pilot, "hello")
    await pilot.press("ctrl+f", "h")


async def in_diff(pilot: Pilot[None]) -> None:
    app = await ready(pilot)
    await say(pilot, "/diff worktree")
    await until(pilot, lambda: isinstance(app.screen, DiffScreen))


async def in_sessions(pilot: Pilot[None]) -> None:
    app = await ready(pilot)
    await say(pilot, "/resume")
    await until(pilot, lambda: isinstance(app.screen, SessionPicker))


async def in_history(pilot: Pilot[None]) -> None:
    app = await ready(pilot)
    await pilot.press("ctrl+r")
    await until(pilot, lambda: isinstance(app.screen, HistorySearch))


async def in_queue(pilot: Pilot[None]) -> None:
    await running(pilot)
    await say(pilot, "next")
    await pilot.press("alt+q")
    await until(pilot, lambda: isinstance(pilot.app.screen, QueueList))


async def in_jobs(pilot: Pilot[None]) -> None:
    app = await ready(pilot)
    app.push_screen(JobsPanel(app.scripted.jobs))
    await until(pilot, lambda: isinstance(app.screen, JobsPanel))


STATES: dict[str, tuple[KeyContext, State, list[Step]]] = {
    "composer, empty": (KeyContext.COMPOSER, empty, []),
    "composer, with text": (KeyContext.COMPOSER, with_text, []),
    "composer, while a turn runs": (KeyContext.COMPOSER, running, [Gate()]),
    "chat, empty": (KeyContext.CHAT, empty, []),
    "chat, with text": (KeyContext.CHAT, with_text, []),
    "chat, while a turn runs": (KeyContext.CHAT, running, [Gate()]),
    "welcome": (KeyContext.WELCOME, choosing_offers, []),
    "find": (KeyContext.FIND, finding, [*answer("hello")]),
    "diff": (KeyContext.DIFF, in_diff, []),
    "sessions": (KeyContext.SESSIONS, in_sessions, []),
    "jobs": (KeyContext.JOBS, in_jobs, []),
    "history": (KeyContext.HISTORY, in_history, []),
    "queue": (KeyContext.QUEUE, in_queue, [Gate()]),
    "prompt": (KeyContext.PROMPT, ask, [command_request("ls")]),
    "questions": (KeyContext.QUESTIONS, ask_questions, [SEVERAL]),
    "plan": (KeyContext.PLAN, ask_plan, [PLAN]),
}
TESTED_ELSEWHERE = {
    KeyContext.MODELS: "test_model_picker.py",
    KeyContext.ENDPOINTS: "test_connect_picker.py",
    KeyContext.REPLAY: "test_replay.py",
    KeyContext.PROGRAMS: "test_program_approval.py",
    KeyContext.SETTINGS: "test_settings_panel.py",
    KeyContext.NOTE: "test_instruction_note.py",
    KeyContext.SERVERS: "test_server_panels.py",
}
"""Parts of the screen whose keys are pressed in the tests of their own file."""
_FEWER = "a digit without an answer is text, and the prompts here have fewer answers"
NOT_BOUND = {
    "composer.newline": "handled before the bindings, as xterm reports Enter (test_composer.py)",
    **{f"prompt.answer_{digit}": _FEWER for digit in range(3, 6)},
    **{f"questions.option_{digit}": _FEWER for digit in range(3, 10)},
}
"""Rows whose keys do not pass through a binding, and why."""


def test_every_row_has_a_state_or_a_reason() -> None:
    covered = {context for context, _, _ in STATES.values()}
    for key in KEYS:
        assert key.context in covered or key.context in TESTED_ELSEWHERE, key.id
    for name in TESTED_ELSEWHERE.values():
        assert (Path(__file__).parent / name).exists()
    assert NOT_BOUND.keys() <= {key.id for key in KEYS}


@pytest.mark.parametrize("name", STATES)
async def test_every_key_reaches_its_action(config: ForgeConfig, name: str) -> None:
    context, enter, script = STATES[name]
    app = make_app(config, [script], kind=RecordingApp)
    assert isinstance(app, RecordingApp)
    async with app.run_test(size=(120, 40)) as pilot:
        await enter(pilot)
        app.records = True
        missing = []
        for binding in bindings(context):
            if binding.id in NOT_BOUND:
                continue
            for key in binding.key.split(","):
                app.actions = []
                app.post_message(events.Key(key, key_to_character(key)))
                await until(pilot, lambda: True)
                if binding.action not in app.actions:
                    missing.append((binding.id, key, app.actions))
        app.records = False
        assert missing == []
