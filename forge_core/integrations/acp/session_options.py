"""What the client can choose in a session: the mode, the model, and how much it reasons."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import TypeAlias

from acp import schema

from forge_core.commands.permission_commands import mode_summary
from forge_core.config.permission_mode import PermissionMode
from forge_core.config.settings import check_value, choices
from forge_core.errors import ConfigError
from forge_core.sanitize import safe_line
from forge_core.session.model_selection import DEFAULT_EFFORT
from forge_core.session.session import ForgeSession

MAX_MODELS = 300
"""That are offered: favourites and those used last come first."""
_OFFLINE = "offline"

ConfigOption: TypeAlias = schema.SessionConfigOptionSelect | schema.SessionConfigOptionBoolean


class OptionId(StrEnum):
    """The ids of the options; that of each is its category too."""

    MODE = "mode"
    MODEL = "model"
    EFFORT = "thought_level"


def modes_of(session: ForgeSession) -> schema.SessionModeState:
    """Return the modes that the client can choose, and the current one. Yolo is an option of the command line
    only."""
    current = session.policy.mode
    offered = [mode for mode in PermissionMode if mode is not PermissionMode.YOLO or mode is current]
    is_sandboxed = session.policy.sandbox == "full"
    return schema.SessionModeState(
        current_mode_id=str(current),
        available_modes=[
            schema.SessionMode(
                id=str(mode),
                name=str(mode).replace("-", " ").capitalize(),
                description=mode_summary(mode, is_sandboxed=is_sandboxed),
            )
            for mode in offered
        ],
    )


def options_of(session: ForgeSession) -> list[ConfigOption]:
    """Return all options with their values. Blocks: it reads the lists of models."""
    modes = modes_of(session)
    options: list[ConfigOption] = [
        schema.SessionConfigOptionSelect(
            type="select",
            id=OptionId.MODE,
            name="Mode",
            category="mode",
            current_value=modes.current_mode_id,
            options=[
                schema.SessionConfigSelectOption(value=one.id, name=one.name, description=one.description)
                for one in modes.available_modes
            ],
        ),
        schema.SessionConfigOptionSelect(
            type="select",
            id=OptionId.MODEL,
            name="Model",
            category="model",
            current_value=session.models.current,
            options=[*_models(session)],
        ),
    ]
    if session.models.takes_effort:
        options.append(
            schema.SessionConfigOptionSelect(
                type="select",
                id=OptionId.EFFORT,
                name="Reasoning effort",
                category="thought_level",
                current_value=session.models.effort or DEFAULT_EFFORT,
                options=[
                    schema.SessionConfigSelectOption(value=one, name=one.capitalize())
                    for one in (DEFAULT_EFFORT, *choices("effort"))
                ],
            )
        )
    return options


def choose(session: ForgeSession, option: str, value: str) -> None:
    """Change an option.

    Raises:
        ConfigError: there is no such option or value, or it cannot be changed now.
    """
    match option:
        case OptionId.MODE:
            _choose_mode(session, value)
        case OptionId.MODEL:
            _choose_model(session, value)
        case OptionId.EFFORT:
            session.models.set_effort(None if value == DEFAULT_EFFORT else check_value("effort", value))
        case _:
            raise ConfigError(f"There is no option {safe_line(option)[:60]!r}: {', '.join(OptionId)}.")


def _choose_mode(session: ForgeSession, value: str) -> None:
    offered = [one.id for one in modes_of(session).available_modes]
    if value not in offered:
        raise ConfigError(f"There is no mode {safe_line(value)[:60]!r}: {', '.join(offered)}.")
    session.set_mode(PermissionMode(value))


def _choose_model(session: ForgeSession, value: str) -> None:
    if value == session.models.current:
        return
    if session.status.is_running:
        raise ConfigError("A turn is running. Choose the model when it has ended.")
    if session.status.provider_label == _OFFLINE:
        raise ConfigError("The offline model is the only one without a key. `forge auth login` saves one.")
    if not value.strip() or len(value.split()) > 1:
        raise ConfigError(f"{safe_line(value)[:60]!r} is not the name of a model.")
    session.models.choose(value)


def _models(session: ForgeSession) -> Iterator[schema.SessionConfigSelectOption]:
    known = {choice.id: choice for choice in session.models.known()}
    lists = session.models.lists.read()
    first = dict.fromkeys((session.models.current, *lists.favourites, *lists.recent))
    names = [name for name in dict.fromkeys((*first, *known)) if name in known or name in first]
    for name in names[:MAX_MODELS]:
        choice = known.get(name)
        yield schema.SessionConfigSelectOption(
            value=name,
            name=safe_line((choice.name if choice is not None else "") or name),
            description=safe_line(choice.note) or None if choice is not None else None,
        )
