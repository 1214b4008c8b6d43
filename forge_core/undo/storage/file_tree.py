"""The files below the workspace, accessed through directory descriptors.

No symbolic link in a path is ever followed, so nothing outside is read or written, whatever links a command
has put into the workspace.

A path is relative to the root with forward slashes, or absolute for what a tool changed elsewhere with the
user's permission; that one is resolved from `/` in the same way.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from forge_core.undo.file_state import ABSENT, EntryKind, FileState
from forge_core.workspace.beneath import opened_folder, write_all

FILE_TYPE_MASK = 0o170000
"""The bits of a mode that hold the file type, as S_IFMT in inode(7)."""
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a FIFO would wait for a writer.
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Content:
    """The state of an entry, with the bytes of a file."""

    state: FileState
    data: bytes = b""


class TooLargeError(Exception):
    """The file is larger than the caller accepts."""


class FileTree:
    """Reads and replaces entries below `root`, an absolute path without links. All methods raise OSError."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.syncs_each = True
        """Whether each file is flushed to disk; for many files one `os.sync` is cheaper."""

    @contextlib.contextmanager
    def parent(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """Open the folder that holds `path`; yield its descriptor and the last name of the path.

        With `make`, missing folders are created. Raises NotADirectoryError or ELOOP where a folder in the
        path is a link or a file.
        """
        base = Path("/") if path.startswith("/") else self._root
        *folders, name = [part for part in path.split("/") if part]
        if ".." in folders or name in ("..", "."):
            raise OSError(errno.EINVAL, "not a plain path", path)
        with opened_folder(base.joinpath(*folders), base, make=make) as fd:
            yield fd, name

    def status(self, path: str) -> os.stat_result | None:
        """Return the result of lstat; None when nothing is there, or when a parent is not a folder."""
        try:
            with self.parent(path) as (fd, name):
                return os.stat(name, dir_fd=fd, follow_symlinks=False)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                return None
            raise

    def names(self, path: str) -> list[str]:
        """Return the names in a folder."""
        with self.parent(path) as (fd, name):
            folder = os.open(name, _FOLDER_FLAGS, dir_fd=fd)
        try:
            return os.listdir(folder)  # noqa: PTH208  by its descriptor
        finally:
            os.close(folder)

    def content(self, path: str, max_bytes: int) -> Content:
        """Return what is at `path`. Raises TooLargeError for a file of more than `max_bytes`."""
        status = self.status(path)
        if status is None:
            return Content(ABSENT)
        mode = stat.S_IMODE(status.st_mode)
        if stat.S_ISDIR(status.st_mode):
            return Content(FileState(EntryKind.FOLDER, mode))
        with self.parent(path) as (fd, name):
            if stat.S_ISLNK(status.st_mode):
                return Content(FileState(EntryKind.LINK, target=os.readlink(name, dir_fd=fd)))
            if not stat.S_ISREG(status.st_mode):
                return Content(FileState(EntryKind.OTHER, mode))
            # The entry may have been replaced since `status`: O_NOFOLLOW refuses a link, `read_file` any
            # other kind.
            return read_file(os.open(name, _READ_FLAGS, dir_fd=fd), max_bytes)

    def remove(self, path: str, kind: EntryKind) -> None:
        """Remove a file, a link or an empty folder."""
        with self.parent(path) as (fd, name):
            if kind is EntryKind.FOLDER:
                os.rmdir(name, dir_fd=fd)
            else:
                os.unlink(name, dir_fd=fd)

    def make_folder(self, path: str) -> None:
        """Create a folder that only its owner may use until its mode is set."""
        with self.parent(path, make=True) as (fd, name):
            os.mkdir(name, 0o700, dir_fd=fd)

    def set_mode(self, path: str, mode: int, kind: EntryKind) -> None:
        """Set the permission bits of a file or folder."""
        with self.parent(path) as (fd, name):
            is_kind = stat.S_ISDIR if kind is EntryKind.FOLDER else stat.S_ISREG
            if not is_kind(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
                raise OSError(errno.EINVAL, "something else is there", path)
            try:
                entry = os.open(name, _READ_FLAGS, dir_fd=fd)
            except PermissionError:  # unreadable, but its owner may still change the mode
                _set_mode_unread(fd, name, mode)
                return
            try:
                os.fchmod(entry, mode)
            finally:
                os.close(entry)

    def put_link(self, path: str, target: str) -> None:
        """Put a symbolic link at `path` atomically."""
        with self.parent(path, make=True) as (fd, name), _temporary(fd, path) as temporary:
            os.symlink(target, temporary, dir_fd=fd)
            os.rename(temporary, name, src_dir_fd=fd, dst_dir_fd=fd)

    def put_file(self, path: str, data: bytes, mode: int, *, in_place: bool = False) -> None:
        """Put a file at `path` atomically: it holds the old or the new bytes at any time, also after a kill.

        The owner and attributes of an existing file are kept. `in_place` writes into the existing file, and
        so into all its hard links; a kill may leave that incomplete. The same is done in a folder where no
        file can be created.
        """
        with self.parent(path, make=True) as (fd, name):
            old = None
            with contextlib.suppress(FileNotFoundError):
                old = os.stat(name, dir_fd=fd, follow_symlinks=False)
            if in_place:
                _write_in_place(fd, name, data, mode)
                return
            try:
                with _temporary(fd, path) as temporary:
                    new = os.open(temporary, _NEW_FLAGS, 0o600, dir_fd=fd)
                    with os.fdopen(new, "wb", buffering=0) as file:
                        write_all(new, data)
                        if old is not None and stat.S_ISREG(old.st_mode):
                            # Owner, attributes and mode are set before the rename, so the file never shows
                            # with others; the mode last, since changing the owner clears its set-ID bits.
                            _take_over(fd, name, new, old)
                        os.fchmod(new, mode)
                        if self.syncs_each:
                            os.fsync(file.fileno())
                    os.rename(temporary, name, src_dir_fd=fd, dst_dir_fd=fd)
            except PermissionError:
                # Writing in place would also change the file under its other names.
                if old is None or not stat.S_ISREG(old.st_mode) or old.st_nlink > 1:
                    raise
                _write_in_place(fd, name, data, mode)


def name_below(root: Path, path: Path) -> str:
    """Return the path as `FileTree` takes it: relative to `root`, or absolute if it is outside."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def stamp_of(status: os.stat_result) -> int:
    """Return a number that changes whenever the entry does.

    For a folder it covers the mode alone: its times change with its entries. The change time covers the
    modification time too, and unlike that one cannot be set back.
    """
    mode = status.st_mode
    if mode & FILE_TYPE_MASK in (stat.S_IFREG, stat.S_IFLNK):
        return hash((status.st_ctime_ns, status.st_size, status.st_ino, mode))
    return hash((mode, 0 if mode & FILE_TYPE_MASK == stat.S_IFDIR else status.st_ino))


def stamp_or_none(path: Path) -> int | None:
    """Return the stamp of what is at `path`; None when nothing can be found there."""
    try:
        return stamp_of(path.lstat())
    except OSError:
        return None


def read_file(fd: int, max_bytes: int) -> Content:
    """Return the state and bytes of an open regular file, and close it."""
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return Content(FileState(EntryKind.OTHER, stat.S_IMODE(status.st_mode)))
        if status.st_size > max_bytes:
            raise TooLargeError
        # One call for the common case: the byte too many shows that the file has grown since.
        data = os.read(fd, status.st_size + 1)
        if len(data) != status.st_size:
            while part := os.read(fd, _CHUNK):
                data += part
                if len(data) > max_bytes:
                    raise TooLargeError
    finally:
        os.close(fd)
    digest = hashlib.sha256(data).hexdigest()
    mode = stat.S_IMODE(status.st_mode)
    state = FileState(EntryKind.FILE, mode, digest, len(data), inode=status.st_ino, links=status.st_nlink)
    return Content(state, data)


@contextlib.contextmanager
def _temporary(fd: int, path: str) -> Iterator[str]:
    """Yield a name beside the file, the same for each attempt: the next one removes what a kill left
    behind."""
    key = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
    name = f".forge-undo-{key}.tmp"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=fd)
    try:
        yield name
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=fd)


def _set_mode_unread(fd: int, name: str, mode: int) -> None:
    """Set the mode through a descriptor that cannot read: chmod by name would follow a link put there now."""
    if not hasattr(os, "O_PATH"):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
    entry = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
    try:
        if stat.S_ISLNK(os.fstat(entry).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
        os.chmod(f"/proc/self/fd/{entry}", mode)  # noqa: PTH101
    finally:
        os.close(entry)


def _take_over(fd: int, name: str, new: int, old: os.stat_result) -> None:
    own = os.fstat(new)
    with contextlib.suppress(OSError):
        if (own.st_uid, own.st_gid) != (old.st_uid, old.st_gid):
            os.fchown(new, old.st_uid, old.st_gid)
        if hasattr(os, "listxattr"):
            source = os.open(name, _READ_FLAGS, dir_fd=fd)
            try:
                for attribute in os.listxattr(source):
                    os.setxattr(new, attribute, os.getxattr(source, attribute))
            finally:
                os.close(source)


def _write_in_place(fd: int, name: str, data: bytes, mode: int) -> None:
    file = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
    try:
        write_all(file, data)
        os.ftruncate(file, len(data))
        os.fchmod(file, mode)
        os.fsync(file)
    finally:
        os.close(file)
