"""Changes the files that declare MCP servers; what is not changed stays as it is, byte for byte."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from forge_core.config.project_state import locked, replace_file
from forge_core.errors import ConfigError
from forge_core.mcp import commented_json
from forge_core.mcp.server_files import ServerScope, ServerSource, declared_servers, read_text
from forge_core.private_folders import make_private_folder

_KEY = "mcpServers"
_BOM = "\ufeff"
_PUBLIC = 0o666
"""The mode of a new file of a project, before the umask."""


def add_servers(source: ServerSource, entries: Mapping[str, Mapping[str, Any]], state_dir: Path) -> None:
    """Write entries by name to a file, which is created if need be.

    Raises:
        ConfigError: one of the names is taken, or the file is broken or cannot be written; it stays as it
            is then.
    """

    def change(text: str) -> str:
        if not text.strip():
            text = "{}\n"
        for name, entry in entries.items():
            content = commented_json.parse(text)
            declared = declared_servers(content)
            if _KEY not in content and not any(isinstance(one, dict) for one in declared.values()):
                text = commented_json.with_member(text, [], _KEY, {name: entry})
            elif name in declared:
                raise ConfigError(
                    f"{source.label} declares a server {name!r} already. Choose another name, or remove that "
                    f"one first: forge mcp remove {name}"
                )
            else:
                text = commented_json.with_member(text, _path(content), name, entry)
        return text

    _change(source, state_dir, change)


def remove_server(source: ServerSource, name: str, state_dir: Path) -> None:
    """Remove an entry, which must exist, from a file. Raises ConfigError as `add_servers` does."""

    def change(text: str) -> str:
        content = commented_json.parse(text)
        if name not in declared_servers(content):
            raise ConfigError(f"{source.label} declares no server {name!r}.")
        return commented_json.without_member(text, _path(content), name)

    _change(source, state_dir, change)


def _path(content: Mapping[str, Any]) -> list[str]:
    return [_KEY] if _KEY in content else []


def _change(source: ServerSource, state_dir: Path, change: Callable[[str], str]) -> None:
    """Replace the text of a file as a whole or not at all."""
    real = Path(os.path.realpath(source.path))  # a symlinked dotfile stays a symlink
    try:
        make_private_folder(state_dir)
        if source.scope is ServerScope.USER:
            make_private_folder(real.parent)
        with locked(state_dir / "mcp.lock"):
            try:
                changed = change(read_text(source))
                mark = _BOM if real.read_bytes().startswith(_BOM.encode()) else ""
            except FileNotFoundError:
                changed, mark = change(""), ""
            mode = _mode(real, source.scope)
            replace_file(real, mark + changed)
            real.chmod(mode)
    except ValueError as error:
        raise ConfigError(
            f"{source.label} was not changed: it cannot be read ({error}). Repair it first."
        ) from error
    except OSError as error:
        raise ConfigError(
            f"{source.label} was not changed: it cannot be written ({error.strerror or error})."
        ) from error


def _mode(path: Path, scope: ServerScope) -> int:
    """Return the mode for a file: only the user may read theirs, which may hold keys."""
    if scope is ServerScope.USER:
        return 0o600
    if path.exists():
        return path.stat().st_mode & 0o777
    umask = os.umask(0)
    os.umask(umask)
    return _PUBLIC & ~umask
