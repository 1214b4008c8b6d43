"""Text cut to a number of terminal cells. Rich's tables are loaded when text beyond ASCII is cut."""

from __future__ import annotations

from forge_tui.cell_widths import NARROW, cell_len

ELLIPSIS = "…"
SEPARATOR = " · "
"""Between the parts of a line."""


def clip(text: str, width: int) -> str:
    """`text` in at most `width` cells; what is cut off the end leaves an ellipsis."""
    if cell_len(text) <= width:
        return text
    return "" if width < 1 else _fill(text, width - 1).rstrip() + ELLIPSIS


def whole_parts(text: str, width: int) -> str:
    """As many of the parts of `text` as there is room for; of the first one, what fits."""
    while cell_len(text) > width and SEPARATOR in text:
        text = text.rpartition(SEPARATOR)[0]
    return clip(text, width)


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
    head = _fill(text, width - 1 - cell_len(tail))
    return head + ELLIPSIS + tail


def _fill(text: str, width: int) -> str:
    """`text` cut or padded to exactly `width` cells."""
    if NARROW.issuperset(text):
        return text[: max(width, 0)].ljust(width)
    from rich.cells import set_cell_size

    return set_cell_size(text, width)


def hard_wrap(text: str, width: int) -> list[str]:
    """`text` in pieces of at most `width` cells, nothing dropped and nothing moved; at least one piece."""
    width = max(width, 2)
    if text.isascii():
        return [text[start : start + width] for start in range(0, len(text), width)] or [""]
    from rich.cells import split_graphemes

    pieces: list[str] = []
    start = used = 0
    for begin, _end, size in split_graphemes(text)[0]:
        if used + size > width and begin > start:
            pieces.append(text[start:begin])
            start, used = begin, 0
        used += size
    return [*pieces, text[start:]]
