"""Plain text in columns, as command results are shown."""

from __future__ import annotations

from collections.abc import Sequence


def columns(rows: Sequence[tuple[str, str]]) -> str:
    """Two columns, the first as wide as its widest entry."""
    width = max((len(left) for left, _ in rows), default=0)
    return "\n".join(f"{left:<{width}}  {right}".rstrip() for left, right in rows)


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Columns; the first to the left, figures to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        figures = "  ".join(f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
        lines.append(f"{row[0]:<{widths[0]}}  {figures}")
    return "\n".join(lines)
