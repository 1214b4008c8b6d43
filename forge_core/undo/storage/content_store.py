"""Keeps bytes within a limit: the oldest turns go first, then what nothing refers to any more."""

from __future__ import annotations

from collections.abc import Callable, Collection

from forge_core.undo.file_state import EntryKind, FileState
from forge_core.undo.storage.blobs import BlobStore
from forge_core.undo.storage.git_objects import GitObjects
from forge_core.undo.storage.turn_log import TurnLog

PACKED_BYTES = 4 * 1024 * 1024
"""Of one look over the workspace: what is beyond is kept as it is, since compressing costs 15 ms a MB."""


class ContentStore:
    """Puts file contents away and finds them again."""

    def __init__(
        self,
        blobs: BlobStore,
        git: GitObjects,
        log: TurnLog,
        limit_bytes: int,
        also_needed: Callable[[], Collection[str]],
    ) -> None:
        self._blobs = blobs
        self._git = git
        self._log = log
        self._limit = limit_bytes
        self._ceiling = limit_bytes
        self._also_needed = also_needed
        self._left_to_pack = PACKED_BYTES
        self._fresh: set[str] = set()
        """Kept since the last `begin`; nobody may refer to it yet."""
        self._refused_size = limit_bytes
        """From this size on there was no room; every attempt to make some looks at all blobs."""
        self.trouble = ""
        """Why the disk refused, since the last `begin`."""

    def begin(self, *, is_first: bool = False) -> None:
        """A new look or capture: compress again, and try the disk again. What stands before anything has
        changed may take half of the room."""
        self._ceiling = self._limit // 2 if is_first else self._limit
        self.trouble = ""
        self._left_to_pack = PACKED_BYTES
        self._fresh.clear()
        self._refused_size = self._limit

    def keep(self, data: bytes, digest: str) -> str:
        """Keeps the bytes; gives why that was not possible, or nothing."""
        self._fresh.add(digest)
        if digest in self._blobs:
            return ""
        if self.trouble:
            return self.trouble
        if len(data) > self._limit:
            return f"larger than {self._limit // 1_000_000} MB"
        try:
            if self._blobs.total_bytes + len(data) > self._ceiling and not self._make_room(len(data)):
                return "the store for undo is full"
            self._blobs.put(data, digest, packed=self._left_to_pack > 0)
        except OSError as error:
            self.trouble = error.strerror or str(error)
            return self.trouble
        self._left_to_pack -= len(data)
        return ""

    def fetch(self, images: Collection[FileState]) -> dict[str, bytes]:
        """The bytes of those images that lie in git alone, by their sha256, as far as git still has them."""
        wanted = {
            image.git: image
            for image in images
            if image.kind is EntryKind.FILE and image.git and image.digest not in self._blobs
        }
        found: dict[str, bytes] = {}
        for one, data in self._git.read({one: image.size for one, image in wanted.items()}):
            found[wanted[one].digest] = data
        return found

    def stored(self, image: FileState) -> bytes | None:
        """The bytes of a file's image out of the store."""
        return self._blobs.get(image.digest) if image.size else b""

    def _make_room(self, size: int) -> bool:
        """Drops turns, oldest first, until `size` more bytes fit; none when that would not do. Raises
        OSError."""
        if size >= self._refused_size:
            return False
        if self._blobs.size_of(self._needed(is_least=True)) + size > self._ceiling:
            self._refused_size = size
            return False
        is_shorter = False
        needed = self._needed()
        while self._blobs.size_of(needed) + size > self._ceiling and self._log.forget_oldest():
            is_shorter = True
            needed = self._needed()
        if is_shorter:
            self._log.compact()
        self._blobs.keep_only(needed)
        return self._blobs.total_bytes + size <= self._ceiling

    def _needed(self, *, is_least: bool = False) -> set[str]:
        """The blobs that something refers to; at the least those of no earlier turn."""
        turns = self._log.history.digests() if not is_least else self._log.running_digests()
        return turns | set(self._also_needed()) | self._fresh
