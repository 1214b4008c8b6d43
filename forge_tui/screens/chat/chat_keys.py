"""The conversation screen's keys."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import BindingType

from forge_tui.keymap import Where, bindings
from forge_tui.screens.chat.prompt_area import PromptArea
from forge_tui.screens.panels.reading_keys import ReadingKeys
from forge_tui.widgets.composer import LONGEST, Composer, writes

if TYPE_CHECKING:
    from forge_core.session.session import ForgeSession
    from forge_tui.widgets.completion import CompletionPopup
    from forge_tui.widgets.todo_panel import TodoPanel

TWICE_S = 2.0
"""Ctrl+C again within this time leaves."""

REFUSED_S = 8.0
"""So long it is said why a paste was not taken."""

STOP_KEYS = frozenset({"ctrl+c", "super+c"})

WHILE_ASKED = frozenset({"copy_or_stop", "toggle_cards", "toggle_raw", "toggle_todos", "lend_mouse"})
"""Actions of the screen that go on working while a prompt stands."""


class ChatKeys(ReadingKeys, inherit_bindings=False):
    """What each key does, by state; the table is `keymap.KEYS`."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.CHAT)]
    AUTO_FOCUS = None

    popup: CompletionPopup
    todos: TodoPanel

    def __init__(self, clock: Callable[[], float], workspace: Path) -> None:
        super().__init__()
        self._clock = clock
        self._stopped_at = float("-inf")
        self._stop_note = ""
        self.prompts = PromptArea(self, clock, workspace, self.rule_problem)

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

    @property
    @abstractmethod
    def session(self) -> ForgeSession | None:
        """The session, once there is one."""

    def rule_problem(self, rule: str) -> str | None:
        """What is wrong with a permission rule, or None; without a session nobody asks for one."""
        return None if self.session is None else self.session.check_rule(rule)

    @abstractmethod
    def run_by_name(self, name: str) -> None:
        """Run a command as if it had been typed."""

    def on_composer_paste_refused(self, message: Composer.PasteRefused) -> None:
        told = f"Not pasted: {message.size:,} characters, at most {LONGEST:,}. Name a file instead."
        self.activity.note(told, REFUSED_S)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return not self.prompts.is_taken or action in WHILE_ASKED

    def action_escape(self) -> None:
        if self.popup.is_open:
            self.popup.close(self.composer.text)
        elif self.end_selection():
            pass
        elif self.is_finding:
            self.end_find(is_kept=True)
        elif self.has_turn:
            self.interrupt()

    def action_copy_or_stop(self) -> None:
        if self.copy_selection():
            return
        now = self._clock()
        if now - self._stopped_at <= TWICE_S:
            self.leave()
            return
        self.forget_stop()
        self._stopped_at = now
        told = "Ctrl+C again leaves Forge"
        if self.has_turn:
            self.interrupt()
        elif self.composer.clear_away():
            told += " · Up brings the text back"
        self._stop_note = told
        self.activity.note(told, TWICE_S)

    def key_came(self, event: events.Key | events.Paste) -> None:
        """Any other key between two Ctrl+C means that the second is no goodbye."""
        if isinstance(event, events.Paste) or event.key not in STOP_KEYS:
            self.forget_stop()
        if isinstance(event, events.Paste) or writes(event):
            self.prompts.text_came()

    def forget_stop(self) -> None:
        """Let the next Ctrl+C be the first of two, and no longer say that it leaves."""
        self._stopped_at = float("-inf")
        if self._stop_note:
            self.activity.end_note(self._stop_note)
            self._stop_note = ""

    def action_leave_if_empty(self) -> None:
        if self.composer.is_blank:
            self.leave()

    def action_cycle_mode(self) -> None:
        self.cycle_mode()

    def action_background(self) -> None:
        if self.session is None or not self.session.jobs.background_now():
            self.activity.note("No command runs that could go on in the background")

    def action_toggle_todos(self) -> None:
        if self.todos.todos:
            self.todos.toggle()
        else:
            self.activity.note("There is no list of tasks")

    def action_toggle_cards(self) -> None:
        if not self.transcript.fold_pointed():
            self.transcript.toggle_cards()

    def action_toggle_raw(self) -> None:
        if not self.transcript.toggle_raw():
            self.activity.note("There is no answer yet")

    def action_help(self) -> None:
        from forge_tui.screens.panels.help import HelpScreen

        self.app.push_screen(HelpScreen())

    def action_palette(self) -> None:
        from forge_tui.screens.panels.palette import Palette

        self.app.push_screen(Palette(), self._palette_closed)

    def _palette_closed(self, name: str | None) -> None:
        if name is not None:
            self.run_by_name(name)

    def return_focus(self) -> None:
        if not self.prompts.is_taken:
            self.set_focus(self.composer)

    # The prompt

    def rearm(self) -> None:
        """Let keys and clicks answer a prompt only after another grace."""
        self.prompts.rearm()

    def on_screen_resume(self) -> None:
        self.prompts.resume()
