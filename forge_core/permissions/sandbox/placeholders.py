"""Placeholders for protected paths that don't exist, which leave no trace in the workspace.

A mount needs a mount point. To keep `.git/hooks` absent, an empty folder of that name is created, a
read-only mount covers it in the command's view, and the folder is removed when the last sandbox over this
workspace has ended. Removing it earlier would lift the mount too, so every sandbox holds a shared lock as
long as it runs: a descriptor that bubblewrap's own first process keeps (`--sync-fd`). A command can open the
locked file through `/proc/1/fd`, so that file is used for nothing else: its bytes and mode do not matter.
Placeholders are recorded in another file before they are created, so that a later sandbox removes those that
a killed Forge has left. Other mount points in the workspace are recorded too: undo and the file tools must
not remove or replace them meanwhile.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from forge_core.permissions.sandbox.path_checks import closing_descriptor, open_anchored
from forge_core.permissions.sandbox.protected import PlaceholderKind
from forge_core.private_folders import make_private_folder

_CONTENTS: Mapping[PlaceholderKind, bytes] = {"file": b"", "commondir": b".\n"}
"""A common directory of "." is the repository itself: git works on as if nothing stood there."""
_RECORD = ".placeholders"
_PLANNED, _MADE, _FOUND, _MOUNTED = b"+", b"=", b"?", b"@"
"""Begin an entry of a record, which ends with a NUL. After `=` follow the inode number and a colon."""
_POLL_S = 0.004
_NOT_OURS_TO_WRITE = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR})


@dataclass(slots=True)
class _Notes:
    """What a record says."""

    planned: dict[Path, None] = field(default_factory=dict)
    """Placeholders that were about to be put up."""
    made: set[tuple[Path, int]] = field(default_factory=set)
    """Placeholders that were put up, with their inode numbers."""
    found: set[Path] = field(default_factory=set)
    """Planned ones that another process had created by then."""
    mounted: set[Path] = field(default_factory=set)
    """Other paths that sandboxes have mounted over."""

    @property
    def placeholders(self) -> set[Path]:
        return {*self.planned, *(path for path, _ in self.made)}

    def is_ours(self, path: Path) -> bool:
        """Return whether what is at `path` was put there by a sandbox. A kill between creating it and
        noting its number leaves only the plan: then an empty folder is taken for ours."""
        # By inode: a file of the same name that someone has created since is not removed.
        numbers = {number for one, number in self.made if one == path}
        if not numbers:
            return path in self.planned and path not in self.found
        try:
            return path.lstat().st_ino in numbers
        except OSError:
            return False


class MountedPaths:
    """What the sandboxes of all workspaces and processes that share a state folder are mounted over.

    The kernel lifts a mount in every namespace when its mount point is removed or replaced, so none of these
    may be while a command runs in a sandbox.
    """

    def __init__(self, state_dir: Path) -> None:
        self.folder = Path(os.path.realpath(state_dir)) / "sandbox"
        """Where the records are."""

    def placeholders(self) -> frozenset[Path]:
        """Return every path at which a placeholder may be now; those that a killed Forge has left
        included."""
        return frozenset(path for record in self._records() for path in _read(record).placeholders)

    def in_use(self, besides: Path | None = None) -> frozenset[Path]:
        """Return the mount points of sandboxes that are alive, those of the record `besides` left out."""
        found: set[Path] = set()
        for record in self._records():
            if record != besides and self.is_alive(record):
                notes = _read(record)
                found |= notes.placeholders | notes.mounted
        return frozenset(found)

    @contextlib.contextmanager
    def settled(self) -> Iterator[None]:
        """While it is held no sandbox is set up and no placeholder is created or removed. Not reentrant.
        Raises OSError when the folder can't be written to."""
        make_private_folder(self.folder)
        with _locked(self.folder / "mounts.lock"):
            yield

    def is_alive(self, record: Path) -> bool:
        """Return whether a sandbox that noted something in `record` is alive, or may be.

        Sandboxes share the lock that belongs to their record, so only an attempt to take it exclusively shows
        whether there is one. Two simultaneous attempts would take each other for a sandbox: a second lock
        admits one at a time. The sandboxes' lock is released at once, because whoever shares it from then on
        notes nothing before it is given `settled`.
        """
        try:
            with (
                closing_descriptor(_open_lock(record)) as descriptor,
                _locked(self.folder / "probe.lock"),
            ):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                fcntl.flock(descriptor, fcntl.LOCK_UN)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return False

    def clear(self, record: Path) -> bool:
        """Remove the placeholders noted in `record` unless a sandbox still needs them. False when one
        does."""
        if not _has_notes(record):
            return True
        with self.settled():
            if self.is_alive(record):
                return False
            self._remove_all(record)
        return True

    def has_notes(self) -> bool:
        """Return whether there are placeholders anywhere, or may be."""
        return bool(self._records())

    def clear_reachable(self) -> None:
        """Remove the placeholders of every sandbox that has ended, in any workspace.

        A record of which no folder can be found now is kept: its workspace may be on a disk that is not
        mounted. That is looked up before `settled` is held, since a network file system may never answer.
        """
        for record in self._records():
            placeholders = _read(record).placeholders
            if placeholders and not any(path.parent.is_dir() for path in placeholders):
                continue
            with contextlib.suppress(OSError):
                self.clear(record)

    def _remove_all(self, record: Path) -> None:
        """Remove the placeholders. One that a sandbox over another workspace is mounted over as well becomes
        that one's to remove."""
        notes = _read(record)
        needed = self.in_use(besides=record)
        # In reverse order of creation: a folder is empty once what was created in it later is removed.
        for path in reversed(notes.planned | dict.fromkeys(one for one, _ in notes.made)):
            if not notes.is_ours(path):
                continue
            if path in needed:
                self._hand_over(path, record)
            else:
                _remove(path)
        os.truncate(record, 0)

    def _hand_over(self, path: Path, former: Path) -> None:
        for record in self._records():
            notes = _read(record)
            if record == former or path not in notes.placeholders | notes.mounted:
                continue
            if self.is_alive(record):
                with contextlib.suppress(OSError), _appending(record) as note:
                    note([(b"%s%d:" % (_MADE, path.lstat().st_ino), path)])

    def _records(self) -> list[Path]:
        return [record for record in self.folder.glob(f"*{_RECORD}") if _has_notes(record)]


