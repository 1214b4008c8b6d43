"""The journal of a session: append-only JSON lines, written by a separate thread.

One file per session, 0600 in a 0700 folder. Every line is one record `{"v", "type", "timestamp", "data"}`:
`session` first, then `user`, `retry` (the previous turn continues with the model call that failed),
`message`, `window` (the history after a compaction), `reset`, `rewind` and `unrewind` (see `rewinds`), `news`
and `review` (see `saved_session`), and
the events of `forge_core.events`. Chunks are joined: one record per 250 ms or finished block. Keys are
redacted, also where they are split over chunks. Important records are fsynced, so a power failure costs none
of them; the next ones are written meanwhile, so a kill costs only what was recorded within milliseconds, and
nothing that came before a `settle`.
"""

from __future__ import annotations

import contextlib
import queue
import re
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from forge_core.errors import JournalError, SessionInUseError
from forge_core.events import AgentEvent, LLMChunk, ToolEnd, ToolProgress
from forge_core.redact import Redactor, StreamRedactor
from forge_core.workspace.record_file import Record, RecordFile, read_records

JOURNAL_VERSION = 2
"""`v` of the records that are written; `saved_session` reads all versions up to this one."""
_LOSABLE = frozenset({"llm_start", "llm_chunk", "tool_progress", "permission", "compaction", "notice"})
"""Records that are not fsynced."""
_SESSION_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{6}")
CHUNK_WINDOW_S = 0.25
"""Chunks within this time are joined."""
RETRY_S = 0.5
"""The delay between attempts to write to a full disk."""


_LATEST_S = 100 * 366 * 86400
"""Times from the year 2070 on are damage; some platforms cannot convert all of them."""


def new_session_id() -> str:
    """Return a unique id that sorts by time: `20261120-190000-3fa2b1`."""
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"


def is_session_id(text: str) -> bool:
    """Return whether `text` has the form of a session's id."""
    return _SESSION_ID.fullmatch(text) is not None


def journal_path(state_dir: Path, session_id: str) -> Path:
    """Return the path of a session's journal.

    Raises:
        ValueError: `session_id` has another form than `new_session_id` returns (it becomes part of a path).
    """
    if not is_session_id(session_id):
        raise ValueError(f"{session_id!r} is not a session's id")
    return state_dir / "sessions" / f"{session_id}.jsonl"


def outputs_dir(state_dir: Path, session_id: str) -> Path:
    """Return the folder for tool outputs that are too long for the model."""
    return outputs_beside(journal_path(state_dir, session_id))


def outputs_beside(journal: Path) -> Path:
    """Return the same folder, for the path of the session's journal."""
    return journal.with_suffix("") / "outputs"


def images_dir(state_dir: Path, session_id: str) -> Path:
    """Return the folder for the images that the messages of a session have."""
    return images_beside(journal_path(state_dir, session_id))


def images_beside(journal: Path) -> Path:
    """Return the same folder, for the path of the session's journal."""
    return journal.with_suffix("") / "images"


def undo_dir(state_dir: Path, session_id: str) -> Path:
    """Return the folder for the undo data of a session."""
    return journal_path(state_dir, session_id).with_suffix("") / "undo"


