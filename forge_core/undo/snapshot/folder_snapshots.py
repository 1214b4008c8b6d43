"""The snapshots of all folders of a workspace, under the interface of one.

Paths in the main folder are relative to it, as everywhere in undo; those in added folders are absolute.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from forge_core.undo.file_state import FileChange, FileState
from forge_core.undo.snapshot.mount_points import MountGuard
from forge_core.undo.snapshot.workspace_snapshot import SnapshotDiff, WorkspaceSnapshot
from forge_core.undo.storage.content_store import ContentStore
from forge_core.undo.storage.git_objects import GitObjects


class FolderSnapshots:
    """The last known state of the workspace `root` and of the folders added to it."""

    def __init__(
        self, root: Path, git: GitObjects, hidden: Iterable[Path], max_entries: int | None, mounts: MountGuard
    ) -> None:
        self._git = git
        self._hidden = tuple(hidden)
        self._max_entries = max_entries
        self._mounts = mounts
        self._main = WorkspaceSnapshot(root, git, self._hidden, max_entries, mounts)
        self._added: dict[str, WorkspaceSnapshot] = {}
        """By the beginning of their paths, which ends with a slash."""
        self._replaced: set[str] = set()
        """The blobs of what the last update found to have changed, which no turn may refer to yet."""

    def add_folder(self, folder: Path) -> None:
        """Cover a folder, given by its real path, from the next update on."""
        git = self._git.add_folder(folder)
        self._added[f"{folder}/"] = WorkspaceSnapshot(
            folder, git, self._hidden, self._max_entries, self._mounts
        )

    def update(
        self, contents: ContentStore, *, is_idle: bool = True, drops_privileges: bool = False
    ) -> SnapshotDiff:
        """Update every snapshot, as `WorkspaceSnapshot.update`. An added folder that cannot be scanned is
        reported among what is lost; the others stay covered."""
        self._replaced.clear()
        diff = self._main.update(contents, is_idle=is_idle, drops_privileges=drops_privileges)
        trouble = contents.trouble
        for prefix, one in self._added.items():
            # To make room for the next folder, contents are dropped that nothing needs.
            self._replaced.update(change.before.digest for change in diff.changes)
            other = one.update(contents, is_idle=is_idle, drops_privileges=drops_privileges)
            trouble = trouble or contents.trouble
            if other.gave_up:
                diff.lost[prefix] = other.gave_up
            diff.changes += [replace(change, path=prefix + change.path) for change in other.changes]
            diff.lost.update((prefix + path, why) for path, why in other.lost.items())
            diff.ignored += [prefix + path for path in other.ignored]
            diff.changed_at_ns.update((prefix + path, at) for path, at in other.changed_at_ns.items())
            diff.new_repositories |= {prefix + path for path in other.new_repositories}
            diff.privileged |= {prefix + path for path in other.privileged}
        contents.trouble = trouble
        return diff

    def update_path(self, path: str, contents: ContentStore, max_bytes: int) -> tuple[FileState | None, str]:
        """Update one path, as `WorkspaceSnapshot.update_path`."""
        for prefix, one in self._added.items():
            if path.startswith(prefix):
                return one.update_path(path.removeprefix(prefix), contents, max_bytes)
        return self._main.update_path(path, contents, max_bytes)

    def digests(self) -> set[str]:
        """Return every blob that the snapshots need."""
        return self._replaced.union(*(one.digests() for _, one in self._all()))

    def files_before(self, changes: Iterable[FileChange]) -> dict[str, FileState]:
        """Return the files as they were before these changes."""
        known = {
            prefix + path: state
            for prefix, one in self._all()
            for path, state in one.files_before(()).items()
        }
        before = {change.path: change.before for change in changes}
        return {path: state for path, state in (known | before).items() if state.digest}

    @property
    def uncovered(self) -> dict[str, str]:
        """What could not be stored, with the reason."""
        return {prefix + path: why for prefix, one in self._all() for path, why in one.uncovered.items()}

    @property
    def ignored(self) -> list[str]:
        """What git ignores, outermost folders only; empty before the first update."""
        return [prefix + path for prefix, one in self._all() for path in one.ignored]

    def all_ignored(self) -> frozenset[str]:
        """Return the same with caches."""
        return frozenset(prefix + path for prefix, one in self._all() for path in one.all_ignored())

    @property
    def repositories(self) -> list[str]:
        """Return the `.git` entries that are the user's, and those that may come into being at the top of a
        folder."""
        own = [f"{prefix}.git" for prefix in self._added]
        return [*own, *(prefix + path for prefix, one in self._all() for path in one.repositories)]

    def _all(self) -> Iterator[tuple[str, WorkspaceSnapshot]]:
        yield "", self._main
        yield from self._added.items()
