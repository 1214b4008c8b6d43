"""A panel over the conversation that Esc closes."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

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
    ]
    AUTO_FOCUS = None

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_nothing(self) -> None:
        """Tab moves no focus here."""
