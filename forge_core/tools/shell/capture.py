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


class Capture:
    """Takes bytes, keeps at most about eight bytes of memory for each character of `limit`."""

    def __init__(
        self, limit: int, outputs: OutputStore, stem: str, on_output: Callable[[str], None] | None = None
    ) -> None:
        self.total_bytes = 0
        self.kept_in: Path | None = None
        """Where the whole output is, once it outgrew the limit."""
        self._limit = limit
        self._outputs = outputs
        self._stem = stem
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._room = limit * 4
        """Bytes of head and of tail: a character takes up to four."""
        self._file: BinaryIO | None = None
        self._spilled = 0
        self._live = _LiveFeed(on_output) if on_output is not None else None

    def feed(self, data: bytes) -> None:
        self.total_bytes += len(data)
        if self._live is not None:
            self._live.feed(data)
        room = self._room - len(self._head)
        if room > 0:
            self._head += data[:room]
        if len(data) > room:
            self._overflow(data[max(room, 0) :])

    def flush_live(self) -> None:
        """Hands on what the live feed holds back, if it is time."""
        if self._live is not None:
            self._live.flush()

    def text(self) -> str:
        """The output as the model gets it: whole, or head and tail of together `limit` characters."""
        kept = b"".join(self._tail)
        head, tail = _decoded(bytes(self._head)), _decoded(kept)
        if len(self._head) + len(kept) == self.total_bytes:
            head = tail = _decoded(bytes(self._head) + kept)
            if len(head) <= self._limit:
                return head
            if self.kept_in is None:
                self.kept_in = self._outputs.keep(head, self._stem)
        half = self._limit // 2
        head, tail = head[:half], tail[-half:]
        missing = self.total_bytes - len(head.encode()) - len(tail.encode())
        return head.rstrip("\n") + "\n" + omission(max(missing, 0), self.kept_in) + "\n" + tail

    def close(self) -> None:
        """Ends the live feed and the file. The text stays."""
        if self._live is not None:
            self._live.flush(final=True)
        if self._file is not None:
            self._file.close()
            self._file = None

    def _overflow(self, data: bytes) -> None:
        if self._spilled == 0:
            self._spill(bytes(self._head))
        self._spill(data)
        self._tail.append(data)
        self._tail_bytes += len(data)
        while self._tail_bytes - len(self._tail[0]) >= self._room:
            self._tail_bytes -= len(self._tail.popleft())

    def _spill(self, data: bytes) -> None:
        """Writes to the file up to its cap; gives the file up when the disk is full."""
        part = data[: MAX_SPILL_BYTES - self._spilled]
        first = self._spilled == 0
        self._spilled += len(part)
        if not part or (self._file is None and not first):
            return
        try:
            if self._file is None:
                self.kept_in, self._file = self._outputs.create(self._stem)
            write_all(self._file, part)
        except OSError:
            self.kept_in = None
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
