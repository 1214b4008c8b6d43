"""The definitions of a project that the user has accepted, by their contents.

Trusting a folder accepts the files that are in it then. One that comes or changes later, by `git pull` or
because the model wrote it, is left out until the user has been shown it and accepts it. Contents that were
accepted once stay so: another branch and back asks nothing. The record is in the user's state, where the
repository cannot change it.
"""

from __future__ import annotations

import difflib
import json
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from forge_core.config.forge_config import ForgeConfig
from forge_core.config.project_state import locked, record_of, replace_file
from forge_core.errors import ConfigError
from forge_core.extensions.definitions import Definition
from forge_core.extensions.locations import ExtensionScope
from forge_core.private_folders import make_private_folder
from forge_core.sanitize import safe_line
from forge_core.workspace.trust import TrustStore

_VERSION = 1
_FOLDER = "accepted"
_MAX_BYTES = 16_000_000
_MAX_CONTENTS = 8
"""Accepted contents of one file that are remembered, the latest ones."""
_MAX_TEXT = 20_000
"""Characters of a text that is kept, to show later what has changed in it."""
_MAX_TEXTS = 1_000_000
"""Characters of all such texts."""
_MAX_DIFFERENCES = 12
_LINE_CHARS = 160


@dataclass(frozen=True, slots=True)
class PendingDefinition:
    """A definition of the project that is left out until the user accepts it."""

    definition: Definition
    is_new: bool
    """Whether no other contents of this file were accepted before."""
    differences: tuple[str, ...] = ()
    """Lines that begin with "-" or "+"; safe to display. Empty where the accepted text is not known."""


@dataclass(frozen=True, slots=True)
class _Entry:
    digests: tuple[str, ...]
    """The latest is the last."""
    at: int
    """When the latest was accepted, in seconds since the epoch."""
    text: str | None = None
    """The latest text, if it was kept."""


class AcceptedDefinitions:
    """What the user has accepted of one project. Blocks while it reads and writes its record."""

    def __init__(
        self,
        working_dir: Path,
        path: Path | None,
        entries: Mapping[str, _Entry],
        *,
        accepts_all: bool = False,
        problem: str = "",
        decided: Path | None = None,
    ) -> None:
        """`path` is that of the record; None: nothing is kept beyond this session. `decided` is the folder
        that the record is about, by default `working_dir`."""
        self.problem = problem
        """Why the record could not be used, as a sentence; empty if it could."""
        self.accepts_all = accepts_all
        """Whether all that is found next is to be accepted: trust was given for what is there now."""
        self._working_dir = working_dir
        self._decided = decided or working_dir
        self._path = path
        self._entries = dict(entries)

    @classmethod
    def load(cls, config: ForgeConfig) -> Self:
        """Return what was accepted in the folder of a session, in a worktree that in the folder from which
        it was made. With `--trust`, for one run, everything is."""
        root, trusted = config.working_dir, TrustStore(config.state_dir)
        decided = next(
            (one for one in (root, config.worktree_of) if one and trusted.decision(one) is True), None
        )
        if decided is None or config.trusts_this_run:
            return cls(root, None, {}, accepts_all=True)
        path = record_file(config.state_dir, decided)
        try:
            return cls(root, path, _parsed(path, decided), decided=decided)
        except (FileNotFoundError, NotADirectoryError):
            return cls(root, path, {}, accepts_all=decided == root, decided=decided)
        except (OSError, ValueError, RecursionError) as error:
            problem = f"What you accepted in this folder, in {str(path)!r}, cannot be read ({error})."
            return cls(root, path, {}, problem=problem, decided=decided)

    def accepts(self, one: Definition) -> bool:
        """Return whether a definition counts. The user's own always do."""
        if one.scope is not ExtensionScope.PROJECT:
            return True
        entry = self._entries.get(self._key(one))
        return entry is not None and one.digest in entry.digests

    def accepted_at(self, one: Definition) -> int | None:
        """Return when this content was accepted, in seconds since the epoch; None where that is not known."""
        entry = self._entries.get(self._key(one))
        return entry.at if entry is not None and entry.digests[-1] == one.digest else None

    def pending(self, one: Definition) -> PendingDefinition:
        """Return what the user is to be shown of a definition that does not count."""
        entry = self._entries.get(self._key(one))
        if entry is None:
            return PendingDefinition(one, is_new=True)
        return PendingDefinition(one, is_new=False, differences=_differences(entry.text, one))

    def accept(self, definitions: Iterable[Definition]) -> None:
        """Accept these definitions as they were read; they count even if they cannot be recorded.

        Raises:
            ConfigError: the record cannot be written.
        """
        now = round(time.time())
        for one in definitions:
            if one.scope is ExtensionScope.PROJECT:
                known = self._entries.get(self._key(one))
                before = [digest for digest in known.digests if digest != one.digest] if known else []
                digests = (*before, one.digest)[-_MAX_CONTENTS:]
                text = _text_of(one)
                kept = text if len(text) <= _MAX_TEXT else None
                self._entries[self._key(one)] = _Entry(digests, now, kept)
        self.accepts_all = False
        if self._path is not None:
            self._save(self._path)

    def _key(self, one: Definition) -> str:
        return f"{one.kind} {os.path.relpath(one.path, self._working_dir)}"

    def _save(self, path: Path) -> None:
        try:
            make_private_folder(path.parent)
            with locked(path.parent / "lock"):
                self._add_saved(path)
                replace_file(path, json.dumps(self._record(), indent=1) + "\n")
        except OSError as error:
            raise ConfigError(
                f"What you accepted was not saved: {str(path)!r} cannot be written "
                f"({error.strerror or error}). It holds for this session only."
            ) from error

    def _add_saved(self, path: Path) -> None:
        """Keep what another session has saved meanwhile."""
        try:
            saved = _parsed(path, self._decided)
        except (OSError, ValueError, RecursionError):
            return
        for key, entry in saved.items():
            own = self._entries.get(key, entry)
            others = [digest for digest in entry.digests if digest not in own.digests]
            self._entries[key] = replace(own, digests=(*others, *own.digests)[-_MAX_CONTENTS:])

    def _record(self) -> dict[str, Any]:
        room = _MAX_TEXTS
        entries: dict[str, dict[str, Any]] = {}
        for key, entry in self._entries.items():
            entries[key] = {"digests": list(entry.digests), "at": entry.at}
            if entry.text is not None and (room := room - len(entry.text)) >= 0:
                entries[key]["text"] = entry.text
        return {"v": _VERSION, "folder": os.path.realpath(self._decided), "accepted": entries}


