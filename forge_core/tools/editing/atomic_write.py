"""Replaces the content of a file atomically.

A crash, a full disk, a second writer or a link put into the path never leaves a part of the new bytes, nor
any of them elsewhere.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from forge_core.errors import ToolError
from forge_core.tools.editing.text import sha256
from forge_core.workspace.beneath import opened_folder, write_all

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CHANGED = "another program has just changed the file. Nothing was written. Read it again."
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NAME = re.compile(r"\.forge-([1-9][0-9]{0,8})-([0-9a-f]{8})-[0-9a-f]{8}\.tmp")
_RUN = secrets.token_hex(4)
"""Distinguishes this process from an earlier one with the same id, as is usual in a container."""


@dataclass(frozen=True, slots=True)
class WriteTarget:
    """A file by its real path."""

    path: Path
    base: Path = Path("/")
    """A folder above it. From there on no link is followed: the workspace, or the root."""
    may_have_links: bool = True
    """Whether a file with several hard links may be written."""


@dataclass(frozen=True, slots=True)
class FileAttributes:
    """Mode, owner and extended attributes of a file."""

    mode: int
    owner: tuple[int, int]
    extended: tuple[tuple[str, bytes], ...]


def read_file(target: WriteTarget, limit: int) -> tuple[bytes, FileAttributes]:
    """Return at most `limit` bytes of a regular file, and its attributes. Never blocks on a FIFO. Raise
    OSError."""
    with (
        opened_folder(target.path.parent, target.base) as folder,
        _opened(target.path.name, _READ, folder) as descriptor,
    ):
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(target.path))
        return _read_all(descriptor, limit), _attributes(descriptor, status)


def check_writable(path: Path) -> None:
    """Raise ToolError for a file marked read-only, also for root, who could write it all the same."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise ToolError(f"{path.name!r} cannot be written: {error.strerror}.") from error
    if not mode & 0o222 or not os.access(path, os.W_OK):
        raise ToolError(
            f"{path.name!r} is read-only. Nothing was written. Ask the user before changing its mode."
        )


def write_file(
    target: WriteTarget, data: bytes, expected: str | None, attributes: FileAttributes | None = None
) -> tuple[Path, ...]:
    """Replace the content of the file by `data`, and return the folders made for it, deepest first; on any
    failure the old bytes stay.

    `expected` is the sha256 of the bytes that must still be there, None for a file that must not exist yet.
    Mode, owner and extended attributes are kept (a new file gets `attributes`, else the usual ones); a file
    with several names, or in a folder where no new file can be made, is written in place. Leftovers of killed
    writers in the folder are removed, and so are the folders that a failed write has made. Raise ToolError.
    """
    name, is_new = target.path.name, expected is None
    try:
        with (
            _removed_on_failure(target) if is_new else contextlib.nullcontext(()) as made,
            opened_folder(target.path.parent, target.base, make=is_new) as folder,
        ):
            remove_stale_files(folder)
            if expected is None:
                _create(folder, name, data, attributes)
            elif not _replace(folder, name, data, expected):
                _write_in_place(folder, name, data, expected, may_have_links=target.may_have_links)
        return made
    except OSError as error:
        raise ToolError(_failure(target.path, error)) from error


def remove_file(target: WriteTarget, expected: str, made: Sequence[Path] = ()) -> None:
    """Delete the file when it still has the bytes of sha256 `expected`, and then those of the folders `made`
    for it that are empty. Raise ToolError."""
    try:
        with opened_folder(target.path.parent, target.base) as folder:
            _check_unchanged(folder, target.path.name, expected)
            os.unlink(target.path.name, dir_fd=folder)
            _sync(folder)
    except OSError as error:
        raise ToolError(_failure(target.path, error)) from error
    _remove_empty(made, target.base)


@contextlib.contextmanager
def _removed_on_failure(target: WriteTarget) -> Iterator[tuple[Path, ...]]:
    """Yield the folders that are missing. They are removed again when the write fails and they are empty."""
    missing: list[Path] = []
    for folder in target.path.parents:
        if folder == target.base or os.path.lexists(folder):
            break
        missing.append(folder)
    try:
        yield tuple(missing)
    except BaseException:
        _remove_empty(missing, target.base)
        raise


def _remove_empty(folders: Sequence[Path], base: Path) -> None:
    """Remove the folders, the deepest first, up to the first that is not empty."""
    with contextlib.suppress(OSError):
        for folder in folders:
            with contextlib.suppress(FileNotFoundError), opened_folder(folder.parent, base) as parent:
                os.rmdir(folder.name, dir_fd=parent)


def _create(folder: int, name: str, data: bytes, attributes: FileAttributes | None) -> None:
    with temporary_file(folder) as (temporary, descriptor):
        write_all(descriptor, data)
        if attributes is None or not _apply_attributes(descriptor, attributes):
            os.fchmod(descriptor, (attributes.mode if attributes else 0o666 & ~_umask()))
        os.fsync(descriptor)
        try:  # unlike a rename, a link never replaces a file that has just appeared
            os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError:
            raise ToolError(
                f"{name!r} has been created in the meantime. Nothing was written. Read it first."
            ) from None
        except OSError:  # a file system without hard links
            os.close(os.open(name, NEW_FILE, 0o600, dir_fd=folder))
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    _sync(folder)


def _replace(folder: int, name: str, data: bytes, expected: str) -> bool:
    """Write a new file and rename it over the old one; False where that would lose something."""
    with _opened(name, _READ, folder) as old:
        status = os.fstat(old)
        _check_regular(name, status)
        # A rename would separate this name from the file's other names.
        if status.st_nlink > 1:
            return False
        attributes = _attributes(old, status)
    try:
        with temporary_file(folder) as (temporary, descriptor):
            write_all(descriptor, data)
            if not _apply_attributes(descriptor, attributes):
                return False
            os.fsync(descriptor)
            # As late as possible: what another program writes between this check and the rename is lost.
            _check_unchanged(folder, name, expected)
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            return False
        raise
    _sync(folder)
    return True


