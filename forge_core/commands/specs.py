"""The slash commands as data: one table feeds completion, the palette, `/help`, the README and tests.

Light on purpose (no import but the standard library): it is loaded before the first frame. What a command
does stands in `handlers.py`.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from enum import StrEnum


class Tier(StrEnum):
    """When a command may run."""

    ALWAYS = "always"
    """At once, also while a turn runs."""
    INTERRUPTS = "interrupts"
    """At once; a running turn is interrupted first."""
    IDLE = "idle"
    """Only between turns."""


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """One slash command."""

    name: str
    """Without the slash."""
    summary: str
    argument_hint: str = ""
    aliases: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    """Hidden words that fuzzy search finds it by."""
    tier: Tier = Tier.ALWAYS


SPECS: tuple[CommandSpec, ...] = (
    CommandSpec("help", "What Forge can do: commands and keys", aliases=("?",), keywords=("keys", "manual")),
    CommandSpec("tools", "List the tools with their parameters and permission", "[name]"),
    CommandSpec(
        "reset",
        "Start over: clear the conversation, keep the system message",
        aliases=("clear",),
        keywords=("new", "forget"),
        tier=Tier.INTERRUPTS,
    ),
    CommandSpec("model", "Show or change the model", "[name]", keywords=("provider",), tier=Tier.IDLE),
    CommandSpec("theme", "Show or change the theme", "[name]", keywords=("dark", "light", "colour")),
    CommandSpec(
        "thinking",
        "How much of the reasoning shows; without a word: the next",
        "[hidden|folded|full]",
        keywords=("reasoning", "thoughts"),
    ),
    CommandSpec("raw", "Show the last answer as it was written, and back", keywords=("markdown", "source")),
    CommandSpec(
        "undo",
        "Take back what the last turn did to files",
        "[list]",
        keywords=("revert", "back"),
        tier=Tier.IDLE,
    ),
    CommandSpec(
        "diff",
        "Look at what changed: by the last turn, or in the working tree",
        "[turn|worktree]",
        keywords=("changes", "git", "patch", "review"),
    ),
    CommandSpec("redo", "Do again what /undo took back", tier=Tier.IDLE),
    CommandSpec("todo", "Show what the model has set out to do", keywords=("plan", "tasks")),
    CommandSpec(
        "jobs",
        "List the commands that run in the background, or stop one",
        "[stop N]",
        keywords=("background",),
    ),
    CommandSpec(
        "permissions",
        "List, add, remove and try the rules for what may run",
        "[add allow|ask|deny RULE | remove RULE | test COMMAND]",
        keywords=("rules", "allow", "deny"),
    ),
    CommandSpec("mode", "Show or change how much runs unasked", "[name]", keywords=("plan", "auto", "yolo")),
    CommandSpec("sandbox", "What confines commands, and what to do about it", keywords=("bwrap", "network")),
    CommandSpec(
        "trust",
        "Let this folder's own rules and instructions count, or not",
        "[yes|no]",
        keywords=("agents.md", "project"),
    ),
    CommandSpec("afk", "Away: ask me nothing, refuse what needs me", "[on|off]", aliases=("away",)),
    CommandSpec("cost", "Tokens and money spent, by model and turn", keywords=("tokens", "usage", "price")),
    CommandSpec("context", "What fills the model's window", keywords=("tokens", "window", "memory")),
    CommandSpec(
        "copy",
        "Copy an answer as Markdown (the last is 1), or a block of its code",
        "[N] [code [K]]",
        keywords=("clipboard", "yank"),
    ),
    CommandSpec("exit", "Leave Forge", aliases=("quit", "q"), keywords=("bye",)),
)

_BY_NAME = {name: spec for spec in SPECS for name in (spec.name, *spec.aliases)}


def find(name: str) -> CommandSpec | None:
    """The command of this name or alias, without the slash; case does not count."""
    return _BY_NAME.get(name.lower())


def suggest(prefix: str) -> list[CommandSpec]:
    """Commands for what was typed after the slash, best first: by name, then alias, keyword, letters."""
    typed = prefix.lower()
    ranked = [
        (rank, index, spec) for index, spec in enumerate(SPECS) if (rank := _rank(spec, typed)) is not None
    ]
    return [spec for _, _, spec in sorted(ranked, key=lambda row: row[:2])]


def nearest(name: str) -> CommandSpec | None:
    """The command whose name is most like `name`, or None when nothing comes close."""
    close = difflib.get_close_matches(name.lower(), _BY_NAME, n=1, cutoff=0.5)
    if close:
        return _BY_NAME[close[0]]
    found = suggest(name)
    return found[0] if found else None


def _rank(spec: CommandSpec, typed: str) -> int | None:
    if spec.name.startswith(typed):
        return 0
    if any(alias.startswith(typed) for alias in spec.aliases):
        return 1
    if any(word.startswith(typed) for word in spec.keywords):
        return 2
    letters = iter(spec.name)
    return 3 if all(letter in letters for letter in typed) else None
