"""`/config`: the settings, listed and changed while the chat runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from forge_core.commands.command_spec import ArgumentValue
from forge_core.config.listing import known_setting
from forge_core.config.running_settings import LiveSetting, RunningSettings
from forge_core.config.settings import SETTINGS
from forge_core.errors import ConfigError
from forge_core.sanitize import safe_line
from forge_core.session.live_settings import session_settings
from forge_tui import workers

if TYPE_CHECKING:
    from forge_tui.screens.chat.screen import ChatScreen

_LIST = "/config"
_NOTE_S = 6.0
"""How long the confirmation of a change shows."""


def config(argument: str, screen: ChatScreen) -> None:
    """Open the panel of settings, at the one that is named; or set it to the value that follows."""
    named, _, value = argument.partition(" ")
    try:
        name = known_setting(named, _LIST) if named else ""
    except ConfigError as error:
        screen.complain(safe_line(str(error)))
        return
    settings = running_settings(screen)
    if value.strip():
        workers.start(screen, partial(_set, settings, name, value.strip(), screen), "config")
        return
    from forge_tui.screens.panels.settings_panel import SettingsPanel

    screen.app.push_screen(SettingsPanel(settings, screen.refresh_status, name))


def setting_values(screen: ChatScreen) -> Sequence[ArgumentValue]:
    """Return the names of the settings."""
    return [ArgumentValue(name, declared.summary) for name, declared in SETTINGS.items()]


def running_settings(screen: ChatScreen) -> RunningSettings:
    """Return the settings of the chat on this screen."""
    return RunningSettings(screen.sessions, partial(_live, screen), screen.themes.names)


def _live(screen: ChatScreen) -> Mapping[str, LiveSetting]:
    """Return the settings that the screen and its session hold."""
    session, attention, activity = screen.session, screen.attention, screen.activity
    return {
        "theme": LiveSetting(lambda: screen.themes.chosen, screen.themes.choose),
        "thinking": LiveSetting(lambda: screen.transcript.thinking, screen.transcript.show_thinking),
        "vim": LiveSetting(lambda: bool(screen.composer.key_mode), screen.use_vim),
        "notify": LiveSetting(lambda: attention.setting, partial(setattr, attention, "setting")),
        "reduced_motion": LiveSetting(lambda: activity.is_still, partial(setattr, activity, "is_still")),
        "history": LiveSetting(lambda: screen.sessions.config.history, _read_when_used),
        **({} if session is None else session_settings(session)),
    }


def _read_when_used(value: Any) -> None:
    """Do nothing: the setting is read whenever it matters."""


async def _set(settings: RunningSettings, name: str, value: str, screen: ChatScreen) -> None:
    await settings.read_file()
    problem = report = ""
    try:
        report = safe_line(await settings.set(name, value))
    except ConfigError as error:
        problem = safe_line(str(error))
    with screen.sending.commands.showing(f"{_LIST} {name}"):  # without the value, which may be secret
        if problem:
            screen.complain(problem)
        elif settings.is_in_effect(name):
            screen.activity.note(report, _NOTE_S)
        else:
            screen.say(report)
    screen.refresh_status()
