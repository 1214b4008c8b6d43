"""A panel over the conversation that Esc closes."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual import events
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from forge_tui.screens.panels.reading_keys import ReadingKeys
from forge_tui.terminal.screen_size import pass_over_outdated
from forge_tui.widgets.activity import ActivityLine

Result = TypeVar("Result")


class Overlay(ModalScreen[Result]):
    """Base of help, palette and pickers. What they show can always be left with Esc or Ctrl+C."""

    DEFAULT_CSS = """
    Overlay {
        align: center middle;
        background: transparent;
        & > .panel {
            width: 76;
            max-width: 100%;
            height: auto;
            max-height: 90%;
            padding: 0 1;
            background: $surface;
            border: round $forge-muted;
            scrollbar-size-vertical: 1;
            border-title-color: $foreground;
            border-subtitle-color: $forge-muted;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "leave", "Close", show=False),
        Binding("tab,shift+tab", "nothing", show=False),
        Binding("f9", "lend_mouse", show=False),
    ]
    AUTO_FOCUS = None

    async def _on_resize(self, event: events.Resize) -> None:
        pass_over_outdated(event, self)

    def action_leave(self) -> None:
        self.dismiss(None)

    @property
    def activity(self) -> ActivityLine | None:
        """The line of the conversation below, which this panel may cover."""
        below = self.app.screen_stack[0]
        return below.activity if isinstance(below, ReadingKeys) else None

    def action_lend_mouse(self) -> None:
        """F9 means here what it means in the conversation."""
        below = self.app.screen_stack[0]
        if isinstance(below, ReadingKeys):
            below.action_lend_mouse()

    def action_nothing(self) -> None:
        """Tab moves no focus here."""
