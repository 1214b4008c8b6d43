"""File contents within a limit of size: to make room, the oldest turns are dropped, then unused contents."""

from __future__ import annotations

from collections.abc import Callable, Collection

from forge_core.undo.file_state import EntryKind, FileState
from forge_core.undo.storage.blobs import BlobStore
from forge_core.undo.storage.git_objects import GitObjects
from forge_core.undo.storage.turn_log import TurnLog

PACKED_BYTES = 4 * 1024 * 1024
"""Per update of the snapshot: more is stored uncompressed, since compressing costs 15 ms per MB."""


class ContentStore:
    """Stores file contents, and reads them from the store or from git."""

    def __init__(
        self,
        blobs: BlobStore,
        git: GitObjects,
        log: TurnLog,
        limit_bytes: int,
        also_needed: Callable[[], Collection[str]],
    ) -> None:
        """`also_needed` returns the blobs in use that no turn refers to yet."""
        self._blobs = blobs
        self._git = git
        self._log = log
        self._limit = limit_bytes
        self._ceiling = limit_bytes
        self._also_needed = also_needed
        self._left_to_pack = PACKED_BYTES
        self._fresh: set[str] = set()
        """Stored since the last `begin`; nothing may refer to them yet."""
        self._refused_size = limit_bytes
        """There was no room for this size: a larger content is refused at once, since each attempt to make
        room sums up all blobs."""
        self.trouble = ""
        """Why writing to disk failed, since the last `begin`."""

    def begin(self, *, is_first: bool = False) -> None:
        """Start an update or a capture: compress again, and try the disk again. The first update, before
        anything has changed, may use half of the room."""
        self._ceiling = self._limit // 2 if is_first else self._limit
        self.trouble = ""
        self._left_to_pack = PACKED_BYTES
        self._fresh.clear()
        self._refused_size = self._limit

    def keep(self, data: bytes, digest: str) -> str:
        """Store the bytes; return why that was not possible, or an empty string."""
        # Also for a blob that is stored already: only an old turn may refer to it, which `_make_room` may
        # drop.
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

    def fetch(self, states: Collection[FileState]) -> dict[str, bytes]:
        """Return the contents that only git holds, by their sha256; without those that git no longer has."""
        wanted = {
            state.git: state
            for state in states
            if state.kind is EntryKind.FILE and state.git and state.digest not in self._blobs
        }
        sizes = {object_id: state.size for object_id, state in wanted.items()}
        return {wanted[object_id].digest: data for object_id, data in self._git.read(sizes)}

    def stored(self, state: FileState) -> bytes | None:
        """Return the content of a file from the store."""
        return self._blobs.get(state.digest) if state.size else b""

    def _make_room(self, size: int) -> bool:
        """Drop turns, oldest first, until `size` more bytes fit; none when that would not suffice. Raises
        OSError."""
        if size >= self._refused_size:
            return False
        # What no dropping of turns can free: the contents of the running turn, of the snapshot, and new ones.
        running = self._log.running.digests() if self._log.running is not None else set()
        if self._blobs.size_of(self._needed(running)) + size > self._ceiling:
            self._refused_size = size
            return False
        is_shorter = False
        needed = self._needed(self._log.history.digests())
        # Shared contents are freed with the last turn that needs them, so the sum is computed again for each
        # turn.
        while self._blobs.size_of(needed) + size > self._ceiling and self._log.forget_oldest():
            is_shorter = True
            needed = self._needed(self._log.history.digests())
        if is_shorter:
            self._log.compact()
        self._blobs.keep_only(needed)
        return self._blobs.total_bytes + size <= self._ceiling

    def _needed(self, turns: set[str]) -> set[str]:
        """Return the blobs in use, when `turns` are those that turns refer to."""
        return turns | set(self._also_needed()) | self._fresh
