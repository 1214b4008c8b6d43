"""The settings of a chat that runs: what is in effect, where it comes from, and how the user changes it.

A change is written to the user's own file. It takes effect at once where the running chat can apply it,
otherwise at the next start. Where something stronger sets the value, the file has no effect.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from forge_core.config import listing
from forge_core.config.forge_config import ForgeConfig, Origin
from forge_core.config.load import ACCESSIBLE, ACCESSIBLE_SETTINGS, PROJECT_FILE, read_user_settings
from forge_core.config.save import save_user_setting, unset_user_setting
from forge_core.config.settings import SETTINGS, check_value
from forge_core.errors import ConfigError, ForgeError

SESSION = "this session"
"""The source of a value that a command has set for the session alone."""
NEXT_START = "next start"
"""The source of a value that takes effect then."""
NO_VALUE = "default"
"""What the user types in place of a value that is to be removed from the file."""
_STRONGER = (Origin.PROJECT, Origin.ENVIRONMENT, Origin.FLAG)


@dataclass(frozen=True, slots=True)
class LiveSetting:
    """A setting whose value the running chat holds."""

    read: Callable[[], Any]
    """Return the value in effect."""
    apply: Callable[[Any], None] | None = None
    """Apply a checked value, or raise a ForgeError; None where the running chat cannot apply one."""


class ConfigHolder(Protocol):
    """What holds the settings from which the next session is built."""

    config: ForgeConfig


@dataclass(frozen=True, slots=True)
class SettingState:
    """One setting as it is listed; its values are without secrets."""

    name: str
    value: str
    """In effect, or from the next start on."""
    source: str
    """Where the value comes from: an `Origin`, `SESSION` or `NEXT_START`."""
    remark: str = ""
    """What else there is to know: the value until the next start, or what the user's file has in vain."""