class Journal:
    """Accepts records without blocking and writes them in order.

    When writing fails, `on_trouble` is called from the writer's thread with a message for the user, once
    until writing succeeds again. Records that could not be written are kept in memory and written as soon as
    possible.
    """

    def __init__(self, path: Path, redact: Redactor, on_trouble: Callable[[str], None] | None = None) -> None:
        self.path = path
        self._file = RecordFile(path)
        self._redact = redact
        self._on_trouble = on_trouble
        self._queue: queue.SimpleQueue[dict[str, Any] | threading.Event | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._unsynced = threading.Event()
        """Set when something has been written that must survive a power failure."""
        self._chunks: list[LLMChunk] = []
        self._live = StreamRedactor(redact)
        """The live output of calls."""
        self._failed: str | None = None

    def claim(self, *, is_repaired: bool = True, wait_s: float = 0) -> bool:
        """Open an existing journal for this process alone; return whether it ended with a torn line, which
        has been cut off. Unless `is_repaired`, it is left as it is until the first record is written.

        Raises:
            SessionInUseError: another process still has it open after `wait_s` seconds.
            JournalError: it does not exist, or cannot be opened.
        """
        try:
            self.path.stat()  # opening it would create it
            self._file.lock(is_repaired=is_repaired, wait_s=wait_s)
        except BlockingIOError as error:
            raise SessionInUseError(
                f"Session {self.path.stem} is open in another Forge. Close it there, or continue in a copy "
                "(--fork, or Ctrl+F in the list of /resume)."
            ) from error
        except FileNotFoundError as error:
            raise JournalError(
                f"There is no session {self.path.stem} in {str(self.path.parent)!r}."
            ) from error
        except OSError as error:
            raise JournalError(
                f"The session's record {str(self.path)!r} cannot be opened: {error.strerror}."
            ) from error
        return self._file.was_torn

    def event(self, event: AgentEvent) -> None:
        """Record an event. Chunks wait to be joined with the next ones."""
        if isinstance(event, LLMChunk):
            if event.kind != "tool_args":
                self._join(event)
            return
        self._flush_chunks()
        if isinstance(event, ToolEnd):
            self._end_live(event.call_id)
        if isinstance(event, ToolProgress):
            self._progress(event)
        else:
            self._put(event.as_record())

    def record(self, kind: str, data: dict[str, Any], *, at: float | None = None) -> float:
        """Record something other than an event; return its time: `at`, by default the present one."""
        self._flush_chunks()
        now = time.time() if at is None else at
        self._put({"type": kind, "timestamp": now, "data": data})
        return now

    @property
    def redactor(self) -> Redactor:
        """What removes keys from the records."""
        return self._redact

    def redacted(self, text: str) -> str:
        """Return a text without keys, as it would be recorded."""
        return self._redact(text)

    @property
    def is_begun(self) -> bool:
        """Whether there is anything in it."""
        return self._thread is not None or self.path.exists()

    def flush(self, timeout_s: float = 5.0) -> None:
        """Wait until everything recorded so far is in the file.

        Raises:
            JournalError: it cannot be written.
        """
        self._flush_chunks()
        if self._thread is None:
            return
        written = threading.Event()
        self._queue.put(written)
        if not written.wait(timeout_s):
            raise JournalError(f"The session's record {str(self.path)!r} cannot be written.")

    def settle(self, timeout_s: float = 0.2) -> None:
        """Wait until the records are in the file, where a kill does not reach them, for `timeout_s` seconds
        at most. Chunks may still wait to be joined. Return at once while the file cannot be written."""
        if self._thread is not None and self._failed is None:
            written = threading.Event()
            self._queue.put(written)
            written.wait(timeout_s)

    def close(self, timeout_s: float = 2.0) -> None:
        """Write the remaining records and end the thread."""
        self._flush_chunks()
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join(timeout_s)
            if self._thread.is_alive():
                return  # it closes the file itself
            self._thread = None
        self._file.close()

    def _join(self, chunk: LLMChunk) -> None:
        first = self._chunks[0] if self._chunks else chunk
        passed_s = abs(chunk.timestamp - first.timestamp)  # a clock may be set back
        if first.kind != chunk.kind:
            self._flush_chunks()
        elif passed_s > CHUNK_WINDOW_S:
            self._flush_chunks(goes_on=True)
        self._chunks.append(chunk)

    def _flush_chunks(self, *, goes_on: bool = False) -> None:
        """Write the chunks. With `goes_on` more of their text follows: what may be the beginning of a key
        waits for it."""
        if not self._chunks:
            return
        first, last = self._chunks[0], self._chunks[-1]
        text, rest = "".join(chunk.text for chunk in self._chunks), ""
        self._chunks = []
        if goes_on:
            text, rest = self._redact.split(text)
        if text or not rest:
            self._put(LLMChunk(timestamp=first.timestamp, text=text, kind=first.kind).as_record())
        if rest:
            self._chunks = [LLMChunk(timestamp=last.timestamp, text=rest, kind=first.kind)]

    def _progress(self, event: ToolProgress) -> None:
        """Record live output, but for an end that may be the beginning of a key."""
        if event.text.startswith("\r"):  # replaces the line, so nothing before it goes on
            self._end_live(event.call_id)
        if text := self._live.feed(event.call_id, event.text):
            self._put(ToolProgress(timestamp=event.timestamp, call_id=event.call_id, text=text).as_record())

    def _end_live(self, call_id: str) -> None:
        if rest := self._live.end(call_id):
            self._put(ToolProgress(call_id=call_id, text=rest).as_record())

    def _put(self, record: dict[str, Any]) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_all, name="forge-journal", daemon=True)
            self._thread.start()
        self._queue.put({**record, "v": JOURNAL_VERSION})

    def _write_all(self) -> None:
        file = self._file
        written = threading.Event()
        syncing = threading.Thread(
            target=self._sync_all, args=(written,), name="forge-journal-sync", daemon=True
        )
        syncing.start()
        pending: list[dict[str, Any]] = []
        waiting: list[threading.Event] = []
        """Of `flush`: set as soon as nothing is pending."""
        is_closing = False
        while not is_closing or pending:
            with contextlib.suppress(queue.Empty):
                record = self._queue.get(timeout=RETRY_S if pending else None)
                is_closing = is_closing or record is None
                if isinstance(record, threading.Event):
                    waiting.append(record)
                elif record is not None:
                    pending.append(self._redact.values(record))
            try:
                file.lock()
                while pending:
                    file.append(pending[0])
                    if pending.pop(0)["type"] not in _LOSABLE:
                        self._unsynced.set()
                self._failed = None
                while waiting:
                    waiting.pop().set()
            except OSError as error:
                self._report(error)
                if is_closing:
                    break
        written.set()
        self._unsynced.set()
        syncing.join()
        file.close()

    def _sync_all(self, written: threading.Event) -> None:
        """Flush the file to disk, in a separate thread, and once more when all is `written`.

        If the writing thread did so, a slow disk would keep records in memory, where a kill loses them.
        """
        is_last = False
        while not is_last:
            self._unsynced.wait()
            self._unsynced.clear()
            is_last = written.is_set()  # before the flush: what is written later sets `_unsynced` again
            self._file.sync()

    def _report(self, error: OSError) -> None:
        if self._failed is None and self._on_trouble is not None:
            reason = error.strerror or str(error)
            self._on_trouble(
                f"Not saved: the session's record {str(self.path)!r} cannot be written ({reason})."
            )
        self._failed = str(error)


