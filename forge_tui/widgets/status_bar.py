"""The line at the bottom of the screen."""

from __future__ import annotations

from typing import ClassVar

from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from forge_core.config.permission_mode import PermissionMode
from forge_tui.widgets.edges import RIGHT_MARGIN, TEXT_COLUMN
from forge_tui.widgets.role_strip import role_strip
from forge_tui.widgets.status_text import SEPARATOR, Figures, StatusPart, cells, fit, mode_role


class StatusBar(Widget):
    """Shows `Figures` in one row of fixed size; setting them never causes a layout."""

    DEFAULT_CSS = f"""
    StatusBar {{
        padding: 0 {RIGHT_MARGIN} 0 {TEXT_COLUMN};
        height: 1;
        color: $forge-muted;
        & > .status--strong {{ color: $foreground; }}
        & > .status--accent {{ color: $accent; }}
        & > .status--warning {{ color: $warning; }}
        & > .status--error {{ color: $error; }}
        & > .status--mode-ask {{ color: $mode-ask; }}
        & > .status--mode-accept-edits {{ color: $mode-accept-edits; }}
        & > .status--mode-plan {{ color: $mode-plan; }}
        & > .status--mode-auto {{ color: $mode-auto; }}
        & > .status--mode-yolo {{ color: $mode-yolo; }}
        & > .status--badge {{ color: $background; background: $error; text-style: bold; }}
        & > .status--faint {{ color: $forge-faint; }}
    }}
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"status--{role}"
        for role in (
            "strong",
            "accent",
            "warning",
            "error",
            "badge",
            "faint",
            *map(mode_role, PermissionMode),
        )
    }

    figures: reactive[Figures] = reactive(Figures())

    def __init__(self, figures: Figures) -> None:
        super().__init__()
        self.set_reactive(StatusBar.figures, figures)

    def render_line(self, y: int) -> Strip:
        left, right = fit(self.figures, self.size.width)
        gap = self.size.width - cells(left) - cells(right)
        return role_strip(self, "status", [*_texts(left), ("plain", " " * max(gap, 1)), *_texts(right)])


def _texts(parts: list[StatusPart]) -> list[tuple[str, str]]:
    """Return the texts of parts with their roles, separated."""
    return [text for part in parts for text in (("faint", SEPARATOR), (part.role, part.text))][1:]
