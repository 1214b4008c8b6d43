"""Stand-ins for protected paths that don't exist, which leave no trace in the workspace.

A mount needs something to stand on. For `.git/hooks` to be held absent, an empty folder of that name is put
there, a read-only mount is laid over it in the command's view, and the folder is taken away when the last
sandbox over this workspace has ended. Taking it away earlier would lift the mount too, so every sandbox
holds a shared lock for its life: a descriptor that bubblewrap's own first process keeps (`--sync-fd`) and
the command never sees. What is put up is noted first, so that a later sandbox clears what a killed Forge has
left.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import stat
import time
from collections.abc import Mapping
from pathlib import Path

from forge_core.permissions.sandbox.anchor import anchored
from forge_core.permissions.sandbox.protected import PlaceholderKind

_CONTENTS: Mapping[PlaceholderKind, bytes] = {"file": b"", "commondir": b".\n"}
"""A common directory of "." is the repository itself: git works on as if nothing stood there."""
_POLL_S = 0.004
_NOT_OURS_TO_WRITE = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR})


class Placeholders:
    """The stand-ins of one workspace, shared by all processes through a file in `folder`."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._record = folder / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:24]}.placeholders"

    def join(self) -> int:
        """A descriptor that keeps everything standing until its last copy is closed, for `--sync-fd`. The
        caller closes it. Raises OSError when the folder can't be written to."""
        self._record.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self._record, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def put_up(self, missing: Mapping[Path, PlaceholderKind]) -> list[Path]:
        """Creates what is `missing` and gives what stands now. Call it after `join`.

        A path whose folder can't be written to is left out: the command can't write there either. Raises
        OSError for any other trouble, a full disk above all: better no command than one with a gap.
        """
        if missing:
            record = os.open(self._record, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            try:
                note = b"".join(os.fsencode(path) + b"\0" for path in missing)
                if os.write(record, note) != len(note):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._record))
            finally:
                os.close(record)
        return [path for path, kind in missing.items() if _create(path, kind)]

    def take_down(self, patience_s: float = 0.0) -> bool:
        """Removes what stands unless another sandbox still needs it. False when one does.

        bubblewrap reports the end of a command a moment before its own first process is gone and with it the
        lock: `patience_s` is for that moment.
        """
        try:
            record = os.open(self._record, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return True
        try:
            if os.fstat(record).st_size == 0:
                return True
            if not _lock(record, patience_s):
                return False
            noted = os.read(record, os.fstat(record).st_size).split(b"\0")
            for name in dict.fromkeys(reversed([one for one in noted if one])):
                _remove(Path(os.fsdecode(name)))
            os.ftruncate(record, 0)
        finally:
            os.close(record)
        return True


def _lock(descriptor: int, patience_s: float) -> bool:
    """Takes the lock for this one alone."""
    give_up = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= give_up:
                return False
            time.sleep(_POLL_S)


def _create(path: Path, kind: PlaceholderKind) -> bool:
    try:
        folder = anchored(path.parent)
        try:
            _create_in(folder, path.name, kind)
        finally:
            os.close(folder)
    except FileExistsError:
        return True
    except OSError as error:
        if error.errno in _NOT_OURS_TO_WRITE:
            return False
        raise
    return True


def _create_in(folder: int, name: str, kind: PlaceholderKind) -> None:
    if kind == "folder":
        os.mkdir(name, 0o755, dir_fd=folder)
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, 0o644, dir_fd=folder)
    try:
        os.write(descriptor, _CONTENTS[kind])
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    """Removes `path` only as long as it is what was put there: an empty folder or a stand-in's bytes."""
    with contextlib.suppress(OSError):
        status = path.lstat()
        if stat.S_ISDIR(status.st_mode):
            path.rmdir()
        elif stat.S_ISREG(status.st_mode) and status.st_size <= 2 and path.read_bytes() in _CONTENTS.values():
            path.unlink()
