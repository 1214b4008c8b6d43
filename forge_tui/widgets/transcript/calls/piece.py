"""Rows of a part of a block that were drawn once, to be laid at the same place again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from forge_tui.widgets.blockview.rows import Canvas, Row, Side


@dataclass(frozen=True, slots=True)
class Piece:
    """What a part added to a canvas."""

    looks: object
    """What it showed."""
    place: object
    """What its rows depended on besides."""
    rows: list[Row]
    lines: list[str]
    leads: dict[int, str]
    originals: dict[int, str]
    sides: dict[int, Side]
    handles: list[tuple[int, object]]
    """Counted from its first row."""


def draw_piece(canvas: Canvas, looks: object, draw: Callable[[], None]) -> Piece:
    """Draws a part; gives what it added."""
    place, rendered = canvas.place, canvas.rendered
    rows, lines, handles = len(rendered.rows), len(rendered.lines), len(canvas.handles)
    draw()
    added = range(lines, len(rendered.lines))
    return Piece(
        looks,
        place,
        rendered.rows[rows:],
        rendered.lines[lines:],
        {line: rendered.leads[line] for line in added if line in rendered.leads},
        {line: rendered.originals[line] for line in added if line in rendered.originals},
        {line: rendered.sides[line] for line in added if line in rendered.sides},
        [(row - rows, handle) for row, handle in canvas.handles[handles:]],
    )


def lay_piece(canvas: Canvas, piece: Piece) -> None:
    """Adds the rows of a part once more; its place must be the canvas's."""
    rendered, above = canvas.rendered, len(canvas.rendered.rows)
    rendered.rows += piece.rows
    rendered.lines += piece.lines
    rendered.leads |= piece.leads
    rendered.originals |= piece.originals
    rendered.sides |= piece.sides
    canvas.handles += [(above + row, handle) for row, handle in piece.handles]
