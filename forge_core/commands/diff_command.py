"""`/diff`: which changes the viewer opens with."""

from __future__ import annotations

from forge_core.commands.result import CommandResult, OpenScreen
from forge_core.session.session import ForgeSession


async def diff(argument: str, session: ForgeSession) -> CommandResult:
    """The last turn where it changed files, else the working tree, unless one of them is named."""
    source = argument.lower()
    if not source:
        source = "turn" if (await session.changes("turn").read()).files else "worktree"
    return OpenScreen("diff", source)
