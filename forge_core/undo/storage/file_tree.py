"""The files below the workspace, reached by directory descriptors: no symbolic link on the way is ever
followed, so whatever a command planted, nothing outside is read or written.

A path is relative to the root with forward slashes, or absolute for what a tool changed elsewhere with the
person's leave; that one is walked from `/` in the same way.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from forge_core.undo.file_state import ABSENT, EntryKind, FileState

FILE_TYPE_MASK = 0o170000
"""The bits of a mode that hold the file type, as S_IFMT in inode(7)."""
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Content:
    """An image with the bytes of a file."""

    image: FileState
    data: bytes = b""


class TooLargeError(Exception):
    """The file is larger than the caller takes."""


class FileTree:
    """Reads and replaces entries below `root`, an absolute path without links."""

    def __init__(self, root: str) -> None:
        self._root = root
        self.syncs_each = True
        """Whether each file is forced to the disk; many at once are cheaper with one `os.sync`."""

    @contextlib.contextmanager
    def parent(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """A descriptor of the folder that holds `path`, and the last name. Raises OSError: NotADirectoryError
        or ELOOP where a part of the way is a link or a file. With `make`, missing folders are made."""
        *folders, name = [part for part in path.split("/") if part]
        if ".." in folders or name in ("..", "."):
            raise OSError(errno.EINVAL, "not a plain path", path)
        fd = os.open("/" if path.startswith("/") else self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for folder in folders:
                inner = _enter(fd, folder, make)
                os.close(fd)
                fd = inner
            yield fd, name
        finally:
            os.close(fd)

    def status(self, path: str) -> os.stat_result | None:
        """Like lstat; None when nothing is there, or when a part of the way is no folder."""
        try:
            with self.parent(path) as (fd, name):
                return os.stat(name, dir_fd=fd, follow_symlinks=False)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                return None
            raise

    def names(self, path: str) -> list[str]:
        """What a folder holds. Raises OSError."""
        with self.parent(path) as (fd, name):
            folder = os.open(name, _FOLDER_FLAGS, dir_fd=fd)
        try:
            return os.listdir(folder)  # noqa: PTH208  by its descriptor
        finally:
            os.close(folder)

    def content(self, path: str, max_bytes: int) -> Content:
        """What stands at `path`. Raises TooLargeError for a larger file, OSError for what can't be read."""
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
            return read_file(os.open(name, _READ_FLAGS, dir_fd=fd), max_bytes)

    def remove(self, path: str, kind: EntryKind) -> None:
        """Removes a file, a link or an empty folder. Raises OSError."""
        with self.parent(path) as (fd, name):
            if kind is EntryKind.FOLDER:
                os.rmdir(name, dir_fd=fd)
            else:
                os.unlink(name, dir_fd=fd)

    def make_folder(self, path: str) -> None:
        """Makes a folder that only its owner may use until its mode is set. Raises OSError."""
        with self.parent(path, make=True) as (fd, name):
            os.mkdir(name, 0o700, dir_fd=fd)

    def set_mode(self, path: str, mode: int, kind: EntryKind) -> None:
        """Sets the permission bits of a file or folder. Raises OSError."""
        with self.parent(path) as (fd, name):
            status = os.stat(name, dir_fd=fd, follow_symlinks=False)
            is_kind = (
                stat.S_ISDIR(status.st_mode) if kind is EntryKind.FOLDER else stat.S_ISREG(status.st_mode)
            )
            if not is_kind:
                raise OSError(errno.EINVAL, "something else stands there", path)
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
        """Puts a symbolic link at `path`, in one step. Raises OSError."""
        with self.parent(path, make=True) as (fd, name), _temporary(fd, path) as temporary:
            os.symlink(target, temporary, dir_fd=fd)
            os.rename(temporary, name, src_dir_fd=fd, dst_dir_fd=fd)

    def put_file(self, path: str, data: bytes, mode: int, *, in_place: bool = False) -> None:
        """Puts a file at `path`: it holds the old or the new bytes at every moment, also after a kill.

        The owner and attributes of a file that stands there are kept. `in_place` writes into the file that
        stands there, and so into all its names; a kill may leave that half done. The same is done in a folder
        where nothing can be made. Raises OSError.
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
                            _take_over(fd, name, new, old)
                        os.fchmod(new, mode)
                        if self.syncs_each:
                            os.fsync(file.fileno())
                    os.rename(temporary, name, src_dir_fd=fd, dst_dir_fd=fd)
            except PermissionError:
                if old is None or not stat.S_ISREG(old.st_mode) or old.st_nlink > 1:
                    raise
                _write_in_place(fd, name, data, mode)


def stamp_of(status: os.stat_result) -> int:
    """A number made of what changes when an entry does. A folder's counts its mode alone: its times change
    with what is in it. The change time stands for the modification time too, and can't be set back."""
    mode = status.st_mode
    if mode & FILE_TYPE_MASK in (stat.S_IFREG, stat.S_IFLNK):
        return hash((status.st_ctime_ns, status.st_size, status.st_ino, mode))
    return hash((mode, 0 if mode & FILE_TYPE_MASK == stat.S_IFDIR else status.st_ino))


def read_file(fd: int, max_bytes: int) -> Content:
    """The image and bytes of an open regular file; closes it."""
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return Content(FileState(EntryKind.OTHER, stat.S_IMODE(status.st_mode)))
        if status.st_size > max_bytes:
            raise TooLargeError
        data = os.read(fd, status.st_size + 1)
        if len(data) != status.st_size:
            parts = [data]
            total = len(data)
            while part := os.read(fd, _CHUNK):
                total += len(part)
                if total > max_bytes:
                    raise TooLargeError
                parts.append(part)
            data = b"".join(parts)
    finally:
        os.close(fd)
    digest = hashlib.sha256(data).hexdigest()
    mode = stat.S_IMODE(status.st_mode)
    image = FileState(EntryKind.FILE, mode, digest, len(data), inode=status.st_ino, links=status.st_nlink)
    return Content(image, data)


def write_all(fd: int, data: bytes) -> None:
    """Writes everything: os.write may be short without an exception, on a full disk above all."""
    view = memoryview(data)
    while view:
        written = os.write(fd, view)
        if written == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        view = view[written:]


def _enter(fd: int, folder: str, make: bool) -> int:
    try:
        return os.open(folder, _FOLDER_FLAGS, dir_fd=fd)
    except FileNotFoundError:
        if not make:
            raise
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, dir_fd=fd)
    return os.open(folder, _FOLDER_FLAGS, dir_fd=fd)


@contextlib.contextmanager
def _temporary(fd: int, path: str) -> Iterator[str]:
    """A name beside the file, the same for each attempt: what a kill left behind is swept by the next."""
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
    """By way of a handle that may not read, since chmod by name would follow a link put there meanwhile."""
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
