"""The command palette: finds a command by any part of its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input

from forge_core.commands.command_table import CommandTable
from forge_tui.keymap import keys_of
from forge_tui.keys.effective import command_keys
from forge_tui.screens.panels.overlay import Overlay, PanelInput
from forge_tui.widgets.choices import Choice, ChoiceList


class CommandPalette(Overlay[str | None]):
    """Returns the name of the selected command, or None."""

    DEFAULT_CSS = """
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,ctrl+n", "move(1)", show=False),
        Binding("up", "move(-1)", show=False),
        Binding(keys_of("chat.palette"), "leave", show=False, id="chat.palette"),
    ]

    def __init__(self, commands: CommandTable, use: Callable[[str], float]) -> None:
        """`use` returns how much a command is used: those that are used most come first."""
        super().__init__()
        self._commands = commands
        self._use = use
        self._found = commands.suggest("", use)

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel") as panel:
            panel.border_title = "Commands"
            self.show_keys("Enter run · Esc close")
            search = PanelInput(placeholder="Type to search")
            yield search
            yield ChoiceList(self._rows(), max_rows=self.list_rows(12, 5), counts=True)

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    def _rows(self) -> list[Choice]:
        keys = command_keys()
        return [
            Choice(f"/{spec.name}", spec.argument_hint, spec.description, keys.get(spec.name, ""))
            for spec in self._found
        ]

    def on_input_changed(self, event: Input.Changed) -> None:
        self._found = self._commands.suggest(event.value.strip().removeprefix("/"), self._use)
        self.query_one(ChoiceList).show(self._rows() or [Choice("Nothing found")])

    def on_input_submitted(self) -> None:
        self._accept(self.query_one(ChoiceList).chosen)

    def on_choice_list_clicked(self, event: ChoiceList.Clicked) -> None:
        self._accept(event.index)

    def action_move(self, by: int) -> None:
        self.query_one(ChoiceList).move(by)

    def _accept(self, index: int) -> None:
        if index < len(self._found):
            self.dismiss(self._found[index].name)