class Placeholders:
    """The placeholders of one workspace (a real path), shared by all processes through a file of its own."""

    def __init__(self, root: Path, mounted: MountedPaths) -> None:
        self.mounted = mounted
        self._record = mounted.folder / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:24]}{_RECORD}"

    def join(self) -> int:
        """Return a descriptor that keeps all placeholders until its last copy is closed, for `--sync-fd`. The
        caller closes it. Raises OSError when the folder can't be written to."""
        make_private_folder(self._record.parent)
        os.close(os.open(self._record, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        # The lock of a descriptor lasts until all copies are closed, so the child's copy keeps it for its
        # lifetime.
        descriptor = _open_lock(self._record, os.O_CREAT)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def create_all(self, missing: Mapping[Path, PlaceholderKind], mounted: Iterable[Path] = ()) -> list[Path]:
        """Create what is `missing`, record what else will be `mounted` over, and return the placeholders that
        exist now. Call it after `join`, within `mounted.settled()`.

        A path whose folder can't be written to is left out: the command can't write there either. Raises
        OSError for any other trouble, a full disk above all: better no command than one with a gap.
        """
        if not missing and not mounted:
            return []
        known = _read(self._record)
        plans = [(_PLANNED, path) for path in missing if path not in known.planned]
        others = [(_MOUNTED, path) for path in mounted if path not in known.mounted]
        standing: list[Path] = []
        with _appending(self._record) as note:
            # Recorded before anything is created: a kill from here on leaves nothing that no record names.
            note([*plans, *others])
            for path, kind in missing.items():
                try:
                    number = _create(path, kind)
                except FileExistsError:
                    if path not in known.placeholders:
                        note([(_FOUND, path)])
                except OSError as error:
                    if error.errno in _NOT_OURS_TO_WRITE:
                        continue
                    raise
                else:
                    note([(b"%s%d:" % (_MADE, number), path)])
                standing.append(path)
        return standing

    def take_down(self, patience_s: float = 0.0) -> bool:
        """Remove the placeholders unless another sandbox still needs them. False when one does.

        bubblewrap reports the end of a command a moment before its own first process is gone and with it the
        lock: `patience_s` is for that moment.
        """
        give_up = time.monotonic() + patience_s
        while not self.mounted.clear(self._record):
            if time.monotonic() >= give_up:
                return False
            time.sleep(_POLL_S)
        return True


def _open_lock(record: Path, flags: int = 0) -> int:
    """Return a descriptor of the file whose lock the sandboxes of `record` share. It is never deleted: a new
    file would not share the lock."""
    path = record.with_suffix(".lock")
    # A command may have changed the mode, or hold a lease, for which an open that blocks would wait.
    with contextlib.suppress(FileNotFoundError):
        path.chmod(0o600)
    # For writing, since NFS locks nothing else.
    return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | flags, 0o600)


@contextlib.contextmanager
def _appending(record: Path) -> Iterator[Callable[[Sequence[tuple[bytes, Path]]], None]]:
    """Return a function that appends notes, which raises OSError when they can't be written whole."""
    with closing_descriptor(os.open(record, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)) as descriptor:

        def note(entries: Sequence[tuple[bytes, Path]]) -> None:
            data = b"".join(tag + os.fsencode(path) + b"\0" for tag, path in entries)
            # A part of an entry would name another path.
            if os.write(descriptor, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(record))

        yield note


def _read(record: Path) -> _Notes:
    notes = _Notes()
    try:
        entries = record.read_bytes().split(b"\0")
    except OSError:
        return notes
    for entry in entries:
        tag, rest = entry[:1], entry[1:]
        if tag == b"/":  # written by an earlier version
            tag, rest = _PLANNED, entry
        number, _, name = rest.partition(b":") if tag == _MADE else (b"", b"", rest)
        path = Path(os.fsdecode(name))
        if tag == _PLANNED:
            notes.planned[path] = None
        elif tag == _FOUND:
            notes.found.add(path)
        elif tag == _MOUNTED:
            notes.mounted.add(path)
        elif tag == _MADE and number.isdigit():
            notes.made.add((path, int(number)))
    return notes


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the exclusive lock of the file at `path`, which is created if necessary."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        # Closing is not enough: a process that another thread has just forked has a copy until it calls exec.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _has_notes(record: Path) -> bool:
    try:
        return record.stat().st_size > 0
    except OSError:
        return False


def _create(path: Path, kind: PlaceholderKind) -> int:
    """Create a placeholder and return its inode number. Raises FileExistsError when something is there."""
    with closing_descriptor(open_anchored(path.parent)) as folder:
        if kind == "folder":
            os.mkdir(path.name, 0o755, dir_fd=folder)
        else:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with closing_descriptor(os.open(path.name, flags, 0o644, dir_fd=folder)) as descriptor:
                os.write(descriptor, _CONTENTS[kind])
        return os.stat(path.name, dir_fd=folder, follow_symlinks=False).st_ino


def _remove(path: Path) -> None:
    """Remove `path` only as long as it is what was put there: an empty folder or a placeholder's bytes."""
    with contextlib.suppress(OSError):
        status = path.lstat()
        if stat.S_ISDIR(status.st_mode):
            path.rmdir()
        elif stat.S_ISREG(status.st_mode) and status.st_size <= 2 and path.read_bytes() in _CONTENTS.values():
            path.unlink()
