"""The user's editor, which takes over the terminal while the app waits."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported

from forge_core.private_folders import make_private_folder
from forge_core.workspace.program_lookup import find_program

FALLBACKS = ("sensible-editor", "nano", "vi")
"""Programs to try where neither VISUAL nor EDITOR is set."""


class EditorError(Exception):
    """No editor could be run; the text says why, and what to do."""


def editor_command(environ: Mapping[str, str], root: Path) -> list[str]:
    """Return the program and its arguments: VISUAL, else EDITOR, else one that is installed. A name without
    a folder is never that of a program in the workspace `root`.

    Raises:
        EditorError: there is none, or the variable is not a command line.
    """
    for variable in ("VISUAL", "EDITOR"):
        try:
            words = shlex.split(environ.get(variable, ""))
        except ValueError as error:
            raise EditorError(f"{variable} cannot be read: {error}.") from error
        if words and "/" in words[0]:
            return words
        if words:
            if (program := find_program(words[0], root, environ.get("PATH"))) is None:
                raise EditorError(f"{words[0]!r} was not found in PATH, outside {str(root)!r}.")
            return [program, *words[1:]]
    found = (path for name in FALLBACKS if (path := find_program(name, root, environ.get("PATH"))))
    if (path := next(found, None)) is None:
        raise EditorError("no editor was found. Set VISUAL or EDITOR to one.")
    return [path]


def edit_text(app: App[Any], text: str, file_name: str, root: Path) -> str:
    """Return a text as the user has left it in the editor; see `edit`.

    Raises:
        EditorError: no editor could be run.
        OSError: the file could not be written or read.
    """
    # Its own folder, which only the user can enter: editors put backups and swap files beside a file.
    with tempfile.TemporaryDirectory(prefix="forge-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / file_name
        path.write_text(text, encoding="utf-8", errors="replace")
        edit(app, path, root)
        return path.read_text(encoding="utf-8", errors="replace")


def edit(app: App[Any], path: Path, root: Path, environ: Mapping[str, str] = os.environ) -> None:
    """Open `path` in the editor and wait until it is closed; the app does nothing meanwhile. `root` is the
    workspace.

    Raises:
        EditorError: there is no editor, it failed, or the app has no terminal.
    """
    command = editor_command(environ, root)
    try:
        make_private_folder(path.parent)
        with app.suspend():
            # Not asynchronous: nothing must write to the terminal while the editor has it.
            status = subprocess.run([*command, str(path)], check=False).returncode
    except SuspendNotSupported as error:
        raise EditorError("this terminal cannot be given to an editor.") from error
    except OSError as error:
        raise EditorError(f"{command[0]!r} failed: {error.strerror or error}.") from error
    if status:
        raise EditorError(f"{command[0]!r} ended with status {status}.")
