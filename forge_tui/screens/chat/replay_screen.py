"""The conversation of a recorded session, played without a model: nothing is run, asked or recorded."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widget import Widget

from forge_core.config.forge_config import ForgeConfig
from forge_tui import workers
from forge_tui.keymap import KeyContext, bindings
from forge_tui.pastes.folded_text import with_folded, with_labels
from forge_tui.screens.chat.environment import Environment
from forge_tui.screens.chat.replay_clock import ReplayClock
from forge_tui.screens.chat.screen import ChatScreen, SaveSetting
from forge_tui.screens.chat.session_change import OpenSession
from forge_tui.widgets.replay_bar import ReplayBar
from forge_tui.widgets.replay_text import GO_ON_HINT, PAUSE_HINT, REPLAY_HINTS, playing_text

if TYPE_CHECKING:
    from forge_core.events import AgentEvent, Permission
    from forge_core.session.playback import ConversationReplaced, Playback, StepContent
    from forge_tui.app_themes import AppThemes

PIECES = 8
PIECE_S = 0.25 / PIECES
"""A recorded text covers up to 0.25 s of an answer. It is shown in pieces at this rate: when each fragment of
it arrived is not recorded."""
_SLICE_S = 0.008
"""How long is played without a wait before the event loop gets a turn."""
_WORDS = re.compile(r"\s*\S*\s*")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ALLOWED = frozenset(
    {
        "copy_or_stop",
        "end",
        "escape",
        "find",
        "help",
        "leave",
        "leave_if_empty",
        "next_event",
        "page",
        "prompt",
        "toggle_cards",
        "toggle_pause",
        "toggle_raw",
        "toggle_todos",
    }
)
"""Actions that neither need a session nor change anything."""


class ReplayScreen(ChatScreen):
    """Plays a session in the conversation's own widgets, with a bar in place of the composer."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyContext.REPLAY)]

    def __init__(
        self,
        config: ForgeConfig,
        environment: Environment,
        themes: AppThemes,
        save_setting: SaveSetting | None,
        open_session: OpenSession,
    ) -> None:
        clock = ReplayClock(environment.clock)
        super().__init__(config, replace(environment, clock=clock.now), themes, save_setting, open_session)
        self._replay_clock = clock
        self._playback: Playback | None = None
        self._speed: float | None = 1.0
        self.has_ended = False
        """Whether everything has been played."""
        self.bar = ReplayBar()
        self.composer.display, self.composer.disabled = False, True
        self.welcome.display = False
        self.activity.idle_hints = lambda: REPLAY_HINTS

    def compose(self) -> ComposeResult:
        for widget in super().compose():
            yield widget
            if widget is self.composer:
                yield self.bar

    def set_focus(
        self, widget: Widget | None, scroll_visible: bool = True, from_app_focus: bool = False
    ) -> None:
        """Give the focus to a widget; to the bar in place of the composer."""
        super().set_focus(self.bar if widget is self.composer else widget, scroll_visible, from_app_focus)

    def play(self, playback: Playback, speed: float | None) -> None:
        """Start playing. Without a speed everything is shown at once."""
        self._playback, self._speed = playback, speed
        self._replay_clock.start(playback.started, speed)
        self.transcript.clock = self._replay_clock.now
        if playback.damage:
            self.transcript.add_notice(playback.damage, "warning")
        self._show_progress()
        workers.start(self, partial(self._play, playback), "replay")

    # What is played

    async def _play(self, playback: Playback) -> None:
        from forge_core.session.playback import (
            ConversationReplaced,
            FiguresChanged,
            PermissionAsked,
            TurnBegins,
            TurnResumes,
        )

        steps = self._paced(playback)
        async for content in steps:
            match content:
                case TurnBegins(text, folded):
                    self.transcript.add_user(text, with_labels(with_folded(text, folded)) if folded else "")
                    self.todos.begin_turn()
                    await self._play_turn(steps)
                case TurnResumes():
                    self.transcript.resume_turn()
                    await self._play_turn(steps, is_resumed=True)
                case ConversationReplaced():
                    await self._replace(content)
                case FiguresChanged():
                    self.refresh_status()
                case PermissionAsked():
                    pass  # outside a turn nothing can be allowed
                case event:
                    self.transcript.apply(event)
        self.has_ended = True
        self._show_progress()

    async def _play_turn(self, steps: AsyncGenerator[StepContent, None], *, is_resumed: bool = False) -> None:
        self._turn.begin()
        self._show_progress()
        await self._turn.follow(self._events(steps), is_resumed=is_resumed)
        self.bar.forget_all()
        self.refresh_status()
        self.refresh_todos(is_over=True)
        self.todos.end_turn()

    async def _events(self, steps: AsyncGenerator[StepContent, None]) -> AsyncGenerator[AgentEvent, None]:
        """Yield the events of a turn; show requests for permission in the bar."""
        from forge_core.events import AgentEnd, AgentEvent, Permission, ToolEnd
        from forge_core.session.playback import FiguresChanged, PermissionAsked

        async for content in steps:
            match content:
                case PermissionAsked(call_id, title, target):
                    self.transcript.pause_clock(call_id)
                    self.bar.ask(call_id, title, target)
                case Permission(by="person"):
                    self.transcript.resume_clock(content.call_id)
                    self.bar.answer(content.call_id, _answer(content))
                case ToolEnd():
                    self.bar.forget(content.call_id)
                case FiguresChanged():
                    self.refresh_status()
                case _:
                    pass
            if isinstance(content, AgentEvent):
                yield content
            if isinstance(content, AgentEnd):
                return

    async def _replace(self, content: ConversationReplaced) -> None:
        """Show the conversation after a reset or a rewind."""
        self.start_over()
        self.refresh_status()
        self.refresh_todos()
        await self.transcript.show_earlier_turns(content.turns)
        self.transcript.add_notice(content.text, "info")

    async def _paced(self, playback: Playback) -> AsyncGenerator[StepContent, None]:
        """Yield the steps of the session when their time has come."""
        clock, sliced = self._replay_clock, time.monotonic()
        for step in playback.steps():
            pieces = [step.content] if self._speed is None else _pieces(step.content)
            for number, piece in enumerate(pieces):
                await clock.wait_until(step.time + number * PIECE_S, is_step=number == 0)
                if time.monotonic() - sliced > _SLICE_S:
                    await asyncio.sleep(0)
                    sliced = time.monotonic()
                yield piece

    # What the screen shows, from the record

    def start_over(self) -> None:
        super().start_over()
        self.welcome.display = False

    def refresh_status(self) -> None:
        if self._playback is not None:
            self._live.use_status(self._playback.status)
        super().refresh_status()

    def refresh_todos(self, *, is_over: bool = False, is_update: bool = False) -> None:
        todos = () if self._playback is None else self._playback.todos
        self.todos.refresh_list(todos, is_over=is_over, is_update=is_update)
        self.activity.show_doing(self.todos.doing)

    def _show_progress(self) -> None:
        is_paused = self._replay_clock.is_paused
        if (working := self.activity.working) is not None:
            self.activity.working = replace(working, hint=GO_ON_HINT if is_paused else PAUSE_HINT)
        if (playback := self._playback) is not None:
            state = "end" if self.has_ended else "paused" if is_paused else "playing"
            self.bar.show(playing_text(playback.title, playback.turn, playback.turns, self._speed), state)

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action in _ALLOWED

    def action_escape(self) -> None:
        if self.find.is_open:
            self.find.close(is_kept=True)
        elif not self.selected.end():
            self.leave()

    def action_copy_or_stop(self) -> None:
        if not self.selected.copy():
            self.leave()

    def action_help(self) -> None:
        from forge_tui.screens.panels.help import HelpScreen, keys_content

        self.app.push_screen(HelpScreen(partial(keys_content, part=KeyContext.REPLAY)))

    def action_leave(self) -> None:
        self.leave()

    def action_toggle_pause(self) -> None:
        if not self.has_ended:
            self._replay_clock.toggle_pause()
            self._show_progress()

    def action_next_event(self) -> None:
        if not self.has_ended:
            self._replay_clock.step()
            self._show_progress()


def _answer(permission: Permission) -> str:
    if permission.decision == "allow":
        return "allowed"
    return f"denied: {permission.reason}" if permission.reason else "denied"


def _pieces(content: StepContent) -> Iterator[StepContent]:
    """Yield a text in pieces of whole words, anything else as it is."""
    from forge_core.events import LLMChunk

    if not isinstance(content, LLMChunk) or _CONTROL.search(content.text):  # a sequence must not be divided
        yield content
        return
    length, piece, left = max(len(content.text) // PIECES, 1), "", PIECES
    for word in _WORDS.findall(content.text):
        piece += word
        if len(piece) >= length and left > 1:
            yield replace(content, text=piece)
            piece, left = "", left - 1
    if piece or left == PIECES:
        yield replace(content, text=piece)
