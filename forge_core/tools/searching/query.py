"""The query of a search, and the lines that both engines return."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

MAX_COLUMNS = 4_000
"""Bytes of a line that an engine hands over; the rest of a longer one is left out."""


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """One search. `start` and the paths in answers are relative to `root`, with forward slashes."""

    root: str
    pattern: str
    start: str = ""
    """The folder or file to search; empty for all."""
    glob: str = ""
    """Only files that match: without a slash at any depth, else relative to `start`."""
    ignore_case: bool = False
    multiline: bool = False
    """The pattern may match over line ends; a dot matches them too."""
    before: int = 0
    after: int = 0

    @property
    def is_single_file(self) -> bool:
        return bool(self.start) and not (Path(self.root) / self.start).is_dir()

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> SearchQuery:
        return cls(**json.loads(text))


@dataclass(frozen=True, slots=True)
class SearchLine:
    """One line of an answer."""

    path: str
    number: int
    text: str
    """Without its line end."""
    is_match: bool
    """False for a line of context."""
