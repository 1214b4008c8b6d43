"""What a shell text says, before its variables are put in and its wrappers taken off."""

from __future__ import annotations

from dataclasses import dataclass, field

from forge_core.permissions.shell.words import Pieces


@dataclass(slots=True)
class BareCommand:
    """A command as it is written, its variables not yet put in."""

    text: str
    depth: int
    scope: tuple[int, ...]
    """The shells of their own that it runs in; what a `cd` changes stays within."""
    words: list[Pieces] = field(default_factory=list)
    assignments: list[tuple[str, Pieces]] = field(default_factory=list)
    redirects: list[tuple[str, Pieces]] = field(default_factory=list)
    """Operator and target."""
    fed: list[str] = field(default_factory=list)
    """Texts of here-documents and here-strings."""
    is_piped: bool = False
    """It reads what another command of the line prints."""


@dataclass(slots=True)
class Tree:
    """What a text says."""

    commands: list[BareCommand] = field(default_factory=list)
    variables: dict[str, list[Pieces]] = field(default_factory=dict)
    functions: set[str] = field(default_factory=set)
    scripts: list[tuple[str, int, tuple[int, ...]]] = field(default_factory=list)
    """Texts in backquotes, with depth and scope."""
    features: set[str] = field(default_factory=set)
    """Kinds of node that stand for something evaluated besides the commands: arithmetic, `${x@P}` …"""
    nodes: int = 0
    problem: str = ""
    """Why it could not be read; empty when it was."""
