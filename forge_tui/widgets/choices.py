"""A short list to choose from. It takes no focus: its owner moves the choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from forge_core.text_width import cell_len, clip
from forge_tui.widgets.role_strip import role_strip

MARK = "❯ "
NO_MARK = "  "
TICKED, NOT_TICKED = "[x]", "[ ]"
"""The beginning of a row that is a switch."""
NONE_CHOSEN = -1
MAIN_BUTTON = 1
"""The number of the mouse button that selects; the others paste, or open the terminal's menu."""
GAP = 2
"""Cells between the columns."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One row. Its text must be safe to show, and one line."""

    label: str
    hint: str = ""
    """Muted text right after the label: an argument, a rule."""
    detail: str = ""
    """Text of the second column."""
    key: str = ""
    """Muted text at the right edge: the key that does the same."""
    marks: tuple[int, ...] = ()
    """The indexes of the label's characters that match what was typed."""
    short: str = ""
    """The label where all choices are in one row."""
    name: tuple[int, int, str] | None = None
    """Where a name begins and ends in the label, and its role."""


class ChoiceList(Widget):
    """Rows of label and detail, at most one of them chosen; scrolls so that the chosen one is visible."""

    DEFAULT_CSS = """
    ChoiceList {
        height: auto;
        color: $foreground;
        & > .choices--chosen { color: $primary; text-style: bold; }
        & > .choices--chip { color: $background; background: $primary; text-style: bold; }
        & > .choices--hint { color: $forge-muted; }
        & > .choices--match { color: $primary; text-style: underline; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"choices--{role}" for role in ("chosen", "chip", "hint", "match")
    }

    class Clicked(Message):
        """A row was clicked: the main button was pressed and released on it."""

        def __init__(self, choices: ChoiceList, index: int) -> None:
            super().__init__()
            self.choices = choices
            self.index = index

        @property
        def control(self) -> ChoiceList:
            return self.choices

    def __init__(
        self,
        rows: Sequence[Choice] = (),
        *,
        chosen: int = 0,
        max_rows: int = 8,
        label_share: tuple[int, int] | None = (3, 8),
        counts: bool = False,
    ) -> None:
        """`label_share` is the part of a row, as a fraction, that labels with a detail may take; None for all
        that the longest detail leaves, but at least a third. If it `counts`, a line below rows that scroll
        says which of how many is chosen."""
        super().__init__()
        self._label_share = label_share
        self._counts = counts
        self.rows: tuple[Choice, ...] = tuple(rows)
        self._widths = _widths(self.rows)
        self.chosen = chosen
        self._max_rows = max_rows
        self._is_in_row = False
        self._note = ""
        self._first = 0
        self._pressed: int | None = None
        """The row on which the main button was pressed last."""

    def show(self, rows: Sequence[Choice], chosen: int = 0) -> None:
        """Show other rows; the height follows."""
        is_same_height = self._height_of(len(rows)) == self._height_of(len(self.rows))
        self.rows, self._first, self._pressed = tuple(rows), 0, None
        self._widths = _widths(self.rows)
        self.chosen = min(max(chosen, NONE_CHOSEN), max(len(rows) - 1, 0))
        self._keep_chosen_in_view()
        self.refresh(layout=not is_same_height)

    @property
    def is_in_row(self) -> bool:
        """Whether all choices are in one row, by their short labels."""
        return self._is_in_row

    def lay_out(self, *, is_in_row: bool, note: str = "") -> None:
        """Show the choices in one row, with a muted note below, or one per row."""
        if (is_in_row, note) != (self._is_in_row, self._note):
            self._is_in_row, self._note, self._pressed = is_in_row, note, None
            self.refresh(layout=True)

    def move(self, by: int) -> None:
        """Choose `by` rows further, wrapping around; from no row, choose the first or the last."""
        if self.rows:
            start = len(self.rows) if self.chosen == NONE_CHOSEN and by < 0 else self.chosen
            self.choose((start + by) % len(self.rows))

    def choose(self, index: int) -> None:
        self.chosen = index
        self._keep_chosen_in_view()
        self.refresh()

    def limit_rows(self, most: int) -> None:
        """Show at most so many rows at a time."""
        if most != self._max_rows:
            self._max_rows = most
            self._keep_chosen_in_view()
            self.refresh(layout=True)

    def fits(self, index: int, width: int) -> bool:
        """Return whether this row's label and hint fit in `width` cells; if all are in one row, whether
        that and the note do."""
        if self._is_in_row:
            return max(sum(map(cell_len, self._cells())), cell_len(NO_MARK + self._note)) <= width
        return _cells_of(self.rows[index]) <= self._label_room(self.rows[index], width)

    def detail_fits(self, index: int, width: int) -> bool:
        """Return whether this row's second column fits in `width` cells."""
        return cell_len(self.rows[index].detail) <= width - self._column(width)

    @property
    def rows_taken(self) -> int:
        """Rows of the screen that it takes, if there is room."""
        return self._height_of(len(self.rows))

    @property
    def shown_rows(self) -> int:
        """Rows visible at a time, if there is room."""
        if self._is_in_row:
            return 2 if self._note else 1
        return min(len(self.rows), self._max_rows)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self.rows_taken

    def _height_of(self, count: int) -> int:
        """Return the rows that so many choices take."""
        if self._is_in_row:
            return self.shown_rows
        return max(1, min(count, self._max_rows)) + (self._counts and count > self._max_rows)

    def render_line(self, y: int) -> Strip:
        if self._is_in_row:
            return self._render_row() if y == 0 else self._render_note()
        width, index = self.size.width, self._first + y
        if self._counts and y >= self._max_rows:
            return role_strip(self, "choices", [("hint", self._count.rjust(width))])
        if index >= len(self.rows):
            return role_strip(self, "choices", [])
        row, is_chosen = self.rows[index], index == self.chosen
        room = self._label_room(row, width)
        label = clip(row.label, room - len(MARK))
        hint_room = room - len(MARK) - 1 - cell_len(label)
        role = "chosen" if is_chosen else "plain"
        texts = [
            *_label_parts(row, MARK if is_chosen else NO_MARK, label, role),
            ("hint", f" {clip(row.hint, hint_room)}" if row.hint else ""),
        ]
        if row.detail:
            column = self._column(width)
            gap = column - sum(cell_len(text) for _, text in texts)
            room = width - column - (cell_len(row.key) + GAP if row.key else 0)
            texts += [("plain", " " * gap), ("hint", clip(row.detail, room))]
        if row.key:
            gap = max(width - sum(cell_len(text) for _, text in texts) - cell_len(row.key), 1)
            texts.append(("hint", " " * gap + row.key))
        return role_strip(self, "choices", texts)

    def _cells(self) -> list[str]:
        """Return the text of each choice where all are in one row."""
        return [
            f"{MARK if index == self.chosen else NO_MARK}{row.short} " for index, row in enumerate(self.rows)
        ]

    def _render_row(self) -> Strip:
        texts = [
            ("chip" if index == self.chosen else "plain", text) for index, text in enumerate(self._cells())
        ]
        return role_strip(self, "choices", texts)

    def _render_note(self) -> Strip:
        return role_strip(self, "choices", [("hint", clip(NO_MARK + self._note, self.size.width))])

    @property
    def _count(self) -> str:
        """Which of how many rows is chosen."""
        total = f"{len(self.rows):,}"
        return total if self.chosen == NONE_CHOSEN else f"{self.chosen + 1:,} of {total}"

    def _label_room(self, row: Choice, width: int) -> int:
        """Return the cells for mark, label and hint: the whole row, or the first of two columns."""
        return self._column(width) - GAP if row.detail else width

    def _column(self, width: int) -> int:
        """Return the first cell of the second column: after the longest label, within their share."""
        labels, details = self._widths
        if self._label_share is None:
            share = max(width - GAP - details, width // 3)
        else:
            part, whole = self._label_share
            share = width * part // whole
        return min(labels, share) + GAP

    def _keep_chosen_in_view(self) -> None:
        if self.chosen < self._first:
            self._first = max(self.chosen, 0)
        elif self.chosen >= self._first + self._max_rows:
            self._first = self.chosen - self._max_rows + 1

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._pressed = self._row_at(event) if event.button == MAIN_BUTTON else None

    def on_click(self, event: events.Click) -> None:
        pressed, self._pressed = self._pressed, None
        if (index := self._row_at(event)) is not None:
            event.stop()
            if index == pressed:
                self.post_message(self.Clicked(self, index))

    def _row_at(self, event: events.MouseEvent) -> int | None:
        offset = event.get_content_offset(self)
        if self._is_in_row:
            ends = accumulate(map(cell_len, self._cells()))
            if offset is None or offset.y > 0:
                return None
            return next((at for at, end in enumerate(ends) if offset.x < end), None)
        index = len(self.rows) if offset is None or offset.y >= self._max_rows else self._first + offset.y
        return index if index < len(self.rows) else None


def _label_parts(row: Choice, mark: str, label: str, role: str) -> list[tuple[str, str]]:
    """Return the mark and the clipped label of a row in parts, each with its role."""
    if row.name is None:
        return _marked(mark + label, [at + len(mark) for at in row.marks], role)
    start, end, name_role = row.name
    parts = [(role, mark + label[:start]), (name_role, label[start:end]), (role, label[end:])]
    return [(one, text) for one, text in parts if text]


def _marked(label: str, marks: Sequence[int], role: str) -> list[tuple[str, str]]:
    """Return a label in parts, each with its role."""
    texts, at = [], 0
    for mark in marks:
        texts += [(role, label[at:mark]), ("match", label[mark : mark + 1])]
        at = mark + 1
    return [(role, text) for role, text in [*texts, (role, label[at:])] if text]


def _widths(rows: Sequence[Choice]) -> tuple[int, int]:
    """Return the cells of the longest label, with its mark and hint, and of the longest detail."""
    return max(map(_cells_of, rows), default=0), max((cell_len(row.detail) for row in rows), default=0)


def _cells_of(row: Choice) -> int:
    """Return the cells of the mark, label and hint."""
    return len(MARK) + cell_len(row.label) + (cell_len(row.hint) + 1 if row.hint else 0)
