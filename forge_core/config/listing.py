"""The settings as they are listed: each with its value, and where that comes from."""

from __future__ import annotations

import difflib
from enum import Enum
from typing import TYPE_CHECKING, Any

from forge_core.config.forge_config import Origin
from forge_core.config.settings import SETTINGS
from forge_core.errors import ConfigError

if TYPE_CHECKING:
    from forge_core.config.forge_config import ForgeConfig


def setting_rows(config: ForgeConfig) -> list[tuple[str, Any, Origin]]:
    """Return each setting with its value, JSON-ready and without secrets, and where that comes from."""
    return [
        (name, shown_value(name, getattr(config, name)), config.origins.get(name, Origin.DEFAULT))
        for name in SETTINGS
    ]


def shown_value(name: str, value: Any) -> Any:
    """Return a value as JSON has it, without what is secret in it."""
    shown = SETTINGS[name].shown
    return plain_value(value if shown is None or value is None else shown(value))


def value_text(value: Any) -> str:
    """Return a value as it is listed: "not set" for none."""
    if value is None or value == []:
        return "not set"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def plain_value(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, Enum):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


def known_setting(name: str) -> str:
    """Return the setting that is meant: "sandbox-read" is `sandbox_read`, "budget.day" is `budget_day`.
    Raises ConfigError for none."""
    field = name.strip().replace("-", "_").replace(".", "_")
    if field in SETTINGS:
        return field
    near = difflib.get_close_matches(field, SETTINGS, n=1)
    hint = f"Did you mean {near[0]}?" if near else "forge config list shows all settings."
    raise ConfigError(f"There is no setting {name!r}. {hint}")
