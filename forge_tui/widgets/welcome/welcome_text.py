"""Texts of the start screen: the version, folder, model, mode and sandbox, and what to ask.

Does not import Textual: the launcher paints them too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from forge_core.config.settings import PermissionMode
from forge_core.sanitize import safe_line
from forge_core.text_width import cell_len, clip, clip_middle
from forge_tui.widgets.status_text import SANDBOX_ON, Figures, shorter_labels

IDLE_HINTS = "Enter send · Ctrl+J new line · / commands · F1 help"
MARK = "❯"
"""Before the input line."""
PLACEHOLDER = "Ask about this folder, or say what to change"
MAX_EXAMPLES = 3
MAX_NAMES = 200
"""Entries of a folder that are read: its first frame must not wait for a large one."""
ROOMY = 21
"""Rows of the terminal from which the whole block is shown, with examples."""
_SPACIOUS = 26
"""Rows from which there is room for a blank row before the last session, and a notice below it."""
_README = re.compile(r"readme(\.(md|rst|txt|org|adoc))?", re.IGNORECASE)
_TESTS = re.compile(r"tests?|__tests__|\.rspec|test_.+\.py|.+_test\.(py|go)|.+\.(test|spec)\.[jt]sx?")
_USUAL = ("README.md", "README.rst", "README", "tests", "test", ".git", "hello.py")
"""Looked for by name if a folder has more than `MAX_NAMES` entries."""
_SANDBOXED = "on: commands write only here, and reach no network"
_HEAD = 9
"""Cells of the first column."""
_RESUME = "/resume"


def examples(folder: Path) -> tuple[str, ...]:
    """Return questions about this folder that can be answered, by the offline model, too."""
    try:
        with os.scandir(folder) as entries:
            names = {entry.name for entry in islice(entries, MAX_NAMES)}
    except OSError:
        return ("what is in this folder?",)
    if len(names) == MAX_NAMES:
        names.update(name for name in _USUAL if os.path.lexists(folder / name))
    readmes = sorted(name for name in names if _README.fullmatch(name))
    offered = (
        ("what is in this folder?", bool(names - {".git"})),
        (f"explain {readmes[0]}" if readmes else "", bool(readmes)),
        ("run the tests and tell me what fails", any(map(_TESTS.fullmatch, names))),
        ("what has changed?", ".git" in names),
        ("create hello.py that prints hello", "hello.py" not in names),
    )
    return tuple(text for text, is_there in offered if is_there)[:MAX_EXAMPLES]


def lines(
    figures: Figures,
    version: str,
    examples: Sequence[str],
    width: int,
    height: int = ROOMY,
    last: tuple[str, str] | None = None,
    found: str = "",
) -> list[list[tuple[str, str]]]:
    """Return the rows of the block as (role, text), at most `width` cells each, for a terminal of `height`
    rows.

    `found` says what the folder contains; empty while that is unknown.

    `last` are title and age of the folder's last session. It comes last, since it is known only after the
    first frame, and nothing may move then.
    """
    room = width - _HEAD
    rows: list[list[tuple[str, str]]] = [
        [("brand", "Forge"), ("dim", f" {version}  "), ("plain", "a coding assistant for this folder")],
        [],
        _row("Folder", clip_middle(safe_line(figures.folder), room)),
        _row("Found", clip(_found(figures, found), room)),
        _row("Model", clip(safe_line(figures.model) or "…", room)),
    ]
    if figures.provider == "offline":
        rows.append(_row("", "No key and no network needed; rules, no neural model.", "dim"))
        rows.append(_row("", "Set OPENROUTER_API_KEY for a real one.", "dim"))
    rows.append(_row("Mode", _mode(figures), "warning" if figures.mode == "yolo" else "plain"))
    is_weak = figures.sandbox not in ("", SANDBOX_ON)
    rows.append(_row("Sandbox", _sandbox(figures.sandbox, room), "warning" if is_weak else "plain"))
    if height >= ROOMY and examples:
        rows += [[], [("dim", "Try")]]
        rows += [[("accent", "  › "), ("plain", example)] for example in examples]
    if last is not None:
        rows += [[]] if height >= _SPACIOUS else []
        rows.append(_last(*last, room))
    return [_clip_row(row, width) for row in rows]


def _found(figures: Figures, found: str) -> str:
    """Return what the folder contains, and how many of its files have uncommitted changes."""
    changed = f" · {figures.changed_files:,} changed" if figures.changed_files else ""
    return safe_line(found) + changed if found else "…"


def _last(title: str, age: str, room: int) -> list[tuple[str, str]]:
    """Return the row of the last session: its title is shortened rather than how to continue it."""
    rest = f" · {age} · "
    shown = clip(safe_line(title), max(room - cell_len(rest) - cell_len(_RESUME), 0))
    return [*_row("Last", shown), ("dim", rest), ("accent", _RESUME)]


def _row(head: str, text: str, role: str = "plain") -> list[tuple[str, str]]:
    return [("dim", head.ljust(_HEAD)), (role, text)]


def _mode(figures: Figures) -> str:
    """Return the mode, and what it runs without asking."""
    mode = figures.mode
    if figures.is_away and mode != "yolo":
        return f"{mode}, away: requests for approval are denied"
    meaning = PermissionMode(mode)
    return f"{mode}: {meaning.sandboxed_summary if figures.sandbox == SANDBOX_ON else meaning.summary}"


def _sandbox(label: str, room: int) -> str:
    """Return the state of the sandbox, with as much of the reason as fits."""
    if not label:
        return "…"
    if label == SANDBOX_ON:
        return clip(_SANDBOXED, room)
    safe = safe_line(label).removeprefix("sandbox: ")
    full, *shorter = shorter_labels(safe)
    variants = [full.partition(". ")[0], *shorter]
    return next((text for text in variants if cell_len(text) <= room), clip(variants[-1], room))


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
