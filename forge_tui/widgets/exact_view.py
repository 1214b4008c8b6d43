"""Shows text exactly, scrolled by its owner."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import ClassVar

from rich.segment import Segment
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from forge_tui.widgets.exact_text import CHANGED, Line, Row, exact_rows


class ExactView(ScrollView, can_focus=False):
    """Shows `Line`s, hard-wrapped, scrolled by its owner or the wheel."""

    DEFAULT_CSS = """
    ExactView {
        height: auto;
        overflow-x: hidden;
        scrollbar-size-vertical: 1;
        color: $foreground;
        & > .exact--gutter, & > .exact--blank { color: $forge-muted; }
        & > .exact--hunk, & > .exact--heading { color: $forge-muted; }
        & > .exact--added { color: $diff-added; background: $diff-added-background; }
        & > .exact--removed { color: $diff-removed; background: $diff-removed-background; }
        & > .exact--foreign { color: $warning; text-style: underline; }
        & > .exact--strange { color: $background; background: $warning; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"exact--{role}"
        for role in ("gutter", "blank", "hunk", "heading", "added", "removed", "foreign", "strange")
    }

    def __init__(self, lines: Sequence[Line]) -> None:
        super().__init__()
        self._lines = tuple(lines)
        self._rows: list[Row] = []
        self._rows_width = -1

    def show(self, lines: Sequence[Line]) -> None:
        """Put other lines in."""
        if self._lines != tuple(lines):
            self._lines, self._rows_width = tuple(lines), -1
            self.refresh(layout=True)

    @property
    def row_count(self) -> int:
        return len(self._rows)

    def rows_for(self, width: int) -> list[Row]:
        if width != self._rows_width:
            self._rows = exact_rows(self._lines, width)
            self._rows_width = width
        return self._rows

    def rows_to_change(self, width: int, count: int) -> int:
        """The rows down to the one in which `count` rows of a diff have changed; 0 where nothing has."""
        rows = enumerate(self.rows_for(width), 1)
        changed = islice((number for number, row in rows if row[0][0] in CHANGED), count)
        return max(changed, default=0)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.rows_for(width - 1))

    def on_resize(self) -> None:
        width = self.size.width
        self.virtual_size = Size(width, len(self.rows_for(max(self.container_size.width - 1, 4))))

    def render_line(self, y: int) -> Strip:
        base, width = self.rich_style, self.size.width
        index = y + self.scroll_offset.y
        if index >= len(self._rows):
            return Strip.blank(width, base)
        segments = []
        fill = base
        for role, text in self._rows[index]:
            style = base
            if role != "plain":
                style = base + self.get_component_rich_style(f"exact--{role}", partial=True)
            if role in CHANGED:
                fill = style
            segments.append(Segment(text, style))
        return Strip(segments).adjust_cell_length(width, fill)
