"""Where themes lie, and the two colours of one that the first frame needs; standard library only."""

from __future__ import annotations

import tomllib
from pathlib import Path

DEFAULT_THEME = "forge-dark"


def builtin_folder() -> Path:
    """Where the themes that come with Forge lie: in the package, or beside it in a checkout."""
    packaged = Path(__file__).parent / "themes"
    return packaged if packaged.is_dir() else Path(__file__).parent.parent / "themes"


def ground_colors(name: str, user_folder: Path) -> tuple[str | None, str | None]:
    """Background and foreground of a theme as its file has them; None for what it does not tell.

    For the moment before the theme is loaded and checked, so that the ground does not change then.
    """
    for folder in (builtin_folder(), user_folder):
        try:
            colors = tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8")).get("colors", {})
            return _text(colors.get("background")), _text(colors.get("foreground"))
        except (OSError, ValueError, AttributeError):
            continue
    return None, None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
