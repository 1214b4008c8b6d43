"""Where themes lie, and the colours that the first frame needs; standard library only."""

from __future__ import annotations

import tomllib
from pathlib import Path

DEFAULT_THEME = "forge-dark"
LIGHT_THEME = "forge-light"


def builtin_folder() -> Path:
    """Where the themes that come with Forge lie: in the package, or beside it in a checkout."""
    packaged = Path(__file__).parent / "themes"
    return packaged if packaged.is_dir() else Path(__file__).parent.parent / "themes"


def frame_colors(name: str, user_folder: Path) -> dict[str, str]:
    """A theme's colours and variables by name, as the files have them, for the moment before the theme is
    loaded and checked. What its file leaves out comes from the built-in theme that it goes with."""
    raw = _read(builtin_folder(), name) or _read(user_folder, name)
    if raw is None:
        raw = _read(builtin_folder(), DEFAULT_THEME) or {}
    base = DEFAULT_THEME if raw.get("dark", True) else LIGHT_THEME
    is_whole = raw.get("name") in (DEFAULT_THEME, LIGHT_THEME)
    filling = {} if is_whole else _read(builtin_folder(), base) or {}
    return {**_texts(filling, "variables"), **_texts(raw, "colors"), **_texts(raw, "variables")}


def _read(folder: Path, name: str) -> dict[str, object] | None:
    try:
        return tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _texts(raw: dict[str, object], section: str) -> dict[str, str]:
    table = raw.get(section)
    items = table.items() if isinstance(table, dict) else ()
    return {key: value for key, value in items if isinstance(value, str)}
