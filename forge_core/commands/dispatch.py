"""Runs the slash commands of the session."""

from __future__ import annotations

from forge_core.commands.command_spec import CommandSpec, load
from forge_core.commands.result import CommandResult, Failure
from forge_core.errors import ForgeError
from forge_core.session.session import ForgeSession


async def run_command(spec: CommandSpec, argument: str, session: ForgeSession) -> CommandResult:
    """Run one command of scope `SESSION`; a `ForgeError` becomes a Failure.

    The caller has checked the argument with `spec.problem`.
    """
    try:
        result: CommandResult = await load(spec.body)(argument, session)
    except ForgeError as error:
        return Failure(str(error))
    return result
