"""The welcome block."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual.geometry import Size
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from forge_tui.widgets.welcome_text import ROOMY, WelcomeFacts, lines


class Welcome(Widget):
    """The block shown until the first message."""

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
        f"welcome--{role}" for role in ("brand", "accent", "dim", "warning")
    }

    facts: reactive[WelcomeFacts] = reactive(WelcomeFacts("", "", ""), layout=True)

    def __init__(self, facts: WelcomeFacts) -> None:
        super().__init__()
        self.set_reactive(Welcome.facts, facts)
        self._window_rows = ROOMY

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        # The container's height changes by a row when the transcript appears, and the examples would vanish.
        self._window_rows = viewport.height
        return len(lines(self.facts, width, viewport.height))

    def render_line(self, y: int) -> Strip:
        base, width = self.rich_style, self.size.width
        rows = lines(self.facts, width, self._window_rows)
        segments = []
        for role, text in rows[y] if y < len(rows) else []:
            style = base
            if role != "plain":
                style = base + self.get_component_rich_style(f"welcome--{role}", partial=True)
            segments.append(Segment(text, style))
        return Strip(segments).adjust_cell_length(width, base)
