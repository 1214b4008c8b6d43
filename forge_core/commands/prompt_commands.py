"""Slash commands that become messages for the model: those of files, and the prompts of MCP servers."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from functools import partial

from forge_core.commands.command_spec import CommandSpec, Scope, Tier
from forge_core.commands.command_table import BUILT_IN_NAMES, CommandTable, split_command
from forge_core.errors import ConfigError
from forge_core.events import AgentEvent
from forge_core.extensions.catalog import ExtensionCatalog
from forge_core.extensions.custom_commands import CommandUse, CustomCommand, argument_hint, named_commands
from forge_core.session.command_messages import TypedUse
from forge_core.session.server_offers import PROMPT_PREFIX, ServerOffers
from forge_core.session.session import ForgeSession

_SERVERS_S = 10.0
"""How long a prompt that is typed early waits for the servers that are being started."""


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


def server_specs(offers: ServerOffers) -> list[CommandSpec]:
    """Return the rows of the prompts of servers, sorted by name."""
    return [
        CommandSpec(
            one.command,
            one.summary,
            "",
            scope=Scope.PROMPT,
            accepts=("TEXT...",),
            tier=Tier.IDLE,
            hint=one.hint,
            source=one.server,
        )
        for one in offers.prompts
    ]


def follow_prompts(table: CommandTable, session: ForgeSession) -> None:
    """Keep the commands of files and the prompts of servers in a table up to date, as long as the table is
    used for this session."""
    extensions, offers = session.extensions, session.servers.offers
    table.owner = extensions

    def rows(catalog: ExtensionCatalog) -> list[CommandSpec]:
        return [*prompt_specs(catalog), *server_specs(offers)]

    def update() -> None:
        if table.owner is extensions:
            table.use(partial(rows, extensions.catalog), is_complete=not extensions.is_loading)

    extensions.on_change(update)
    offers.on_change(update)
    update()


async def prompts_loaded(name: str, session: ForgeSession) -> None:
    """Wait until a command of this name is there, if it may still come."""
    await session.extensions.loaded()
    if name.lower().startswith(PROMPT_PREFIX) and session.servers.offers.prompt(name) is None:
        await session.hooks.begin()
        await session.servers.settled(_SERVERS_S)


def command_use(name: str, argument: str, session: ForgeSession) -> TypedUse | None:
    """Return what can be typed as `name`, with its arguments: the prompt of a server, or the command of a
    file; None if there is none.

    Raises:
        ConfigError: the prompt needs other arguments.
    """
    if (prompt := session.servers.offers.prompt(name)) is not None:
        from forge_core.mcp.prompts import PromptUse

        prompt.values(argument)
        return PromptUse(prompt, argument)
    named = named_commands(session.extensions.catalog, BUILT_IN_NAMES)
    lower = name.lower()
    found = next((one for known, one in named.items() if known.lower() == lower), None)
    return None if found is None else CommandUse(CustomCommand.of(found), argument)


async def headless_turn(
    session: ForgeSession, prompt: str, request: str = ""
) -> AsyncGenerator[AgentEvent, None]:
    """Return the events of the turn of a prompt, which may be the command of a file or of a server.

    A prompt that begins with a path is a message. `request` follows what is sent.

    Raises:
        ConfigError: there is no such command, it is one of the chat, or it needs other arguments.
    """
    name, argument = split_command(prompt)
    if not name or "/" in name:
        return session.send(prompt + request)
    await prompts_loaded(name, session)
    use = command_use(name, argument, session)
    if use is not None:
        return session.send(prompt, command=replace(use, request=request))
    table = CommandTable()
    if table.find(name) is not None:
        raise ConfigError(
            f"/{name.lower()} is a command of forge chat. To send it as a message, put a space first."
        )
    follow_prompts(table, session)
    raise ConfigError(table.complaint(name))