@dataclass(frozen=True, slots=True)
class JournalContent:
    """The records of a journal; `damaged` counts the lines that were skipped."""

    records: list[dict[str, Any]]
    damaged: int


def read_journal(path: Path) -> JournalContent:
    """Return all complete records of a journal. A torn or invalid line is skipped and counted.

    Every record has a `type`, a dict as its `data`, and a `timestamp` that can be shown as a time, 0 where it
    was unusable. Its other values are not checked.

    Raises:
        JournalError: the file cannot be read.
    """
    try:
        lines = list(read_records(path))
    except OSError as error:
        raise JournalError(f"The session's record {str(path)!r} cannot be read: {error.strerror}.") from error
    records = [record for line in lines if (record := usable_record(line)) is not None]
    return JournalContent(records, len(lines) - len(records))


def usable_record(record: Record | None) -> Record | None:
    """Return a record with a `type`, a dict as its `data`, and a `timestamp` that can be shown as a time, 0
    where it was unusable; None if it has no such values."""
    if record is None or not isinstance(record.get("type"), str) or not isinstance(record.get("data"), dict):
        return None
    return record if is_time(record.get("timestamp")) else {**record, "timestamp": 0.0}


def is_time(value: object) -> TypeGuard[int | float]:
    """Return whether a value that was read is a time in seconds since the epoch."""
    return isinstance(value, int | float) and 0 <= value < _LATEST_S
