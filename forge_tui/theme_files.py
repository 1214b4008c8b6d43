"""The folder of the themes, and the colours for the first frame. Standard library only."""

from __future__ import annotations

import tomllib
from pathlib import Path

from forge_core.config.checks import AUTO_THEME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from forge_core.config.forge_config import ForgeConfig

DEFAULT_THEME = "forge-dark"
LIGHT_THEME = "forge-light"
BUILTIN_THEMES = (
    DEFAULT_THEME,
    LIGHT_THEME,
    "high-contrast-dark",
    "high-contrast-light",
    "ansi-16",
    "catppuccin-mocha",
    "catppuccin-latte",
    "gruvbox-dark",
    "nord",
    "tokyo-night",
)
"""Forge's themes, in the order of the picker. Each has a file of its name."""
TERMINAL_COLORS = "terminal-colors"
"""The key of a theme that is written in the terminal's own 16 colours at any depth."""


def builtin_folder() -> Path:
    """Return the folder of the built-in themes: in the package, or beside it in a checkout."""
    packaged = Path(__file__).parent / "themes"
    return packaged if packaged.is_dir() else Path(__file__).parent.parent / "themes"


def theme_names(user_folder: Path) -> list[str]:
    """Return the names of all themes, Forge's and the user's, without checking their colours."""
    files = sorted(user_folder.glob("*.toml"))
    found = ((_read(path.parent, path.stem) or {}).get("name") for path in files)
    own = (name for name in found if isinstance(name, str) and name != AUTO_THEME)
    return list(dict.fromkeys([*BUILTIN_THEMES, *own]))


def named_theme(name: str, config: ForgeConfig, *, is_light: bool) -> str:
    """Return the theme that `name` means: `auto` is one of a pair, by the background of the terminal."""
    if name != AUTO_THEME:
        return name
    return config.theme_light if is_light else config.theme_dark


def frame_colors(name: str, user_folder: Path) -> dict[str, str]:
    """Return a theme's colours and variables by name, unchecked, for the frame before the theme is loaded.

    What the file lacks comes from the built-in theme of the same kind, dark or light.
    """
    raw = _read(builtin_folder(), name) or _read(user_folder, name)
    if raw is None:
        raw = _read(builtin_folder(), DEFAULT_THEME) or {}
    base = DEFAULT_THEME if raw.get("dark", True) else LIGHT_THEME
    is_whole = raw.get("name") in BUILTIN_THEMES
    filling = {} if is_whole else _read(builtin_folder(), base) or {}
    colors = {**_texts(filling, "variables"), **_texts(raw, "colors"), **_texts(raw, "variables")}
    return {**colors, TERMINAL_COLORS: "true"} if raw.get(TERMINAL_COLORS) is True else colors


def _read(folder: Path, name: str) -> dict[str, object] | None:
    try:
        return tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _texts(raw: dict[str, object], section: str) -> dict[str, str]:
    table = raw.get(section)
    items = table.items() if isinstance(table, dict) else ()
    return {key: value for key, value in items if isinstance(value, str)}