class RunningSettings:
    """Lists and changes the settings. `read_file` comes first."""

    def __init__(
        self,
        holder: ConfigHolder,
        live: Callable[[], Mapping[str, LiveSetting]],
        themes: Callable[[], Sequence[str]],
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """`live` returns the settings that the chat holds now, `themes` the names of the themes."""
        self._holder = holder
        self._live = live
        self._themes = themes
        self._environ = environ
        self._own: dict[str, Any] = {}
        """What the user's file sets."""
        self._writing = asyncio.Lock()

    async def read_file(self) -> None:
        """Read what the user's file sets; what is wrong in it counts as not set."""
        async with self._writing:
            await self._read()

    async def _read(self) -> None:
        self._own = await asyncio.to_thread(read_user_settings, self._holder.config.config_dir, [])

    # What is in effect

    def states(self) -> list[SettingState]:
        """Return all settings in the order of the documentation."""
        return [self.state(name) for name in SETTINGS]

    def state(self, name: str) -> SettingState:
        """Return how a setting is listed."""
        config, value, own = self._holder.config, self.value(name), self._own.get(name)
        shown = _text(name, value)
        in_file = "" if own is None or own == value else f"your file has {_text(name, own)}"
        if (stronger := self._stronger(name)) and value == getattr(config, name):
            remark = "; ".join(filter(None, (f"{stronger} sets it", in_file)))
            return SettingState(name, shown, config.origins[name], remark)
        if not self.is_live(name) and own != config.own_settings.get(name):
            upcoming = _text(name, SETTINGS[name].default if own is None else own)
            return SettingState(name, upcoming, NEXT_START, f"takes effect at the next start; now {shown}")
        source = self._source(name, value, own)
        return SettingState(name, shown, source, in_file if source == SESSION else "")

    def _source(self, name: str, value: Any, own: Any) -> str:
        config = self._holder.config
        if not self.is_live(name):
            is_changed = value != getattr(config, name)
            return SESSION if is_changed else config.origins.get(name, Origin.DEFAULT)
        if own is not None and value == own:
            return Origin.USER
        return Origin.DEFAULT if own is None and value == SETTINGS[name].default else SESSION

    def value(self, name: str) -> Any:
        """Return the value in effect."""
        live = self._live().get(name)
        return getattr(self._holder.config, name) if live is None else live.read()

    def editable(self, name: str) -> str:
        """Return the value that a change begins with, as the user would type it; empty for none, and for one
        that may not be shown."""
        own = self._own.get(name, () if SETTINGS[name].is_list else self.value(name))
        text = "" if own is None else listing.typed_text(own)
        return text if _text(name, own) == text else ""

    def chosen(self, name: str) -> Any:
        """Return the value that the next change is counted from: that of the user's file where it is not in
        effect."""
        return self.value(name) if self.is_in_effect(name) else self._own.get(name, self.value(name))

    def choices(self, name: str) -> tuple[str, ...]:
        """Return the values that a setting can be set to; empty where there is no list of them."""
        return listing.theme_names(name, self._themes()) or listing.settable(name)

    def is_live(self, name: str) -> bool:
        """Whether the running chat can apply a change."""
        live = self._live().get(name)
        return live is not None and live.apply is not None

    def is_in_effect(self, name: str) -> bool:
        """Whether a change of the user's file takes effect at once."""
        return self.is_live(name) and not self._stronger(name)

    def _stronger(self, name: str) -> str:
        """Return what sets a setting and is stronger than the user's file; empty if nothing is."""
        declared, origin = SETTINGS[name], self._holder.config.origins.get(name, Origin.DEFAULT)
        if origin not in _STRONGER or declared.is_list:  # lists are joined
            return ""
        if origin is Origin.PROJECT:
            return f"the project's {PROJECT_FILE}"
        if origin is Origin.FLAG:
            return str(declared.option)
        is_shared = name in ACCESSIBLE_SETTINGS and not self._environ.get(str(declared.variable))
        return ACCESSIBLE if is_shared else str(declared.variable)

    # Changes

    async def set(self, name: str, text: str) -> str:
        """Set a setting to what the user typed, and save it; return what has happened. Nothing and `NO_VALUE`
        remove it from the file.

        Raises:
            ConfigError: the value cannot be used, or was not saved.
        """
        if text.strip() in ("", NO_VALUE):
            return await self.unset(name)
        is_list = SETTINGS[name].is_list
        given: Any = listing.list_values(text) if is_list else text
        checked = check_value(name, given)
        listing.check_theme(name, checked, self._themes())
        remark = self._apply(name, checked, Origin.USER)
        await self._write(name, checked, lambda folder: save_user_setting(folder, name, given))
        return self._report(name, f"{name} is now {_text(name, checked)}", remark)

    async def unset(self, name: str) -> str:
        """Remove a setting from the user's file; return what has happened.

        Raises:
            ConfigError: the file was not written.
        """
        default = SETTINGS[name].default
        remark = self._apply(name, default, Origin.DEFAULT)
        await self._write(name, None, lambda folder: unset_user_setting(folder, name))
        text = _text(name, default)
        is_none = text == listing.NOT_SET
        return self._report(name, f"{name} is {text if is_none else f'{text} again, the default'}", remark)

    def _apply(self, name: str, value: Any, origin: Origin) -> str:
        """Put a value into effect where that is possible; return why it is not."""
        live, config = self._live().get(name), self._holder.config
        if live is None or live.apply is None or self._stronger(name):
            return ""
        try:
            live.apply(value)
        except ForgeError as error:
            return str(error)
        origins = {**config.origins, name: origin}
        changed: dict[str, Any] = {name: value}
        self._holder.config = replace(config, origins=origins, **changed)
        return ""

    async def _write(self, name: str, value: Any, write: Callable[[Any], object]) -> None:
        """Change the user's file. Changes are written in the order in which they were made."""
        self._own = {key: one for key, one in {**self._own, name: value}.items() if one is not None}
        async with self._writing:
            try:
                await asyncio.to_thread(write, self._holder.config.config_dir)
            except ConfigError:
                await self._read()
                raise

    def _report(self, name: str, change: str, remark: str) -> str:
        if stronger := self._stronger(name):
            return f"{change} in your file, but {stronger} sets it to {_text(name, self.value(name))} here."
        if remark:
            return f"{change} in your file. {remark}"
        return f"{change}." if self.is_live(name) else f"{change}; it takes effect at the next start."


def _text(name: str, value: Any) -> str:
    return listing.value_text(listing.shown_value(name, value))
