"""The instruction files of sub-folders, given to the model when a tool first visits one of them."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from forge_core.config.forge_config import ForgeConfig
from forge_core.context.instructions import Instructions, folder_instructions, framed, instructions_for
from forge_core.workspace.trust import is_trusted

_HEAD = (
    "[Forge adds the instructions of the project for this folder, which the user trusts. They rank as those "
    "in the system message do, and count for the files in this folder.]"
)


class FolderInstructions:
    """What a session's model has been given, beside the instructions in the system prompt. Thread-safe."""

    def __init__(self, config: ForgeConfig) -> None:
        self._config = config
        self._visited: set[Path] = set()
        self._given: list[Instructions] = []
        self._lock = threading.Lock()

    @property
    def given(self) -> tuple[Instructions, ...]:
        """The files that the model has been given, in this order."""
        return tuple(self._given)

    def forget(self) -> None:
        """Give all files again: the conversation that held them is gone."""
        with self._lock:
            self._visited.clear()
            self._given.clear()

    def for_path(self, path: Path) -> str:
        """Return the instructions for a file that was read or written, or a folder that was searched, as
        text for the model; empty when it has them already, or the user does not trust the project. `path` is
        a real path."""
        root = self._config.working_dir
        if not path.is_relative_to(root):
            return ""
        folders = (path, *path.parents) if os.path.isdir(path) else path.parents  # noqa: PTH112 (never raises)
        between = [folder for folder in folders if folder != root and folder.is_relative_to(root)]
        with self._lock:
            new = [folder for folder in reversed(between) if folder not in self._visited]
            if not new or not is_trusted(self._config):
                return ""
            self._visited.update(new)
            found = [one for folder in new for one in self._files(folder)]
        return "\n\n".join([_HEAD, *map(framed, found)]) if found else ""

    def _files(self, folder: Path) -> tuple[Instructions, ...]:
        in_prompt = instructions_for(self._config).files
        known = [one.file for one in (*in_prompt, *self._given)]
        found = folder_instructions(folder, self._config.working_dir, known).files
        self._given += found
        return found
