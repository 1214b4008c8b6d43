"""The real app around a scripted session, in an environment that never changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from textual.pilot import Pilot

from forge_core.approval import ApprovalRequest, Effect, Responder
from forge_core.config.forge_config import Endpoint, ForgeConfig
from forge_core.result import FileDiff
from forge_tui.app import ForgeApp
from forge_tui.screens.chat.environment import Environment
from forge_tui.terminal.clipboard import Route
from tests.support.scripted_session import Gate, ScriptedSession, Step

DEADLINE_S = 60.0
"""Only bounds failure: nothing that is well takes so long, however busy the machine is."""


class FakeClock:
    """Seconds that pass only when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += seconds


async def no_changes(folder: Path) -> Sequence[str]:
    """A repository without uncommitted changes."""
    return ()


class ChatApp(ForgeApp):
    """ForgeApp that knows its clock, its session and what was saved."""

    CLICK_CHAIN_TIME_THRESHOLD: ClassVar[float] = 10.0  # what follows at once may take its time
    clock: FakeClock
    scripted: ScriptedSession
    saved: list[tuple[str, str]]


def make_config(folder: Path, **changes: Any) -> ForgeConfig:
    """Settings whose state and themes lie under `folder`."""
    config = ForgeConfig(
        working_dir=Path("/home/ada/src/engine"),
        endpoint=Endpoint("openrouter", "https://openrouter.ai/api/v1", "sk-test-123456"),
        model="test/model",
        state_dir=folder / "state",
        config_dir=folder / "config",
    )
    return replace(config, **changes)


def make_app(
    config: ForgeConfig,
    scripts: Sequence[Sequence[Step]] = (),
    *,
    make_session: Callable[[Responder, ScriptedSession], Any] | None = None,
    label: str = "openrouter",
    kind: type[ChatApp] | None = None,
    first_message: str = "",
    picks_session: bool = False,
) -> ChatApp:
    """The app around a session that plays `scripts`, one per message."""
    clock = FakeClock()
    session = ScriptedSession(config, scripts, label=label)
    saved: list[tuple[str, str]] = []

    def make(config: ForgeConfig, resume: str | None, responder: Responder) -> Any:
        session.responder = responder
        return session if make_session is None else make_session(responder, session)

    environment = Environment(
        version="0.1.0",
        clock=clock,
        branch=lambda folder: "main",
        changed_files=no_changes,
        home=Path("/home/ada"),
        clipboard=lambda folder: Route("terminal", is_obeyed=True),
    )
    app = (kind or ChatApp)(
        config,
        make,
        save_setting=lambda name, value: saved.append((name, value)),
        environment=environment,
        first_message=first_message,
        picks_session=picks_session,
    )
    app.clock, app.scripted, app.saved = clock, session, saved
    return app


async def until(pilot: Pilot[None], condition: Callable[[], object], what: str = "") -> None:
    """Let the app work until `condition` holds; fails after a deadline."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"never came: {what or condition}"
        await pilot.pause(0.01)
    await pilot.pause()


async def press_until(pilot: Pilot[None], key: str, condition: Callable[[], object]) -> None:
    """Presses the key again and again, and fails when that brings nothing."""
    for _ in range(100):
        if condition():
            return
        await pilot.press(key)
        await pilot.pause()
    await until(pilot, condition, f"by {key}")


async def pass_until(app: ChatApp, pilot: Pilot[None], condition: Callable[[], object]) -> None:
    """Let time pass in small steps until `condition` holds."""

    def passed() -> object:
        app.clock.pass_(0.05)
        return condition()

    await until(pilot, passed, str(condition))


async def ready(pilot: Pilot[None]) -> ChatApp:
    """Wait for the session; gives the app."""
    app = pilot.app
    assert isinstance(app, ChatApp)
    await until(pilot, lambda: app.session is not None, "the session")
    return app


async def type_text(pilot: Pilot[None], text: str) -> None:
    """Type printable text, then let the app work."""
    names = {" ": "space", "/": "slash", "\\": "backslash"}
    await pilot.press(*(names.get(character, character) for character in text))


async def say(pilot: Pilot[None], text: str) -> None:
    """Type a line and send it."""
    await type_text(pilot, text)
    await pilot.press("enter")


async def say_until(pilot: Pilot[None], text: str, gate: Gate) -> None:
    """Send a line and wait until the script has come to `gate`."""
    await say(pilot, text)
    await until(pilot, gate.reached.is_set)


def shown(app: ForgeApp) -> str:
    """The text of the whole screen, row by row."""
    rows = app.screen._compositor.render_strips()
    return "\n".join(strip.text.rstrip() for strip in rows)


def command_request(command: str = "pytest -q", **changes: Any) -> ApprovalRequest:
    """A question about a command."""
    request = ApprovalRequest(
        call_id="c1",
        tool="bash",
        effect=Effect.RUN,
        arguments={"command": command},
        target=command,
        action="run a command",
        reason="commands ask first",
        session_rule="bash(pytest tests:*)",
        details={"Timeout": "120 s"},
    )
    return replace(request, **changes)


DIFF = "\n".join(
    [
        "@@ -1,4 +1,4 @@",
        " def greet(name):",
        "-    return 'Hello ' + name",
        "+    return f'Hello, {name}!'",
        " ",
        " # the end",
        "",
    ]
)


def edit_request(**changes: Any) -> ApprovalRequest:
    """A question about an edit, with its diff."""
    request = ApprovalRequest(
        call_id="c2",
        tool="edit",
        effect=Effect.WRITE,
        arguments={"path": "src/greet.py"},
        target="src/greet.py",
        action="edit a file",
        reason="edits ask first",
        session_rule="edit(src/**)",
        diffs=(FileDiff("src/greet.py", DIFF, 1, 1),),
    )
    return replace(request, **changes)
