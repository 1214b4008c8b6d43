"""Reads one file of the workspace and stores its content."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, replace
from pathlib import Path

from forge_core.undo.file_state import EntryKind, FileState
from forge_core.undo.storage.content_store import ContentStore
from forge_core.undo.storage.file_tree import Content, TooLargeError, read_file
from forge_core.undo.storage.git_objects import GitObjects

MAX_FILE_BYTES_IN_GIT = 10 * 1024 * 1024
"""A larger file is not copied before commands."""
MAX_FILE_BYTES = 1024 * 1024
"""The same where there is no git repository."""
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class CapturedFile:
    """A state whose content is stored, or why there is none."""

    state: FileState | None
    why: str = ""
    is_unstable: bool = False
    """The file changed while it was read, or could not be read: the next update reads it again."""


class FileCapture:
    """Reads the files that a scan of the workspace finds."""

    def __init__(self, root: Path, git: GitObjects) -> None:
        self._root = str(root)
        self._git = git

    @property
    def max_bytes(self) -> int:
        """The size of the largest file that is read."""
        return MAX_FILE_BYTES_IN_GIT if self._git.repository is not None else MAX_FILE_BYTES

    def capture(
        self, path: str, status: os.stat_result, contents: ContentStore, tracked_id: str
    ) -> CapturedFile:
        """Return the state of `path`, for which a scan has just found `status`. `tracked_id` is the id under
        which git may hold the content."""
        full = f"{self._root}/{path}"
        try:
            if stat.S_ISDIR(status.st_mode):
                return CapturedFile(FileState(EntryKind.FOLDER, stat.S_IMODE(status.st_mode)))
            if stat.S_ISLNK(status.st_mode):
                target = os.readlink(full)  # noqa: PTH115  a Path would normalise it
                return CapturedFile(FileState(EntryKind.LINK, target=target))
            if not stat.S_ISREG(status.st_mode):
                return CapturedFile(None, "not a regular file")
            if status.st_size > self.max_bytes:
                raise TooLargeError
            # By name, which is faster than FileTree; the check of the inode detects a folder in the path that
            # has been replaced by a link since the scan.
            fd = os.open(full, _READ_FLAGS)
            now = os.fstat(fd)
            if (now.st_ino, now.st_dev) != (status.st_ino, status.st_dev):
                os.close(fd)
                return CapturedFile(None, "replaced while it was read", is_unstable=True)
            content = read_file(fd, self.max_bytes)
        except TooLargeError:
            return CapturedFile(None, f"larger than {self.max_bytes / 1_000_000:.0f} MB")
        except OSError as error:
            return CapturedFile(None, error.strerror or str(error), is_unstable=True)
        stored = self.store(content, contents, tracked_id)
        return replace(stored, is_unstable=now.st_ctime_ns != status.st_ctime_ns)

    def store(self, content: Content, contents: ContentStore, tracked_id: str) -> CapturedFile:
        """Store the content, unless git holds exactly this content under `tracked_id`."""
        state = content.state
        if state.kind is EntryKind.OTHER:
            return CapturedFile(None, "not a regular file")
        if state.kind is not EntryKind.FILE or not content.data:
            return CapturedFile(state)
        if tracked_id and self._git.object_id(content.data) == tracked_id:
            return CapturedFile(replace(state, git=tracked_id))
        why = contents.keep(content.data, state.digest)
        return CapturedFile(None, why) if why else CapturedFile(state)
