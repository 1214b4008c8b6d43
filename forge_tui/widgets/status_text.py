"""Texts of the status bar: model, context, cost, permissions and place.

Does not import Textual: the launcher paints them too.
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
ADDED_CELLS = 16

DROP_ORDER = (
    "out",
    "branch",
    "folder",
    "vendor",
    "sandbox on",
    "added",
    "cache",
    "gauge",
    "effort",
    "cost",
    "context",
    "jobs",
    "model",
)
"""What is left out first on a narrow terminal: parts by name, or the optional text of a part
(`StatusPart.shorter`). The mode, and a sandbox that is not fully on, are kept."""
_SOON = 0.85
"""The share of the threshold from which the bar shows that a compaction is coming."""
GAUGE_CELLS = 10
_NEARLY_FULL = 0.8
"""The share of the window from which its gauge is a warning."""
_FULL = 0.95
"""The share from which it is an error."""
SANDBOX_ON = "sandbox: on"
FREE = ("offline", "local")
"""Providers without cost."""


@dataclass(frozen=True, slots=True)
class Figures:
    """The values that the bar shows."""

    model: str = ""
    provider: str = ""
    """"offline", "local", "openrouter" or "custom"; empty while unknown."""
    cost_usd: Decimal | None = None
    """Of the whole session; None if a price is unknown, or nothing was spent."""
    known_usd: Decimal | None = None
    """Of its calls with a known price."""
    is_cost_estimate: bool = False
    is_unpriced: bool = False
    """Whether calls without a known price were made."""
    prompt_tokens: int = 0
    """Of the whole session."""
    cached_tokens: int | None = None
    """Prompt tokens that came from the provider's cache; None if it does not report them."""
    is_running: bool = False
    """Whether a turn runs: the shares of the cache and the answer show only then."""
    turn_out: int = 0
    """Tokens that the model has generated in this turn."""
    is_turn_estimate: bool = False
    context_used: int | None = None
    """Tokens in the model's window; None while unknown."""
    context_window: int | None = None
    compacts_at: int | None = None
    """Tokens at which the conversation is compacted by itself; None if it is not."""
    is_context_estimate: bool = False
    effort: str = ""
    """How much the model reasons; empty for its own default."""
    mode: str = "ask"
    sandbox: str = ""
    """Its label ("sandbox: on"); empty while unknown."""
    is_away: bool = False
    """Whether the user is away, so that nothing is asked."""
    running_jobs: int = 0
    """Commands in the background."""
    running_agents: int = 0
    """Sub-agents in the background."""
    broken_hooks: int = 0
    """Hooks that could not run the last time."""
    folder: str = ""
    added: tuple[str, ...] = ()
    """The names of the folders that the user has added."""
    branch: str = ""
    changed_files: int = 0
    """Files with uncommitted changes; 0 also while that is unknown."""


@dataclass(frozen=True, slots=True)
class StatusPart:
    name: str
    text: str
    role: str = "plain"
    """Component class without its prefix."""
    shorter: tuple[str, str] | None = None
    """The name in `DROP_ORDER` at which the text gets shorter, and the shorter text."""
    spare: int = 0
    """Cells reserved for the "~" of an estimate: nothing disappears because of it."""

    def without(self, name: str) -> StatusPart | None:
        """Return what is left of it when `name` is dropped."""
        if self.name == name:
            return None
        if self.shorter is not None and self.shorter[0] == name:
            return replace(self, text=self.shorter[1], shorter=None)
        return self


def left_parts(figures: Figures) -> list[StatusPart]:
    """Return the parts about the model, its context and the cost."""
    name = safe_line(figures.model)
    bare = name.rpartition("/")[2]
    parts = [
        StatusPart(
            "model", clip(name, MODEL_CELLS) or "starting", "strong", ("vendor", clip(bare, MODEL_CELLS))
        ),
        StatusPart("effort", f"effort {figures.effort}" if figures.effort else ""),
        context_part(figures),
        StatusPart("cost", cost_text(figures), spare=int(not figures.is_cost_estimate)),
        StatusPart("cache", cache_text(figures)),
        StatusPart("out", out_text(figures), spare=int(not figures.is_turn_estimate)),
    ]
    return [part for part in parts if part.text]


def context_part(figures: Figures) -> StatusPart:
    """Return how full the context window is, as a gauge and a percentage, or in tokens if the size of the
    window is unknown; near the threshold also that the conversation will be compacted."""
    used, window = figures.context_used, figures.context_window
    if used is None:
        return StatusPart("context", "")
    about = "~" if figures.is_context_estimate else ""
    if not window:
        counts = f"{about}{tokens_text(used)}/{window_text(window)}"
        return StatusPart("context", counts, spare=int(not about))
    share = about + percent_text(used, window)
    if figures.compacts_at and used >= _SOON * figures.compacts_at:
        share += f" compacts at {percent_text(figures.compacts_at, window)}"
    level = used / window
    return StatusPart(
        "context",
        f"{gauge(level)} {share}",
        "error" if level >= _FULL else "warning" if level >= _NEARLY_FULL else "plain",
        ("gauge", share),
        spare=int(not about),
    )


