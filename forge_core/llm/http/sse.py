"""An incremental, lenient parser of server-sent events, without I/O.

Follows the WHATWG event-stream grammar (https://html.spec.whatwg.org/multipage/server-sent-events.html) and
is more lenient where providers deviate from it: an event without its blank line at the end of the stream is
still returned. Lines are split as bytes, since no byte of a multi-byte UTF-8 character is a line end; a
character may therefore arrive in two reads. Invalid UTF-8 becomes U+FFFD.
"""

from __future__ import annotations

from typing import NamedTuple

from forge_core.errors import MalformedResponseError

MAX_EVENT_BYTES = 32 * 1024 * 1024
"""A line or an event larger than this is an attack or an error; an image in base64 fits."""

_BOM = b"\xef\xbb\xbf"
_LINE_ENDS = (0x0A, 0x0D)


class SseEvent(NamedTuple):
    """One dispatched event, or one comment line."""

    data: str
    comment: str | None = None
    """Set for a comment; `data` is then empty."""


class SseReader:
    """The parser of one stream; its memory is bounded by `max_event_bytes`."""

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max = max_event_bytes
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._data: list[str] = []
        self._data_bytes = 0
        self._is_first_line = True
        self._skip_line_feed = False

    def feed(self, data: bytes) -> list[SseEvent]:
        """Return the events that `data` completes.

        Raises MalformedResponseError when a line or an event grows beyond the limit.
        """
        if self._skip_line_feed and data:
            self._skip_line_feed = False
            if data[0] == 0x0A:
                data = data[1:]
        if not data:
            return []
        if b"\n" not in data and b"\r" not in data:
            self._hold(data)
            return []
        if self._held:
            data = b"".join((*self._held, data))
            self._held, self._held_bytes = [], 0
        lines = data.splitlines()
        if data[-1] not in _LINE_ENDS:
            self._hold(lines.pop())
        # CR LF may be split between two reads: its LF must not count as an empty line, which ends an event.
        self._skip_line_feed = data[-1] == 0x0D
        return self._read_lines(lines)

    def close(self) -> list[SseEvent]:
        """Return the event that the end of the stream left unfinished, as if a blank line had followed."""
        lines = [b"".join(self._held)] if self._held else []
        self._held, self._held_bytes = [], 0
        return self._read_lines([*lines, b""])

    def _hold(self, data: bytes) -> None:
        self._held.append(data)
        self._held_bytes += len(data)
        if self._held_bytes > self._max:
            raise _too_large(self._max)

    def _read_lines(self, lines: list[bytes]) -> list[SseEvent]:
        events: list[SseEvent] = []
        if self._is_first_line and lines:
            self._is_first_line = False
            lines[0] = lines[0].removeprefix(_BOM)
        for line in lines:
            if line.startswith(b"data:"):
                self._add_data(line[6:] if line[5:6] == b" " else line[5:])
            elif not line:
                if self._data:
                    events.append(SseEvent("\n".join(self._data)))
                    self._data, self._data_bytes = [], 0
            elif line.startswith(b":"):
                events.append(SseEvent("", line[1:].strip().decode("utf-8", "replace")))
            elif line == b"data":
                self._add_data(b"")
        return events

    def _add_data(self, value: bytes) -> None:
        self._data_bytes += len(value)
        if self._data_bytes > self._max:
            raise _too_large(self._max)
        self._data.append(value.decode("utf-8", "replace"))


def _too_large(limit: int) -> MalformedResponseError:
    return MalformedResponseError(
        f"The provider sent an event of more than {limit:,} bytes. Try again, or choose another model."
    )
