"""Restores recorded states, path by path.

First everything is checked; then files and folders are changed in an order that works whatever kind of entry
becomes which other.

A path is only touched while it holds exactly what the turn had left. One that already holds the wanted state
(an undo that was killed has restored it) counts as done, so a second attempt completes the first.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from forge_core.undo.file_state import ABSENT, EntryKind, FileChange, FileState
from forge_core.undo.report import Conflict
from forge_core.undo.storage.content_store import ContentStore
from forge_core.undo.storage.file_tree import FileTree, TooLargeError, stamp_of

_SYNCED_EACH = 100
_MAX_PLACEHOLDER_BYTES = 2
_IN_USE = "a running command depends on it; stop its job first (/jobs)"
_OPEN_MODE = 0o700
"""What a folder's owner needs to create and remove entries."""


@dataclass(slots=True)
class RestoreResult:
    """Which changes were made, and which paths were left alone."""

    done: list[FileChange] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    """The paths of those that were in the wanted state already."""
    conflicts: list[Conflict] = field(default_factory=list)


class Restorer:
    """Takes each path of some changes from `before` (which it has to hold now) to `after`."""

    def __init__(
        self,
        tree: FileTree,
        contents: ContentStore,
        changes: Iterable[FileChange],
        in_use: Collection[str] = (),
        placeholders: Collection[str] = (),
        ignored: frozenset[str] = frozenset(),
    ) -> None:
        """Prepare the changes.

        Args:
            tree: the files.
            contents: what the files held.
            changes: the changes to make.
            in_use: mount points of running sandboxes: they may be written into, never removed or replaced.
            placeholders: those of them that count as missing.
            ignored: entries that git ignores; folders end with a slash. A folder in which only these are left
                stays without a conflict.
        """
        self._tree = tree
        self._contents = contents
        self._in_use = in_use
        self._placeholders = placeholders
        self._ignored = ignored
        self._changes = sorted(changes, key=lambda change: change.path)
        self._stamps: dict[str, int] = {}
        self._fetched: dict[str, bytes] = {}
        self._outcome = RestoreResult()
        self._refused: set[str] = set()

    def run(self) -> RestoreResult:
        """Make the changes. A path that cannot be restored is a conflict, never an exception."""
        steps = self._plan()
        self._tree.syncs_each = len(steps) <= _SYNCED_EACH
        deepest_first = sorted(steps, key=lambda change: change.path.count("/"), reverse=True)
        # 1. Open folders that admit no change of their entries.
        for change in steps:
            if _is_closed_folder(change):
                self._attempt(change, self._open_folder, is_last=False)
        # 2. Remove files and links that make way for a folder, or for nothing.
        for change in deepest_first:
            if _is_leaf(change.before) and not _is_leaf(change.after):
                self._attempt(change, self._remove, is_last=change.after.kind is EntryKind.ABSENT)
        # 3. Remove folders, inner ones first: they are empty by now unless something else is in them.
        for change in deepest_first:
            if change.before.kind is EntryKind.FOLDER and change.after.kind is not EntryKind.FOLDER:
                self._attempt(change, self._remove_folder, is_last=change.after.kind is EntryKind.ABSENT)
        # 4. Create folders, outer ones first (`steps` is sorted by path).
        for change in steps:
            if change.before.kind is not EntryKind.FOLDER and change.after.kind is EntryKind.FOLDER:
                self._attempt(change, self._make_folder, is_last=False)
        # 5. Write files and links.
        for change in steps:
            if _is_leaf(change.after):
                self._attempt(change, self._put)
        # 6. Set the modes of folders last: a read-only folder would admit no entries.
        for change in deepest_first:
            if change.after.kind is EntryKind.FOLDER:
                self._attempt(change, self._set_folder_mode)
        if not self._tree.syncs_each:
            os.sync()
        return self._outcome

    def conflicts(self) -> list[Conflict]:
        """Return what `run` would leave alone, as far as it can be known before any change."""
        self._plan()
        return self._outcome.conflicts

    def _plan(self) -> list[FileChange]:
        """Return the changes whose paths hold what is expected and whose content can be read."""
        self._fetched = self._contents.fetch([change.after for change in self._changes])
        steps: list[FileChange] = []
        for change in self._changes:
            try:
                current = self._current(change)
                status = self._tree.status(change.path)
            except OSError as error:
                self._refuse(change, _reason(error))
                continue
            if current == change.after:
                self._outcome.done.append(change)
                self._outcome.found.append(change.path)
            elif current is None or not _is_expected(current, change):
                self._refuse(change, _difference(current, change))
            elif change.path in self._in_use and not _keeps_its_entry(change):
                self._refuse(change, _IN_USE)
            elif change.after.kind is EntryKind.FILE and self._bytes(change.after) is None:
                where = "git no longer holds it" if change.after.git else "it is damaged in the store"
                self._refuse(change, f"its other content can't be read: {where}")
            else:
                if status is not None:
                    self._stamps[change.path] = stamp_of(status)
                steps.append(change)
        return steps

    def _current(self, change: FileChange) -> FileState | None:
        """Return the current state; None for a file that is too large to be the expected one."""
        if change.path in self._placeholders:
            status = self._tree.status(change.path)
            if status is not None and (
                stat.S_ISDIR(status.st_mode) or status.st_size <= _MAX_PLACEHOLDER_BYTES
            ):
                return ABSENT
        try:
            return self._tree.content(change.path, max(change.before.size, change.after.size)).state
        except TooLargeError:
            return None

    def _attempt(
        self, change: FileChange, act: Callable[[FileChange], None], *, is_last: bool = True
    ) -> None:
        if change.path in self._refused:
            return
        try:
            act(change)
        except OSError as error:
            self._refuse(change, _reason(error))
        if is_last and change.path not in self._refused:
            self._outcome.done.append(change)

    def _refuse(self, change: FileChange, why: str) -> None:
        self._refused.add(change.path)
        self._outcome.conflicts.append(Conflict(change.path, why))

    def _check_untouched(self, change: FileChange) -> None:
        """Raise OSError unless the path is as it was when it was planned.

        Writes by this restore to another hard link of the same file count as untouched.
        """
        status = self._tree.status(change.path)
        is_same = (stamp_of(status) if status is not None else None) == self._stamps.get(change.path)
        if not is_same and self._current(change) not in (change.before, change.after):
            raise OSError(errno.EBUSY, "it changed during the undo")

    def _open_folder(self, change: FileChange) -> None:
        wanted = change.after.mode if change.after.kind is EntryKind.FOLDER else change.before.mode
        self._tree.set_mode(change.path, wanted | _OPEN_MODE, EntryKind.FOLDER)

    def _remove(self, change: FileChange) -> None:
        self._check_untouched(change)
        self._tree.remove(change.path, change.before.kind)
        self._stamps.pop(change.path, None)

    def _remove_folder(self, change: FileChange) -> None:
        try:
            self._tree.remove(change.path, EntryKind.FOLDER)
        except OSError as error:
            if _is_closed_folder(change):
                self._tree.set_mode(change.path, change.before.mode, EntryKind.FOLDER)
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            is_reported = any(path.startswith(change.path + "/") for path in self._refused)
            if not is_reported and not self._holds_only_ignored(change.path):
                raise OSError(errno.ENOTEMPTY, "it holds files that are not this turn's") from error
            self._refused.add(change.path)  # it stays for what is reported already, or is not covered
        self._stamps.pop(change.path, None)

    def _holds_only_ignored(self, path: str) -> bool:
        left = self._tree.names(path)
        return all(not self._ignored.isdisjoint((f"{path}/{name}", f"{path}/{name}/")) for name in left)

    def _make_folder(self, change: FileChange) -> None:
        if self._tree.status(change.path) is None:
            self._tree.make_folder(change.path)

    def _put(self, change: FileChange) -> None:
        self._check_untouched(change)
        state = change.after
        if state.kind is EntryKind.LINK:
            self._tree.put_link(change.path, state.target)
        elif self._differs_in_mode_alone(change):
            self._tree.set_mode(change.path, state.mode, EntryKind.FILE)
        else:
            data = self._bytes(state)
            if data is None:
                raise OSError(errno.EIO, "its other content can't be read")
            in_place = change.path in self._in_use or self._shares_its_names(change)
            self._tree.put_file(change.path, data, state.mode, in_place=in_place)

    def _differs_in_mode_alone(self, change: FileChange) -> bool:
        if change.before.kind is not EntryKind.FILE or change.before.digest != change.after.digest:
            return False
        status = self._tree.status(change.path)
        return status is not None and (status.st_nlink == 1 or self._shares_its_names(change))

    def _shares_its_names(self, change: FileChange) -> bool:
        """Return whether the turn wrote through all hard links of a file that still has just these.

        Undo then does the same. In any other case the path gets a file of its own, and the other links keep
        their content.
        """
        before, status = change.before, self._tree.status(change.path)
        return (
            before.links > 1
            and before.inode == change.after.inode
            and status is not None
            and (status.st_ino, status.st_nlink) == (before.inode, before.links)
        )

    def _set_folder_mode(self, change: FileChange) -> None:
        self._tree.set_mode(change.path, change.after.mode, EntryKind.FOLDER)

    def _bytes(self, state: FileState) -> bytes | None:
        found = self._fetched.get(state.digest)
        return found if found is not None else self._contents.stored(state)


