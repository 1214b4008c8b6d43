"""Rows of a widget from texts with roles, such as "muted": each role is a component class of the widget."""

from __future__ import annotations

from collections.abc import Iterable

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget


def role_strip(
    widget: Widget, prefix: str, texts: Iterable[tuple[str, str]], base: Style | None = None
) -> Strip:
    """Return texts, each with its role before it, as a row as wide as the widget.

    The class of a role is `prefix--role`; "plain" is `base`, by default the widget's own style.
    """
    base = widget.rich_style if base is None else base
    segments = [
        Segment(text, base if role == "plain" else base + role_style(widget, prefix, role))
        for role, text in texts
    ]
    return Strip(segments).adjust_cell_length(widget.size.width, base)


def role_style(widget: Widget, prefix: str, role: str) -> Style:
    """Return what a role adds to a style."""
    return widget.get_component_rich_style(f"{prefix}--{role}", partial=True)


def draw_over(strips: list[Strip], x: int, y: int, segment: Segment) -> None:
    """Replace the cell at `x` in row `y` by a segment of one cell, if the rows have that cell."""
    if 0 <= y < len(strips) and 0 <= x < strips[y].cell_length:
        row = strips[y]
        strips[y] = Strip.join([row.crop(0, x), Strip([segment], 1), row.crop(x + 1)])
