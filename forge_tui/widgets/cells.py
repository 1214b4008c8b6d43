"""Text cut to a number of terminal cells."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

ELLIPSIS = "…"


def clip(text: str, width: int) -> str:
    """`text` in at most `width` cells; what is cut off the end leaves an ellipsis."""
    if cell_len(text) <= width:
        return text
    return "" if width < 1 else set_cell_size(text, width - 1).rstrip() + ELLIPSIS


def clip_middle(text: str, width: int) -> str:
    """`text` in at most `width` cells; cut in the middle, so that the end of a path stays."""
    if cell_len(text) <= width:
        return text
    if width < 2:
        return ELLIPSIS[: max(width, 0)]
    tail_cells = (width - 1) * 2 // 3
    tail = ""
    for character in reversed(text):
        if cell_len(character + tail) > tail_cells:
            break
        tail = character + tail
    head = set_cell_size(text, width - 1 - cell_len(tail))
    return head + ELLIPSIS + tail


def hard_wrap(text: str, width: int) -> list[str]:
    """`text` in pieces of at most `width` cells, nothing dropped and nothing moved; at least one piece."""
    width = max(width, 2)
    if text.isascii():
        return [text[start : start + width] for start in range(0, len(text), width)] or [""]
    pieces: list[str] = []
    piece: list[str] = []
    used = 0
    for character in text:
        cells = cell_len(character)
        if used + cells > width:
            pieces.append("".join(piece))
            piece, used = [], 0
        piece.append(character)
        used += cells
    return [*pieces, "".join(piece)] if piece or not pieces else pieces
