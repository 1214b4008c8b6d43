"""The help page: commands and keys, generated from their tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from textwrap import wrap
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from forge_core.commands.command_table import CommandTable
from forge_tui.keymap import KeyContext, keys_of
from forge_tui.keys.effective import effective_keys
from forge_tui.screens.panels.overlay import FRAME_CELLS, PANEL_CELLS, ScrollingOverlay

COLUMN = 24
"""Cells of the first column, its indent included."""
_SCROLLBAR = 1


def help_content(width: int, commands: CommandTable) -> Content:
    """Return the page for a width in cells. Styles are theme variables."""
    keys = effective_keys()
    blocks = [_section("Commands", list(_command_rows(commands)), width)]
    blocks += [_section(str(context), keys.help_rows(context), width) for context in KeyContext]
    return Content("\n\n").join(blocks)


def keys_content(width: int, part: KeyContext) -> Content:
    """Return the keys of one part of Forge, for a width in cells."""
    return _section(str(part), effective_keys().help_rows(part), width)


def _command_rows(commands: CommandTable) -> Iterator[tuple[str, str]]:
    for spec in commands.specs:
        also = f" (also {', '.join('/' + alias for alias in spec.aliases)})" if spec.aliases else ""
        yield f"/{spec.name} {spec.argument_hint}".rstrip(), spec.description + also


def _section(title: str, rows: list[tuple[str, str]], width: int) -> Content:
    lines = [Content.styled(title, "bold $accent")]
    for row in rows:
        lines += _row_lines(*row, width)
    return Content("\n").join(lines)


def _row_lines(name: str, text: str, width: int) -> Iterator[Content]:
    """Yield a name and its description beside it; a long name gets a line of its own."""
    first = f"  {name}".ljust(COLUMN)
    if len(first) > COLUMN - 1 and not first.endswith(" "):
        yield Content(first)
        first = " " * COLUMN
    for piece in wrap(text, max(width - COLUMN, 12)):
        yield Content.assemble(first, (piece, "$forge-muted"))
        first = " " * COLUMN


class HelpScreen(ScrollingOverlay):
    """Shows the help page, or another page of text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(keys_of("chat.help"), "leave", show=False, id="chat.help"),
        Binding("q,Q,enter", "leave", show=False),
    ]

    def __init__(self, page: Callable[[int], Content], title: str = "Help") -> None:
        """`page` returns the text for a width in cells."""
        super().__init__()
        self._page_text = page
        self._page_title = title

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="panel", can_focus=False) as panel:
            panel.border_title = self._page_title
            panel.border_subtitle = "Esc close"
            yield Static(markup=False)

    @property
    def page(self) -> VerticalScroll:
        return self.query_one(VerticalScroll)

    def on_resize(self) -> None:
        text = self.query_one(Static)
        text.update(self._page_text(min(self.size.width, PANEL_CELLS) - FRAME_CELLS - _SCROLLBAR))
