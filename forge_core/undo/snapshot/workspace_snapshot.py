"""What was last seen of the workspace, and what differs from it now.

A look costs one walk; only entries whose stamp differs are read. What a look finds differing is kept at
once, so that the next change of it can be undone: that is the checkpoint. A file that git holds byte for byte
is not copied.
"""

from __future__ import annotations

import contextlib
import stat
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from forge_core.undo.file_state import ABSENT, EntryKind, FileChange, FileState
from forge_core.undo.snapshot.file_capture import FileCapture
from forge_core.undo.snapshot.listing import MAX_ENTRIES, Listing, scan
from forge_core.undo.snapshot.mount_points import NoMounts, StandIns
from forge_core.undo.storage.content_store import ContentStore
from forge_core.undo.storage.file_tree import FileTree, TooLargeError, stamp_of
from forge_core.undo.storage.git_objects import GitObjects
from forge_core.workspace.ignore import IgnoreRules

MAX_LOOK_SECONDS = 5.0
"""Files that are not read by then are read at the next look."""
_TICK_NS = 20_000_000
"""File times advance in steps: what changed within one before a look may change again unseen."""
_COARSE_NS = 2_000_000_000
"""The step of file systems that keep whole seconds."""
_CACHES = ("__pycache__/", ".pytest_cache/", ".mypy_cache/", ".ruff_cache/", ".hypothesis/")
"""Ignored folders whose changes nobody would want undone."""


@dataclass(slots=True)
class SnapshotDiff:
    """What one look found to differ."""

    changes: list[FileChange] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)
    """What changed and is not covered, with the reason."""
    ignored: list[str] = field(default_factory=list)
    """Ignored entries that changed."""
    changed_at_ns: dict[str, int] = field(default_factory=dict)
    """The change time of what is there."""
    gave_up: str = ""


