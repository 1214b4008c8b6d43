"""Rich styles as the sequences of a palette.

Private parts of Rich's `Style` that it reads: `_attributes`, `_set_attributes`, `_color` and `_bgcolor`.
"""

from __future__ import annotations

from functools import lru_cache

from rich.color import Color
from rich.style import Style
from textual.strip import SGR_STYLES

from forge_tui.terminal.colours import Rgb
from forge_tui.terminal.palette import Palette

_KEPT = 1024
"""Styles: more than one screen has. Each link is another one, and a long session has any number of them."""


class StyleCodes:
    """Looks each style up once: what is written again costs no more than in true colour."""

    def __init__(self, palette: Palette) -> None:
        self._palette = palette
        self.sgr = lru_cache(maxsize=_KEPT)(self._looked_up)
        """A style's parameters between ESC [ and m; empty for plain text."""

    def _looked_up(self, style: Style) -> str:
        bits = style._attributes & style._set_attributes
        attributes = [SGR_STYLES[bit] for bit in range(bits.bit_length()) if bits & (1 << bit)]
        return self._palette.parameters(rgb(style._color), rgb(style._bgcolor), attributes)


def rgb(colour: Color | None) -> Rgb | None:
    """The channels; None where the terminal's own colour is meant."""
    if colour is None or colour.is_default:
        return None
    red, green, blue = colour.get_truecolor()
    return red, green, blue
