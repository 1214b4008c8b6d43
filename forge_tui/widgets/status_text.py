"""The words of the line at the bottom: what answers, what it has cost, what it may do, and where.

Without Textual: the launcher paints them too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from forge_core.commands.figures import cost_text as money
from forge_core.commands.figures import percent_text, tokens_text, window_text
from forge_core.sanitize import safe_line
from forge_core.text_width import cell_len, clip, clip_middle

if TYPE_CHECKING:
    from decimal import Decimal

SEPARATOR = " · "
MODEL_CELLS = 34
FOLDER_CELLS = 32
BRANCH_CELLS = 24

DROP_ORDER = (
    "out",
    "branch",
    "folder",
    "vendor",
    "sandbox on",
    "cache",
    "counts",
    "cost",
    "context",
    "jobs",
    "model",
)
"""What a narrow terminal loses first: parts by name, or what a part can do without (`StatusPart.shorter`).
The mode, and a sandbox that is not fully on, stay to the last."""
SANDBOX_ON = "sandbox: on"
FREE = ("offline", "local")
"""Providers that take no money."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What the bar shows, as values."""

    model: str = ""
    provider: str = ""
    """"offline", "local", "openrouter" or "custom"; empty while unknown."""
    cost_usd: Decimal | None = None
    """Of the whole session; None where a price is unknown, or nothing was spent."""
    known_usd: Decimal | None = None
    """Of its calls with a known price."""
    is_cost_estimate: bool = False
    is_unpriced: bool = False
    """Whether something was spent at an unknown price."""
    prompt_tokens: int = 0
    """Of the whole session."""
    cached_tokens: int | None = None
    """Those of them that came from the provider's cache; None where it does not tell."""
    turn_out: int = 0
    """Tokens that the model has written in this turn."""
    is_turn_estimate: bool = False
    context_used: int | None = None
    """Tokens in the model's window; None while unknown."""
    context_window: int | None = None
    is_context_estimate: bool = False
    mode: str = "ask"
    sandbox: str = ""
    """Its label ("sandbox: on"); empty while unknown."""
    is_away: bool = False
    """Nobody is asked."""
    running_jobs: int = 0
    """Commands in the background."""
    folder: str = ""
    branch: str = ""


@dataclass(frozen=True, slots=True)
class StatusPart:
    name: str
    text: str
    role: str = "plain"
    """Component class without its prefix."""
    shorter: tuple[str, str] | None = None
    """The name in `DROP_ORDER` at which it gets shorter, and what it says then."""
    spare: int = 0
    """Cells kept for the "~" of an estimate: nothing goes and comes back with it."""

    def without(self, name: str) -> StatusPart | None:
        """What is left of it when `name` has to go."""
        if self.name == name:
            return None
        if self.shorter is not None and self.shorter[0] == name:
            return replace(self, text=self.shorter[1], shorter=None)
        return self


def left_parts(figures: Figures) -> list[StatusPart]:
    """What answers, how full its window is, and what it has cost."""
    name = safe_line(figures.model)
    bare = name.rpartition("/")[2]
    parts = [
        StatusPart(
            "model", clip(name, MODEL_CELLS) or "starting", "strong", ("vendor", clip(bare, MODEL_CELLS))
        ),
        context_part(figures),
        StatusPart("cost", cost_text(figures), spare=int(not figures.is_cost_estimate)),
        StatusPart("cache", cache_text(figures)),
        StatusPart("out", out_text(figures), spare=int(not figures.is_turn_estimate)),
    ]
    return [part for part in parts if part.text]


def context_part(figures: Figures) -> StatusPart:
    """How full the model's window is: "12.4k/200k 6%", or the share alone."""
    used, window = figures.context_used, figures.context_window
    if used is None:
        return StatusPart("context", "")
    about = "~" if figures.is_context_estimate else ""
    counts = f"{about}{tokens_text(used)}/{window_text(window)}"
    if not window:
        return StatusPart("context", counts, spare=int(not about))
    share = percent_text(used, window)
    return StatusPart(
        "context", f"{counts} {share}", shorter=("counts", f"{about}{share}"), spare=int(not about)
    )


