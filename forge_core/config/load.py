"""Settings from flags, environment, project and user files, in that order of strength.

A project's file (`.forge/config.toml`) comes with the repository, so it may set how things look and nothing
that acts. A broken file never blocks the start: it is named in `ForgeConfig.notices` and left as it is.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from forge_core.config.fields import FIELDS, PROJECT_FIELDS, check_value
from forge_core.config.models import Endpoint, ForgeConfig, Origin
from forge_core.config.paths import config_dir, state_dir
from forge_core.errors import ConfigError, WorkspaceError

USER_FILE = "config.toml"
PROJECT_FILE = ".forge/config.toml"


ChooseEndpoint: TypeAlias = Callable[
    [str | None, str | None, Mapping[str, str], Mapping[str, Origin]], tuple[Endpoint, str]
]


@dataclass(frozen=True, slots=True)
class _Layer:
    """One source's values, already checked."""

    origin: Origin
    values: Mapping[str, Any]


def load_config(
    path: str | Path | None = None,
    *,
    choose_endpoint: ChooseEndpoint,
    flags: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    needs_write: bool = False,
) -> ForgeConfig:
    """The settings for a session in `path` (default: the current folder).

    `flags` holds what the command line set, by field name; None values count as not set. `choose_endpoint`
    makes the endpoint and the model's id out of base_url, model, environment and origins (`llm.choice`).

    Raises:
        WorkspaceError: the folder is missing, is a file, or cannot be used.
        ConfigError: a flag or an environment variable holds something unusable.
    """
    environ = os.environ if environ is None else environ
    root = check_workspace(Path.cwd() if path is None else Path(path), needs_write=needs_write)
    notices: list[str] = []
    user_file = config_dir(environ) / USER_FILE
    layers = [
        _Layer(Origin.USER, _read_file(user_file, tuple(FIELDS), notices)),
        _Layer(Origin.PROJECT, _read_file(root / PROJECT_FILE, PROJECT_FIELDS, notices)),
        _Layer(Origin.ENVIRONMENT, _read_environment(environ)),
        _Layer(Origin.FLAG, {name: value for name, value in (flags or {}).items() if value is not None}),
    ]
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = {}
    for layer in layers:
        for name, value in layer.values.items():
            is_list = FIELDS[name].is_list
            values[name] = (*values.get(name, ()), *value) if is_list else value
            origins[name] = layer.origin
    endpoint, model = choose_endpoint(
        values.pop("base_url", None), values.pop("model", None), environ, origins
    )
    return ForgeConfig(
        working_dir=root,
        endpoint=endpoint,
        model=model,
        config_dir=config_dir(environ),
        state_dir=state_dir(environ),
        origins=origins,
        notices=tuple(notices),
        **values,
    )


def check_workspace(path: Path, *, needs_write: bool = False) -> Path:
    """The folder as an absolute, resolved path.

    Raises:
        WorkspaceError: with what is wrong and what to do.
    """
    try:
        resolved = path.expanduser().resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise WorkspaceError(f"The folder {str(path)!r} does not exist. Name an existing folder.") from error
    if not resolved.is_dir():
        raise WorkspaceError(f"{str(path)!r} is a file, not a folder. Name the folder to work in.")
    needed = os.R_OK | os.X_OK | (os.W_OK if needs_write else 0)
    if not _may(resolved, needed):
        what = "written" if _may(resolved, os.R_OK | os.X_OK) else "read"
        raise WorkspaceError(
            f"The folder {str(path)!r} cannot be {what}. Change its permissions or name another."
        )
    return resolved


def _may(path: Path, rights: int) -> bool:
    return os.access(path, rights, effective_ids=os.access in os.supports_effective_ids)


def _read_file(path: Path, allowed: Sequence[str], notices: list[str]) -> dict[str, Any]:
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        notices.append(f"The settings in {str(path)!r} were not read: {error}.")
        return {}
    values: dict[str, Any] = {}
    for name, value in raw.items():
        field = name.replace("-", "_")
        if field not in FIELDS:
            notices.append(f"{str(path)!r} has an unknown setting {name!r}; it was ignored.")
        elif field not in allowed:
            notices.append(f"{str(path)!r} may not set {name!r}: a project sets looks only. It was ignored.")
        else:
            try:
                values[field] = check_value(field, value)
            except ConfigError as error:
                notices.append(f"{str(path)!r}: {error} It was ignored.")
    return values


def _read_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, field in FIELDS.items():
        if field.variable and (text := environ.get(field.variable)):
            try:
                values[name] = check_value(name, text)
            except ConfigError as error:
                raise ConfigError(f"{field.variable}: {error}") from error
    return values
