"""What a slash command asks of whoever ran it: the core decides, a screen or printer shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Text:
    """Something to read; plain text in fixed columns."""

    body: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """The command could not be carried out."""

    text: str


@dataclass(frozen=True, slots=True)
class OpenScreen:
    """A picker or viewer of the screen ("theme")."""

    name: str
    argument: str = ""


@dataclass(frozen=True, slots=True)
class ChangeSetting:
    """A setting that the screen owns ("theme")."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Cleared:
    """The conversation is gone: clear what shows it."""


@dataclass(frozen=True, slots=True)
class ResumeTurn:
    """Read `session.retry()`: the turn that failed goes on."""


@dataclass(frozen=True, slots=True)
class Quit:
    """Leave Forge."""


CommandResult: TypeAlias = Text | Failure | OpenScreen | ChangeSetting | Cleared | ResumeTurn | Quit
