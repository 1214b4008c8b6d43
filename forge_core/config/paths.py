"""Where Forge keeps its things: the XDG base directories, `FORGE_HOME` above them.

Source: https://specifications.freedesktop.org/basedir-spec/latest/
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def config_dir(environ: Mapping[str, str]) -> Path:
    """The folder of `config.toml` and of the user's themes."""
    return _folder(environ, "config", "XDG_CONFIG_HOME", ".config")


def state_dir(environ: Mapping[str, str]) -> Path:
    """The folder of sessions, logs and saved command outputs."""
    return _folder(environ, "state", "XDG_STATE_HOME", ".local/state")


def _folder(environ: Mapping[str, str], part: str, variable: str, fallback: str) -> Path:
    if own := environ.get("FORGE_HOME"):
        return Path(own).expanduser().absolute() / part
    base = environ.get(variable, "")
    # The specification says: a relative path there is to be ignored.
    root = Path(base) if base.startswith("/") else Path(environ.get("HOME") or Path.home()) / fallback
    return root / "forge"
