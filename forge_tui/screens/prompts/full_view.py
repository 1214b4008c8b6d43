"""A full-screen view of a request. No key answers here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from forge_tui.screens.panels.overlay import ScrollingOverlay
from forge_tui.screens.prompts.exact_view import ExactView
from forge_tui.widgets.edges import FRAMED_TEXT
from forge_tui.widgets.exact_text import ExactLine


class FullView(ScrollingOverlay):
    """Shows all lines of a request. Esc, Q and Ctrl+E close it."""

    DEFAULT_CSS = f"""
    FullView {{
        background: $background;
        & > ExactView {{
            width: 100%;
            height: 100%;
            max-height: 100%;
            padding: 0 1 0 {FRAMED_TEXT};
            background: $background;
            border: round $forge-muted;
            border-title-color: $foreground;
            border-subtitle-color: $forge-muted;
        }}
    }}
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+e,q", "leave", show=False),
        Binding("j", "scroll(1)", show=False),
        Binding("k", "scroll(-1)", show=False),
        Binding("home,ctrl+home", "scroll(-100000000)", show=False),
        Binding("end,ctrl+end", "scroll(100000000)", show=False),
    ]

    def __init__(self, title: str, lines: Sequence[ExactLine], on_end: Callable[[], None]) -> None:
        """`on_end` is called when the last row is on the screen."""
        super().__init__()
        self._on_end = on_end
        self._title = title
        self._view = ExactView(lines)

    @property
    def page(self) -> ExactView:
        return self._view

    def compose(self) -> ComposeResult:
        self._view.border_title = Content(self._title)
        yield self._view

    def on_mount(self) -> None:
        self.watch(self._view, "scroll_y", self._show_position, init=False)

    def on_resize(self) -> None:
        self.call_after_refresh(self._show_position)

    def _show_position(self) -> None:
        rows, height, first = self._view.row_count, self._view.size.height, round(self._view.scroll_y)
        place = f"rows {first + 1:,}–{min(first + height, rows):,} of {rows:,} · " if rows > height else ""
        self._view.border_subtitle = Content(f"{place}Esc back to the answers")
        if 0 < rows <= first + height:
            self._on_end()
