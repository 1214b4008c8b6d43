"""Themes from TOML files, checked field by field before Textual gets them.

A theme that Textual accepts but cannot apply ends the app, so nothing is registered before every colour has
been parsed. A broken file is reported; it never stops the app.
"""

from __future__ import annotations

import contextlib
import tomllib
from dataclasses import dataclass
from pathlib import Path

from textual.color import Color, ColorParseError
from textual.theme import Theme

from forge_core.config.checks import AUTO_THEME
from forge_core.errors import ConfigError
from forge_tui.theme_files import (
    BUILTIN_THEMES,
    DEFAULT_THEME,
    LIGHT_THEME,
    TERMINAL_COLORS,
    builtin_folder,
)

COLORS = (
    "primary",
    "secondary",
    "accent",
    "foreground",
    "background",
    "surface",
    "panel",
    "success",
    "warning",
    "error",
)
"""The keys of `[colors]`, by Textual's names; all are required."""

VARIABLES = (
    "forge-muted",
    "forge-faint",
    "forge-user",
    "forge-heading",
    "forge-link",
    "forge-code-background",
    "forge-inline-code",
    "mode-ask",
    "mode-accept-edits",
    "mode-plan",
    "mode-auto",
    "mode-yolo",
    "diff-added",
    "diff-added-background",
    "diff-added-strong",
    "diff-removed",
    "diff-removed-background",
    "diff-removed-strong",
    "syntax-keyword",
    "syntax-string",
    "syntax-number",
    "syntax-comment",
    "syntax-function",
    "syntax-class",
    "syntax-operator",
    "syntax-builtin",
)
"""The keys of `[variables]`; missing ones come from forge-dark or forge-light."""
MIXED_VARIABLES = (
    "forge-user-background",
    "forge-selection",
    "forge-match",
    "forge-subheading",
    "forge-zebra",
)
"""More keys of `[variables]`; missing ones are mixed from the theme's own colours."""


@dataclass(frozen=True, slots=True)
class ThemeFiles:
    """The themes found on disk, and the problems with the others."""

    themes: dict[str, Theme]
    """By name, built-in ones first."""
    problems: tuple[str, ...]
    """One sentence per file that cannot be used."""


def load_builtin(name: str) -> Theme | None:
    """Return the built-in theme of this name, read from its file only, for the first frame; None for other
    names."""
    if name not in BUILTIN_THEMES:
        return None
    return read_theme(builtin_folder() / f"{name}.toml", {})


def load_themes(user_folder: Path) -> ThemeFiles:
    """Return all themes, Forge's and the user's. A user's theme cannot have the name of a built-in one."""
    themes: dict[str, Theme] = {}
    problems: list[str] = []
    builtin = [builtin_folder() / f"{name}.toml" for name in BUILTIN_THEMES]
    for path in (*builtin, *_theme_files(user_folder, problems)):
        try:
            theme = read_theme(path, themes)
            if theme.name in themes or theme.name == AUTO_THEME:
                raise ConfigError(f"Theme {path}: the name {theme.name!r} is taken; choose another.")
        except ConfigError as error:
            problems.append(str(error))
        else:
            themes[theme.name] = theme
    return ThemeFiles(themes, tuple(problems))


class ThemeReloader:
    """Notices changes of the user's theme files, by one `stat` of the folder and one of each file.

    Forge's own files are not watched.
    """

    def __init__(self, user_folder: Path) -> None:
        self._folder = user_folder
        self._versions = self._now()

    def changed(self) -> ThemeFiles | None:
        """Return all themes if a file has changed since the last call, else None."""
        versions = self._now()
        if versions == self._versions:
            return None
        self._versions = versions
        return load_themes(self._folder)

    def _now(self) -> tuple[tuple[str, int, int, int], ...]:
        found = []
        for path in _theme_files(self._folder, []):
            with contextlib.suppress(OSError):
                info = path.stat()
                found.append((path.name, info.st_mtime_ns, info.st_size, info.st_ino))
        return tuple(found)


