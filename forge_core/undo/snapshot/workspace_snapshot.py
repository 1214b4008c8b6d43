"""The last known state of the workspace, and what differs from it now.

An update costs one scan; only entries whose stamp differs are read. The content of what differs is stored at
once, so that its next change can be undone: that is the checkpoint. A file that git holds byte for byte is
not copied.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from forge_core.undo.file_state import ABSENT, EntryKind, FileChange, FileState
from forge_core.undo.git_programs import is_in_git
from forge_core.undo.snapshot.file_capture import CapturedFile, FileCapture
from forge_core.undo.snapshot.listing import MAX_ENTRIES, Listing, scan
from forge_core.undo.snapshot.mount_points import MountGuard, relative_placeholders
from forge_core.undo.storage.content_store import ContentStore
from forge_core.undo.storage.file_tree import FileTree, TooLargeError, stamp_of, stamp_or_none
from forge_core.undo.storage.git_objects import GitObjects
from forge_core.workspace.ignore import IgnoreRules

MAX_UPDATE_SECONDS = 5.0
"""Files that are not read by then are read by the next update."""
_TICK_NS = 20_000_000
"""File times advance in steps: a file that changed within one step before an update may change again without
a new stamp."""
_COARSE_NS = 2_000_000_000
"""The step of file systems that store whole seconds."""
_PRIVILEGES = stat.S_ISUID | stat.S_ISGID
_CACHES = ("__pycache__/", ".pytest_cache/", ".mypy_cache/", ".ruff_cache/", ".hypothesis/")
"""Ignored folders that are not worth reporting."""


@dataclass(slots=True)
class SnapshotDiff:
    """What one update found to differ."""

    changes: list[FileChange] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)
    """What changed and is not covered, with the reason."""
    ignored: list[str] = field(default_factory=list)
    """Ignored entries that changed."""
    changed_at_ns: dict[str, int] = field(default_factory=dict)
    """The change times of the entries in `changes` that exist."""
    new_repositories: set[str] = field(default_factory=set)
    """The `.git` entries among `changes` that are new, with all that is in them."""
    privileged: set[str] = field(default_factory=set)
    """Files that got a setuid or setgid bit."""
    gave_up: str = ""
    """Why the workspace could not be scanned; empty when it was."""


class WorkspaceSnapshot:
    """The known entries of the workspace; used from one thread at a time.

    Invariant: each path of `_stamps` is either in `_states`, with its content stored, or in `_uncovered`.
    """

    def __init__(
        self, root: Path, git: GitObjects, hidden: Iterable[Path], max_entries: int | None, mounts: MountGuard
    ) -> None:
        self._root = root
        self._git = git
        self._tree = FileTree(root)
        self._hidden = {path.relative_to(root).as_posix() for path in hidden if path.is_relative_to(root)}
        self._max_entries = MAX_ENTRIES if max_entries is None else max_entries
        self._mounts = mounts
        self._capture = FileCapture(root, git)
        self._rules: IgnoreRules | None = None
        """None before the first update."""
        self._rules_stamp = 0
        self._stamps: dict[str, int] = {}
        self._states: dict[str, FileState] = {}
        self._uncovered: dict[str, str] = {}
        self._unstable: set[str] = set()
        """The next update reads these even when their stamp is the same."""
        self._claimed: set[str] = set()
        """Files that a file tool has changed: covered also where git ignores them."""
        self._ignored: dict[str, int] = {}
        self._repositories: dict[str, int] = {}
        """The `.git` entries that are the user's, by path and inode: nothing in them is covered."""
        self._privileged: set[str] = set()
        """Files that have a setuid or setgid bit."""
        self._unreadable: set[str] = set()
        self._updated_ns = 0

    def digests(self) -> set[str]:
        """Return every blob that the snapshot needs."""
        return {state.digest for state in self._states.values() if state.digest and not state.git}

    def files_before(self, changes: Iterable[FileChange]) -> dict[str, FileState]:
        """Return the files as they were before these changes."""
        before = {change.path: change.before for change in changes}
        return {path: state for path, state in (self._states | before).items() if state.digest}

    @property
    def uncovered(self) -> dict[str, str]:
        """What could not be stored, with the reason."""
        return dict(self._uncovered)

    @property
    def ignored(self) -> list[str]:
        """What git ignores, outermost folders only; empty before the first update."""
        return [name for name in self._ignored if not name.endswith(_CACHES)]

    def all_ignored(self) -> frozenset[str]:
        """Return the same with caches."""
        return frozenset(self._ignored)

    @property
    def repositories(self) -> list[str]:
        """Return the `.git` entries that are the user's."""
        return list(self._repositories)

    def update(
        self, contents: ContentStore, *, is_idle: bool = True, drops_privileges: bool = False
    ) -> SnapshotDiff:
        """Compare the workspace with the snapshot, store what differs, and make it the new snapshot.

        The first update reports no differences. While no command runs (`is_idle`), new repositories are the
        user's. With `drops_privileges` setuid and setgid bits that files have got are removed.
        """
        is_idle = is_idle or self._rules is None
        began_ns = time.time_ns()
        old_rules = self._rules
        rules, rules_stamp, listing = self._list(is_idle)
        if listing.gave_up:
            return SnapshotDiff(gave_up=listing.gave_up)
        contents.begin(is_first=old_rules is None)
        diff = SnapshotDiff(new_repositories=listing.new_repositories)
        self._find_privileged(listing, diff, drops_privileges and not is_idle)
        # Entries that are known and not listed: deleted, or merely ignored by now.
        now_ignored: set[str] = set()
        gone = self._gone(listing, diff, now_ignored)
        fresh = self._read(listing, contents, began_ns)
        if old_rules is not None:
            reclassified = old_rules if rules is not old_rules else None
            for path, captured in fresh.items():
                self._compare(path, captured, listing, reclassified, diff)
            for path in gone:
                if path in self._states:
                    diff.changes.append(FileChange(path, self._states[path], ABSENT))
                else:
                    diff.lost[path] = self._uncovered.get(path, "")
            diff.ignored = self._ignored_changes(listing)
        self._remember(listing, fresh, gone | now_ignored)
        self._rules, self._rules_stamp, self._updated_ns = rules, rules_stamp, began_ns
        return diff

    def update_path(self, path: str, contents: ContentStore, max_bytes: int) -> tuple[FileState | None, str]:
        """Update one path; return its state, or None and why it could not be stored. Raises OSError."""
        status = self._tree.status(path)
        if status is None:
            self._stamps.pop(path, None)
            self._states.pop(path, None)
            return ABSENT, ""
        stamp = stamp_of(status)
        known = self._states.get(path)
        if known is not None and self._stamps.get(path) == stamp and path not in self._unstable:
            return known, ""
        try:
            content = self._tree.content(path, max_bytes)
        except TooLargeError:
            return None, f"larger than {max_bytes // 1_000_000} MB"
        tracked = self._git.tracked().get(path, "") if self._rules is not None else ""
        tracked_id = tracked if tracked and self._git.present([tracked]) else ""
        captured = self._capture.store(content, contents, tracked_id)
        state = captured.state
        if self._rules is not None and not path.startswith("/") and state is not None:
            self._stamps[path], self._states[path] = stamp, state
            self._claimed.add(path)
            self._uncovered.pop(path, None)
            # The tool writes right after this: within one step of the clock the stamp would be the same.
            self._unstable.add(path)
        return state, captured.why

    def _list(self, is_idle: bool) -> tuple[IgnoreRules, int, Listing]:
        """Return the ignore rules in force and a listing by them.

        The scan itself finds the .gitignore files: when one of them has changed, it is repeated with new
        rules.
        """
        stamp = self._outer_rules_stamp()
        rules = self._rules
        is_trusted = rules is not None and stamp == self._rules_stamp
        if rules is None or not is_trusted:
            rules = IgnoreRules(self._root)
        listing = self._scan(rules, is_trusted, is_idle)
        if is_trusted and not listing.gave_up and self._rules_differ(listing):
            rules = IgnoreRules(self._root)
            listing = self._scan(rules, False, is_idle)
        return rules, stamp, listing

    def _scan(self, rules: IgnoreRules, is_trusted: bool, is_idle: bool) -> Listing:
        """List the workspace without placeholders: those noted before the scan or while it ran."""
        placeholders = relative_placeholders(self._root, self._mounts)
        listing = scan(
            str(self._root),
            rules,
            self._stamps,
            self._ignored,
            is_trusted=is_trusted,
            hidden=self._hidden,
            repositories=None if is_idle else self._repositories,
            max_entries=self._max_entries,
        )
        listing.leave_out(placeholders | relative_placeholders(self._root, self._mounts))
        return listing

    def _find_privileged(self, listing: Listing, diff: SnapshotDiff, drops: bool) -> None:
        """Find the files that have got a setuid or setgid bit, before they are read; remove it with
        `drops`."""
        for path, status in list(listing.status.items()):
            if not (stat.S_ISREG(status.st_mode) and status.st_mode & _PRIVILEGES):
                self._privileged.discard(path)
            elif path not in self._privileged:
                diff.privileged.add(path)
                if drops and (after := self._dropped(path, stat.S_IMODE(status.st_mode))) is not None:
                    listing.status[path], listing.stamps[path] = after, stamp_of(after)
                else:
                    self._privileged.add(path)

    def _dropped(self, path: str, mode: int) -> os.stat_result | None:
        """Remove the bits of one file; None when that fails."""
        with contextlib.suppress(OSError):
            self._tree.set_mode(path, mode & ~_PRIVILEGES, EntryKind.FILE)
            return self._tree.status(path)
        return None

    def _rules_differ(self, listing: Listing) -> bool:
        ignored = (path for path, stamp in listing.ignored.items() if self._ignored.get(path) != stamp)
        missing = self._stamps.keys() - listing.stamps.keys()
        return any(path.endswith(".gitignore") for path in (*listing.status, *missing, *ignored))

    def _outer_rules_stamp(self) -> int:
        """Return a number that changes with the ignore rules outside the scan."""
        repository = self._git.repository
        if repository is None:
            return 0
        files = [repository.common_dir / "info" / "exclude"]
        inside = self._root.relative_to(repository.top).parts
        files += [repository.top.joinpath(*inside[:depth]) / ".gitignore" for depth in range(len(inside))]
        return hash(tuple(stamp_or_none(path) for path in files))

    def _gone(self, listing: Listing, diff: SnapshotDiff, now_ignored: set[str]) -> set[str]:
        """Return known paths that no longer exist. Those that git merely ignores now are added to
        `now_ignored`, and compared a last time."""
        hidden = tuple(listing.unreadable)
        for folder in hidden:
            if folder not in self._unreadable:
                diff.lost[folder or "."] = "the folder can't be read"
        self._unreadable = set(hidden)
        gone: set[str] = set()
        # Sorted, so that a folder comes before its entries: these need no look of their own when it is gone.
        for path in sorted(self._stamps.keys() - listing.stamps.keys()):
            if hidden and path.startswith(hidden):
                listing.stamps[path] = self._stamps[path]
                continue
            try:
                is_gone = path.rpartition("/")[0] in gone or path in listing.left_out
                status = None if is_gone else self._tree.status(path)
            except OSError:  # a parent folder may not be entered: the path counts as unchanged
                listing.stamps[path] = self._stamps[path]
                continue
            if status is None:
                gone.add(path)
                continue
            listing.stamps[path] = stamp_of(status)
            if path not in self._claimed:
                now_ignored.add(path)
            if listing.stamps[path] != self._stamps[path]:
                listing.status[path] = status
        return gone

    def _read(self, listing: Listing, contents: ContentStore, began_ns: int) -> dict[str, CapturedFile]:
        """Read and store all that differs, small files first."""
        again = (self._unstable & listing.stamps.keys()) - listing.status.keys()
        todo = dict(listing.status)
        for path in again:
            with contextlib.suppress(OSError):
                if (found := self._tree.status(path)) is not None:
                    todo[path] = found
        self._unstable = again - todo.keys()
        # One call of git for all ids: those that it holds need no copy.
        tracked = self._git.tracked() if todo else {}
        present = self._git.present({tracked[path] for path in todo if path in tracked})
        tracked_ids = {path: tracked[path] for path in todo if tracked.get(path) in present}
        deadline = time.monotonic() + MAX_UPDATE_SECONDS
        fresh: dict[str, CapturedFile] = {}
        for path, status in sorted(todo.items(), key=lambda item: item[1].st_size):
            if time.monotonic() > deadline and stat.S_ISREG(status.st_mode):
                fresh[path] = CapturedFile(None, "not read yet")
                self._unstable.add(path)
                continue
            captured = fresh[path] = self._capture.capture(path, status, contents, tracked_ids.get(path, ""))
            # Changed so shortly before this update that another change could leave the same stamp.
            step_ns = _COARSE_NS if status.st_ctime_ns % 1_000_000_000 == 0 else _TICK_NS
            if captured.is_unstable or status.st_ctime_ns >= began_ns - step_ns:
                self._unstable.add(path)
        return fresh

    def _compare(
        self,
        path: str,
        captured: CapturedFile,
        listing: Listing,
        old_rules: IgnoreRules | None,
        diff: SnapshotDiff,
    ) -> None:
        """Add the difference at one path. `old_rules` are given when the ignore rules have changed: then a
        new path may be one that was ignored before, which is no change."""
        state = captured.state
        if path in self._uncovered:
            if self._stamps.get(path) != listing.stamps[path]:
                diff.lost[path] = self._uncovered[path]
            return
        before = self._states.get(path, ABSENT)
        if before is ABSENT and old_rules is not None and not is_in_git(path):
            is_folder = state is not None and state.kind is EntryKind.FOLDER
            if old_rules.is_ignored(path, is_folder):
                if not is_folder and listing.status[path].st_ctime_ns >= self._updated_ns:
                    diff.lost[path] = "git ignored it before"
                return
        if state is None:
            diff.lost[path] = captured.why
        elif state != before:
            diff.changes.append(FileChange(path, before, state))
            if path in listing.status:
                diff.changed_at_ns[path] = listing.status[path].st_ctime_ns

    def _ignored_changes(self, listing: Listing) -> list[str]:
        before, now = self._ignored, listing.ignored
        return [
            name
            for name in sorted(before.keys() | now.keys())
            if before.get(name) != now.get(name)
            and name.rstrip("/") not in self._stamps
            and name.rstrip("/") not in listing.stamps
            and not name.endswith(_CACHES)
        ]

    def _remember(self, listing: Listing, fresh: dict[str, CapturedFile], gone: set[str]) -> None:
        for path in fresh.keys() | gone:
            self._states.pop(path, None)
            self._uncovered.pop(path, None)
            if path in gone:
                listing.stamps.pop(path, None)
            elif (state := fresh[path].state) is not None:
                self._states[path] = state
            else:
                self._uncovered[path] = fresh[path].why
        self._repositories = listing.repositories
        self._stamps = listing.stamps
        self._ignored = listing.ignored