def _check_regular(name: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"{name!r} is no longer a regular file. Nothing was written.")
    if not status.st_mode & 0o222:
        raise ToolError(f"{name!r} is read-only. Nothing was written. Ask the user before changing its mode.")


def _attributes(descriptor: int, status: os.stat_result) -> FileAttributes:
    attributes: list[tuple[str, bytes]] = []
    if hasattr(os, "listxattr"):
        with contextlib.suppress(OSError):  # a file system without them
            attributes = [(name, os.getxattr(descriptor, name)) for name in os.listxattr(descriptor)]
    return FileAttributes(stat.S_IMODE(status.st_mode), (status.st_uid, status.st_gid), tuple(attributes))


def _apply_attributes(descriptor: int, attributes: FileAttributes) -> bool:
    """Set the attributes of a file; return False when that is not allowed."""
    own = os.fstat(descriptor)
    try:
        if (own.st_uid, own.st_gid) != attributes.owner:
            os.fchown(descriptor, *attributes.owner)
        os.fchmod(descriptor, attributes.mode)
        for name, value in attributes.extended:
            os.setxattr(descriptor, name, value)
    except OSError as error:
        return error.errno == errno.ENOTSUP
    return True


def _write_in_place(folder: int, name: str, data: bytes, expected: str, *, may_have_links: bool) -> None:
    """Overwrite the bytes of the same inode; restore the old ones when that fails half-way."""
    with _opened(name, _READ | os.O_RDWR, folder) as descriptor:
        status = os.fstat(descriptor)
        _check_regular(name, status)
        if status.st_nlink > 1 and not may_have_links:
            raise ToolError(
                f"{name!r} has got {status.st_nlink} links since it was checked, so writing it may change a"
                " file outside the workspace. Nothing was written. Repeat the call to ask the user."
            )
        before = _read_all(descriptor)
        if sha256(before) != expected:
            raise ToolError(_CHANGED)
        try:
            _overwrite(descriptor, data)
        except OSError:
            with contextlib.suppress(OSError):
                _overwrite(descriptor, before)
            raise


def _overwrite(descriptor: int, data: bytes) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    write_all(descriptor, data)
    os.ftruncate(descriptor, len(data))
    os.fsync(descriptor)


def _check_unchanged(folder: int, name: str, expected: str) -> None:
    with _opened(name, _READ, folder) as descriptor:
        if sha256(_read_all(descriptor)) != expected:
            raise ToolError(_CHANGED)


@contextlib.contextmanager
def _opened(name: str, flags: int, folder: int) -> Iterator[int]:
    descriptor = os.open(name, flags, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _read_all(descriptor: int, limit: int = -1) -> bytes:
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        return file.read(limit)


def _sync(folder: int) -> None:
    """Flush the folder itself to disk, where the file system can."""
    with contextlib.suppress(OSError), _opened(".", _FOLDER, folder) as descriptor:
        os.fsync(descriptor)


def _umask() -> int:
    """Return the process's umask, read where that is possible without setting it (which would race)."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        text = Path("/proc/self/status").read_text("ascii", "replace")
        return int(text.split("Umask:", 1)[1].split(None, 1)[0], 8)
    return 0o022


def _failure(path: Path, error: OSError) -> str:
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            return f"the disk is full: {path.name!r} could not be written and is unchanged."
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return f"{str(path)!r} cannot be written: {error.strerror}."
        case errno.ENOTDIR | errno.EEXIST:
            return f"{str(path)!r} cannot be created: a part of its path is a file, or has become a link."
        case errno.ELOOP | errno.EXDEV:
            return f"{str(path)!r} was not written: a part of its path has become a link in the meantime."
        case errno.ENAMETOOLONG:
            return f"the name {path.name[:60]!r}… is too long for the file system."
        case _:
            return f"{str(path)!r} could not be written: {error.strerror or error}. It is unchanged."


@contextlib.contextmanager
def temporary_file(folder: int) -> Iterator[tuple[str, int]]:
    """Yield the name and descriptor of a new file in the folder; it is deleted afterwards unless it was
    renamed.

    The file is locked while it is written: an unlocked one whose process has ended is stale.
    """
    name = f".forge-{os.getpid()}-{_RUN}-{secrets.token_hex(4)}.tmp"
    descriptor = os.open(name, NEW_FILE, 0o600, dir_fd=folder)
    try:
        with contextlib.suppress(OSError):  # a file system without locks; there nothing is ever swept
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield name, descriptor
    finally:
        os.close(descriptor)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)


def remove_stale_files(folder: int) -> None:
    """Remove what killed writers left in the folder. What cannot be listed or removed stays."""
    with contextlib.suppress(OSError):
        with _opened(".", _FOLDER, folder) as descriptor, os.scandir(descriptor) as entries:
            names = [entry.name for entry in entries]
        for name in names:
            found = _NAME.fullmatch(name)
            if found is not None and _is_gone(int(found[1]), found[2]):
                _remove(folder, name)


def _is_gone(process: int, run: str) -> bool:
    # In a container the process id is often the same in each run: the random run id tells them apart.
    if process == os.getpid():
        return run != _RUN
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:  # it exists, but belongs to another user
        return False
    return False


def _remove(folder: int, name: str) -> None:
    with contextlib.suppress(OSError), _opened(name, _READ, folder) as descriptor:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(name, dir_fd=folder)
