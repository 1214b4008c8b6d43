"""The end of the conversation as lines for the terminal's main screen, where it stays after Forge exits."""

from __future__ import annotations

from collections.abc import Mapping

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from forge_core.text_width import cell_len
from forge_tui.terminal.colours import Depth, Palette, parse_rgb
from forge_tui.terminal.screen_model import palette_codes, render, rgb
from forge_tui.widgets.blockview.block_layout import Layout
from forge_tui.widgets.blockview.blocks import UserBlock
from forge_tui.widgets.blockview.rows import Row

_CODES = {
    "diff-added": "32",
    "diff-added-background": "32",
    "diff-added-strong": "1;32",
    "diff-removed": "31",
    "diff-removed-background": "31",
    "diff-removed-strong": "1;31",
    "success": "32",
    "warning": "33",
    "error": "31",
}
"""Colours readable on most backgrounds: whether the terminal is dark or light is not known."""


def last_lines(layout: Layout, most: int, variables: Mapping[str, str], depth: Depth) -> list[str]:
    """Return the last message of the user and what followed it, at most `most` lines; empty without a
    message.

    `variables` are those of the theme; they give a colour its meaning.
    """
    rows = _last_rows(layout, most)
    plain = palette_codes(Palette(Depth.NONE, variables))
    codes = {parse_rgb(variables.get(name)): code for name, code in _CODES.items() if depth is not Depth.NONE}
    codes.pop(None, None)

    def sgr(style: Style) -> str:
        """Return the attributes, and a plain colour for one that has a meaning: the background is not
        ours."""
        known = (codes[colour] for colour in (rgb(style.bgcolor), rgb(style.color)) if colour in codes)
        return next(known, "") or plain(style)

    return [render(_trimmed(row), sgr) for row in rows]


def _last_rows(layout: Layout, most: int) -> list[Row]:
    rows: list[Row] = []
    for index in range(len(layout.blocks) - 1, -1, -1):
        block = layout.blocks[index]
        if len(rows) < most:
            rows[:0] = [row for row in layout.rendered(index).rows if not row.is_edge]
        if isinstance(block, UserBlock):
            first = next((at for at, row in enumerate(rows) if _text(row).strip()), 0)
            return rows[max(first, len(rows) - most) :]
    return []


def _text(row: Row) -> str:
    return "".join(segment.text for segment in row.segments)


def _trimmed(row: Row) -> list[Segment]:
    """Return the segments without trailing blanks."""
    return list(Strip(row.segments).crop(0, cell_len(_text(row).rstrip())))
