"""Markdown tables in aligned columns that fit the width: a rule below the header, no grid, and every other
row of a long one on a faint background. Cells are wrapped before the table is given up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from rich.segment import Segment
from rich.style import Style

from forge_core.text_width import cell_len
from forge_tui.widgets.blockview.rows import Canvas, StyledSpan, slice_spans, wrap_words
from forge_tui.widgets.blockview.styles import TranscriptStyles

Cell: TypeAlias = list[StyledSpan]
Align: TypeAlias = Literal["left", "center", "right"]

_BETWEEN = 3
"""Blank cells between two columns."""
_NARROWEST = 10
"""A narrower column is unreadable."""
_ZEBRA_ABOVE = 5
"""Rows of a table that the eye can follow without a background."""


@dataclass(slots=True)
class Table:
    header: list[Cell] = field(default_factory=list)
    rows: list[list[Cell]] = field(default_factory=list)
    aligns: list[Align] = field(default_factory=list)
    has_header: bool = True
    """False for rows that continue a table of an earlier piece."""
    natural: Sequence[int] = ()
    """The natural widths of the columns, if an earlier piece has determined them."""
    rows_before: int = 0
    """The rows in earlier pieces."""


def draw_table(table: Table, canvas: Canvas, styles: TranscriptStyles) -> None:
    """Add the table to `canvas`; as one record per row if even narrow columns do not fit."""
    count = len(table.header)
    natural = list(table.natural) or _natural_widths(table)
    widths = _column_widths(natural, canvas.width - _BETWEEN * (count - 1))
    if widths is None:
        _draw_records(table, canvas, styles)
        return
    if table.has_header:
        _draw_row(table.header, widths, table.aligns, canvas, styles)
        canvas.decoration([("─" * (sum(widths) + _BETWEEN * (count - 1)), styles.faint)])
    is_long = table.rows_before + len(table.rows) > _ZEBRA_ABOVE
    zebra = styles.zebra if is_long else None
    for number, row in enumerate(table.rows, table.rows_before):
        if widths != natural and zebra is None and number:
            canvas.gap()  # otherwise it is not seen where a wrapped row ends
        _draw_row(row, widths, table.aligns, canvas, styles, zebra if number % 2 else None)


def _natural_widths(table: Table) -> list[int]:
    return [
        max(1, *(_size(row[at]) for row in (table.header, *table.rows) if at < len(row)))
        for at in range(len(table.header))
    ]


def _column_widths(natural: Sequence[int], room: int) -> list[int] | None:
    """Return each column's width, shrinking the widest ones first; None if they cannot fit."""
    columns = range(len(natural))
    widths = list(natural)
    excess = sum(widths) - room
    if excess <= 0:
        return widths
    if room < sum(min(_NARROWEST, width) for width in widths):
        return None
    # Shrink all widest columns down to the next width at a time: a column never gets narrower than one that
    # was narrower before.
    while excess > 0:
        widest = max(widths)
        second = max((width for width in widths if width < widest), default=_NARROWEST)
        wide = [at for at in columns if widths[at] == widest]
        step = max(1, min(widest - max(second, _NARROWEST), -(-excess // len(wide))))
        for at in wide:
            if excess > 0:
                widths[at] -= min(step, excess)
                excess -= min(step, excess)
    return widths


def _draw_row(
    row: Sequence[Cell],
    widths: Sequence[int],
    aligns: Sequence[Align],
    canvas: Canvas,
    styles: TranscriptStyles,
    ground: Style | None = None,
) -> None:
    """Add a row; its background, if it has one, begins a cell before the text and ends a cell after it."""
    wrapped = [_wrap(row[at] if at < len(row) else [], width) for at, width in enumerate(widths)]
    for number in range(max(len(lines) for lines in wrapped)):
        spans: list[StyledSpan] = []
        for at, width in enumerate(widths):
            cell = wrapped[at][number] if number < len(wrapped[at]) else []
            if at:
                spans.append((" " * _BETWEEN, styles.text))
            spans.extend(_aligned(cell, width, aligns[at] if at < len(aligns) else "left", styles))
        shown = "".join(text for text, _ in spans)
        original = shown.rstrip()
        if ground is None:
            canvas.text(spans, wrap=_unwrapped, original=original)
            continue
        padding = " " if cell_len(shown) < canvas.width else ""
        filled = [(text, style + ground) for text, style in (*spans, (padding, styles.text))]
        canvas.text(filled, wrap=_whole, original=original, bleed=Segment(" ", ground))


def _unwrapped(text: str, width: int) -> list[tuple[int, int]]:
    """Return a row of cells that are wrapped already, without the blanks at its end."""
    return [(0, len(text.rstrip()))]


def _whole(text: str, width: int) -> list[tuple[int, int]]:
    return [(0, len(text))]


def _wrap(cell: Cell, width: int) -> list[Cell]:
    text = "".join(part for part, _ in cell)
    return [
        [(segment.text, segment.style or cell[0][1]) for segment in slice_spans(cell, start, end)]
        for start, end in wrap_words(text, width)
    ]


def _aligned(cell: Cell, width: int, align: Align, styles: TranscriptStyles) -> list[StyledSpan]:
    free = max(0, width - _size(cell))
    left = {"left": 0, "right": free, "center": free // 2}[align]
    pad = [(" " * left, styles.text)] if left else []
    return [*pad, *cell, (" " * (free - left), styles.text)]


def _draw_records(table: Table, canvas: Canvas, styles: TranscriptStyles) -> None:
    for number, row in enumerate(table.rows, table.rows_before):
        if number:
            canvas.gap()
        for name, cell in zip(table.header, row, strict=False):
            canvas.text([*name, (": ", styles.muted), *cell], hanging=2)


def _size(cell: Cell) -> int:
    return cell_len("".join(text for text, _ in cell))
