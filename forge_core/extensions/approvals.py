"""The user's approval of programs that files declare, bound to what the user has seen.

An approval counts for a program of a folder as long as its entry, and every file inside the folder that its
words name, are the same. It is stored in the user's state, by the folder's real path, where the repository
cannot change it. What such a file runs in turn is not covered.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from forge_core.config.project_state import locked, record_of, replace_file
from forge_core.errors import ConfigError
from forge_core.extensions.program_files import named_files, read_named_file
from forge_core.private_folders import make_private_folder
from forge_core.workspace.beneath import open_file

_VERSION = 1
_FOLDER = "approvals"
_MAX_BYTES = 8_000_000
_MAX_TEXT = 20_000
"""Characters of a file that are kept to show later what has changed in it."""
_MAX_DIFF_LINES = 40


class ProgramKind(StrEnum):
    HOOK = "hook"
    SERVER = "server"
    """An MCP server."""


class ApprovalState(StrEnum):
    APPROVED = "approved"
    NEW = "new"
    """The user was not asked yet."""
    CHANGED = "changed"
    """It is another one than that about which the user decided."""
    DECLINED = "declined"


@dataclass(frozen=True, slots=True)
class DeclaredProgram:
    """A program that a file declares. All text in it is untrusted."""

    kind: ProgramKind
    name: str
    """Unique among those of its kind in its folder."""
    folder: Path
    """The folder whose file declares it."""
    entry: Mapping[str, Any]
    """What the file says about it, as JSON."""
    words: tuple[str, ...]
    """What in its command line may name files: patterns of `glob`."""


@dataclass(frozen=True, slots=True)
class SeenProgram:
    """A program as it is, or was, at one moment."""

    entry: Mapping[str, Any]
    files: Mapping[str, str]
    """Path, relative to the folder → what `read_named_file` returns of the file."""
    texts: Mapping[str, str] = field(default_factory=dict, compare=False)
    """The contents of those files that are short texts."""

    @property
    def digest(self) -> str:
        """sha256 of the canonical JSON of entry and files, in hex."""
        content = {"entry": self.entry, "files": dict(self.files)}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @classmethod
    def of(cls, program: DeclaredProgram) -> SeenProgram:
        """Return the program as it is now. Blocks while it reads its files.

        Raises:
            UncheckableError: it names too many files.
        """
        files, texts = {}, {}
        for path in named_files(program.words, program.folder):
            name = os.path.relpath(path, program.folder)
            files[name], data = read_named_file(path)
            if data and len(data) <= _MAX_TEXT and b"\0" not in data:
                texts[name] = data.decode("utf-8", "replace")
        return cls(program.entry, files, texts)

    def differences(self, before: SeenProgram) -> tuple[str, ...]:
        """Return what has changed since, as lines. They are untrusted."""
        lines = []
        for key in dict.fromkeys((*before.entry, *self.entry)):
            if (old := before.entry.get(key)) != (new := self.entry.get(key)):
                lines.append(f"{key} was {_shown(old)}, is {_shown(new)}")
        for name in sorted({*before.files, *self.files}):
            if before.files.get(name) != self.files.get(name):
                lines += self._difference_in(name, before)
        return tuple(lines)

    def _difference_in(self, name: str, before: SeenProgram) -> list[str]:
        if name not in self.files:
            return [f"{name} is gone"]
        if name not in before.files:
            return [f"{name} is new"]
        old, new = before.texts.get(name), self.texts.get(name)
        if old is None or new is None:
            return [f"{name} has changed"]
        rows = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=1))[2:]
        more = [f"… {len(rows) - _MAX_DIFF_LINES} more lines"] if len(rows) > _MAX_DIFF_LINES else []
        return [f"{name} has changed:", *rows[:_MAX_DIFF_LINES], *more]


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a program may run, and what the user would be shown of it."""

    state: ApprovalState
    seen: SeenProgram
    """The program as it is now."""
    differences: tuple[str, ...] = ()
    """What has changed since the user decided; untrusted."""
    at: int | None = None
    """When the user decided about it as it is now, in seconds since the epoch; None where they did not."""

    @property
    def waits(self) -> bool:
        """Whether the user has to be asked."""
        return self.state in (ApprovalState.NEW, ApprovalState.CHANGED)

    def change_in(self, program: DeclaredProgram) -> str:
        """Return how the program differs now from what was judged, as a clause; empty if it does not. Blocks
        while it reads its files.

        Raises:
            UncheckableError: it names too many files.
        """
        now = SeenProgram.of(program)
        if now.digest == self.seen.digest:
            return ""
        return next(iter(now.differences(self.seen)), "it has changed").rstrip(":")


@dataclass(frozen=True, slots=True)
class WaitingProgram:
    """A program that waits for the user's decision, as it is shown. All text in it is untrusted."""

    folder: Path
    name: str
    digest: str
    """Of `SeenProgram`: a decision counts for the program of this folder, name and digest alone."""
    source: str
    """The file that declares it."""
    command_line: str
    occasion: str
    """When it runs: "PreToolUse, Bash"."""
    differences: tuple[str, ...] = ()
    """What has changed since the user decided about it; empty for a new one."""
    details: tuple[str, ...] = ()
    """What else decides what it does: variables, its folder."""
    is_sandboxed: bool = False
    is_remote: bool = False
    """Whether it is a service at a URL, which is in the place of the command line."""

    @property
    def lines(self) -> list[str]:
        """What the user has to see before they decide; the first line is the command line."""
        about = f"{self.occasion}, in {self.source}"
        changes = ["Changed since you decided about it:", *self.differences] if self.differences else []
        # Other line ends are no line ends to a shell.
        return [*self.command_line.split("\n"), *self.details, about, *changes]