def read_theme(path: Path, known: dict[str, Theme]) -> Theme:
    """Return the theme in this file. `known` contains the themes that missing variables come from.

    Raise ConfigError, which names file, key and value.
    """
    raw = _read_toml(path)
    _refuse_unknown(path, "", raw, ("name", "dark", TERMINAL_COLORS, "colors", "variables"))
    name, dark = raw.get("name"), raw.get("dark", True)
    if not isinstance(name, str) or not _is_plain_name(name):
        raise _invalid(path, "name", name, "must be letters, digits and dashes.")
    if not isinstance(dark, bool):
        raise _invalid(path, "dark", dark, "must be true or false.")
    uses_terminal_colors = raw.get(TERMINAL_COLORS, False)
    if not isinstance(uses_terminal_colors, bool):
        raise _invalid(path, TERMINAL_COLORS, uses_terminal_colors, "must be true or false.")
    base = known.get(DEFAULT_THEME if dark else LIGHT_THEME)
    colors = _section(path, raw, "colors", COLORS)
    missing = [key for key in COLORS if key not in colors]
    if missing:
        raise ConfigError(f"Theme {path}: [colors] lacks {', '.join(missing)}.")
    own = _section(path, raw, "variables", (*VARIABLES, *MIXED_VARIABLES))
    inherited = {key: base.variables[key] for key in VARIABLES} if base else {}
    variables = {**inherited, **own}
    if uses_terminal_colors:
        variables[TERMINAL_COLORS] = "true"
    theme = Theme(name, colors["primary"], dark=dark, variables=_with_textual_variables(colors, variables))
    for key, value in colors.items():
        setattr(theme, key, value)
    return theme


def _theme_files(folder: Path, problems: list[str]) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".toml")
    except FileNotFoundError:
        return []
    except OSError as error:
        problems.append(f"Themes in {folder} cannot be listed: {error.strerror}.")
        return []


def _read_toml(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"Theme {path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"Theme {path} is not UTF-8 text.") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"Theme {path} is not TOML: {error}.") from error


def _section(path: Path, raw: dict[str, object], section: str, names: tuple[str, ...]) -> dict[str, str]:
    """Return the checked colours of one table."""
    table = raw.get(section, {})
    if not isinstance(table, dict):
        raise _invalid(path, section, table, "must be a table.")
    _refuse_unknown(path, f"{section}.", table, names)
    return {key: _color(path, f"{section}.{key}", value) for key, value in table.items()}


def _color(path: Path, key: str, value: object) -> str:
    try:
        if not isinstance(value, str):
            raise ColorParseError("no text")
        color = Color.parse(value)
    except ColorParseError as error:
        raise _invalid(path, key, value, "is not a colour; write it as '#rrggbb'.") from error
    if color.ansi is not None or color.a != 1 or color.auto:
        raise _invalid(path, key, value, "must be an opaque colour such as '#rrggbb'.")
    return value


def _refuse_unknown(path: Path, prefix: str, table: dict[str, object], names: tuple[str, ...]) -> None:
    for key, value in table.items():
        if key not in names:
            raise _invalid(path, prefix + key, value, f"is not a known key. Known: {', '.join(names)}.")


def _invalid(path: Path, key: str, value: object, problem: str) -> ConfigError:
    return ConfigError(f"Theme {_place(path, key)}: {key} = {value!r} {problem}")


def _place(path: Path, key: str) -> str:
    """Return the path, with the line of a key such as "colors.primary" if it is on a line of its own."""
    section, _, name = key.rpartition(".")
    table = ""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            text = line.strip()
            if text.startswith("["):
                table = text.split("]")[0].strip("[] ")
                if table == key:
                    return f"{path}:{number}"
            elif table == section and text.split("=")[0].strip(" \"'") == name:
                return f"{path}:{number}"
    return str(path)


def _is_plain_name(name: str) -> bool:
    return 0 < len(name) <= 40 and name.isascii() and name.replace("-", "a").isalnum()


def _with_textual_variables(colors: dict[str, str], variables: dict[str, str]) -> dict[str, str]:
    """Return the variables with those of Textual's own widgets, derived from the theme."""
    derived = {
        "input-cursor-background": colors["foreground"],
        "input-cursor-foreground": colors["background"],
        "input-selection-background": variables.get("forge-faint", colors["panel"]),
        "screen-selection-background": variables.get("forge-faint", colors["panel"]),
        "border": variables.get("forge-muted", colors["secondary"]),
        "border-blurred": variables.get("forge-faint", colors["panel"]),
        "scrollbar": variables.get("forge-faint", colors["panel"]),
        "scrollbar-hover": variables.get("forge-muted", colors["secondary"]),
        "scrollbar-active": colors["primary"],
        "scrollbar-background": colors["background"],
        "scrollbar-background-hover": colors["background"],
        "scrollbar-background-active": colors["background"],
        "scrollbar-corner-color": colors["background"],
    }
    return {**derived, **variables}
