"""A scan of the workspace: every entry that git does not ignore, with its stamp. No content is read."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from forge_core.undo.storage.file_tree import FILE_TYPE_MASK, stamp_of
from forge_core.workspace.ignore import IgnoreRules

MAX_ENTRIES = 50_000
"""A larger workspace is not covered: a scan would take a second and more."""
MAX_SECONDS = 5.0
"""The same for a slow file system."""
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(slots=True)
class Listing:
    """What a scan found."""

    stamps: dict[str, int] = field(default_factory=dict)
    """Path relative to the root → a number that changes when the entry does."""
    status: dict[str, os.stat_result] = field(default_factory=dict)
    """Path → the status of those entries whose stamp differs from the known one."""
    ignored: dict[str, int] = field(default_factory=dict)
    """Ignored files and folders (these end with a slash) and their stamps; ignored folders are not
    entered."""
    repositories: dict[str, int] = field(default_factory=dict)
    """The `.git` entries that were left out, and their inodes."""
    new_repositories: set[str] = field(default_factory=set)
    """The `.git` entries that were not: they are listed with all that is in them."""
    unreadable: list[str] = field(default_factory=list)
    """Folders that could not be listed."""
    gave_up: str = ""
    """Why the scan ended early; empty when it is complete."""
    left_out: frozenset[str] = frozenset()
    """Paths that count as missing, whatever is there."""

    def is_new_repository(self, path: str, inode: int, repositories: Mapping[str, int] | None) -> bool:
        """Return whether a `.git` entry is listed with what is in it; note it in any case."""
        if path == ".git" or repositories is None or repositories.get(path) == inode:
            self.repositories[path] = inode
            return False
        self.new_repositories.add(path)
        return True

    def leave_out(self, paths: frozenset[str]) -> None:
        """Drop these paths and everything below them."""
        self.left_out = paths
        for path in paths:
            below = path + "/"
            for found in (self.stamps, self.status, self.ignored):
                for name in [name for name in found if name == path or name.startswith(below)]:
                    del found[name]


def scan(
    root: str,
    rules: IgnoreRules,
    known: Mapping[str, int],
    known_ignored: Collection[str],
    *,
    is_trusted: bool = True,
    hidden: Collection[str] = (),
    repositories: Mapping[str, int] | None = None,
    max_entries: int = MAX_ENTRIES,
) -> Listing:
    """List the entries below `root`; links are never followed.

    Paths in `known` and `known_ignored` are not tested against the rules again, which halves the time; with
    `is_trusted=False`, for rules that have changed, every path is. `hidden` are relative paths that are left
    out with everything below them. So are the `.git` entries in `repositories` (None: all that are not in
    `known`), by their paths and inodes; others are entered like any folder, and nothing in them is ignored.
    """
    listing = Listing()
    deadline = time.monotonic() + MAX_SECONDS
    trusted = known if is_trusted else {}
    ignored = known_ignored if is_trusted else ()

    def is_left_out(path: str, entry: os.DirEntry[str]) -> bool:
        """Test an entry that is not known; record it when it is ignored."""
        if entry.name == ".git":
            return path not in known and not listing.is_new_repository(path, entry.inode(), repositories)
        if "/.git/" in path:
            return False
        is_folder = entry.is_dir(follow_symlinks=False)
        slashed = path + "/" if is_folder else path
        if slashed in ignored or rules.is_ignored_itself(path, is_folder):
            listing.ignored[slashed] = _whole_stamp(entry)
            return True
        return path in hidden

    stack = [""]
    while stack:
        folder = stack.pop()
        try:
            descriptor = os.open(f"{root}/{folder}", _FOLDER_FLAGS)  # entries are found faster from it
        except FileNotFoundError:
            continue
        except OSError:
            listing.unreadable.append(folder)
            continue
        try:
            stack += _list(descriptor, folder, listing, known, trusted, is_left_out)
        finally:
            os.close(descriptor)
        if len(listing.stamps) > max_entries:
            listing.gave_up = f"the folder holds more than {max_entries:,} files"
            break
        if time.monotonic() > deadline:
            listing.gave_up = f"scanning the folder took longer than {MAX_SECONDS:g} s"
            break
    return listing


def _list(
    descriptor: int,
    folder: str,
    listing: Listing,
    known: Mapping[str, int],
    trusted: Mapping[str, int],
    is_left_out: Callable[[str, os.DirEntry[str]], bool],
) -> list[str]:
    """Add the entries of one folder to the listing; return the folders among them."""
    folders: list[str] = []
    stamps = listing.stamps
    with os.scandir(descriptor) as entries:
        for entry in entries:
            path = folder + entry.name
            if path not in trusted and is_left_out(path, entry):
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            mode = status.st_mode
            if (
                mode & FILE_TYPE_MASK == stat.S_IFREG
            ):  # inlined stamp_of: the call alone would be a tenth of the scan
                stamp = hash((status.st_ctime_ns, status.st_size, status.st_ino, mode))
            else:
                stamp = stamp_of(status)
                if mode & FILE_TYPE_MASK == stat.S_IFDIR:
                    folders.append(path + "/")
            stamps[path] = stamp
            if known.get(path) != stamp:
                listing.status[path] = status
    return folders


def _whole_stamp(entry: os.DirEntry[str]) -> int:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return 0
    return hash((status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_mode))
