"""`/add-dir`: further folders to work in, by the rules of the folder itself."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from forge_core.commands.command_spec import ArgumentValue
from forge_core.commands.result import CommandNotice, CommandResult, Failure, Text
from forge_core.errors import WorkspaceError
from forge_core.sanitize import safe_line
from forge_core.session.session import ForgeSession
from forge_core.workspace.added_folders import folder_to_add
from forge_core.workspace.project_files import find_instructions
from forge_core.workspace.trust import TrustStore

_MAX_VALUES = 50
_MAX_SCANNED = 1_000


async def add_dir(argument: str, session: ForgeSession) -> CommandResult:
    """Add a folder, or list those that were added."""
    if not argument.strip():
        return _listing(session)
    config, folders = session.config, session.folders
    path = _named(argument, config.working_dir)
    private = (config.config_dir, config.state_dir)
    try:
        real = await asyncio.to_thread(folder_to_add, path, folders.workspace, private)
    except WorkspaceError as error:
        return Failure(safe_line(str(error)))
    if real is None:
        return CommandNotice(f"{safe_line(str(path))} is inside the workspace already.")
    await folders.add(real)
    session.inform_model(f"The user has added the folder {safe_line(str(real))} to the workspace.")
    note = await asyncio.to_thread(_about_instructions, session, real)
    return CommandNotice(f"Added {safe_line(str(real))}: the same rules hold there now.{note}")


def folder_values(session: ForgeSession) -> Sequence[ArgumentValue]:
    """Return the folders beside the one that the session works in, without hidden ones."""
    workspace = session.folders.workspace
    try:
        with os.scandir(workspace.main.parent) as entries:
            names = [entry.name for entry in islice(entries, _MAX_SCANNED) if entry.is_dir()]
    except OSError:
        return []
    known = {folder.name for folder in workspace.all if folder.parent == workspace.main.parent}
    shown = (name for name in sorted(names) if name[0] != "." and name not in known)
    return [ArgumentValue(f"../{name}") for name in islice(shown, _MAX_VALUES) if safe_line(name) == name]


def _listing(session: ForgeSession) -> Text:
    workspace = session.folders.workspace
    added = [f"  {safe_line(str(folder))}" for folder in workspace.added] or ["  no other folder"]
    lines = [f"Works in\n  {safe_line(str(workspace.main))}", "\n".join(["Added", *added])]
    return Text("\n\n".join([*lines, "/add-dir FOLDER adds one until the session ends."]), "Folders")


def _named(argument: str, base: Path) -> Path:
    """Return the path that the user means; one that was dropped or pasted may be in quotes."""
    text = argument.strip()
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    return base / os.path.expanduser(text[1:-1] if is_quoted else text)  # noqa: PTH111 - never raises


def _about_instructions(session: ForgeSession, folder: Path) -> str:
    """Return whether the folder's own instructions count; "" if it has none."""
    names = ", ".join(map(safe_line, find_instructions(folder)))
    if not names:
        return ""
    if TrustStore(session.config.state_dir).decision(folder):
        return f" Its instructions ({names}) count, as you trust it."
    return f" Its instructions ({names}) do not count: you have not trusted it, which /trust does in it."
