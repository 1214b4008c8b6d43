"""What a newcomer sees first: what this is, where it works, what to ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from forge_core.sanitize import safe_line
from forge_tui.widgets.cells import clip, clip_middle

EXAMPLES = (
    "what is in this folder?",
    "explain README.md",
    "run the tests and tell me what fails",
)
"""They work in any project, and with the offline model too."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the welcome names."""

    version: str
    model: str
    folder: str
    is_offline: bool = False


ROOMY = 18
"""Rows above the composer that the whole block with its examples is shown from."""


def lines(facts: Facts, width: int, height: int = ROOMY) -> list[list[tuple[str, str]]]:
    """The block as rows of (role, text), at most `width` cells each; the examples need `height` rows."""
    room = width - 9
    rows: list[list[tuple[str, str]]] = [
        [("brand", "Forge"), ("dim", f" {facts.version}  "), ("plain", "a coding assistant for this folder")],
        [],
        [("dim", "Folder   "), ("plain", clip_middle(safe_line(facts.folder), room))],
        [("dim", "Model    "), ("plain", clip(safe_line(facts.model) or "…", room))],
    ]
    if facts.is_offline:
        rows.append([("dim", "         No key and no network needed; rules, no neural model.")])
        rows.append([("dim", "         Set OPENROUTER_API_KEY for a real one.")])
    if height >= ROOMY:
        rows += [[], [("dim", "Try")]]
        rows += [[("accent", "  › "), ("plain", example)] for example in EXAMPLES]
    rows += [[], [("dim", "It reads freely here, and asks before it writes or runs.")]]
    return [_clip_row(row, width) for row in rows]


def _clip_row(row: list[tuple[str, str]], width: int) -> list[tuple[str, str]]:
    left = width
    clipped = []
    for role, text in row:
        piece = clip(text, left)
        clipped.append((role, piece))
        left -= cell_len(piece)
        if piece != text:
            break
    return clipped


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
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"welcome--brand", "welcome--accent", "welcome--dim"}

    def __init__(self, facts: Facts) -> None:
        super().__init__()
        self._facts = facts
        self._room = ROOMY

    @property
    def facts(self) -> Facts:
        return self._facts

    @facts.setter
    def facts(self, facts: Facts) -> None:
        if facts != self._facts:
            self._facts = facts
            self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        self._room = container.height
        return len(lines(self._facts, width, container.height))

    def render_line(self, y: int) -> Strip:
        base, width = self.rich_style, self.size.width
        rows = lines(self._facts, width, self._room)
        segments = []
        for role, text in rows[y] if y < len(rows) else []:
            style = base
            if role != "plain":
                style = base + self.get_component_rich_style(f"welcome--{role}", partial=True)
            segments.append(Segment(text, style))
        return Strip(segments).adjust_cell_length(width, base)
