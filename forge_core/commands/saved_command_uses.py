"""How often the slash commands are used: one small private file of the state folder, which decides what a
menu lists first.

Each use adds one to the score of the command, which halves in two weeks: what was used lately comes before
what was used often long ago.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from forge_core.config.project_state import replace_file
from forge_core.private_folders import make_private_folder

_HALF_LIFE_S = 14 * 86_400.0
_MAX_SCORE = 1e6
_LEAST_SCORE = 0.01
_MOST = 200
_LONGEST_NAME = 100
_MAX_BYTES = 64 * 1024
"""A larger file is not ours."""


class SavedCommandUses:
    """The file. Both methods block; a damaged file counts as empty and is replaced by the next use."""

    def __init__(self, state_dir: Path, *, clock: Callable[[], float] = time.time) -> None:
        """`clock` gives seconds since the epoch."""
        self._path = state_dir / "commands.json"
        self._clock = clock

    def read(self) -> dict[str, float]:
        """Return the score of each command that was used, by name."""
        return self._read(self._clock())

    def add(self, name: str) -> dict[str, float]:
        """Count a use of a command; return the scores. Raise OSError when the file cannot be written."""
        now = self._clock()
        scores = self._read(now)
        scores[name] = min(scores.get(name, 0.0) + 1.0, _MAX_SCORE)
        make_private_folder(self._path.parent)
        kept = {one: round(score, 4) for one, score in scores.items()}
        replace_file(self._path, json.dumps({"v": 1, "at": now, "scores": kept}) + "\n")
        return scores

    def _read(self, now: float) -> dict[str, float]:
        try:
            if self._path.stat().st_size > _MAX_BYTES:
                return {}
            kept = json.loads(self._path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        match kept:
            case {"at": int() | float() as at, "scores": dict(scores)} if math.isfinite(at):
                share = 0.5 ** (max(now - at, 0.0) / _HALF_LIFE_S)
                return _checked(scores, share)
        return {}


def _checked(scores: Mapping[str, object], share: float) -> dict[str, float]:
    """Return a share of the scores, without those that hardly count any more. Commands of files may have any
    name, and may be of another project."""
    kept = {
        name: score * share
        for name, score in scores.items()
        if isinstance(name, str)
        and len(name) <= _LONGEST_NAME
        and isinstance(score, int | float)
        and _LEAST_SCORE < score * share <= _MAX_SCORE  # false for NaN
    }
    best = sorted(kept, key=lambda name: kept[name], reverse=True)[:_MOST]
    return {name: kept[name] for name in best}
