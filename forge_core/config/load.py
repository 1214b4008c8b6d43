"""Settings from flags, environment, project and user files, in that order of strength.

A project's file (`.forge/config.toml`) comes with the repository, so it may set how things look and, until
the user trusts the folder, nothing that acts. A broken file never blocks the start: it is named in
`ForgeConfig.notices` and left as it is.
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from forge_core.config.forge_config import Endpoint, ForgeConfig, Origin
from forge_core.config.project_state import RULE_KINDS, ProjectState, read_project_state, state_file
from forge_core.config.settings import SETTINGS, TABLES, check_value
from forge_core.errors import ConfigError, WorkspaceError

USER_FILE = "config.toml"
PROJECT_FILE = ".forge/config.toml"
OWN_INSTRUCTIONS = "AGENTS.md"
"""Beside the user's settings."""
ACCESSIBLE = "ACCESSIBLE"
"""An environment variable that several programs share: it asks for output that assistive technology can
follow (see https://github.com/bombshell-dev/clack/issues/585)."""
ACCESSIBLE_SETTINGS = ("plain", "reduced_motion")
"""The settings that `ACCESSIBLE` switches on; their own variables are stronger."""
_MAX_BYTES = 1024 * 1024
_NOT_SET = ("", "0", "false", "no", "off")
_MAX_NOTICES = 8
"""Of one file: a hostile one must not fill the screen."""


ChooseEndpoint: TypeAlias = Callable[
    [str | None, str | None, Mapping[str, str], Mapping[str, Origin]], tuple[Endpoint, str]
]


class _Layer(NamedTuple):
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
    trust: bool = False,
    worktree_of: Path | None = None,
    is_hermetic: bool = False,
) -> ForgeConfig:
    """Return the settings for a session in `path` (default: the current folder).

    `flags` holds what the command line set, by the name of the setting; None counts as not set.
    `choose_endpoint` returns the endpoint and the model's id for base_url, model, environment and origins
    (`llm.choice`). With `trust` the folder is trusted this once, whatever the user decided about it. If it
    is a worktree of the folder `worktree_of`, what the user decided about that one holds in it. With
    `is_hermetic` the user's own file does not count, nor what they decided about the folder.

    Raises:
        WorkspaceError: the folder is missing, is a file, or cannot be used.
        ConfigError: a flag or an environment variable holds something unusable.
    """
    environ = os.environ if environ is None else environ
    root = check_workspace(Path.cwd() if path is None else Path(path), needs_write=needs_write)
    notices: list[str] = []
    folders = () if is_hermetic else (root, worktree_of)
    decided, counts_whole = _decisions(state_dir(environ), folders, notices)
    is_trusted = trust or bool(decided.trusted)
    project = read_project_settings(root, notices, is_trusted=is_trusted)
    if worktree_of is not None and is_trusted and not (trust or counts_whole):
        project = _settings_of_worktree(project, worktree_of, notices)
    own = {} if is_hermetic else read_user_settings(config_dir(environ), notices)
    layers = [
        _Layer(Origin.USER, own),
        _Layer(Origin.PROJECT, {name: value for name, value in project.items() if name not in RULE_KINDS}),
        _Layer(Origin.ENVIRONMENT, _read_environment(environ)),
        _Layer(Origin.FLAG, _read_flags(flags or {})),
    ]
    values, origins = _merged(layers)
    saved = _saved_rules(decided, state_dir(environ), root, notices)
    endpoint, model = choose_endpoint(values.get("base_url"), values.pop("model", None), environ, origins)
    return ForgeConfig(
        working_dir=root,
        endpoint=endpoint,
        model=model,
        config_dir=config_dir(environ),
        state_dir=state_dir(environ),
        origins=origins,
        own_settings=own,
        notices=tuple(notices),
        is_trusted=is_trusted,
        trusts_this_run=trust,
        worktree_of=worktree_of,
        own_instructions=() if is_hermetic else _own_instructions(environ, values),
        own_extensions=() if is_hermetic or values.get("safe") else _own_extensions(environ),
        **saved,
        **{f"project_{name}": project.get(name, ()) for name in RULE_KINDS},
        **values,
    )


