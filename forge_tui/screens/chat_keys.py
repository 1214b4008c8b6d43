"""The conversation screen's keys, and the question that takes the composer's place."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import BindingType
from textual.screen import Screen

from forge_tui.keymap import Where, bindings
from forge_tui.screens.overlay import Overlay
from forge_tui.widgets.activity import ActivityLine, Working

if TYPE_CHECKING:
    from forge_core.approval import ApprovalReply, ApprovalRequest
    from forge_tui.screens.permission import PermissionPrompt
    from forge_tui.widgets.completion import CompletionPopup
    from forge_tui.widgets.composer import Composer
    from forge_tui.widgets.transcript import Transcript

TWICE_S = 2.0
"""Ctrl+C again within this time leaves."""

STOP_KEYS = frozenset({"ctrl+c", "super+c"})

ASKING = "Waiting for your answer"

WHILE_ASKED = frozenset({"copy_or_stop", "toggle_cards"})
"""Actions of the screen that go on working while a question stands."""


class ChatKeys(Screen[None], inherit_bindings=False):
    """What each key does, by state; the table is `keymap.KEYS`."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.CHAT)]
    AUTO_FOCUS = None

    activity: ActivityLine
    popup: CompletionPopup
    composer: Composer

    def __init__(self, clock: Callable[[], float], workspace: Path) -> None:
        super().__init__()
        self._clock = clock
        self._workspace = workspace
        self._stopped_at = float("-inf")
        self._prompt: PermissionPrompt | None = None
        self._waiting_questions = 0

    @property
    @abstractmethod
    def transcript(self) -> Transcript:
        """The conversation."""

    @property
    @abstractmethod
    def has_turn(self) -> bool:
        """Whether a turn runs."""

    @abstractmethod
    def interrupt(self) -> None:
        """End the running turn, kindly."""

    @abstractmethod
    def leave(self) -> None:
        """End the app."""

    @abstractmethod
    def cycle_mode(self) -> None:
        """The next permission mode."""

    @abstractmethod
    def run_by_name(self, name: str) -> None:
        """Run a command as if it had been typed."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self._prompt is None or action in WHILE_ASKED

    def action_escape(self) -> None:
        if self.popup.is_open:
            self.popup.close(self.composer.text)
        elif self.has_turn:
            self.interrupt()

    def action_copy_or_stop(self) -> None:
        if selected := self.composer.selected_text or self.transcript.selected_text():
            self.app.copy_to_clipboard(selected)
            self.activity.note(f"Copied {len(selected):,} character{'s'[: len(selected) != 1]}")
            return
        now = self._clock()
        if now - self._stopped_at <= TWICE_S:
            self.leave()
            return
        self._stopped_at = now
        if self.has_turn:
            self.interrupt()
        else:
            self.composer.take()
        self.activity.note("Ctrl+C again leaves Forge", TWICE_S)

    def key_came(self, event: events.Key | events.Paste) -> None:
        """Any other key between two Ctrl+C means that the second is no goodbye."""
        if isinstance(event, events.Paste) or event.key not in STOP_KEYS:
            self.forget_stop()

    def forget_stop(self) -> None:
        """Let the next Ctrl+C be the first of two."""
        self._stopped_at = float("-inf")

    def action_leave_if_empty(self) -> None:
        if self.composer.is_blank:
            self.leave()

    def action_cycle_mode(self) -> None:
        self.cycle_mode()

    def action_toggle_cards(self) -> None:
        self.transcript.toggle_cards()

    def action_help(self) -> None:
        self.open_help()

    def open_help(self) -> None:
        from forge_tui.screens.help import HelpScreen

        self.app.push_screen(HelpScreen())

    def action_palette(self) -> None:
        from forge_tui.screens.palette import Palette

        self.app.push_screen(Palette(), self._palette_closed)

    def _palette_closed(self, name: str | None) -> None:
        if name is not None:
            self.run_by_name(name)

    def action_page_up(self) -> None:
        self.transcript.scroll_page_up(animate=False)

    def action_page_down(self) -> None:
        self.transcript.scroll_page_down(animate=False)

    def action_scroll_top(self) -> None:
        self.transcript.scroll_home(animate=False)

    def action_scroll_bottom(self) -> None:
        self.transcript.scroll_to_end()

    # The question

    async def ask(self, request: ApprovalRequest) -> ApprovalReply:
        """Put the question in the composer's place until it is answered or the wait is cancelled."""
        from forge_tui.screens.permission import PermissionPrompt

        prompt = PermissionPrompt(
            request, workspace=self._workspace, clock=self._clock, on_stray=self._type_into_draft
        )
        self._prompt = prompt
        self.call_later(self._put, prompt)  # in the screen's own task: the caller may be any task
        try:
            return await prompt.reply
        finally:
            self._prompt = None
            self.call_later(self._take_away, prompt)

    def show_waiting(self, count: int) -> None:
        """Say how many questions wait behind the one on the screen."""
        self._waiting_questions = count
        if self._prompt is not None and self._prompt.is_mounted:
            self._prompt.show_waiting(count)

    async def _put(self, prompt: PermissionPrompt) -> None:
        if prompt is not self._prompt:
            return  # answered by a cancel before it could be shown
        for screen in reversed(self.app.screen_stack):
            if isinstance(screen, Overlay):  # a question must not wait unseen
                screen.action_leave()
        self.popup.close(self.composer.text)
        self.composer.display = False
        if (working := self.activity.working) is not None:
            self.activity.working = replace(working, verb=ASKING, hint="Ctrl+C to interrupt")
        await self.mount(prompt, after=self.composer)
        prompt.show_waiting(self._waiting_questions)

    async def _take_away(self, prompt: PermissionPrompt) -> None:
        if prompt.is_attached:
            await prompt.remove()
        if self._prompt is not None:
            return  # the next question has come already
        self.composer.display = True
        self.composer.focus()
        if (working := self.activity.working) is not None and working.verb == ASKING:
            self.activity.working = Working(working.since)

    def _type_into_draft(self, event: events.Key | events.Paste) -> None:
        """Keep for the next message what was typed or pasted while a question stands."""
        if isinstance(event, events.Paste):
            self.composer.post_message(events.Paste(event.text))
        elif event.is_printable and event.character is not None:
            self.composer.insert(event.character)
        elif event.key == "backspace":
            self.composer.action_delete_left()
        else:
            return
        self.activity.note("Kept for your next message")

    def rearm(self) -> None:
        """Let keys and clicks answer a question only after another grace."""
        if self._prompt is not None:
            self._prompt.rearm()

    def on_screen_resume(self) -> None:
        if self._prompt is not None and self._prompt.is_mounted:
            self._prompt.rearm()
            self._prompt.focus()
