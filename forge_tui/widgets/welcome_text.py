"""What a newcomer sees first: what this is, where it works, what to ask.

Without Textual: the launcher paints it too.
"""

from __future__ import annotations

from typing import NamedTuple

from forge_core.sanitize import safe_line
from forge_tui.cell_widths import cell_len
from forge_tui.widgets.cells import clip, clip_middle

EXAMPLES = (
    "what is in this folder?",
    "explain README.md",
    "run the tests and tell me what fails",
)
"""They work in any project, and with the offline model too."""


class Facts(NamedTuple):
    """What the welcome names."""

    version: str
    model: str
    folder: str
    is_offline: bool = False


ROOMY = 21
"""Rows of the terminal from which the whole block is shown, with its examples."""


def lines(facts: Facts, width: int, height: int = ROOMY) -> list[list[tuple[str, str]]]:
    """The block as rows of (role, text), at most `width` cells each, for a terminal of `height` rows."""
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
