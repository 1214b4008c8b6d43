"""What Forge can do: commands and keys, from the tables that define them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from forge_core.commands.specs import SPECS
from forge_tui.keymap import Where, help_rows
from forge_tui.screens.overlay import Overlay

COLUMN = 22


def help_content() -> Content:
    """The page, with the muted parts styled by theme variables."""
    blocks = [_section("Commands", _command_rows())]
    blocks += [_section(str(where), help_rows(where)) for where in Where]
    return Content("\n\n").join(blocks)


def _command_rows() -> Iterator[tuple[str, str]]:
    for spec in SPECS:
        also = f" (also {', '.join('/' + alias for alias in spec.aliases)})" if spec.aliases else ""
        yield f"/{spec.name} {spec.argument_hint}".rstrip(), spec.summary + also


def _section(title: str, rows: Iterator[tuple[str, str]] | list[tuple[str, str]]) -> Content:
    lines = [Content.styled(title, "bold $accent")]
    for name, text in rows:
        if len(name) < COLUMN:
            lines.append(Content.assemble("  ", name.ljust(COLUMN), (text, "$forge-muted")))
        else:
            lines.append(Content.assemble("  ", name))
            lines.append(Content.assemble(" " * (COLUMN + 2), (text, "$forge-muted")))
    return Content("\n").join(lines)


class HelpScreen(Overlay[None]):
    """The page in a scrolling panel."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1,q,enter", "leave", show=False),
        Binding("down", "scroll(1)", show=False),
        Binding("up", "scroll(-1)", show=False),
        Binding("pagedown,space", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
    ]

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="panel", can_focus=False) as panel:
            panel.border_title = "Help"
            panel.border_subtitle = "Esc close"
            yield Static(help_content(), markup=False)

    def action_scroll(self, by: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)

    def action_page(self, by: int) -> None:
        panel = self.query_one(VerticalScroll)
        panel.scroll_relative(y=by * max(panel.size.height - 2, 1), animate=False)
