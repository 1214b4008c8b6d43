"""Which parts of a command line make it ask."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias

from forge_core.permissions.guard.catastrophe import required_confirmation
from forge_core.permissions.guard.destruction import is_destructive
from forge_core.permissions.shell.syntax import SimpleCommand, read_line
from forge_core.workspace.folders import Workspace

TextRange: TypeAlias = "tuple[int, int]"
"""The indexes of the first character and after the last one."""


def risky_parts(line: str, asking: Collection[SimpleCommand], root: Workspace) -> tuple[TextRange, ...]:
    """Return where in `line`, which was parsed with certainty, the commands of `asking` are and those that
    destroy something or leave the machine.

    Empty if no part of the line stands out: all commands ask, and none of them destroys anything.
    """
    commands = [one for one in read_line(line).commands if one.source == line and one.span != (0, 0)]
    destructive = [one for one in commands if _destroys(one, root)]
    risky = [one for one in commands if one in destructive or one in asking]
    return _ranges(line, risky) if destructive or len(risky) < len(commands) else ()


def _destroys(command: SimpleCommand, root: Workspace) -> bool:
    return is_destructive(command.text) or required_confirmation(command.text, root) is not None


def _ranges(line: str, commands: list[SimpleCommand]) -> tuple[TextRange, ...]:
    """Return where the commands are, in order; of one within another, only the inner one."""
    encoded = line.encode()  # the parser counts bytes
    ranges: list[TextRange] = []
    for first, last in sorted((command.span for command in commands), key=lambda span: span[1]):
        start, end = len(encoded[:first].decode()), len(encoded[:last].decode())
        if not ranges or start >= ranges[-1][1]:
            ranges.append((start, end))
    return tuple(ranges)