def config_dir(environ: Mapping[str, str]) -> Path:
    """Return the folder of `config.toml` and of the user's themes."""
    return _xdg_dir(environ, "config", "XDG_CONFIG_HOME", ".config")


def state_dir(environ: Mapping[str, str]) -> Path:
    """Return the folder of sessions, logs and saved command outputs."""
    return _xdg_dir(environ, "state", "XDG_STATE_HOME", ".local/state")


def read_user_settings(config_dir: Path, notices: list[str]) -> dict[str, Any]:
    """Return the checked settings of the user's own file; errors in it are added to `notices`."""
    return _read_file(config_dir / USER_FILE, tuple(SETTINGS), notices)


def _own_instructions(environ: Mapping[str, str], values: Mapping[str, Any]) -> tuple[Path, ...]:
    """Return the paths of the user's own instruction files."""
    own = config_dir(environ) / OWN_INSTRUCTIONS
    if not values.get("claude_instructions"):
        return (own,)
    return (own, Path(environ.get("HOME") or Path.home()) / ".claude" / "CLAUDE.md")


def _own_extensions(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the user's own folders that may hold commands, skills, agents and styles."""
    home = Path(environ.get("HOME") or Path.home())
    return (config_dir(environ), home / ".agents", home / ".claude")


def _xdg_dir(environ: Mapping[str, str], kind: str, variable: str, fallback: str) -> Path:
    """Return a folder of Forge: in `FORGE_HOME` if set, else in the XDG base directory.

    Source: https://specifications.freedesktop.org/basedir-spec/latest/
    """
    if own := environ.get("FORGE_HOME"):
        return Path(own).expanduser().absolute() / kind
    base = environ.get(variable, "")
    # The specification says that a relative path in the variable must be ignored.
    root = Path(base) if base.startswith("/") else Path(environ.get("HOME") or Path.home()) / fallback
    return root / "forge"


def read_project_settings(root: Path, notices: list[str], *, is_trusted: bool) -> dict[str, Any]:
    """Return the checked settings of the folder's own file that apply now; errors in it are added to
    `notices`. Settings that wait for the user's trust are left out silently: the trust question names
    them."""
    allowed = [name for name, setting in SETTINGS.items() if setting.project != "never"]
    values = _read_file(root / PROJECT_FILE, allowed, notices)
    return {name: value for name, value in values.items() if is_trusted or SETTINGS[name].project == "always"}


def _decisions(
    state_dir: Path, folders: Sequence[Path | None], notices: list[str]
) -> tuple[ProjectState, bool]:
    """Return what the user decided about a folder, and about the one that follows it: that from which it was
    made as a worktree. And whether the user trusts the first by a decision of its own."""
    states = [ProjectState(), ProjectState()]
    for number, folder in enumerate(folders):
        if folder is not None:
            states[number], problem = read_project_state(state_dir, folder)
            notices += [problem] if problem else []
    own, shared = states
    rules = {kind: (*getattr(shared, kind), *getattr(own, kind)) for kind in RULE_KINDS}
    together = ProjectState(
        trusted=shared.trusted if own.trusted is None else own.trusted,
        **{kind: tuple(dict.fromkeys(both)) for kind, both in rules.items()},
        written=(*shared.written, *own.written),
        scripts={**shared.scripts, **own.scripts},
    )
    return together, bool(own.trusted)


def _settings_of_worktree(
    project: Mapping[str, Any], worktree_of: Path, notices: list[str]
) -> dict[str, Any]:
    """Return the settings of a worktree's own file that apply: those that act only where the file of the
    folder that the user trusts says the same, as a commit or an old branch may bring others. What that one
    denies, or asks for, holds here too."""
    shared = read_project_settings(worktree_of, [], is_trusted=True)
    differing = [
        name
        for name, value in project.items()
        if SETTINGS[name].project != "always" and value != shared.get(name)
    ]
    if differing:
        notices.append(
            f"{PROJECT_FILE} in this worktree is not that of {str(worktree_of)!r}: its settings "
            f"{', '.join(differing)} are ignored. /trust yes or --trust applies them."
        )
    kept = {name: value for name, value in project.items() if name not in differing}
    return kept | {name: shared[name] for name in ("ask", "deny") if name in shared}


def _saved_rules(decided: ProjectState, state_dir: Path, root: Path, notices: list[str]) -> dict[str, Any]:
    """Return the rules that the user saved, without those that cannot be read."""
    rules = {kind: list(getattr(decided, kind)) for kind in RULE_KINDS if getattr(decided, kind)}
    if not rules:
        return {}
    path = state_file(state_dir, root)
    saved = {f"saved_{kind}": _checked(path, kind, given, notices)[kind] for kind, given in rules.items()}
    return {**saved, "saved_scripts": decided.scripts, "saved_written": decided.written}


def _merged(layers: Sequence[_Layer]) -> tuple[dict[str, Any], dict[str, Origin]]:
    """Return each setting from its strongest source (lists: from all), and where it came from."""
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = {}
    for layer in layers:
        for name, value in layer.values.items():
            values[name] = (*values.get(name, ()), *value) if SETTINGS[name].is_list else value
            origins[name] = layer.origin
    return values, origins


def check_workspace(path: Path, *, needs_write: bool = False) -> Path:
    """Return the folder as an absolute, resolved path.

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
        raw = _toml(path)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        notices.append(f"The settings in {str(path)!r} were not read: {error}.")
        return {}
    values: dict[str, Any] = {}
    wrong: list[str] = []
    for name, value in flattened(raw):
        field = name.replace("-", "_")
        if field not in SETTINGS:
            wrong.append(f"{str(path)!r} has an unknown setting {name[:80]!r}; it was ignored.")
        elif field not in allowed:
            wrong.append(f"{str(path)!r} may not set {name!r}: only the user may set it. It was ignored.")
        else:
            values |= _checked(path, field, value, wrong)
    notices += wrong[:_MAX_NOTICES]
    if len(wrong) > _MAX_NOTICES:
        notices.append(f"{str(path)!r} has {len(wrong) - _MAX_NOTICES} more settings that were ignored.")
    return values


def flattened(raw: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the settings of a file by their names: `day` in the table `[budget]` is `budget_day`."""
    for name, value in raw.items():
        if name in TABLES and isinstance(value, dict):
            yield from ((f"{name}_{key}", inner) for key, inner in value.items())
        else:
            yield name, value


def _toml(path: Path) -> dict[str, Any]:
    """Return the settings of a small regular file. Raise OSError or ValueError; never block, even on a
    FIFO."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is no regular file")
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ValueError("it is larger than 1 MB")
    return tomllib.loads(data.decode("utf-8-sig"))


def _checked(path: Path, field: str, value: Any, notices: list[str]) -> dict[str, Any]:
    """Return the setting if it is valid. Each element of a list is checked by itself: an invalid one must not
    discard a deny rule beside it."""
    single = not SETTINGS[field].is_list or not isinstance(value, list)
    good: list[Any] = []
    for one in [value] if single else [[one] for one in value]:
        try:
            good.append(check_value(field, one))
        except ConfigError as error:
            notices.append(f"{str(path)!r}: {error} It was ignored.")
    if single:
        return {field: good[0]} if good else {}
    return {field: tuple(rule for rules in good for rule in rules)}


def _read_flags(flags: Mapping[str, Any]) -> dict[str, Any]:
    if unknown := sorted(flags.keys() - SETTINGS.keys()):
        raise ConfigError(f"There is no setting {unknown[0]!r}. The settings are: {', '.join(SETTINGS)}.")
    given = {name: value for name, value in flags.items() if value is not None}
    return {name: check_value(name, value, from_option=True) for name, value in given.items()}


def _read_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, field in SETTINGS.items():
        if field.variable and (text := environ.get(field.variable)):
            try:
                values[name] = check_value(name, text)
            except ConfigError as error:
                raise ConfigError(f"{field.variable}: {error}") from error
    if environ.get(ACCESSIBLE, "").strip().lower() not in _NOT_SET:
        values = {**dict.fromkeys(ACCESSIBLE_SETTINGS, True), **values}
    return values
