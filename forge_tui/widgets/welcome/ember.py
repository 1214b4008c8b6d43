"""The ember of the start screen: a flame of 7 by 8 pixels in half blocks, two pixels to a cell.

Does not import Textual: the launcher paints it too.
"""

from __future__ import annotations

_PIXELS = (
    "..1....",
    "..21...",
    ".142...",
    ".2532.1",
    "1365321",
    "2466542",
    "1356641",
    "..2431.",
)
"""The heat of each pixel, 1 to 6; a dot is empty."""
COLORS = {
    f"ember-{heat}": color
    for heat, color in enumerate(("#7a3b12", "#a5652f", "#d08e4c", "#eaae69", "#f5c384", "#ffd9a0"), 1)
}
"""From the cool edge to the core. The edge keeps the core visible on a light ground, too."""
WIDTH = len(_PIXELS[0])


def _cell(top: str, bottom: str) -> tuple[str, str]:
    """Return role and character of a cell."""
    if top == bottom:
        return ("plain", " ") if top == "." else (f"ember-{top}", "█")
    if bottom == ".":
        return f"ember-{top}", "▀"
    return (f"ember-{bottom}", "▄") if top == "." else (f"ember-{top}-{bottom}", "▀")


ROWS: tuple[tuple[tuple[str, str], ...], ...] = tuple(
    tuple(map(_cell, top, bottom)) for top, bottom in zip(_PIXELS[::2], _PIXELS[1::2], strict=True)
)
"""Four rows of cells, as (role, character)."""


def color_names(role: str) -> tuple[str, str]:
    """Return the names of a role's colours, of the character and behind it; "background" is the theme's."""
    _, top, *bottom = role.split("-")
    return f"ember-{top}", f"ember-{bottom[0]}" if bottom else "background"


def is_ember(role: str) -> bool:
    """Return whether a role is one of the ember's cells."""
    return role.startswith("ember-")
