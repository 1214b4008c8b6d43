"""`/diff`: which changes the viewer opens with."""

from __future__ import annotations

from forge_core.commands.result import CommandResult, Failure, OpenScreen
from forge_core.sanitize import safe_line
from forge_core.session.changes import SOURCES
from forge_core.session.session import ForgeSession


async def diff(argument: str, session: ForgeSession) -> CommandResult:
    """The last turn where it changed files, else the working tree, unless one of them is named."""
    if argument and argument not in SOURCES:
        return Failure(
            f"/diff does not know {safe_line(argument)!r}. Use /diff, /diff turn or /diff worktree."
        )
    if not argument:
        argument = "turn" if (await session.changes("turn").read()).files else "worktree"
    return OpenScreen("diff", argument)