def gauge(level: float) -> str:
    """Return a bar that is filled to this share. Any use fills a cell, and only the whole fills all."""
    filled = min(max(round(level * GAUGE_CELLS), int(level > 0)), GAUGE_CELLS - int(level < 1))
    return "▰" * filled + "▱" * (GAUGE_CELLS - filled)


def cost_text(figures: Figures) -> str:
    """Return the cost; "offline" or "local" unless the answers had a price; "?" if the price is unknown."""
    if figures.cost_usd is None and not figures.is_unpriced and figures.provider not in FREE:
        return "$0.00" if figures.provider else ""
    return money(figures.cost_usd, figures.known_usd, figures.provider, is_estimate=figures.is_cost_estimate)


def cache_text(figures: Figures) -> str:
    """Return the share of the prompt that came from the provider's cache; "" if it does not report that,
    or between turns."""
    if figures.cached_tokens is None or not figures.prompt_tokens or not figures.is_running:
        return ""
    return f"cache {percent_text(figures.cached_tokens, figures.prompt_tokens)}"


def out_text(figures: Figures) -> str:
    """Return the number of tokens that the running turn has generated."""
    if not figures.turn_out or not figures.is_running:
        return ""
    return f"{'~' if figures.is_turn_estimate else ''}{tokens_text(figures.turn_out)} out"


def right_parts(figures: Figures) -> list[StatusPart]:
    """Return the parts about permissions and place."""
    is_yolo = figures.mode == "yolo"
    mode = f" {figures.mode} " if is_yolo else figures.mode
    parts = [
        StatusPart("mode", mode, "badge" if is_yolo else mode_role(figures.mode)),
        StatusPart("away", "afk" if figures.is_away else "", "warning"),
        StatusPart("hooks", hooks_text(figures.broken_hooks), "error"),
        StatusPart("jobs", background_text(figures.running_jobs, figures.running_agents), "accent"),
        sandbox_part(figures.sandbox),
        folder_part(figures),
        StatusPart("branch", branch_text(figures)),
    ]
    return [part for part in parts if part.text]


def folder_part(figures: Figures) -> StatusPart:
    """Return the folder, and the name or the number of those that were added to it."""
    folder = clip_middle(safe_line(figures.folder), FOLDER_CELLS)
    if not figures.added:
        return StatusPart("folder", folder)
    first, *others = figures.added
    name = f"+{len(figures.added)} folders" if others else f"+{clip(safe_line(first), ADDED_CELLS)}"
    return StatusPart("added", f"{folder} {name}", shorter=("folder", name))


def mode_role(mode: str) -> str:
    """Return the role of a mode, which is also the theme's variable with its colour."""
    return f"mode-{mode}"


def branch_text(figures: Figures) -> str:
    """Return the branch, with a mark if there are uncommitted changes."""
    name = clip(safe_line(figures.branch), BRANCH_CELLS)
    return f"{name}*" if name and figures.changed_files else name


def background_text(jobs: int, agents: int) -> str:
    """Return "1 job", "2 jobs, 1 agent"; "" without any."""
    counted = ((jobs, "job"), (agents, "agent"))
    return ", ".join(f"{count} {noun}{'s'[: count != 1]}" for count, noun in counted if count)


def hooks_text(count: int) -> str:
    """Return "hook broken", "2 hooks broken"; "" if all hooks run."""
    return "" if not count else "hook broken" if count == 1 else f"{count} hooks broken"


def sandbox_part(label: str) -> StatusPart:
    """Return the state of the sandbox: plain text if it is on, otherwise a warning that is not dropped."""
    if label in ("", SANDBOX_ON):
        return StatusPart("sandbox on", safe_line(label))
    return StatusPart("sandbox", safe_line(label), "warning")


def shorter_labels(label: str) -> list[str]:
    """Return shorter and shorter forms of a sandbox's label: without advice, without the reason, only the
    state."""
    state, _, why = label.partition(" - ")
    reason = why.partition(". ")[0].partition(" (")[0]
    return list(dict.fromkeys([label, f"{state} - {reason}" if reason else state, state]))


def fit(figures: Figures, width: int) -> tuple[list[StatusPart], list[StatusPart]]:
    """Return the parts, left and right, that fit in `width` cells.

    The state of a sandbox that is off is as detailed as the room left by everything else allows.
    """
    labels = shorter_labels(safe_line(figures.sandbox))
    if figures.mode == "yolo" and len(labels) > 2:
        del labels[0]  # it ends by saying that commands ask, which is not true in this mode
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
