"""Texts of the start screen: the version, folder, model, mode and sandbox, and what to ask.

Does not import Textual: the launcher paints them too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from forge_core.config.permission_mode import PermissionMode
from forge_core.sanitize import safe_line
from forge_core.text_width import cell_len, clip, clip_middle
from forge_tui.widgets.status_text import SANDBOX_ON, Figures, shorter_labels
from forge_tui.widgets.welcome import ember

IDLE_HINTS = "Enter send · Ctrl+J new line · / commands · F1 help"
MARK = "❯"
"""Before the input line."""
PLACEHOLDER = "Ask about this folder, or say what to change"
MAX_EXAMPLES = 3
MAX_NAMES = 200
"""Entries of a folder that are read: its first frame must not wait for a large one."""
ROOMY = 21
"""Rows of the terminal from which the whole block is shown, with examples."""
_LOW = 18
"""Rows below which the block has only four, so that a notice below it shows whole."""
_SPACIOUS = 26
"""Rows from which the block says how to take an offer, without hiding the notices below it."""
TALL = 30
"""Rows from which the block is moved down from the top."""
_USUAL_ROWS = 16
"""Rows of the whole block with its margin; for its place only, which must not depend on what it shows."""
_BELOW_STAGE = 6
"""Rows of the screen below the block: hints, composer and status."""
_README = re.compile(r"readme(\.(md|rst|txt|org|adoc))?", re.IGNORECASE)
_TESTS = re.compile(r"tests?|__tests__|\.rspec|test_.+\.py|.+_test\.(py|go)|.+\.(test|spec)\.[jt]sx?")
_USUAL = ("README.md", "README.rst", "README", "tests", "test", ".git", "hello.py")
"""Looked for by name if a folder has more than `MAX_NAMES` entries."""
_OFFLINE = "No key or network needed. For a real model: /connect"
_TAGLINE = "a coding assistant for this folder"
TRY_HINT = "Tab or Down selects, Enter sends"
_BULLET = "›"
_SANDBOXED = "on: commands write only here, and reach no network"
_HEAD = 9
"""Cells of the first column."""
_LOGO_GAP = 2
_LEAST_FOR_LOGO = 40
"""Cells from which the ember fits beside the text."""


class WelcomeOffer(NamedTuple):
    """Something to try: a row that can be taken with a key."""

    text: str
    line: str
    """What taking it submits."""
    detail: str = ""
    """Shown dimmed after the text, which is shortened first."""


HELP_OFFER = WelcomeOffer("See what Forge can do", "/help", " · /help")


class WelcomeContent(NamedTuple):
    """What the block shows besides the figures."""

    version: str
    examples: Sequence[str] = ()
    found: str = ""
    """What the folder contains; empty while that is unknown."""
    first: WelcomeOffer | None = None
    """The first thing to try, above the examples; None while it is unknown."""
    chosen: int | None = None
    """Which of the offers is selected."""
    has_ember: bool = True
    """Whether the terminal has colours for it."""

    hint: str = ""
    """How to take an offer; by default with the usual keys."""

    def offers(self, height: int) -> list[WelcomeOffer]:
        """Return what can be taken in a terminal of `height` rows; in a low one only how to continue."""
        first = [] if self.first is None else [self.first]
        if height < ROOMY:
            return [] if self.first == HELP_OFFER else first
        return [*first, *(WelcomeOffer(text, text) for text in self.examples)]


def continue_offer(session_id: str, title: str, age: str, turns: int) -> WelcomeOffer:
    """Return the offer to continue a session."""
    count = f"{turns:,} turn{'s'[: turns != 1]}"
    return WelcomeOffer(f"Continue: {safe_line(title)}", f"/resume {session_id}", f" ({age}, {count})")


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
    figures: Figures, content: WelcomeContent, width: int, height: int = ROOMY
) -> list[list[tuple[str, str]]]:
    """Return the rows of the block as (role, text), at most `width` cells each, for a terminal of `height`
    rows.

    What is unknown in the first frame has a place there: nothing moves when it is known.
    """
    room = width - _HEAD
    rows: list[list[tuple[str, str]]] = [[] for _ in range(rows_above(height))]
    if height >= ROOMY and content.has_ember and width >= _LEAST_FOR_LOGO:
        rows += _beside_ember(figures, content, width)
    else:
        rows += _below_title(figures, content, room, is_low=height < _LOW)
    rows += _model(figures, room)
    rows.append(_row("Mode", _mode(figures), "warning" if figures.mode == "yolo" else "plain"))
    is_weak = figures.sandbox not in ("", SANDBOX_ON)
    if is_weak or height >= _LOW:
        rows.append(_row("Sandbox", _sandbox(figures.sandbox, room), "warning" if is_weak else "plain"))
    rows += _offers(content, width, height)
    return [_clip_row(row, width) for row in rows]


def rows_above(height: int) -> int:
    """Return the blank rows above the block, which bring it to the optical centre of a tall window."""
    return (height - _BELOW_STAGE - _USUAL_ROWS) // 3 if height >= TALL else 0


def offer_at(row: int, figures: Figures, content: WelcomeContent, width: int, height: int) -> int | None:
    """Return which offer a row of the block shows; None for another row."""
    rows = lines(figures, content, width, height)
    shown = [number for number, texts in enumerate(rows) if any(text in (MARK, _BULLET) for _, text in texts)]
    return shown.index(row) if row in shown else None


def _below_title(
    figures: Figures, content: WelcomeContent, room: int, *, is_low: bool
) -> list[list[tuple[str, str]]]:
    """Return the name with folder and contents below it, in a low terminal without the contents."""
    title = [("brand", "Forge"), ("dim", f" {content.version}  "), ("plain", _TAGLINE)]
    folder = _row("Folder", clip_middle(safe_line(figures.folder), room))
    if is_low:
        return [title, folder]
    return [title, [], folder, _row("Found", clip(_found(figures, content.found), room))]


def _beside_ember(figures: Figures, content: WelcomeContent, width: int) -> list[list[tuple[str, str]]]:
    """Return the ember with name, folder and contents at its right."""
    room = width - ember.WIDTH - _LOGO_GAP
    texts: list[list[tuple[str, str]]] = [
        [("brand", "Forge"), ("dim", f" {content.version}")],
        [("dim", clip(_TAGLINE, room))],
        [("plain", clip_middle(safe_line(figures.folder), room))],
        [("plain", clip(_found(figures, content.found), room))],
    ]
    gap = ("plain", " " * _LOGO_GAP)
    return [[*cells, gap, *text] for cells, text in zip(ember.ROWS, texts, strict=True)] + [[]]


def _offers(content: WelcomeContent, width: int, height: int) -> list[list[tuple[str, str]]]:
    """Return the rows of what to try."""
    rows = [
        _offer(offer, width, is_chosen=index == content.chosen)
        for index, offer in enumerate(content.offers(height))
    ]
    if height >= ROOMY and content.first is None:
        rows.insert(0, _row("", f"{_BULLET} …", "dim"))
    if rows:
        rows[0][0] = _row("Try", "")[0]
    if height < ROOMY:
        return rows
    return [[], *rows, *([_row("", content.hint or TRY_HINT, "dim"), []] if height >= _SPACIOUS else [])]


def _offer(offer: WelcomeOffer, width: int, *, is_chosen: bool) -> list[tuple[str, str]]:
    """Return the row of an offer: its text is shortened before what follows it."""
    head, mark = _row("", MARK if is_chosen else _BULLET, "brand" if is_chosen else "accent")
    room = width - _HEAD - cell_len(_BULLET) - 1 - cell_len(offer.detail)
    text = clip(safe_line(offer.text), max(room, 0))
    return [head, mark, ("chosen" if is_chosen else "plain", f" {text}"), ("dim", offer.detail)]


def _model(figures: Figures, room: int) -> list[list[tuple[str, str]]]:
    row = _row("Model", clip(safe_line(figures.model) or "…", room))
    if figures.provider != "offline":
        return [row]
    return [[*row, ("dim", " · rules, no neural model")], _row("", _OFFLINE, "dim")]


def _found(figures: Figures, found: str) -> str:
    """Return what the folder contains, and how many of its files have uncommitted changes."""
    changed = f" · {figures.changed_files:,} changed" if figures.changed_files else ""
    return safe_line(found) + changed if found else "…"


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
