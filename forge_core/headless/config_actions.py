"""`forge config`: the settings listed with where they come from, read, and changed in the user's file."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from forge_core.commands.columns import columns
from forge_core.config.forge_config import Origin
from forge_core.config.listing import check_theme, known_setting, plain_value, setting_rows, value_text
from forge_core.config.load import USER_FILE
from forge_core.config.save import save_user_setting, unset_user_setting
from forge_core.config.settings import SETTINGS
from forge_core.errors import ConfigError
from forge_core.exit_codes import ExitCode
from forge_core.sanitize import safe_line

if TYPE_CHECKING:
    import argparse

    from forge_core.config.forge_config import ForgeConfig


def run_action(
    options: argparse.Namespace, config: ForgeConfig, themes: Callable[[], Sequence[str]] = tuple
) -> int:
    """Do what the options of `forge config` say; return the exit code.

    `themes` returns the names of the themes; without names any can be set.

    Raises:
        ConfigError: with what is wrong and what to do.
    """
    if options.action == "set" and len(options.values) == 1:
        check_theme(known_setting(options.name), options.values[0], themes())
    _ACTIONS[options.action](options, config)
    return ExitCode.COMPLETE


def _list(options: argparse.Namespace, config: ForgeConfig) -> None:
    rows = setting_rows(config)
    if options.json:
        print(
            json.dumps(
                {name: {"value": value, "from": str(origin)} for name, value, origin in rows}, indent=2
            )
        )
        return
    shown = [
        (
            name,
            f"{safe_line(value_text(value))}  ({origin})"
            if origin is not Origin.DEFAULT
            else value_text(value),
        )
        for name, value, origin in rows
    ]
    print(columns(shown))


def _get(options: argparse.Namespace, config: ForgeConfig) -> None:
    value = plain_value(getattr(config, known_setting(options.name)))
    if options.json:
        print(json.dumps(value))
    elif value is not None:
        for one in value if isinstance(value, list) else [value_text(value)]:
            print(safe_line(str(one)))


def _set(options: argparse.Namespace, config: ForgeConfig) -> None:
    name = known_setting(options.name)
    if not SETTINGS[name].is_list and len(options.values) > 1:
        raise ConfigError(
            f"{name} takes one value, but was given {len(options.values)}. Quote one with spaces."
        )
    value = options.values if SETTINGS[name].is_list else options.values[0]
    path = save_user_setting(config.config_dir, name, value)
    print(safe_line(f"{name} is now {value_text(value)!r} in {str(path)!r}."))
    origin = config.origins.get(name, Origin.DEFAULT)
    if origin in (Origin.ENVIRONMENT, Origin.PROJECT):
        print(f"It has no effect here: the {origin} sets {name}, and is stronger.")


def _unset(options: argparse.Namespace, config: ForgeConfig) -> None:
    name = known_setting(options.name)
    path = config.config_dir / USER_FILE
    if unset_user_setting(config.config_dir, name):
        print(safe_line(f"{name} was removed from {str(path)!r}."))
    else:
        print(safe_line(f"{str(path)!r} does not set {name}."))


def _path(options: argparse.Namespace, config: ForgeConfig) -> None:
    print(config.config_dir / USER_FILE)


_ACTIONS: dict[str, Callable[[argparse.Namespace, ForgeConfig], None]] = {
    "list": _list,
    "get": _get,
    "set": _set,
    "unset": _unset,
    "path": _path,
}
