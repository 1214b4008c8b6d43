"""How wide text is in a terminal. Rich's tables are loaded when text is asked about that needs them."""

from __future__ import annotations

NARROW = frozenset(map(chr, (*range(0x20, 0x7F), *range(0xA0, 0xAD), *range(0xAE, 0x300)))) | frozenset(
    "─│╭╮╰╯…›"
)
"""Characters that take one cell each: the Latin ones, and those that Forge's own words and frames use."""


def cell_len(text: str) -> int:
    """How many cells `text` takes."""
    if NARROW.issuperset(text):
        return len(text)
    from rich.cells import cell_len as by_tables

    return by_tables(text)
