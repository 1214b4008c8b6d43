"""Plain text in columns, as command results are shown. Widths are terminal cells, not characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence


def columns(rows: Sequence[tuple[str, str]]) -> str:
    """Two columns, the first as wide as its widest entry."""
    width = max((cells(left) for left, _ in rows), default=0)
    return "\n".join(f"{left}{_blank(width, left)}  {right}".rstrip() for left, right in rows)


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Columns; the first to the left, figures to the right."""
    widths = [max(cells(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        figures = "  ".join(
            f"{_blank(width, cell)}{cell}" for cell, width in zip(row[1:], widths[1:], strict=True)
        )
        lines.append(f"{row[0]}{_blank(widths[0], row[0])}  {figures}")
    return "\n".join(lines)


def cells(text: str) -> int:
    """The terminal cells that `text` takes: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    return sum(_cells(character) for character in text)


def cut_end(text: str, width: int) -> str:
    """`text` in at most `width` cells; what is cut off its end leaves an ellipsis."""
    if cells(text) <= width:
        return text
    kept, used = [], 1
    for character in text:
        used += _cells(character)
        if used > width:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…"


def cut_start(text: str, width: int) -> str:
    """The same with the beginning cut off, for what says most at its end."""
    return text if cells(text) <= width else cut_end(text[::-1], width)[::-1]


def _cells(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _blank(width: int, text: str) -> str:
    return " " * (width - cells(text))
