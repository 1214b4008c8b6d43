"""The line at the bottom of the screen."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from forge_tui.widgets.status_text import SEPARATOR, Figures, StatusPart, cells, fit


class StatusBar(Widget):
    """Shows `Figures` in one row of fixed size; setting them never causes a layout."""

    DEFAULT_CSS = """
    StatusBar {
        height: 1;
        padding: 0 2;
        color: $forge-muted;
        & > .status--strong { color: $foreground; }
        & > .status--accent { color: $accent; }
        & > .status--primary { color: $primary; }
        & > .status--warning { color: $warning; }
        & > .status--badge { color: $background; background: $error; text-style: bold; }
        & > .status--faint { color: $forge-faint; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"status--{role}" for role in ("strong", "accent", "primary", "warning", "badge", "faint")
    }

    figures: reactive[Figures] = reactive(Figures())

    def __init__(self, figures: Figures) -> None:
        super().__init__()
        self.set_reactive(StatusBar.figures, figures)

    def render_line(self, y: int) -> Strip:
        width, base = self.size.width, self.rich_style
        left, right = fit(self.figures, width)
        segments = self._segments(left)
        gap = width - cells(left) - cells(right)
        segments += [Segment(" " * max(gap, 1), base), *self._segments(right)]
        return Strip(segments).adjust_cell_length(width, base)

    def _segments(self, parts: list[StatusPart]) -> list[Segment]:
        base = self.rich_style
        faint = base + self.get_component_rich_style("status--faint", partial=True)
        segments: list[Segment] = []
        for part in parts:
            if segments:
                segments.append(Segment(SEPARATOR, faint))
            style = base
            if part.role != "plain":
                style = base + self.get_component_rich_style(f"status--{part.role}", partial=True)
            segments.append(Segment(part.text, style))
        return segments
