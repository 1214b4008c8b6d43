"""The user's decisions about a folder: whether it is trusted, and which rules were saved for it.

They are kept in the user's state directory, one small file per folder, named after the folder's real path,
and never in the folder itself: a repository must not be able to vouch for itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from forge_core.errors import ConfigError
from forge_core.private_folders import make_private_folder

VERSION = 1
RuleKind: TypeAlias = Literal["allow", "ask", "deny"]
RULE_KINDS: tuple[RuleKind, ...] = ("allow", "ask", "deny")
Scripts: TypeAlias = tuple[tuple[str, str], ...]
"""What a rule is bound to: paths, relative to the folder where they are inside it, each with the hash of the
file; of a tool of an MCP server, its parts (`ServerTool.seen`)."""
ABSENT = "absent"
"""The value in place of the hash where there is no file."""
_FOLDER = "projects"
_MAX_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ProjectState:
    """The decisions about one folder."""

    trusted: bool | None = None
    """None: not asked yet."""
    allow: tuple[str, ...] = ()
    """Rules `tool(pattern)` that were allowed for good, and those of the next two kinds."""
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    """The rules of `allow` that the user wrote; the others were granted in a prompt."""
    scripts: Mapping[str, Scripts] = field(default_factory=dict)
    """Allow rule → the scripts that its line named when it was allowed."""


def record_of(root: Path, records: Path) -> Path:
    """Return the file about the folder `root` in the folder `records`, named after the real path of `root`.
    Raises OSError when that is unknown."""
    import hashlib  # here: most starts come before anything was ever decided, and need no hash

    return records / f"{hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:32]}.json"


def state_file(state_dir: Path, root: Path) -> Path:
    """Return the file with the decisions about `root`. Raises OSError when its real path is unknown."""
    return record_of(root, state_dir / _FOLDER)


def read_project_state(state_dir: Path, root: Path) -> tuple[ProjectState, str | None]:
    """Return the decisions, and why they could not be read: nothing is trusted or allowed then."""
    if not (state_dir / _FOLDER).is_dir():
        return ProjectState(), None
    path = state_file(state_dir, root)
    try:
        return _parsed(_read(path), root), None
    except FileNotFoundError:
        return ProjectState(), None
    except (OSError, ValueError) as error:
        return ProjectState(), (
            f"What you decided about this folder, in {str(path)!r}, cannot be read ({error}). It counts as "
            "not decided; the file stays as it is until the next decision, which sets it aside."
        )


def change_project_state(
    state_dir: Path, root: Path, change: Callable[[ProjectState], ProjectState]
) -> ProjectState:
    """Apply `change` to the saved decisions and save them; several writers see each other's changes.

    A file that cannot be read is set aside under another name, never overwritten.

    Raises:
        ConfigError: it cannot be written; what was kept is still there.
    """
    import json

    path = state_file(state_dir, root)
    try:
        make_private_folder(path.parent)
        with locked(path.parent / "lock"):
            raw = _kept(path, root)
            changed = change(_parsed(raw, root))
            text = json.dumps({**raw, **_record(changed, root)}, indent=1, ensure_ascii=True) + "\n"
            if len(text) > _MAX_BYTES:
                raise ConfigError(
                    f"The decision was not saved: {str(path)!r} would grow over {_MAX_BYTES:,} bytes. Remove "
                    "rules that are no longer needed with /permissions remove."
                )
            replace_file(path, text)
    except OSError as error:
        raise ConfigError(
            f"The decision was not saved: {str(path)!r} cannot be written ({error.strerror or error}). It "
            "holds for this session only."
        ) from error
    return changed


def _record(state: ProjectState, root: Path) -> dict[str, Any]:
    record: dict[str, Any] = {"v": VERSION, "path": os.path.realpath(root), "trusted": state.trusted}
    for kind in RULE_KINDS:
        record[kind] = list(getattr(state, kind))
    record["written"] = list(state.written)
    record["scripts"] = {rule: dict(scripts) for rule, scripts in state.scripts.items()}
    return record


def _read(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    import json  # here: the first frame waits for nothing that a start without decisions does not need

    if len(data) > _MAX_BYTES:
        raise ValueError("it is too large")
    try:
        raw = json.loads(data)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(raw, dict):
        raise ValueError("it is no JSON object")
    return raw


def _parsed(raw: Mapping[str, Any], root: Path) -> ProjectState:
    """Parse the file's content. Raises ValueError when any value is invalid: half of it must not apply."""
    if not raw:
        return ProjectState()
    trusted = raw.get("trusted")
    if raw.get("path") != os.path.realpath(root):
        raise ValueError(f"it is about another folder, {raw.get('path')!r}")
    if not (trusted is None or isinstance(trusted, bool)):
        raise ValueError(f"trusted is {trusted!r}")
    rules = {kind: _rules(raw.get(kind, []), kind) for kind in RULE_KINDS}
    written = _rules(raw.get("written", []), "written")
    return ProjectState(trusted, **rules, written=written, scripts=_scripts(raw.get("scripts", {})))


def _rules(value: object, kind: str) -> tuple[str, ...]:
    """Return a list of rules as a tuple. Raise ValueError for anything but a list of strings."""
    if not isinstance(value, list) or not all(isinstance(rule, str) for rule in value):
        raise ValueError(f"{kind} is no list of rules")
    return tuple(value)


def _scripts(value: object) -> dict[str, Scripts]:
    """Return the scripts of each rule. Raise ValueError for anything but hashes by path by rule: a rule must
    not lose its condition."""
    if not isinstance(value, dict) or not all(isinstance(one, dict) for one in value.values()):
        raise ValueError("scripts is no object of objects")
    if not all(isinstance(digest, str) for one in value.values() for digest in one.values()):
        raise ValueError("scripts holds a hash that is no text")
    return {rule: tuple(sorted(one.items())) for rule, one in value.items()}


def _kept(path: Path, root: Path) -> dict[str, Any]:
    """Return the content of the file; empty when there is none, or when it was unusable and had to be set
    aside."""
    try:
        raw = _read(path)
        _parsed(raw, root)
    except FileNotFoundError:
        return {}
    except ValueError:
        _set_aside(path)
        return {}
    return raw


def _set_aside(path: Path) -> None:
    number = 1
    while True:
        aside = path.with_name(f"{path.name}.unreadable-{number}")
        try:
            os.link(path, aside)
        except FileExistsError:
            number += 1
            continue
        path.unlink()
        return


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on a file, which is created if it is missing."""
    import fcntl

    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def replace_file(path: Path, text: str) -> None:
    """Write `text` to a private file in the place of `path`: readers see the old content or the new."""
    import tempfile  # here: importing it delays the first frame

    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