def how_they_run(programs: Sequence[WaitingProgram]) -> str:
    """Return what approval of all of these programs means."""
    if all(one.is_remote for one in programs):
        return "Forge starts nothing, but sends requests to the URL. If it changes, Forge asks again."
    where = {one.is_sandboxed for one in programs if not one.is_remote}
    if where == {True}:
        return "They run inside the sandbox. If one changes, Forge asks again."
    unless = " unless it says so" if True in where else ""
    return f"They run as you, outside the sandbox{unless}. If one changes, Forge asks again."


class ApprovalStore:
    """The user's decisions, stored in the state folder. Safe to use from several processes."""

    def __init__(self, state_dir: Path) -> None:
        self._folder = state_dir / _FOLDER

    def judge(self, program: DeclaredProgram) -> Judgement:
        """Return whether a program may run as it is now. Blocks while it reads its files. Raises
        UncheckableError."""
        seen = SeenProgram.of(program)
        record = self._records(program.folder).get(_key(program))
        if record is None:
            return Judgement(ApprovalState.NEW, seen)
        if record.get("digest") != seen.digest:
            entry = record.get("entry")
            before = SeenProgram(
                entry if isinstance(entry, dict) else {},
                _texts(record.get("files")),
                _texts(record.get("texts")),
            )
            return Judgement(ApprovalState.CHANGED, seen, seen.differences(before))
        state = ApprovalState.APPROVED if record.get("approved") is True else ApprovalState.DECLINED
        at = record.get("at")
        return Judgement(state, seen, at=at if isinstance(at, int) else None)

    def decide(self, decisions: Iterable[tuple[DeclaredProgram, SeenProgram, bool]]) -> None:
        """Store decisions about programs as they were shown. Raises ConfigError when that fails."""
        by_folder: dict[Path, dict[str, Any]] = {}
        for program, seen, is_approved in decisions:
            by_folder.setdefault(program.folder, {})[_key(program)] = {
                "digest": seen.digest,
                "approved": is_approved,
                "at": round(time.time()),
                "entry": seen.entry,
                "files": dict(seen.files),
                "texts": dict(seen.texts),
            }
        for folder, records in by_folder.items():
            self._save(folder, records)

    def decide_shown(
        self,
        waiting: Iterable[tuple[DeclaredProgram, Judgement]],
        shown: Sequence[WaitingProgram],
        approved: Collection[int],
    ) -> list[DeclaredProgram]:
        """Store the decision about each program that was shown and still waits as it was: it is approved if
        its index in `shown` is given. Return the approved ones. Raises ConfigError when that fails."""
        decided = {(one.folder, one.name, one.digest): at in approved for at, one in enumerate(shown)}
        found = [
            (program, judgement.seen, decided.get((program.folder, program.name, judgement.seen.digest)))
            for program, judgement in waiting
        ]
        self.decide((program, seen, yes) for program, seen, yes in found if yes is not None)
        return [program for program, _, yes in found if yes]

    def forget(self, program: DeclaredProgram) -> bool:
        """Remove the decision about a program, so that the user is asked again; return whether there was one.
        Raises ConfigError when that fails."""
        if _key(program) not in self._records(program.folder):
            return False
        self._save(program.folder, {_key(program): None})
        return True

    def _save(self, folder: Path, records: Mapping[str, Any]) -> None:
        """Replace these records of a folder; None removes one."""
        path = record_of(folder, self._folder)
        try:
            make_private_folder(path.parent)
            with locked(path.parent / "lock"):
                programs = {**self._records(folder), **records}
                content = {
                    "v": _VERSION,
                    "folder": os.path.realpath(folder),
                    "programs": {key: one for key, one in programs.items() if one is not None},
                }
                replace_file(path, json.dumps(content, indent=1) + "\n")
        except OSError as error:
            raise ConfigError(
                f"The approval was not saved: {str(path)!r} cannot be written ({error.strerror or error})."
            ) from error

    def _records(self, folder: Path) -> dict[str, Any]:
        """Return the records of a folder; none where they cannot be read: nothing is approved then."""
        try:
            with open_file(record_of(folder, self._folder)) as file:
                content = json.loads(file.read(_MAX_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        if not isinstance(content, dict) or content.get("folder") != os.path.realpath(folder):
            return {}
        records = content.get("programs")
        if not isinstance(records, dict) or not all(isinstance(one, dict) for one in records.values()):
            return {}
        return records


def _key(program: DeclaredProgram) -> str:
    return f"{program.kind} {program.name}"


def _texts(value: object) -> dict[str, str]:
    """Return the texts of a JSON object; the record may be damaged."""
    items = value.items() if isinstance(value, dict) else ()
    return {name: one for name, one in items if isinstance(one, str)}


def _shown(value: object) -> str:
    return "not set" if value is None else json.dumps(value, ensure_ascii=False)
