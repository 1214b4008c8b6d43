"""The settings as they are listed: each with its value, and where that comes from."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from forge_core.config import checks
from forge_core.config.forge_config import Origin
from forge_core.config.settings import SETTINGS
from forge_core.errors import ConfigError

if TYPE_CHECKING:
    from forge_core.config.forge_config import ForgeConfig


NOT_SET = "not set"
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_ITEM = re.compile(rf"(?:{_QUOTED.pattern}|\([^()]*\)|[^,])+")


def setting_rows(config: ForgeConfig) -> list[tuple[str, Any, Origin]]:
    """Return each setting with its value, JSON-ready and without secrets, and where that comes from."""
    return [
        (name, shown_value(name, getattr(config, name)), config.origins.get(name, Origin.DEFAULT))
        for name in SETTINGS
    ]


def shown_value(name: str, value: Any) -> Any:
    """Return a value as JSON has it, without what is secret in it: a URL may hold a password."""
    is_url = SETTINGS[name].check is checks.url
    return checks.shown_url(value) if is_url and value is not None else plain_value(value)


def value_text(value: Any) -> str:
    """Return a value as it is listed: "not set" for none."""
    return NOT_SET if value is None or value == [] else typed_text(value)


def typed_text(value: Any) -> str:
    """Return a value as the user types it; `list_values` reads a list again."""
    if isinstance(value, list | tuple):
        return ", ".join(map(_item_text, value))
    if isinstance(value, float):
        return str(value).removesuffix(".0")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _item_text(item: str) -> str:
    """Return an item of a list, in quotes if it would not be read as one."""
    if list_values(item) == [item]:
        return item
    escaped = item.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def list_values(text: str) -> list[str]:
    """Return the items of a list as the user types it: commas separate them, outside brackets and quotes."""
    items = [_unquoted(found[0].strip()) for found in _ITEM.finditer(text)]
    return [item for item in items if item]


def _unquoted(item: str) -> str:
    is_quoted = _QUOTED.fullmatch(item)
    return re.sub(r"\\(.)", r"\1", item[1:-1]) if is_quoted else item


def settable(name: str) -> tuple[str, ...]:
    """Return the values of a setting with a fixed list that a file may set; empty for other settings."""
    check = SETTINGS[name].check
    if check is checks.yes_or_no:
        return ("true", "false")
    option_only = check.option_only if isinstance(check, checks.OneOf) else None
    return tuple(one for one in SETTINGS[name].choices or () if one != option_only)


def theme_names(setting: str, themes: Sequence[str]) -> tuple[str, ...]:
    """Return what a setting that names a theme can be set to; empty for other settings."""
    if SETTINGS[setting].check is not checks.theme or not themes:
        return ()
    names = tuple(name for name in themes if name != checks.AUTO_THEME)
    return (checks.AUTO_THEME, *names) if setting == "theme" else names


def check_theme(setting: str, name: str, themes: Sequence[str]) -> None:
    """Raise ConfigError where the setting names a theme and none has this name; without `themes` any name
    will do."""
    names = theme_names(setting, themes)
    if names and name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"The themes are: {', '.join(names)}."
        raise ConfigError(f"There is no theme {name!r}. {hint}")


def plain_value(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, Enum):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


def known_setting(name: str, listed_by: str = "forge config list") -> str:
    """Return the setting that is meant: "sandbox-read" is `sandbox_read`, "budget.day" is `budget_day`.

    Raises:
        ConfigError: there is none; it names the command that lists them, which is `listed_by`.
    """
    field = name.strip().replace("-", "_").replace(".", "_")
    if field in SETTINGS:
        return field
    near = difflib.get_close_matches(field, SETTINGS, n=1)
    hint = f"Did you mean {near[0]}?" if near else f"{listed_by} shows all settings."
    raise ConfigError(f"There is no setting {name!r}. {hint}")
