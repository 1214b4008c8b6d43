"""What a command prints, held in bounded memory: its head, its tail, a live feed, and all of it in a file."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from forge_core.tools.output import MAX_SPILL_BYTES, OutputStore, TextDecoder, omission, write_all

LIVE_INTERVAL_S = 0.05
"""At least this long between two pieces of live output: at most 20 a second."""
MAX_LIVE_PIECE = 16_384
"""Bytes of one live piece; what comes faster is skipped, its end is kept."""
MAX_LIVE_TOTAL = 1_000_000
"""Bytes of live output of one command."""
RECENT_BYTES = 8 * 1024
"""The end of the output that `recent` can show, whoever has read it already."""


class Capture:
    """Takes bytes, keeps at most about eight bytes of memory for each character of `limit`.

    `text` is what came since the last `take`, so a job's output is told piece by piece, each within the
    limit. The file holds all of it from the first byte.
    """

    def __init__(
        self, limit: int, outputs: OutputStore, stem: str, on_output: Callable[[str], None] | None = None
    ) -> None:
        self.total_bytes = 0
        self._limit = limit
        self._piece = _Piece(limit * 4)
        self._spill = _Spill(outputs, stem)
        self._recent = bytearray()
        self._live = _LiveFeed(on_output) if on_output is not None else None
        self._outputs = outputs
        self._stem = stem
        self._kept: Path | None = None

    @property
    def kept_in(self) -> Path | None:
        """Where the whole output is, once it outgrew the limit or `keep` was called."""
        return self._spill.path or self._kept

    @property
    def has_news(self) -> bool:
        """Whether something came since the last `take`."""
        return self._piece.total_bytes > 0

    def feed(self, data: bytes) -> None:
        self.total_bytes += len(data)
        if self._live is not None:
            self._live.feed(data)
        self._recent += data[-RECENT_BYTES:]
        if len(self._recent) > 2 * RECENT_BYTES:
            del self._recent[:-RECENT_BYTES]
        if not self._spill.is_open and not self._piece.has_room(len(data)):
            self._spill.write(self._piece.content())
        self._piece.feed(data)
        if self._spill.is_open:
            self._spill.write(data)

    def flush_live(self) -> None:
        """Hands on what the live feed holds back, if it is time."""
        if self._live is not None:
            self._live.flush()

    def end_live(self) -> None:
        if self._live is not None:
            self._live.flush(final=True)
            self._live = None

    def keep(self) -> None:
        """Keeps all of the output in the file from now on, however small it is. To be called before the first
        `take`."""
        if not self._spill.is_open:
            self._spill.write(self._piece.content())

    def text(self) -> str:
        """What came since the last `take`: whole, or head and tail of together `limit` characters."""
        piece = self._piece
        head, tail = _decoded(bytes(piece.head)), _decoded(piece.tail())
        if piece.is_whole:
            head = tail = _decoded(piece.content())
            if len(head) <= self._limit:
                return head
            if self.kept_in is None and not self._spill.is_open:
                self._kept = self._outputs.keep(head, self._stem)
        half = self._limit // 2
        head, tail = head[:half], tail[-half:]
        missing = piece.total_bytes - len(head.encode()) - len(tail.encode())
        return head.rstrip("\n") + "\n" + omission(max(missing, 0), self.kept_in) + "\n" + tail

    def take(self, *, is_final: bool = False) -> str:
        """`text`, which is then done with. The beginning of a character whose rest is still to come stays,
        unless nothing comes any more."""
        begun = b"" if is_final else self._piece.cut_unfinished()
        text = self.text()
        self._piece = _Piece(self._limit * 4)
        self._piece.feed(begun)
        return text

    def recent(self, limit: int = RECENT_BYTES) -> str:
        """The last `limit` bytes, taken or not."""
        return _decoded(bytes(self._recent[-limit:]))

    def close(self) -> None:
        """Ends the live feed and the file. The text stays."""
        self.end_live()
        self._spill.close()


class _Piece:
    """Head and tail of a stretch of output."""

    def __init__(self, room: int) -> None:
        self.head = bytearray()
        self.total_bytes = 0
        self._room = room
        """Bytes of head and of tail: a character takes up to four."""
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0

    @property
    def is_whole(self) -> bool:
        return len(self.head) + self._tail_bytes == self.total_bytes

    def has_room(self, size: int) -> bool:
        """Whether that many bytes more still fit into the head."""
        return self.total_bytes + size <= self._room

    def feed(self, data: bytes) -> None:
        self.total_bytes += len(data)
        room = self._room - len(self.head)
        if room > 0:
            self.head += data[:room]
        if len(data) > room:
            self._tail.append(data[max(room, 0) :])
            self._tail_bytes += len(self._tail[-1])
        while self._tail and self._tail_bytes - len(self._tail[0]) >= self._room:
            self._tail_bytes -= len(self._tail.popleft())

    def tail(self) -> bytes:
        return b"".join(self._tail)

    def content(self) -> bytes:
        return bytes(self.head) + self.tail()

    def cut_unfinished(self) -> bytes:
        """Takes off the beginning of a character at the end."""
        size = _unfinished(self.content()[-4:])
        if size == 0:
            return b""
        cut = self.content()[-size:]
        self.total_bytes -= size
        if self._tail:
            rest = self.tail()[:-size]
            self._tail = deque([rest] if rest else [])
            self._tail_bytes = len(rest)
        else:
            del self.head[-size:]
        return cut


class _Spill:
    """The file with all of the output, up to its cap; given up when the disk is full."""

    def __init__(self, outputs: OutputStore, stem: str) -> None:
        self.path: Path | None = None
        self.is_open = False
        """Whether it was begun: what comes belongs to it, though its cap may be reached."""
        self._outputs = outputs
        self._stem = stem
        self._file: BinaryIO | None = None
        self._written = 0

    def write(self, data: bytes) -> None:
        part = data[: MAX_SPILL_BYTES - self._written]
        is_first = not self.is_open
        self.is_open = True
        self._written += len(part)
        if self._file is None and not is_first:
            return
        try:
            if self._file is None:
                self.path, self._file = self._outputs.create(self._stem)
            write_all(self._file, part)
        except OSError:
            self.path = None
            self.close()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class _LiveFeed:
    """Output on its way to the screen: joined, thinned out and capped."""

    def __init__(self, on_output: Callable[[str], None]) -> None:
        self._on_output = on_output
        self._decode = TextDecoder()
        self._pending = bytearray()
        self._shown = 0
        self._last = 0.0
        self._skipped = False

    def feed(self, data: bytes) -> None:
        if self._shown >= MAX_LIVE_TOTAL:
            return
        self._pending += data[-MAX_LIVE_PIECE:]
        if len(self._pending) > MAX_LIVE_PIECE or len(data) > MAX_LIVE_PIECE:
            del self._pending[:-MAX_LIVE_PIECE]
            self._skipped = True
        self.flush()

    def flush(self, final: bool = False) -> None:
        now = time.monotonic()
        if not self._pending or (now - self._last < LIVE_INTERVAL_S and not final):
            return
        if self._shown >= MAX_LIVE_TOTAL:
            return
        self._last = now
        self._shown += len(self._pending)
        text = ("\n[...]\n" if self._skipped else "") + self._decode(bytes(self._pending), final)
        self._pending.clear()
        self._skipped = False
        if self._shown >= MAX_LIVE_TOTAL:
            text += "\n[live output ends here; the command goes on]\n"
        if text:
            self._on_output(text)


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _unfinished(data: bytes) -> int:
    """How many bytes at the end are the beginning of a UTF-8 character whose rest is missing."""
    for size in range(1, min(3, len(data)) + 1):
        byte = data[-size]
        if byte & 0xC0 == 0x80:
            continue
        length = 2 if byte >> 5 == 0b110 else 3 if byte >> 4 == 0b1110 else 4 if byte >> 3 == 0b11110 else 1
        return size if size < length else 0
    return 0
