"""Plain text in columns, as command results are shown. Widths are terminal cells, not characters."""

from __future__ import annotations

from collections.abc import Sequence

from forge_core.text_width import cell_len


def columns(rows: Sequence[tuple[str, str]]) -> str:
    """Return two columns, the first as wide as its widest entry."""
    width = max((cell_len(left) for left, _ in rows), default=0)
    return "\n".join(f"{left}{_blank(width, left)}  {right}".rstrip() for left, right in rows)


def left_columns(rows: Sequence[tuple[str, ...]]) -> str:
    """Return any number of columns to the left, each as wide as its widest entry."""
    widths = [max(cell_len(row[column]) for row in rows) for column in range(len(rows[0]))] if rows else []
    return "\n".join(
        "  ".join(f"{cell}{_blank(width, cell)}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Columns; the first to the left, figures to the right."""
    widths = [max(cell_len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        figures = "  ".join(
            f"{_blank(width, cell)}{cell}" for cell, width in zip(row[1:], widths[1:], strict=True)
        )
        lines.append(f"{row[0]}{_blank(widths[0], row[0])}  {figures}")
    return "\n".join(lines)


def _blank(width: int, text: str) -> str:
    return " " * (width - cell_len(text))
