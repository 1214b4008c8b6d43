"""A panel over the conversation that Esc closes."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual import events
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from forge_tui.terminal.compositor import pass_over_outdated
from forge_tui.widgets.activity import ActivityLine

Result = TypeVar("Result")


class Overlay(ModalScreen[Result]):
    """Base of help, palette and pickers. Esc and Ctrl+C always close them."""

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
        Binding("f9", "app.toggle_mouse", show=False),
    ]
    AUTO_FOCUS = None

    async def _on_resize(self, event: events.Resize) -> None:
        pass_over_outdated(event, self)

    def action_leave(self) -> None:
        self.dismiss(None)

    @property
    def activity(self) -> ActivityLine | None:
        """The activity line of the conversation, which this panel may cover."""
        return next(iter(self.app.screen_stack[0].query(ActivityLine)), None)

    def action_nothing(self) -> None:
        """Do nothing: Tab moves no focus here."""
