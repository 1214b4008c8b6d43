"""What a diagnosis finds: one line each, with what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    """Forge works, but not as well as it could."""
    PROBLEM = "problem"
    """Something does not work."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. Its texts may be untrusted."""

    section: str
    name: str
    text: str
    level: Level = Level.OK
    advice: str = ""
    """What to do about a warning or a problem."""
