"""Slash commands that become messages for the model: those of files."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from functools import partial

from forge_core.commands.command_spec import CommandSpec, Scope, Tier
from forge_core.commands.command_table import BUILT_IN_NAMES, CommandTable, split_command
from forge_core.errors import ConfigError
from forge_core.events import AgentEvent
from forge_core.extensions.catalog import ExtensionCatalog
from forge_core.extensions.custom_commands import CommandUse, CustomCommand, argument_hint, named_commands
from forge_core.session.session import ForgeSession


def prompt_specs(catalog: ExtensionCatalog) -> list[CommandSpec]:
    """Return the rows of the commands of files, sorted by name."""
    named = named_commands(catalog, BUILT_IN_NAMES)
    return [
        CommandSpec(
            name,
            one.description,
            "",
            scope=Scope.PROMPT,
            accepts=("TEXT...",),
            tier=Tier.IDLE,
            hint=argument_hint(one),
            source=str(one.scope),
        )
        for name, one in sorted(named.items())
    ]


def follow_extensions(table: CommandTable, session: ForgeSession) -> None:
    """Keep the commands of files in a table up to date, as long as the table is used for this session."""
    extensions = session.extensions
    table.owner = extensions

    def update() -> None:
        if table.owner is extensions:
            table.use(partial(prompt_specs, extensions.catalog), is_complete=not extensions.is_loading)

    extensions.on_change(update)
    update()


def command_use(name: str, argument: str, session: ForgeSession) -> CommandUse | None:
    """Return the command of a file that can be typed as `name`, with its arguments; None if there is none."""
    named = named_commands(session.extensions.catalog, BUILT_IN_NAMES)
    lower = name.lower()
    found = next((one for known, one in named.items() if known.lower() == lower), None)
    return None if found is None else CommandUse(CustomCommand.of(found), argument)


async def headless_turn(
    session: ForgeSession, prompt: str, request: str = ""
) -> AsyncGenerator[AgentEvent, None]:
    """Return the events of the turn of a prompt, which may be the command of a file.

    A prompt that begins with a path is a message. `request` follows what is sent.

    Raises:
        ConfigError: there is no such command, or it is one of the chat.
    """
    name, argument = split_command(prompt)
    if not name or "/" in name:
        return session.send(prompt + request)
    await session.extensions.loaded()
    use = command_use(name, argument, session)
    if use is not None:
        return session.send(prompt, command=CommandUse(use.command, use.arguments, request))
    table = CommandTable()
    if table.find(name) is not None:
        raise ConfigError(
            f"/{name.lower()} is a command of forge chat. To send it as a message, put a space first."
        )
    follow_extensions(table, session)
    raise ConfigError(table.complaint(name))