def cost_text(figures: Figures) -> str:
    """Dollars; "offline" and "local" unless the answers came with a price; "?" where the price is unknown."""
    if figures.cost_usd is None and not figures.is_unpriced and figures.provider not in FREE:
        return "$0.00" if figures.provider else ""
    return money(figures.cost_usd, figures.known_usd, figures.provider, is_estimate=figures.is_cost_estimate)


def cache_text(figures: Figures) -> str:
    """The share of what was sent that came from the provider's cache; empty where it does not tell."""
    if figures.cached_tokens is None or not figures.prompt_tokens:
        return ""
    return f"cache {percent_text(figures.cached_tokens, figures.prompt_tokens)}"


def out_text(figures: Figures) -> str:
    """What this turn has made the model write."""
    if not figures.turn_out:
        return ""
    return f"{'~' if figures.is_turn_estimate else ''}{tokens_text(figures.turn_out)} out"


def right_parts(figures: Figures) -> list[StatusPart]:
    """What it may do, and where."""
    role = {"ask": "plain", "accept-edits": "accent", "plan": "primary", "auto": "warning", "yolo": "badge"}
    mode = f" {figures.mode} " if figures.mode == "yolo" else figures.mode
    parts = [
        StatusPart("mode", mode, role.get(figures.mode, "plain")),
        StatusPart("away", "afk" if figures.is_away else "", "warning"),
        StatusPart("jobs", jobs_text(figures.running_jobs), "accent"),
        sandbox_part(figures.sandbox),
        StatusPart("folder", clip_middle(safe_line(figures.folder), FOLDER_CELLS)),
        StatusPart("branch", clip(safe_line(figures.branch), BRANCH_CELLS)),
    ]
    return [part for part in parts if part.text]


def jobs_text(count: int) -> str:
    """ "1 job", "2 jobs"; empty while there is none."""
    return f"{count} job{'s'[: count != 1]}" if count else ""


def sandbox_part(label: str) -> StatusPart:
    """The state of the sandbox: quiet while it is on, else a warning that gives way to nothing."""
    if label in ("", SANDBOX_ON):
        return StatusPart("sandbox on", safe_line(label))
    return StatusPart("sandbox", safe_line(label), "warning")


def shorter_labels(label: str) -> list[str]:
    """A sandbox's label in ever fewer words: without what to do, without why, the state alone."""
    state, _, why = label.partition(" - ")
    reason = why.partition(". ")[0].partition(" (")[0]
    return list(dict.fromkeys([label, f"{state} - {reason}" if reason else state, state]))


def fit(figures: Figures, width: int) -> tuple[list[StatusPart], list[StatusPart]]:
    """The parts, left and right, that `width` cells have room for. A sandbox that is off is worded as fully
    as there is room once everything else has its place."""
    labels = shorter_labels(safe_line(figures.sandbox))
    if figures.mode == "yolo" and len(labels) > 2:
        del labels[0]  # it ends by saying that commands ask, which in this mode they don't
    left, right = left_parts(figures), right_parts(replace(figures, sandbox=labels[-1]))
    for name in ("", *DROP_ORDER):
        left = [kept for part in left if (kept := part.without(name))]
        right = [kept for part in right if (kept := part.without(name))]
        room = width - cells(left) - sum(part.spare for part in left) - cells(right) - len(SEPARATOR)
        if room >= 0:
            break
    least = cell_len(labels[-1])
    label = next((text for text in labels if cell_len(text) - least <= room), labels[-1])
    right = [replace(part, text=label) if part.name == "sandbox" else part for part in right]
    return left, right


def cells(parts: list[StatusPart]) -> int:
    return sum(cell_len(part.text) for part in parts) + len(SEPARATOR) * max(len(parts) - 1, 0)
