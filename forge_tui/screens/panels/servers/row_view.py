"""Rows of two columns that wrap and scroll; some of them can be chosen."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from forge_core.text_width import cell_len, clip
from forge_tui.widgets.blockview.rows import wrap_words
from forge_tui.widgets.choices import GAP, MAIN_BUTTON, MARK, NO_MARK
from forge_tui.widgets.role_strip import role_strip

_FEWEST_CELLS = 12
"""Of a column that wraps."""


@dataclass(frozen=True, slots=True)
class ViewRow:
    """One row. Its texts must be safe to show, and one line each."""

    label: str
    text: str = ""
    """Muted text in the second column."""
    key: Hashable = None
    """By what its owner knows it; None: it cannot be chosen."""
    role: str = "plain"
    """Of the label: a component class of the view."""
    text_role: str = "hint"
    is_short: bool = False
    """Whether the text is clipped to one line; the label always wraps."""


class RowView(ScrollView, can_focus=False):
    """The second column of rows that follow each other begins at the same cell. It takes no focus: its owner
    moves the choice."""

    DEFAULT_CSS = """
    RowView {
        height: auto;
        scrollbar-size-vertical: 1;
        & > .rows--chosen { color: $primary; text-style: bold; }
        & > .rows--heading { color: $accent; text-style: bold; }
        & > .rows--hint { color: $forge-muted; }
        & > .rows--good { color: $success; }
        & > .rows--problem { color: $warning; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"rows--{role}" for role in ("chosen", "heading", "hint", "good", "problem")
    }

    class Clicked(Message):
        """A row that can be chosen was clicked with the main button."""

        def __init__(self, view: RowView, key: Hashable) -> None:
            super().__init__()
            self.view = view
            self.key = key

    def __init__(self) -> None:
        super().__init__()
        self.rows: tuple[ViewRow, ...] = ()
        self.chosen: Hashable = None
        """The key of the chosen row; None without one."""
        self._lines: list[tuple[int, str, str]] = []
        """For each line: its row, and what it shows of the two columns, the first one padded."""

    def show(self, rows: Sequence[ViewRow], width: int) -> None:
        """Show rows in a width in cells, the same one chosen if it is still there, else the first."""
        self.rows = tuple(rows)
        self._lines = [*_laid_out(self.rows, width)]
        self.virtual_size = Size(width, len(self._lines))
        keys = self._keys()
        if self.chosen not in keys:
            self.chosen = keys[0] if keys else None
        self.refresh()

    def _keys(self) -> list[Hashable]:
        return [row.key for row in self.rows if row.key is not None]

    def choose(self, key: Hashable) -> None:
        self.chosen = key
        first, last = self._extent()
        top = self.scroll_offset.y
        # What is above the first row, and below the last one, has no row that could be chosen.
        keys = self._keys()
        first = 0 if key == keys[0] else first
        if first < top:
            self.scroll_to(y=first, animate=False)
        elif last >= top + self.size.height:
            self.scroll_to(y=last - self.size.height + 1, animate=False)
        self.refresh()

    def move(self, by: int) -> None:
        """Choose the next row, or the one before; beyond the last one, and while the chosen one is out of
        view, scroll by a line."""
        keys = self._keys()
        at = keys.index(self.chosen) + by if self.chosen in keys else -1
        first, last = self._extent()
        top = self.scroll_offset.y
        is_visible = first < top + self.size.height and last >= top
        if 0 <= at < len(keys) and is_visible:
            self.choose(keys[at])
        else:
            self.scroll_relative(y=by, animate=False)

    def page(self, by: int) -> None:
        self.scroll_relative(y=by * max(self.size.height - 2, 1), animate=False)

    def _extent(self) -> tuple[int, int]:
        """Return the first and the last line of the chosen row."""
        found = [at for at, (row, _, _) in enumerate(self._lines) if self.rows[row].key == self.chosen]
        return (found[0], found[-1]) if found and self.chosen is not None else (0, 0)

    def render_line(self, y: int) -> Strip:
        at = self.scroll_offset.y + y
        if at >= len(self._lines):
            return role_strip(self, "rows", [])
        index, label, text = self._lines[at]
        row = self.rows[index]
        is_chosen = row.key is not None and row.key == self.chosen
        is_first = at == 0 or self._lines[at - 1][0] != index
        mark = "" if row.key is None else MARK if is_chosen and is_first else NO_MARK
        role = "chosen" if is_chosen else row.role
        return role_strip(self, "rows", [(role, mark + label), (row.text_role, text)])

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        at = self.scroll_offset.y + offset.y if offset is not None else len(self._lines)
        if event.button == MAIN_BUTTON and at < len(self._lines):
            key = self.rows[self._lines[at][0]].key
            if key is not None:
                event.stop()
                self.post_message(self.Clicked(self, key))


def _laid_out(rows: Sequence[ViewRow], width: int) -> Iterator[tuple[int, str, str]]:
    """Yield the index of the row of each line, with what the line shows of its label and its text."""
    ends = [at for at, row in enumerate(rows) if not row.text]
    for start, end in pairwise([-1, *ends, len(rows)]):
        if start >= 0:
            for label in _wrapped(rows[start].label, width - _mark_cells(rows[start])):
                yield start, label, ""
        together = rows[start + 1 : end]
        marks = max(map(_mark_cells, together), default=0)
        longest = max((cell_len(row.label) for row in together), default=0)
        text = max((cell_len(row.text) for row in together), default=0)
        room = max(min(longest, max(width * 2 // 5, width - marks - GAP - text)), _FEWEST_CELLS)
        for at, row in enumerate(together, start + 1):
            labels = _wrapped(row.label, room)
            left = max(width - marks - room - GAP, _FEWEST_CELLS)
            texts = [clip(row.text, left)] if row.is_short else _wrapped(row.text, left)
            for line in range(max(len(labels), len(texts))):
                label = labels[line] if line < len(labels) else ""
                label += " " * (room + GAP - cell_len(label))
                yield at, label, texts[line] if line < len(texts) else ""


def _mark_cells(row: ViewRow) -> int:
    return 0 if row.key is None else len(MARK)


def _wrapped(text: str, width: int) -> list[str]:
    return [text[start:end] for start, end in wrap_words(text, width)]
