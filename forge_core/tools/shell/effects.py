"""The effects of a command on files: those that the model has read, and those that undo cannot restore."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path

from forge_core.permissions.read_only.read_only_commands import is_read_only
from forge_core.permissions.tool_files import acting_program
from forge_core.tools.base import ExecutionContext
from forge_core.tools.editing.text import sha256
from forge_core.tools.effect_analysis.command_lines import expected_effects
from forge_core.tools.paths import MAX_TEXT_BYTES, display_path
from forge_core.undo.expected_effects import ExpectedEffects
from forge_core.undo.git_programs import STEERING_FILES
from forge_core.undo.report import CommandEffects
from forge_core.workspace.folders import WorkspaceFolders

_MAX_WATCHED = 2_000
_MAX_NAMED = 20

_IN_GIT = re.compile(
    r"(?P<repository>(?:.*?/)?\.git)/"
    rf"(?:(?P<steers>{'|'.join(map(re.escape, STEERING_FILES))}|hooks/[^/]*)|.*)",
    re.DOTALL,
)
"""A path in a `.git` folder; `steers` those that make git run programs."""
_Stamp = tuple[int, int, int]


class EffectsWatch:
    """Compares files before and after a command, unless the command is known only to read."""

    def __init__(self, command: str, context: ExecutionContext) -> None:
        self._context = context
        self._command = command
        self.may_write = not is_read_only(command, context.folders)
        """False for a command that plainly only reads. The sandbox then makes the workspace read-only as
        well."""
        self._stamps: dict[str, _Stamp | None] = {}
        self._before: object = None
        self._expected: ExpectedEffects | None = None
        self.planted: list[str] = []
        """The notes about what other programs will act on, in the last call."""
        self._lock = asyncio.Lock()
        self._is_open = False

    async def begin(self) -> None:
        """Note the state of files before the command runs."""
        if not self.may_write:
            return
        self._is_open = True
        paths = [*self._context.files][-_MAX_WATCHED:]
        self._stamps = await asyncio.to_thread(lambda: {path: _stamp(path) for path in paths})
        if self._context.before_images is not None:
            if self._expected is None:
                expected = await asyncio.to_thread(_expected, self._command, self._context.folders)
                self._expected = replace(
                    expected,
                    is_confined=self._context.sandbox is not None,
                    owns_new=lambda path: bool(acting_program(path)),
                )
            self._before = await self._context.before_images.before_command(self._expected, self._before)

    async def so_far(self) -> list[str]:
        """Return notes for the model about what has changed since the start or the last call.

        Watching continues unless it has ended; from now on the command is a job, which runs while the user
        works.
        """
        async with self._lock:
            if self._expected is not None:
                self._expected = replace(self._expected, is_job=True)
            notes = await self._notes(goes_on=True)
            if self._is_open:
                await self.begin()
            return notes

    async def end(self, exit_status: int | None = None) -> list[str]:
        """Return notes about what has changed since the last call, and stop watching.

        `exit_status` is that of the shell, where it is known.
        """
        async with self._lock:
            notes = await self._notes(exit_status=exit_status)
            self._is_open = False
            return notes

    async def _notes(self, *, goes_on: bool = False, exit_status: int | None = None) -> list[str]:
        if not self._is_open:
            return []
        notes: list[str] = []
        changed = await asyncio.to_thread(_changed, self._stamps, self._context)
        if changed:
            notes.append(f"[changed by the command, read again before editing: {_named(changed)}]")
        if self._context.before_images is not None:
            effects = await self._context.before_images.after_command(
                self._before, goes_on=goes_on, exit_status=exit_status
            )
            self.planted = _planted(effects)
            notes += self.planted
            if effects.not_undoable:
                notes.append(f"[/undo cannot bring back: {_named(list(effects.not_undoable))}]")
            if effects.doubtful:
                names = _named(list(effects.doubtful))
                notes.append(f"[changed while the command ran, but may be the user's own edits: {names}]")
        return notes


def _expected(command: str, folders: WorkspaceFolders) -> ExpectedEffects:
    """Return the expected effects of the line; none where a script or folder cannot be read."""
    try:
        return expected_effects(command, folders.main, added=folders.added)
    except (OSError, ValueError, RecursionError):
        return ExpectedEffects(command)


def _planted(effects: CommandEffects) -> list[str]:
    """Return notes about what other programs will act on without being asked."""
    found: dict[str, str] = {}
    for path in effects.changed:
        in_git = _IN_GIT.fullmatch(path)
        if in_git is not None and (in_git["repository"] in effects.changed or not in_git["steers"]):
            continue
        if program := acting_program(path.rstrip("/")):
            found[path] = program
    found.update(dict.fromkeys(effects.repositories, "a bare git repository"))
    found.update(dict.fromkeys(effects.git_links, "a link in git's index"))
    notes: list[str] = []
    if found:
        names = _named([f"{path} ({program})" for path, program in sorted(found.items())])
        notes.append(f"[created or changed, and other programs act on them without being asked: {names}]")
    if effects.unprivileged:
        notes.append(f"[the setuid or setgid bit was removed: {_named(list(effects.unprivileged))}]")
    return notes


def _named(names: list[str]) -> str:
    more = [f"{len(names) - _MAX_NAMED} more"] if len(names) > _MAX_NAMED else []
    return ", ".join(names[:_MAX_NAMED] + more)


def _stamp(path: str) -> _Stamp | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _changed(before: dict[str, _Stamp | None], context: ExecutionContext) -> list[str]:
    """Return the files whose content is no longer what the model has read, as far as the command changed
    them."""
    names: list[str] = []
    for path, stamp in before.items():
        now = _stamp(path)
        if now == stamp:
            continue
        if now is None:
            names.append(f"{display_path(Path(path), context)} (deleted)")
        elif now[1] > MAX_TEXT_BYTES or _hash(path) != context.files.get(path):
            names.append(display_path(Path(path), context))
    return names


def _hash(path: str) -> str:
    """Return the hash of a file; empty when it cannot be read."""
    try:
        return sha256(Path(path).read_bytes())
    except OSError:
        return ""
