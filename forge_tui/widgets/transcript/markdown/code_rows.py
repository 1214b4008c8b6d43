"""Highlighted code as rows on its own ground, under the language's name."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style

from forge_core.sanitize import safe_line
from forge_core.text_width import cell_len, clip, wrap_cells
from forge_tui.widgets.blockview import code
from forge_tui.widgets.blockview.rows import Canvas
from forge_tui.widgets.blockview.styles import TranscriptStyles
from forge_tui.widgets.blockview.wrapping import without_tabs


def draw_code(
    lines: Sequence[list[code.Token]], canvas: Canvas, styles: TranscriptStyles, label: str = ""
) -> None:
    """Adds highlighted lines on the code background, under a label where there is one."""
    with canvas.indented([Segment(" ", styles.code)]):
        if label:
            canvas.decoration(_label(label, canvas.width, styles))
        for tokens in lines:
            spans = code.styled(tokens, styles.syntax, styles.code)
            original = "".join(text for text, _ in spans)
            canvas.text(without_tabs(spans), wrap=wrap_cells, fill=styles.code, original=original)


def _label(label: str, width: int, styles: TranscriptStyles) -> list[tuple[str, Style]]:
    shown = clip(safe_line(label), max(0, width - 1))
    return [(shown, styles.code_label), (" " * max(0, width - cell_len(shown)), styles.code)]