def record_file(state_dir: Path, root: Path) -> Path:
    """Return the file with what was accepted in a folder."""
    return record_of(root, state_dir / _FOLDER)


def forget_accepted(state_dir: Path, root: Path) -> None:
    """Forget what was accepted in a folder that is no longer trusted.

    Raises:
        ConfigError: the record cannot be removed.
    """
    path = record_file(state_dir, root)
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(
            "The folder is not trusted any more, but what you accepted in it is still recorded: "
            f"{str(path)!r} cannot be removed ({error.strerror or error})."
        ) from error


def _parsed(path: Path, root: Path) -> dict[str, _Entry]:
    with path.open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    raw = json.loads(data)
    entries = raw.get("accepted") if isinstance(raw, dict) else None
    if not isinstance(entries, dict) or raw.get("folder") != os.path.realpath(root):
        raise ValueError("it is about another folder, or damaged")
    return {str(key): _entry(one) for key, one in entries.items()}


def _entry(raw: object) -> _Entry:
    if not isinstance(raw, dict):
        raise ValueError("an entry is no JSON object")
    digests, text, at = raw.get("digests"), raw.get("text"), raw.get("at")
    if not isinstance(digests, list) or not digests or not all(isinstance(one, str) for one in digests):
        raise ValueError("an entry has no digests")
    return _Entry(tuple(digests), at if isinstance(at, int) else 0, text if isinstance(text, str) else None)


def _text_of(one: Definition) -> str:
    """Return the fields, one a line, and the body."""
    return "\n".join([*(f"{name}: {value}" for name, value in one.file.fields.items()), one.body])


def _differences(before: str | None, one: Definition) -> tuple[str, ...]:
    if before is None:
        return ()
    lines = before.splitlines(), _text_of(one).splitlines()
    headless = [*difflib.unified_diff(*lines, lineterm="", n=0)][2:]
    rows = [safe_line(row)[:_LINE_CHARS] for row in headless if not row.startswith("@")]
    more = len(rows) - _MAX_DIFFERENCES
    return (*rows[:_MAX_DIFFERENCES], *([f"… and {more} more lines"] if more > 0 else []))