class WorkspaceSnapshot:
    """The table of what was last seen; used from one thread at a time."""

    def __init__(
        self,
        root: Path,
        git: GitObjects,
        hidden: Iterable[Path],
        max_entries: int | None,
        stand_ins: StandIns | None = None,
    ) -> None:
        self._root = root
        self._git = git
        self._tree = FileTree(str(root))
        self._hidden = {path.relative_to(root).as_posix() for path in hidden if path.is_relative_to(root)}
        self._max_entries = MAX_ENTRIES if max_entries is None else max_entries
        self._stand_ins = stand_ins or StandIns(root, NoMounts())
        self._camera = FileCapture(root, git)
        self._rules: IgnoreRules | None = None
        self._rules_stamp = 0
        self._stamps: dict[str, int] = {}
        self._images: dict[str, FileState] = {}
        self._uncovered: dict[str, str] = {}
        self._again: set[str] = set()
        """Read these at the next look even when their stamp is the same."""
        self._claimed: set[str] = set()
        """What a file tool has changed: watched also where git ignores it."""
        self._ignored: dict[str, int] = {}
        self._unreadable: set[str] = set()
        self._looked_ns = 0

    def digests(self) -> set[str]:
        """Every blob that the table needs."""
        return {image.digest for image in self._images.values() if image.digest and not image.git}

    def files_before(self, changes: Iterable[FileChange]) -> dict[str, FileState]:
        """The table as it was before these changes."""
        before = {change.path: change.before for change in changes}
        return {path: image for path, image in (self._images | before).items() if image.digest}

    @property
    def uncovered(self) -> dict[str, str]:
        """What could not be kept, with the reason."""
        return dict(self._uncovered)

    @property
    def ignored(self) -> list[str]:
        """What git ignores, outermost folders only; empty before the first look."""
        return [name for name in self._ignored if not name.endswith(_CACHES)]

    def all_ignored(self) -> frozenset[str]:
        """The same with caches."""
        return frozenset(self._ignored)

    def look(self, keeper: ContentStore) -> SnapshotDiff:
        """Compares, keeps what differs, and remembers it. The first look finds nothing to differ."""
        began_ns = time.time_ns()
        old_rules = self._rules
        rules, rules_stamp, listing = self._walk()
        if listing.gave_up:
            return SnapshotDiff(gave_up=listing.gave_up)
        keeper.begin(is_first=old_rules is None)
        look = SnapshotDiff()
        leaving: set[str] = set()
        gone = self._gone(listing, look, leaving)
        fresh = self._read(listing, keeper, began_ns)
        if old_rules is not None:
            reclassified = old_rules if rules is not old_rules else None
            for path, image in fresh.items():
                self._compare(path, image, listing, reclassified, look)
            for path in gone:
                if path in self._images:
                    look.changes.append(FileChange(path, self._images[path], ABSENT))
                else:
                    look.lost[path] = self._uncovered.get(path, "")
            look.ignored = self._ignored_changes(listing)
        self._remember(listing, fresh, gone | leaving)
        self._rules, self._rules_stamp, self._looked_ns = rules, rules_stamp, began_ns
        return look

    def look_at(self, path: str, keeper: ContentStore, max_bytes: int) -> tuple[FileState | None, str]:
        """What stands at one path now, kept; None and why where that is not possible. Raises OSError."""
        status = self._tree.status(path)
        if status is None:
            self._stamps.pop(path, None)
            self._images.pop(path, None)
            return ABSENT, ""
        stamp = stamp_of(status)
        known = self._images.get(path)
        if known is not None and self._stamps.get(path) == stamp and path not in self._again:
            return known, ""
        try:
            content = self._tree.content(path, max_bytes)
        except TooLargeError:
            return None, f"larger than {max_bytes // 1_000_000} MB"
        tracked = self._git.tracked().get(path, "") if self._rules is not None else ""
        held = tracked if tracked and self._git.present([tracked]) else ""
        shot = self._camera.put_away(content, keeper, held)
        image, why = shot.image, shot.why
        if self._rules is not None and not path.startswith("/") and image is not None:
            self._stamps[path], self._images[path] = stamp, image
            self._claimed.add(path)
            self._uncovered.pop(path, None)
            self._again.add(path)
        return image, why

    def _walk(self) -> tuple[IgnoreRules, int, Listing]:
        """The rules in force and a listing by them; walked again when it shows that they have changed."""
        stamp = self._outer_rules_stamp()
        rules = self._rules
        is_trusted = rules is not None and stamp == self._rules_stamp
        if rules is None or not is_trusted:
            rules = IgnoreRules(self._root)
        listing = self._scan(rules, is_trusted)
        if is_trusted and not listing.gave_up and self._rules_differ(listing):
            rules = IgnoreRules(self._root)
            listing = self._scan(rules, False)
        return rules, stamp, listing

    def _scan(self, rules: IgnoreRules, is_trusted: bool) -> Listing:
        """A listing without stand-ins: those noted before or while it is made."""
        stand_ins = self._stand_ins.names()
        listing = scan(
            str(self._root),
            rules,
            self._stamps,
            self._ignored,
            is_trusted=is_trusted,
            hidden=self._hidden,
            max_entries=self._max_entries,
        )
        listing.leave_out(stand_ins | self._stand_ins.names())
        return listing

    def _rules_differ(self, listing: Listing) -> bool:
        ignored = (path for path, stamp in listing.ignored.items() if self._ignored.get(path) != stamp)
        missing = self._stamps.keys() - listing.stamps.keys()
        return any(path.endswith(".gitignore") for path in (*listing.status, *missing, *ignored))

    def _outer_rules_stamp(self) -> int:
        """Changes with the ignore rules that lie outside the walk."""
        repository = self._git.repository
        if repository is None:
            return 0
        files = [repository.common_dir / "info" / "exclude"]
        inside = self._root.relative_to(repository.top).parts
        files += [repository.top.joinpath(*inside[:depth]) / ".gitignore" for depth in range(len(inside))]
        return hash(tuple(_stamp_or_none(path) for path in files))

    def _gone(self, listing: Listing, look: SnapshotDiff, leaving: set[str]) -> set[str]:
        """Known paths that are no longer there. One that is merely ignored by now is compared once more."""
        hidden = tuple(listing.unreadable)
        for folder in hidden:
            if folder not in self._unreadable:
                look.lost[folder or "."] = "the folder can't be read"
        self._unreadable = set(hidden)
        gone: set[str] = set()
        for path in sorted(self._stamps.keys() - listing.stamps.keys()):
            if hidden and path.startswith(hidden):
                listing.stamps[path] = self._stamps[path]
                continue
            try:
                is_gone = path.rpartition("/")[0] in gone or path in listing.left_out
                status = None if is_gone else self._tree.status(path)
            except OSError:  # a folder on the way may not be entered: nothing can be said
                listing.stamps[path] = self._stamps[path]
                continue
            if status is None:
                gone.add(path)
                continue
            listing.stamps[path] = stamp_of(status)
            if path not in self._claimed:
                leaving.add(path)
            if listing.stamps[path] != self._stamps[path]:
                listing.status[path] = status
        return gone

    def _read(
        self, listing: Listing, keeper: ContentStore, began_ns: int
    ) -> dict[str, tuple[FileState | None, str]]:
        """The images of all that differs, small files first."""
        again = {path for path in self._again if path in listing.stamps}
        self._again = set()
        todo = dict(listing.status)
        for path in again - todo.keys():
            status = None
            with contextlib.suppress(OSError):
                status = self._tree.status(path)
            if status is not None:
                todo[path] = status
            else:
                self._again.add(path)
        tracked = self._git.tracked() if todo else {}
        present = self._git.present({tracked[path] for path in todo if path in tracked})
        held = {path: tracked[path] for path in todo if tracked.get(path) in present}
        deadline = time.monotonic() + MAX_LOOK_SECONDS
        fresh: dict[str, tuple[FileState | None, str]] = {}
        for path, status in sorted(todo.items(), key=lambda item: item[1].st_size):
            if time.monotonic() > deadline and stat.S_ISREG(status.st_mode):
                fresh[path] = None, "not read yet"
                self._again.add(path)
                continue
            shot = self._camera.take(path, status, keeper, held.get(path, ""))
            fresh[path] = shot.image, shot.why
            coarse = status.st_ctime_ns % 1_000_000_000 == 0
            if shot.is_fleeting or status.st_ctime_ns >= began_ns - (_COARSE_NS if coarse else _TICK_NS):
                self._again.add(path)
        return fresh

    def _compare(
        self,
        path: str,
        fresh: tuple[FileState | None, str],
        listing: Listing,
        old_rules: IgnoreRules | None,
        look: SnapshotDiff,
    ) -> None:
        image, why = fresh
        is_same_stamp = self._stamps.get(path) == listing.stamps[path]
        if path in self._uncovered:
            if not is_same_stamp:
                look.lost[path] = self._uncovered[path]
            return
        before = self._images.get(path, ABSENT)
        if before is ABSENT and old_rules is not None:
            is_folder = image is not None and image.kind is EntryKind.FOLDER
            if old_rules.is_ignored(path, is_folder):
                if not is_folder and listing.status[path].st_ctime_ns >= self._looked_ns:
                    look.lost[path] = "git ignored it before"
                return
        if image is None:
            look.lost[path] = why
        elif image != before:
            look.changes.append(FileChange(path, before, image))
            if path in listing.status:
                look.changed_at_ns[path] = listing.status[path].st_ctime_ns

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

    def _remember(
        self, listing: Listing, fresh: dict[str, tuple[FileState | None, str]], gone: set[str]
    ) -> None:
        for path, (image, why) in fresh.items():
            self._images.pop(path, None)
            self._uncovered.pop(path, None)
            if image is not None:
                self._images[path] = image
            else:
                self._uncovered[path] = why
        for path in gone:
            listing.stamps.pop(path, None)
            self._images.pop(path, None)
            self._uncovered.pop(path, None)
        self._stamps = listing.stamps
        self._ignored = listing.ignored


def _stamp_or_none(path: Path) -> int | None:
    try:
        return stamp_of(path.lstat())
    except OSError:
        return None
