"""Typed slash commands, run on a session."""

from __future__ import annotations

from forge_core.commands import dispatch
from forge_core.commands.command_table import CommandTable
from forge_core.commands.result import CommandResult, Failure
from forge_core.session.session import ForgeSession
from forge_tui.submitted_line import Command, InvalidCommand, parse_line


async def run_command(line: str, session: ForgeSession) -> CommandResult:
    """What the session answers to a line; a Failure where the line never reaches it."""
    match parse_line(line, CommandTable()):
        case Command(spec, argument):
            return await dispatch.run_command(spec, argument, session)
        case InvalidCommand(complaint):
            return Failure(complaint)
        case other:
            raise AssertionError(f"{other} is no command")
