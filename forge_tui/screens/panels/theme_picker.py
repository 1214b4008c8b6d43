"""The theme picker: selecting a row applies its theme at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from forge_core.config.checks import AUTO_THEME
from forge_core.sanitize import safe_line
from forge_tui.screens.panels.overlay import Overlay
from forge_tui.widgets.choices import Choice, ChoiceList


class ThemePicker(Overlay[str | None]):
    """Returns the name of the selected theme, or None; Esc restores the previous theme."""

    DEFAULT_CSS = """
    ThemePicker { align: center bottom; }
    ThemePicker > .panel { width: 44; }
    ThemePicker.-tall > .panel { margin: 0 0 6 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,ctrl+n", "move(1)", show=False),
        Binding("up,ctrl+p", "move(-1)", show=False),
        Binding("enter", "accept", show=False),
    ]

    def __init__(self, names: Sequence[str], active: str, show: Callable[[str], None]) -> None:
        """`show` applies a theme until another one is."""
        super().__init__()
        self._show_theme = show
        self._names = tuple(names)
        self._active = active

    def compose(self) -> ComposeResult:
        rows = [Choice(safe_line(name), detail=self._detail(name)) for name in self._names]
        with Vertical(classes="panel") as panel:
            panel.border_title = "Theme"
            self.show_keys("Enter keep · Esc back")
            yield ChoiceList(
                rows, chosen=self._names.index(self._active) if self._active in self._names else 0
            )

    def _detail(self, name: str) -> str:
        parts = ("like the terminal" * (name == AUTO_THEME), "now" * (name == self._active))
        return " · ".join(filter(None, parts))

    def action_move(self, by: int) -> None:
        choices = self.query_one(ChoiceList)
        choices.move(by)
        self._show_theme(self._names[choices.chosen])

    def action_accept(self) -> None:
        self.dismiss(self._names[self.query_one(ChoiceList).chosen])

    def withdraw(self) -> None:
        self._show_theme(self._active)
        self.dismiss(None)

    def on_choice_list_clicked(self, event: ChoiceList.Clicked) -> None:
        event.choices.choose(event.index)
        self._show_theme(self._names[event.index])
