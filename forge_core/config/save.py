"""Saving choices made in the app: settings in the user's own file, whose comments and order are preserved,
and rules for one folder in the user's state directory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from forge_core.config.load import USER_FILE
from forge_core.config.project_state import (
    RULE_KINDS,
    ProjectState,
    RuleKind,
    Scripts,
    change_project_state,
    replace_file,
)
from forge_core.config.settings import SETTINGS, check_value
from forge_core.errors import ConfigError
from forge_core.private_folders import make_private_folder


def save_user_setting(config_dir: Path, name: str, value: str | Sequence[str]) -> Path:
    """Set `name` in the user's `config.toml`, which is replaced as a whole or not at all. Returns its path.

    Raises:
        ConfigError: the value is unusable, or the file is broken or cannot be written; nothing is lost then.
    """
    checked = check_value(name, list(value) if SETTINGS[name].is_list else value)
    if isinstance(checked, tuple):
        plain: Any = list(checked)
    else:
        plain = checked if type(checked) in (bool, int, float) else str(checked)

    def change(document: Any) -> None:
        table, key = _place(document, name)
        table[key] = plain

    return _change_user_file(config_dir, name, change)


def unset_user_setting(config_dir: Path, name: str) -> bool:
    """Remove `name` from the user's `config.toml`; return whether it was there.

    Raises:
        ConfigError: the file is broken or cannot be written; nothing is lost then.
    """
    found = False

    def change(document: Any) -> None:
        nonlocal found
        table, key = _place(document, name)
        found = table.pop(key, None) is not None

    if (config_dir / USER_FILE).exists():
        _change_user_file(config_dir, name, change)
    return found


def _place(document: Any, name: str) -> tuple[Any, str]:
    """Return the table of the file that holds a setting, made if need be, and its key there."""
    table = SETTINGS[name].table
    if table is None or name in document:
        return document, name
    found = document.setdefault(table, {})
    return (found, name.removeprefix(f"{table}_")) if isinstance(found, dict) else (document, name)


def _change_user_file(config_dir: Path, name: str, change: Callable[[Any], None]) -> Path:
    import tomlkit  # keeps a hand-written file's comments; loaded only when something is saved
    from tomlkit.exceptions import TOMLKitError

    path = config_dir / USER_FILE
    try:
        text = path.read_text(encoding="utf-8-sig") if path.exists() else ""
        document = tomlkit.parse(text)
        change(document)
        make_private_folder(path.parent)
        replace_file(path.resolve(), tomlkit.dumps(document))  # a symlinked dotfile stays a symlink
    except TOMLKitError as error:
        raise ConfigError(
            f"{name} was not saved: {str(path)!r} is not valid TOML ({error}). Repair it first."
        ) from error
    except OSError as error:
        raise ConfigError(
            f"{name} was not saved: {str(path)!r} cannot be written ({error.strerror})."
        ) from error
    return path


def save_project_rule(
    state_dir: Path,
    root: Path,
    rule: str,
    kind: RuleKind = "allow",
    *,
    scripts: Scripts = (),
    is_written: bool = False,
) -> None:
    """Save a rule for the folder `root`, with the scripts that it is bound to, and whether the user wrote it
    rather than granted it in a prompt. Raise ConfigError when the file cannot be read or written."""
    check_value(kind, [rule])

    def add(state: ProjectState) -> ProjectState:
        added = _with(state, kind, dict.fromkeys((*getattr(state, kind), rule)))
        if kind != "allow":
            return added
        written = tuple(dict.fromkeys((*state.written, rule))) if is_written else state.written
        return replace(_bound(added, rule, scripts), written=written)

    change_project_state(state_dir, root, add)


def forget_project_rule(
    state_dir: Path, root: Path, rule: str, kinds: Iterable[RuleKind] = RULE_KINDS
) -> None:
    """Remove a saved rule of these kinds from the folder. Raise ConfigError when the file cannot be read or
    written."""

    def drop(state: ProjectState) -> ProjectState:
        for kind in kinds:
            state = _with(state, kind, (one for one in getattr(state, kind) if one != rule))
        if rule in state.allow:
            return state
        return replace(_bound(state, rule, ()), written=tuple(one for one in state.written if one != rule))

    change_project_state(state_dir, root, drop)


def _bound(state: ProjectState, rule: str, scripts: Scripts) -> ProjectState:
    others = {one: bound for one, bound in state.scripts.items() if one != rule}
    return replace(state, scripts=others | ({rule: scripts} if scripts else {}))


def _with(state: ProjectState, kind: RuleKind, rules: Iterable[str]) -> ProjectState:
    changed: dict[str, Any] = {kind: tuple(rules)}
    return replace(state, **changed)
