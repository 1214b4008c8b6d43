"""Takes the image of one file and sees to it that its bytes are kept."""

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
    """An image whose bytes are kept, or why there is none."""

    image: FileState | None
    why: str = ""
    is_fleeting: bool = False
    """The file changed while it was read, or could not be: to be read again at the next look."""


class FileCapture:
    """Reads files of a workspace for the looks over it."""

    def __init__(self, root: Path, git: GitObjects) -> None:
        self._root = str(root)
        self._git = git

    @property
    def max_bytes(self) -> int:
        """The largest file that is read."""
        return MAX_FILE_BYTES_IN_GIT if self._git.in_repository else MAX_FILE_BYTES

    def take(self, path: str, status: os.stat_result, keeper: ContentStore, held: str) -> CapturedFile:
        """The image of `path`, which a walk has just met with this status. `held` is the id under which git
        may hold the bytes."""
        mode = stat.S_IMODE(status.st_mode)
        full = f"{self._root}/{path}"
        try:
            if stat.S_ISDIR(status.st_mode):
                return CapturedFile(FileState(EntryKind.FOLDER, mode))
            if stat.S_ISLNK(status.st_mode):
                return CapturedFile(FileState(EntryKind.LINK, target=os.readlink(full)))  # noqa: PTH115  a Path would normalise it
            if not stat.S_ISREG(status.st_mode):
                return CapturedFile(None, "not a regular file")
            if status.st_size > self.max_bytes:
                raise TooLargeError
            fd = os.open(full, _READ_FLAGS)
            now = os.fstat(fd)
            if (now.st_ino, now.st_dev) != (status.st_ino, status.st_dev):
                os.close(fd)  # something else has taken the name: perhaps by way of a planted link
                return CapturedFile(None, "replaced while it was read", True)
            content = read_file(fd, self.max_bytes)
        except TooLargeError:
            return CapturedFile(None, f"larger than {self.max_bytes / 1_000_000:.0f} MB")
        except OSError as error:
            return CapturedFile(None, error.strerror or str(error), True)
        shot = self.put_away(content, keeper, held)
        return CapturedFile(shot.image, shot.why, now.st_ctime_ns != status.st_ctime_ns)

    def put_away(self, content: Content, keeper: ContentStore, held: str) -> CapturedFile:
        """Keeps the bytes, unless git holds exactly these under `held`."""
        image = content.image
        if image.kind is EntryKind.OTHER:
            return CapturedFile(None, "not a regular file")
        if image.kind is not EntryKind.FILE or not content.data:
            return CapturedFile(image)
        if held and self._git.object_id(content.data) == held:
            return CapturedFile(replace(image, git=held))
        why = keeper.keep(content.data, image.digest)
        return CapturedFile(None, why) if why else CapturedFile(image)
