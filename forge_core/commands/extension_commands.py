"""`/extensions` and `/reload`: what comes from files of the user and the project."""

from __future__ import annotations

from pathlib import Path

from forge_core.commands.columns import columns
from forge_core.commands.result import CommandNotice, CommandResult, Text
from forge_core.config.forge_config import ForgeConfig
from forge_core.extensions.catalog import ExtensionCatalog, project_definitions
from forge_core.extensions.definitions import Definition
from forge_core.extensions.locations import ExtensionKind
from forge_core.sanitize import safe_line
from forge_core.session.session import ForgeSession
from forge_core.text_width import clip_start
from forge_core.workspace.trust import is_trusted

_HEADINGS = {
    ExtensionKind.COMMAND: "Commands",
    ExtensionKind.SKILL: "Skills",
    ExtensionKind.AGENT: "Agents",
    ExtensionKind.STYLE: "Styles",
}
_PATH_CELLS = 60


async def extensions(argument: str, session: ForgeSession) -> CommandResult:
    """List what is in use, what is left out, and what is wrong with the files."""
    await session.extensions.ready()
    catalog, config = session.extensions.catalog, session.config
    blocks = [_table(catalog, kind, config) for kind in ExtensionKind]
    blocks += [_problems(catalog), _left_out(config)]
    text = "\n\n".join(block for block in blocks if block)
    return Text(text or _advice(config), "Extensions")


async def reload(argument: str, session: ForgeSession) -> CommandResult:
    """Read all files again."""
    changes = await session.extensions.reload()
    return CommandNotice(f"Read again: {changes}." if changes else "Read again: nothing has changed.")


def _table(catalog: ExtensionCatalog, kind: ExtensionKind, config: ForgeConfig) -> str:
    named, shadowed = catalog.of_kind(kind), catalog.shadowed(kind)
    if not named:
        return ""
    rows = [(f"  {_sign(kind)}{one.name}", _shown_path(one, config)) for one in named]
    rows += [
        (f"  {_sign(kind)}{one.qualified_name}", f"{_shown_path(one, config)} (another one has its name)")
        for one in shadowed
    ]
    return f"{_HEADINGS[kind]}\n{columns(rows)}"


def _sign(kind: ExtensionKind) -> str:
    return "/" if kind is ExtensionKind.COMMAND else ""


def _shown_path(one: Definition, config: ForgeConfig) -> str:
    for folder, prefix in ((config.working_dir, ""), (Path.home(), "~/")):
        if one.path.is_relative_to(folder):
            return clip_start(safe_line(f"{prefix}{one.path.relative_to(folder)}"), _PATH_CELLS)
    return clip_start(safe_line(str(one.path)), _PATH_CELLS)


def _problems(catalog: ExtensionCatalog) -> str:
    return "\n".join(["Problems", *(f"  {one}" for one in catalog.problems)]) if catalog.problems else ""


def _left_out(config: ForgeConfig) -> str:
    """Return what of the project does not count, and how to change that."""
    if config.safe or is_trusted(config):
        return ""
    count = sum(1 for _ in project_definitions(config.working_dir))
    if not count:
        return ""
    files = "1 file of this project is" if count == 1 else f"{count} files of this project are"
    return f"{files} left out, because the folder is not trusted. /trust shows what would count."


def _advice(config: ForgeConfig) -> str:
    if config.safe:
        return "Everything from files is left out, because Forge was started with --safe."
    return f"Nothing comes from files yet. Put commands into {safe_line(str(config.config_dir))}/commands."