def _keeps_its_entry(change: FileChange) -> bool:
    """Return whether the entry is neither removed nor replaced: it is a folder, or written in place."""
    kinds = (change.before.kind, change.after.kind)
    return kinds in (
        (EntryKind.FILE, EntryKind.FILE),
        (EntryKind.FOLDER, EntryKind.FOLDER),
        (EntryKind.ABSENT, EntryKind.FOLDER),
    )


def _is_closed_folder(change: FileChange) -> bool:
    return change.before.kind is EntryKind.FOLDER and change.before.mode & _OPEN_MODE != _OPEN_MODE


def _is_leaf(state: FileState) -> bool:
    return state.kind in (EntryKind.FILE, EntryKind.LINK)


def _is_expected(current: FileState, change: FileChange) -> bool:
    """Return whether the path holds what the turn left, or a folder that a killed attempt has left open."""
    if current == change.before:
        return True
    if current.kind is not EntryKind.FOLDER or change.after.kind is not EntryKind.FOLDER:
        return False
    if change.before.kind is EntryKind.FOLDER:
        return current.mode == change.after.mode | _OPEN_MODE
    return current.mode == _OPEN_MODE


def _reason(error: OSError) -> str:
    if error.errno in (errno.ENOTDIR, errno.ELOOP):
        return "its folder is now a file or a link"
    return error.strerror or str(error)


def _difference(current: FileState | None, change: FileChange) -> str:
    expected = change.before
    if current is None:
        return "changed since"
    if current.kind is EntryKind.ABSENT:
        return "deleted since"
    if expected.kind is EntryKind.ABSENT:
        return "created again since"
    if current.kind is not expected.kind:
        kind = "special file" if current.kind is EntryKind.OTHER else current.kind.value
        return f"now a {kind} in its place"
    if current.digest == expected.digest and current.target == expected.target:
        return "its mode was changed since"
    return "changed since"
