"""The folders that a session adds to its own at the start: by options, settings, or as it was saved."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forge_core.config.forge_config import ForgeConfig
    from forge_core.store.saved_session import SavedSession


def absolute_folders(given: Iterable[str]) -> list[str]:
    """Return the folders of options as absolute paths; they are relative to the current folder."""
    return [os.path.abspath(os.path.expanduser(one)) for one in given]  # noqa: PTH100, PTH111 - not resolved


def with_added_folders(config: ForgeConfig, named_by_option: Iterable[str]) -> ForgeConfig:
    """Return the settings with the folders of `add_dirs` that may be added; notices say which may not.

    Raises:
        WorkspaceError: a folder that an option names does not exist or must not be added.
    """
    strict = dict.fromkeys(named_by_option)
    return _with(config, [one for one in config.add_dirs if one not in strict], strict)


def continued_folders(config: ForgeConfig, saved: SavedSession) -> ForgeConfig:
    """Return the settings with the folders that were added in a saved session. Only in the same folder, as
    permissions are, and only where their real paths are the same."""
    if saved.working_dir != str(config.working_dir):
        return config
    moved = [name for name in saved.folders if os.path.realpath(name) != name]
    notices = (f"The folder {name!r} leads to another folder now. It was not added." for name in moved)
    config = replace(config, notices=(*config.notices, *notices))
    return _with(config, [name for name in saved.folders if name not in moved])


def _with(config: ForgeConfig, folders: Iterable[str], strict: Iterable[str] = ()) -> ForgeConfig:
    from forge_core.errors import WorkspaceError
    from forge_core.workspace.added_folders import folder_to_add
    from forge_core.workspace.folders import WorkspaceFolders
    from forge_core.workspace.program_lookup import leave_out_programs

    workspace = WorkspaceFolders(config.working_dir, config.added_folders)
    private, notices = (config.config_dir, config.state_dir), list(config.notices)
    for name, is_strict in [*((one, True) for one in strict), *((one, False) for one in folders)]:
        try:
            real = folder_to_add(Path(name), workspace, private)
        except WorkspaceError as error:
            if is_strict:
                raise
            notices.append(f"{error} It was not added.")
            continue
        if real is not None:
            workspace = workspace.with_added(real)
        elif is_strict:
            notices.append(f"The folder {name!r} is inside the folder that Forge works in already.")
    if workspace.added:
        leave_out_programs(workspace.all)
    return replace(config, added_folders=workspace.added, notices=tuple(notices))
