"""What a command prints, held in bounded memory: its head, its tail, a live feed, and all of it in a file."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from forge_core.redact import Redactor
from forge_core.result import Omission
from forge_core.tools.output import MAX_SPILL_BYTES, OutputStore, join_head_and_tail
from forge_core.tools.shell.terminal_text import TerminalText
from forge_core.workspace.beneath import write_all

RECENT_BYTES = 8 * 1024
"""The end of the output that `recent` can show, even if it has been read already."""
LIVE_INTERVAL_S = 0.05
"""At least this long between two pieces: at most 20 a second."""
MAX_LIVE_PIECE = 16_384
"""Characters of one piece; what comes faster is skipped, its end is kept."""
MAX_LIVE_TOTAL = 1_000_000
"""Characters of one command."""


class OutputCapture:
    """Collects output in bounded memory: about eight bytes for each character of `limit`.

    Output is converted once to what a terminal would show. `take` returns what has arrived since its last
    call, within the limit; the file contains all output from the beginning; the live feed follows it.
    """

    def __init__(
        self, limit: int, outputs: OutputStore, stem: str, on_output: Callable[[str], None] | None = None
    ) -> None:
        self.omission: Omission | None = None
        """What the last `take` left out."""
        self._limit = limit
        self._outputs = outputs
        self._shown = TerminalText()
        self._reported_row = ""
        """The part of the current row, which may still change, that `take` has returned."""
        self._piece = _Piece(limit * 4)
        self._spill = _Spill(outputs, stem)
        self._recent = bytearray()
        self._live = LiveFeed(on_output, self._shown, outputs.redact) if on_output is not None else None

    @property
    def kept_in(self) -> Path | None:
        """Where the whole output is, once it outgrew the limit or `keep` was called."""
        return self._spill.path

    @property
    def has_news(self) -> bool:
        """Whether output has arrived since the last `take`."""
        return self._piece.total_bytes > 0 or bool(self._shown.row.removeprefix(self._reported_row))

    def feed(self, data: bytes) -> None:
        self._settle(self._shown.feed(data))

    def flush_live(self) -> None:
        """Pass on pending live output, if it is time."""
        if self._live is not None:
            self._live.flush()

    def end_live(self) -> None:
        if self._live is not None:
            self._live.flush(final=True)
            self._live = None

    def keep(self) -> None:
        """Keep all of the output in the file from now on, however small it is. To be called before the first
        `take`."""
        if not self._spill.is_open:
            self._spill.write(self._piece.content(), self._shown.row.encode())

    def take(self) -> str:
        """Return and discard what has arrived since the last `take`: all of it, or head and tail of `limit`
        characters together.

        A line that was returned before its end is continued, or repeated if it was rewritten. The beginning
        of a character or control sequence waits for its rest.
        """
        row = self._shown.row
        self._piece.feed(row.removeprefix(self._reported_row).encode())
        self._reported_row = row
        text, self.omission = self._limited()
        self._piece = _Piece(self._limit * 4)
        return text

    def recent(self, limit: int = RECENT_BYTES) -> str:
        """Return the last `limit` bytes, taken or not."""
        return _decoded((bytes(self._recent) + self._shown.row.encode())[-limit:])

    def close(self) -> None:
        """End the live feed and the file. What was not taken stays."""
        self._settle(self._shown.finish())
        self.end_live()
        self._spill.close()

    def _settle(self, text: str) -> None:
        """Store text that is final."""
        data = text.encode()
        news = data
        if text:
            news = text.removeprefix(self._reported_row).encode()
            self._reported_row = ""
        if self._live is not None:
            self._live.feed(text)
        # Trimmed at twice its size, so that small writes do not move 8 KB each.
        self._recent += data[-RECENT_BYTES:]
        if len(self._recent) > 2 * RECENT_BYTES:
            del self._recent[:-RECENT_BYTES]
        # The head still holds everything so far, so the file can begin with it when the piece overflows.
        if not self._spill.is_open and not self._piece.has_room(len(news)):
            self._spill.write(self._piece.content())
        self._piece.feed(news)
        if self._spill.is_open:
            self._spill.write(data, self._shown.row.encode())

    def _limited(self) -> tuple[str, Omission | None]:
        piece = self._piece
        head, tail = _decoded(bytes(piece.head)), _decoded(piece.tail())
        if piece.is_whole:
            head = tail = _decoded(piece.content())
            if len(head) <= self._limit:
                return head, None
            if not self._spill.is_open:
                self._spill.write(piece.content())
                self._spill.close()
        half = self._limit // 2
        head, tail = self._outputs.head_and_tail(head, half, tail, max(len(tail) - half, 0))
        missing = piece.total_bytes - len(head.encode()) - len(tail.encode())
        return join_head_and_tail(head, tail, max(missing, 0), piece.line_ends, self.kept_in)


class _Piece:
    """Head and tail of a stretch of output."""

    def __init__(self, room: int) -> None:
        self.head = bytearray()
        self.total_bytes = 0
        self.line_ends = 0
        self._room = room
        """Bytes of head and of tail: a character takes up to four."""
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0

    @property
    def is_whole(self) -> bool:
        return len(self.head) + self._tail_bytes == self.total_bytes

    def has_room(self, size: int) -> bool:
        """Return whether that many bytes more still fit into the head."""
        return self.total_bytes + size <= self._room

    def feed(self, data: bytes) -> None:
        self.total_bytes += len(data)
        self.line_ends += data.count(b"\n")
        room = self._room - len(self.head)
        if room > 0:
            self.head += data[:room]
        if len(data) > room:
            self._tail.append(data[max(room, 0) :])
            self._tail_bytes += len(self._tail[-1])
        # Whole chunks are dropped while those after the first still fill the room: amortised O(1) per chunk.
        while self._tail and self._tail_bytes - len(self._tail[0]) >= self._room:
            self._tail_bytes -= len(self._tail.popleft())

    def tail(self) -> bytes:
        return b"".join(self._tail)

    def content(self) -> bytes:
        return bytes(self.head) + self.tail()


class _Spill:
    """The file with all of the output, redacted, up to its cap; given up when the disk is full."""

    def __init__(self, outputs: OutputStore, stem: str) -> None:
        self.path: Path | None = None
        self.is_open = False
        """Whether output has been written; then all further output belongs to the file, up to its cap."""
        self._outputs = outputs
        self._stem = stem
        self._file: BinaryIO | None = None
        self._written = 0
        self._held = ""
        """The end of the output that may be the beginning of a key; in the file with the row behind it."""
        self._has_row = False

    def write(self, data: bytes, row: bytes = b"") -> None:
        """Add `data`, and show `row` behind it until the next time."""
        is_first = not self.is_open
        self.is_open = True
        if (self._file is None and not is_first) or self._written >= MAX_SPILL_BYTES:
            return
        redact = self._outputs.redact
        settled, self._held = redact.split(self._held + _decoded(data))
        part = settled.encode()[: MAX_SPILL_BYTES - self._written]
        row = redact(self._held + _decoded(row)).encode()
        try:
            if self._file is None:
                self.path, self._file = self._outputs.create(self._stem)
            self._file.seek(self._written)
            write_all(self._file.fileno(), part + row)
            if self._has_row:
                self._file.truncate()
        except OSError:
            self.path = None
            self.close()
        self._written += len(part)
        self._has_row = bool(row)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


class LiveFeed:
    """Passes on what `output` shows. A piece that begins with \\r replaces the line before."""

    def __init__(self, on_output: Callable[[str], None], output: TerminalText, redact: Redactor) -> None:
        self._on_output = on_output
        self._redact = redact
        self._output = output
        self._pending = ""
        self._row = ""
        """The row as it was passed on last."""
        self._is_wrapped = False
        """Whether that row began within a line."""
        self._sent = 0
        self._last = 0.0
        self._skipped = False

    def feed(self, settled: str) -> None:
        if self._sent >= MAX_LIVE_TOTAL:
            return
        # More than a piece is kept, which shows that something was skipped, and whether the cut is in a key.
        self._pending = (self._pending + settled[-2 * MAX_LIVE_PIECE :])[-2 * MAX_LIVE_PIECE :]
        self.flush()

    def flush(self, final: bool = False) -> None:
        """Pass on pending output if it is time."""
        now = time.monotonic()
        if self._sent >= MAX_LIVE_TOTAL or (now - self._last < LIVE_INTERVAL_S and not final):
            return
        row = self._output.row
        if (cut := len(self._pending) - MAX_LIVE_PIECE) > 0:
            self._pending = self._pending[self._redact.start_outside(self._pending, cut) :]
            self._skipped = True
        shown = self._pending + row
        if shown == self._row and not self._skipped:
            return
        text = self._since(shown)
        if self._pending:
            self._is_wrapped = not self._pending.endswith("\n")
        self._pending, self._row, self._skipped = "", row, False
        self._last = now
        self._sent += len(text)
        if self._sent >= MAX_LIVE_TOTAL:
            text = text[: len(text) - len(self._redact.split(text)[1])]
            text += "\n[live output ends here; the command goes on]\n"
        self._on_output(text)

    def _since(self, shown: str) -> str:
        """Return the piece that turns what was passed on into `shown`."""
        if self._skipped:
            return "\n[...]\n" + shown
        if shown.startswith(self._row):
            return shown[len(self._row) :]
        return ("\n" if self._is_wrapped else "\r") + shown
