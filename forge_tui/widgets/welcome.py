"""The block that a newcomer sees first."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from forge_tui.widgets.welcome_text import ROOMY, Facts, lines


class Welcome(Widget):
    """The block, shown until the first message."""

    DEFAULT_CSS = """
    Welcome {
        height: auto;
        padding: 1 2 0 2;
        color: $foreground;
        & > .welcome--brand { color: $accent; text-style: bold; }
        & > .welcome--accent { color: $accent; }
        & > .welcome--dim { color: $forge-muted; }
        & > .welcome--warning { color: $warning; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "welcome--brand",
        "welcome--accent",
        "welcome--dim",
        "welcome--warning",
    }

    def __init__(self, facts: Facts) -> None:
        super().__init__()
        self._facts = facts
        self._window_rows = ROOMY

    @property
    def facts(self) -> Facts:
        return self._facts

    @facts.setter
    def facts(self, facts: Facts) -> None:
        if facts != self._facts:
            self._facts = facts
            self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        # The container's height changes by a row when the transcript comes: the examples would go with it.
        self._window_rows = viewport.height
        return len(lines(self._facts, width, viewport.height))

    def render_line(self, y: int) -> Strip:
        base, width = self.rich_style, self.size.width
        rows = lines(self._facts, width, self._window_rows)
        segments = []
        for role, text in rows[y] if y < len(rows) else []:
            style = base
            if role != "plain":
                style = base + self.get_component_rich_style(f"welcome--{role}", partial=True)
            segments.append(Segment(text, style))
        return Strip(segments).adjust_cell_length(width, base)
