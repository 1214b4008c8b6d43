"""The widget that shows exact text."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, islice
from typing import ClassVar

from rich.segment import Segment
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from forge_tui.widgets.blockview.styles import SYNTAX_KINDS
from forge_tui.widgets.exact_text import CHANGED, ExactLine, ExactRow, exact_rows
from forge_tui.widgets.role_strip import role_style


class ExactView(ScrollView, can_focus=False):
    """Shows `ExactLine`s, hard-wrapped; scrolled by its owner or the wheel."""

    DEFAULT_CSS = """
    ExactView {
        height: auto;
        overflow-x: hidden;
        scrollbar-size-vertical: 1;
        color: $foreground;
        & > .exact--gutter, & > .exact--blank { color: $forge-muted; }
        & > .exact--hunk, & > .exact--heading { color: $forge-muted; }
        & > .exact--added { background: $diff-added-background; }
        & > .exact--added-sign { color: $diff-added; }
        & > .exact--added-word { color: $foreground; background: $diff-added-strong; }
        & > .exact--removed { background: $diff-removed-background; }
        & > .exact--removed-sign { color: $diff-removed; }
        & > .exact--removed-word { color: $foreground; background: $diff-removed-strong; }
        & > .exact--foreign { color: $warning; text-style: underline; }
        & > .exact--strange { color: $background; background: $warning; }
        & > .exact--risky { text-style: bold underline; }
        & > .exact--syntax-keyword { color: $syntax-keyword; }
        & > .exact--syntax-string { color: $syntax-string; }
        & > .exact--syntax-number { color: $syntax-number; }
        & > .exact--syntax-comment { color: $syntax-comment; }
        & > .exact--syntax-function { color: $syntax-function; }
        & > .exact--syntax-class { color: $syntax-class; }
        & > .exact--syntax-operator { color: $syntax-operator; }
        & > .exact--syntax-builtin { color: $syntax-builtin; }
        & > .exact--syntax-added { color: $diff-added; }
        & > .exact--syntax-removed { color: $diff-removed; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"exact--{role}"
        for role in (
            *("gutter", "blank", "hunk", "heading", "foreign", "strange", "risky"),
            *(f"{side}{part}" for side in CHANGED for part in ("", "-sign", "-word")),
            *(f"syntax-{kind}" for kind in SYNTAX_KINDS),
        )
    }

    def __init__(self, lines: Sequence[ExactLine]) -> None:
        super().__init__()
        self._lines = tuple(lines)
        self._rows: list[ExactRow] = []
        self._rows_width = -1
        self._ends: list[int] = []
        """For each row, the characters up to its end, which do not depend on the width."""
        self._characters_shown = 0
        """The characters from the beginning that have been on the screen, without a gap."""

    def show(self, lines: Sequence[ExactLine]) -> None:
        """Show other lines."""
        if self._lines != tuple(lines):
            self._lines, self._rows_width = tuple(lines), -1
            self.refresh(layout=True)

    def start_over(self) -> None:
        """Begin at the top: what is shown next is something else, of which nothing has been on the screen."""
        self._characters_shown = 0
        self.scroll_home(animate=False)

    @property
    def row_count(self) -> int:
        return len(self._rows)

    def rows_for(self, width: int) -> list[ExactRow]:
        if width != self._rows_width:
            self._rows = exact_rows(self._lines, width)
            self._rows_width = width
            self._ends = list(accumulate(sum(len(text) for _, text in row[1:]) for row in self._rows))
        return self._rows

    def note_shown(self) -> None:
        """Note that the rows now in view have been on the screen; those beyond a gap do not count."""
        first = round(self.scroll_y)
        stop = min(first + self.size.height, len(self._rows))
        if first < stop and (first == 0 or self._ends[first - 1] <= self._characters_shown):
            self._characters_shown = max(self._characters_shown, self._ends[stop - 1])

    def note_all_shown(self) -> None:
        """Note that all rows have been on the screen, here or elsewhere."""
        self._characters_shown = sys.maxsize

    def has_shown(self, rows: int) -> bool:
        """Return whether the first `rows` rows have been on the screen."""
        return bisect_right(self._ends, self._characters_shown) >= rows

    def rows_to_change(self, width: int, count: int) -> int:
        """Return the number of rows down to the one with the `count`-th changed row of a diff; 0 if nothing
        has changed."""
        rows = enumerate(self.rows_for(width), 1)
        changed = islice((number for number, row in rows if row[0][0].startswith(CHANGED)), count)
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
            own, _, mark = role.partition(" ")
            style = base if own == "plain" else base + role_style(self, "exact", own)
            if own in CHANGED:
                fill = style
            if mark:
                style += role_style(self, "exact", mark)
            segments.append(Segment(text, style))
        return Strip(segments).adjust_cell_length(width, fill)
