"""`/style`: how the model writes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from forge_core.commands.columns import columns
from forge_core.commands.command_spec import ArgumentValue
from forge_core.commands.result import CommandNotice, CommandResult, Text
from forge_core.config.forge_config import Origin
from forge_core.config.load import PROJECT_FILE
from forge_core.config.save import save_user_setting
from forge_core.errors import ConfigError
from forge_core.session.session import ForgeSession

_HELP = "/style NAME changes it, from the next answer on, and saves it in your settings."


async def style(argument: str, session: ForgeSession) -> CommandResult:
    """List the styles, or choose one and save it."""
    await session.extensions.ready()
    if not argument:
        current = session.style.current().name
        rows = [
            (f"{'›' if one.name == current else ' '} {one.name}", one.description)
            for one in session.style.known()
        ]
        return Text(f"{columns(rows)}\n\n{_HELP}", "Style")
    session.use_style(argument)
    chosen = session.style.name
    origin = session.config.origins.get("style")
    session.config = replace(session.config, style=chosen)
    said = f"Style: {chosen}"
    try:
        await asyncio.to_thread(save_user_setting, session.config.config_dir, "style", chosen)
    except ConfigError as error:
        return CommandNotice(f"{said} for this session. {error}")
    if origin is Origin.PROJECT:
        return CommandNotice(f"{said} for this session; the project's {PROJECT_FILE} sets another one.")
    return CommandNotice(said)


def style_values(session: ForgeSession) -> Sequence[ArgumentValue]:
    """Return the styles."""
    current = session.style.current().name
    return [ArgumentValue(one.name, one.description, one.name == current) for one in session.style.known()]
