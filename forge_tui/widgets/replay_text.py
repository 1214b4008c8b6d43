"""Texts of a replay's screen. Does not import Textual: the launcher paints them too."""

from __future__ import annotations

from forge_core.sanitize import safe_line

REPLAY = "Replay"
REPLAY_HINTS = "Space pause · → next event · Q leave · F1 help"
PAUSE_HINT = "Space to pause"
GO_ON_HINT = "Space to go on"


def playing_text(title: str, turn: int, turns: int, speed: float | None) -> str:
    """Return what is being played, and how fast."""
    where = f"message {turn} of {turns}" if turns else "no messages"
    pace = "at once" if speed is None else f"{speed:g}×"
    return f"{REPLAY} · {where} · {pace} · {safe_line(title)}"
