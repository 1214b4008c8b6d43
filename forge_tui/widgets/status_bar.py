"""The one line at the bottom: what answers, what it has cost, what it may do, and where."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from forge_core.sanitize import safe_line
from forge_tui.widgets.cells import clip, clip_middle

if TYPE_CHECKING:
    from decimal import Decimal

SEPARATOR = " · "
MODEL_CELLS = 34
FOLDER_CELLS = 32
BRANCH_CELLS = 24

DROP_ORDER = ("branch", "folder", "tokens", "sandbox on", "cost", "context", "model")
"""What a narrow terminal loses first. The mode, and a sandbox that is not fully on, stay to the last."""
SANDBOX_ON = "sandbox: on"


@dataclass(frozen=True, slots=True)
class Figures:
    """What the bar shows, as values."""

    model: str = ""
    provider: str = ""
    """"offline", "local" or "openrouter"; empty while unknown."""
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: Decimal | None = None
    is_estimate: bool = False
    context_used: int = 0
    context_window: int | None = None
    mode: str = "ask"
    sandbox: str = ""
    """Its label ("sandbox: on"); empty while unknown."""
    is_away: bool = False
    """Nobody is asked."""
    folder: str = ""
    branch: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    text: str
    role: str = "plain"
    """Component class without its prefix."""


def left_parts(figures: Figures) -> list[Part]:
    """What answers and what it costs."""
    about = "~" if figures.is_estimate else ""
    parts = [Part("model", clip(safe_line(figures.model), MODEL_CELLS) or "starting", "strong")]
    if figures.tokens_in or figures.tokens_out:
        coming_in = f"{about}{tokens_text(figures.tokens_in)} in " if figures.tokens_in else ""
        parts.append(Part("tokens", f"{coming_in}{about}{tokens_text(figures.tokens_out)} out"))
    if cost := cost_text(figures):
        parts.append(Part("cost", cost))
    parts.append(Part("context", f"context {context_text(figures)}"))
    return parts


def right_parts(figures: Figures) -> list[Part]:
    """What it may do, and where."""
    role = {"ask": "plain", "accept-edits": "accent", "plan": "primary", "auto": "warning", "yolo": "badge"}
    mode = f" {figures.mode} " if figures.mode == "yolo" else figures.mode
    parts = [
        Part("mode", mode, role.get(figures.mode, "plain")),
        Part("away", "afk" if figures.is_away else "", "warning"),
        sandbox_part(figures.sandbox),
        Part("folder", clip_middle(safe_line(figures.folder), FOLDER_CELLS)),
        Part("branch", clip(safe_line(figures.branch), BRANCH_CELLS)),
    ]
    return [part for part in parts if part.text]


def sandbox_part(label: str) -> Part:
    """The state of the sandbox: quiet while it is on, else a warning that gives way to nothing."""
    if label in ("", SANDBOX_ON):
        return Part("sandbox on", safe_line(label))
    return Part("sandbox", safe_line(label), "warning")


def shorter_labels(label: str) -> list[str]:
    """A sandbox's label in ever fewer words: without what to do, without why, the state alone."""
    state, _, why = label.partition(" - ")
    reason = why.partition(". ")[0].partition(" (")[0]
    return list(dict.fromkeys([label, f"{state} - {reason}" if reason else state, state]))


def fit(figures: Figures, width: int) -> tuple[list[Part], list[Part]]:
    """The parts, left and right, that `width` cells have room for. A sandbox that is off is worded as fully
    as there is room once everything else has its place."""
    labels = shorter_labels(figures.sandbox)
    left, right = left_parts(figures), right_parts(replace(figures, sandbox=labels[-1]))
    for name in ("", *DROP_ORDER):
        left = [part for part in left if part.name != name]
        right = [part for part in right if part.name != name]
        room = width - _cells(left) - _cells(right) - len(SEPARATOR)
        if room >= 0:
            break
    spare = [text for text in labels if len(text) - len(labels[-1]) <= room]
    right = [replace(part, text=safe_line(spare[0])) if part.name == "sandbox" else part for part in right]
    return left, right


def tokens_text(count: int) -> str:
    """ "812", "12.4k", "1.2M"."""
    if count < 1000:
        return str(count)
    if count < 999_950:
        return f"{count / 1000:.1f}k"
    return f"{count / 1_000_000:.1f}M"


def cost_text(figures: Figures) -> str:
    """Dollars; "offline" and "local" unless the answers came with a price; "?" where the price is unknown."""
    if figures.provider in ("offline", "local", "") and not figures.cost_usd:
        return figures.provider
    if figures.cost_usd is None and figures.tokens_in:
        return "?"
    cost = figures.cost_usd or 0
    digits = 2 if cost == 0 or cost >= 1 else 4
    return f"{'~' if figures.is_estimate else ''}${cost:.{digits}f}"


def context_text(figures: Figures) -> str:
    """How full the model's window is."""
    if not figures.context_window:
        return "?"
    return f"{min(100 * figures.context_used / figures.context_window, 100):.0f}%"


def _cells(parts: list[Part]) -> int:
    return sum(cell_len(part.text) for part in parts) + len(SEPARATOR) * max(len(parts) - 1, 0)


class StatusBar(Widget):
    """Draws `Figures` in one row of fixed size; setting them never causes a layout."""

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
        "status--strong",
        "status--accent",
        "status--primary",
        "status--warning",
        "status--badge",
        "status--faint",
    }

    def __init__(self, figures: Figures) -> None:
        super().__init__()
        self._figures = figures

    @property
    def figures(self) -> Figures:
        return self._figures

    @figures.setter
    def figures(self, figures: Figures) -> None:
        if figures != self._figures:
            self._figures = figures
            self.refresh()

    def render_line(self, y: int) -> Strip:
        width, base = self.size.width, self.rich_style
        left, right = fit(self._figures, width)
        segments = self._segments(left)
        gap = width - _cells(left) - _cells(right)
        segments += [Segment(" " * max(gap, 1), base), *self._segments(right)]
        return Strip(segments).adjust_cell_length(width, base)

    def _segments(self, parts: list[Part]) -> list[Segment]:
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
