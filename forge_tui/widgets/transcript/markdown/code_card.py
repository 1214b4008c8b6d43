"""Code as a card: a background padded by half a row, and the language at the right of the first line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rich.segment import Segment

from forge_core.sanitize import safe_line
from forge_core.text_width import cell_len, clip, wrap_cells
from forge_tui.widgets.blockview import highlighting
from forge_tui.widgets.blockview.rows import Canvas, StyledSpan, without_tabs
from forge_tui.widgets.blockview.styles import TranscriptStyles

_Wrap: TypeAlias = Callable[[str, int], list[tuple[int, int]]]

_LONGEST_LABEL = 24
_LEAST_BESIDE = 16
"""Cells for code beside the label; with fewer there is no label."""
_BEFORE_LABEL = 2
_RIGHT_PADDING = 1
_PLAIN_INDENT = 2
"""Cells by which code is indented where it cannot have a background."""


@dataclass(frozen=True, slots=True)
class CodeLabel:
    """A mark of the row with the label of a card."""

    column: int
    """Where it begins; it ends with the row."""
    text: str
    """The code; "" if only the answer has all of it."""


def draw_code(
    lines: Sequence[list[highlighting.CodeToken]],
    canvas: Canvas,
    styles: TranscriptStyles,
    label: str = "",
    *,
    text: str = "",
    is_beginning: bool = True,
    is_end: bool = True,
) -> None:
    """Add a card with highlighted lines, or a part of one; the label is in its first line. `text` is what a
    click on the label copies.

    The background begins a cell before the text, in the cell that the decoration around it leaves blank.
    """
    if styles.code_edge is None:
        with canvas.indented([Segment(" " * _PLAIN_INDENT)]):
            _draw_lines(lines, canvas, styles, label, text)
        return
    if is_beginning:
        canvas.edge("▄", styles.code_edge)
    _draw_lines(lines, canvas, styles, label, text)
    if is_end:
        canvas.edge("▀", styles.code_edge)


def _draw_lines(
    lines: Sequence[list[highlighting.CodeToken]],
    canvas: Canvas,
    styles: TranscriptStyles,
    label: str,
    text: str,
) -> None:
    bleed = Segment(" ", styles.code)
    right = _label(label, canvas.width, styles)
    if right is not None:
        canvas.mark(CodeLabel(canvas.full_width - cell_len(right[0]), text))
    for number, tokens in enumerate(lines):
        spans = highlighting.styled(tokens, styles.syntax, styles.code)
        original = "".join(text for text, _ in spans)
        beside = right if not number else None
        canvas.text(
            without_tabs(spans),
            wrap=_wrapped if beside is None else _wrapped_beside(cell_len(beside[0])),
            fill=styles.code,
            original=original,
            bleed=bleed,
            right=beside,
        )


def _label(label: str, width: int, styles: TranscriptStyles) -> StyledSpan | None:
    """Return the label with the blanks around it; None if there is none, or no room for it."""
    shown = clip(safe_line(label), _LONGEST_LABEL)
    padded = " " * _BEFORE_LABEL + shown + " " * _RIGHT_PADDING
    if not shown or width - cell_len(padded) < _LEAST_BESIDE:
        return None
    return padded, styles.code_label


def _wrapped(text: str, width: int) -> list[tuple[int, int]]:
    return wrap_cells(text, max(2, width - _RIGHT_PADDING))


def _wrapped_beside(cells: int) -> _Wrap:
    """Return how the first line is wrapped: its first row leaves so many cells for the label."""

    def wrapped(text: str, width: int) -> list[tuple[int, int]]:
        first = wrap_cells(text, width - cells)[0]
        end = first[1]
        if end >= len(text):
            return [first]
        return [first, *((a + end, b + end) for a, b in _wrapped(text[end:], width))]

    return wrapped
