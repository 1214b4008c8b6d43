"""The welcome block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.geometry import Size
from textual.reactive import var
from textual.strip import Strip
from textual.widget import Widget

from forge_tui.widgets.role_strip import role_strip
from forge_tui.widgets.status_text import Figures
from forge_tui.widgets.welcome.welcome_text import ROOMY, lines


class Welcome(Widget):
    """The block shown until the first message."""

    DEFAULT_CSS = """
    Welcome {
        height: auto;
        padding: 1 2 0 3;
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

    figures: var[Figures] = var(Figures())

    def __init__(self, figures: Figures, version: str, examples: Sequence[str]) -> None:
        super().__init__()
        self.set_reactive(Welcome.figures, figures)
        self._version = version
        self._examples = examples
        self._window_rows = ROOMY
        self._last: tuple[str, str] | None = None
        self._found = ""

    def offer(self, title: str, age: str) -> None:
        """Show the folder's last session, by its title and how long ago it was used."""
        self._last = title, age
        self.refresh(layout=True)

    def show_found(self, found: str) -> None:
        """Show what the folder contains, in the row kept for it."""
        self._found = found
        self.refresh()

    def withdraw(self) -> None:
        """Offer no session any more: another one is the last."""
        self._last = None

    def watch_figures(self, before: Figures, after: Figures) -> None:
        """Repaint if a value changes that the block shows."""
        if self.display and self._lines(before, self.size.width) != self._lines(after, self.size.width):
            self.refresh(layout=True)

    def _lines(self, figures: Figures, width: int) -> list[list[tuple[str, str]]]:
        return lines(
            figures, self._version, self._examples, width, self._window_rows, self._last, self._found
        )

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        # The container's height changes by a row when the transcript appears, and the examples would vanish.
        self._window_rows = viewport.height
        return len(self._lines(self.figures, width))

    def render_line(self, y: int) -> Strip:
        rows = self._lines(self.figures, self.size.width)
        return role_strip(self, "welcome", rows[y] if y < len(rows) else [])
