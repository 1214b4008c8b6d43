"""The turns of a session, in memory and on disk.

On disk they are append-only JSON lines, so that a kill -9 costs at most the line being written. Types of
lines: `turn` (number, text, time), `change` (the net change of a path so far), `lost` (a name that is not
covered), `doubt` (a change that may be the user's), `undone`, `redone`, `cut` (undone turns were dropped).
Loading replays them and skips lines that cannot be read.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from forge_core.undo.file_state import FileChange, FileState
from forge_core.undo.storage.turn_history import DoubtfulChange, History, TurnRecord

Record = dict[str, Any]
"""One line of the file."""


class TurnLog:
    """The running turn and the ones before it. `on_trouble` gets a message for the user."""

    def __init__(self, path: Path, on_trouble: Callable[[str], None]) -> None:
        self._file = _TurnFile(path)
        self._on_trouble = on_trouble
        self._reported: set[str] = set()
        self.history = History()
        self.running: TurnRecord | None = None
        self._last: TurnRecord | None = None

    def load(self) -> None:
        """Read the turns from disk. Raises OSError."""
        self.history = _replay(self._file.records())

    def close(self) -> None:
        self._file.close()

    def begin(self, text: str) -> None:
        self.running = self._last = TurnRecord(0, text, time.time())
        self._reported.clear()

    def end(self) -> None:
        self.running = None
        self._file.sync()

    def record(self, change: FileChange) -> None:
        """Add a change to the running turn; a change outside a turn is not recorded."""
        turn = self._turn_in_history()
        if turn is not None:
            self._append(_change_line(turn.number, turn.record(change)))

    def lose(self, name: str, why: str) -> None:
        """Note what the running turn changed and undo cannot restore."""
        turn = self._turn_in_history()
        if turn is not None and turn.lost.get(name) != why:
            turn.lost[name] = why
            self._append(_lost_line(turn.number, name, why))

    def doubt(self, change: FileChange, command: str) -> None:
        """Add a change that may be the user's to the running turn."""
        turn = self._turn_in_history()
        if turn is not None:
            self._append(_doubt_line(turn.number, change.path, turn.doubt(change, command)))

    def undone(self, turn: TurnRecord, paths: tuple[str, ...], chosen: tuple[str, ...]) -> None:
        """Note what an undo has restored, in addition to earlier undos of the turn."""
        turn.undone = (*(turn.undone or ()), *paths)
        turn.undone_doubts = (*turn.undone_doubts, *chosen)
        self._append(_undone_line(turn))
        self._file.sync()

    def redone(self, turn: TurnRecord) -> None:
        turn.undone, turn.undone_doubts = None, ()
        self._append({"type": "redone", "turn": turn.number})
        self._file.sync()

    def forget_oldest(self) -> bool:
        """Drop the oldest turn unless it is running; return whether one was dropped. Call `compact` after."""
        oldest = next(iter(self.history), None)
        if oldest is None or oldest is self.running:
            return False
        self.history.forget_oldest()
        return True

    def compact(self) -> None:
        """Rewrite the file with the turns that are left."""
        with self._reporting():
            self._file.rewrite(line for turn in self.history for line in _lines_of(turn))

    def running_digests(self) -> set[str]:
        """Return the blobs that the running turn needs."""
        return self.running.digests() if self.running is not None else set()

    @property
    def last(self) -> TurnRecord | None:
        """The turn that runs, or else the last one; after a resume the last that changed something."""
        return self._last or next(reversed([*self.history]), None)

    def report(self, message: str) -> None:
        """Show a message to the user, each message once per turn."""
        if message not in self._reported:
            self._reported.add(message)
            self._on_trouble(message)

    def _turn_in_history(self) -> TurnRecord | None:
        """Return the running turn. Its first change puts it into the history, which drops undone turns."""
        turn = self.running
        if turn is None or any(turn is one for one in self.history):
            return turn
        turn.number = self.history.next_number
        if self.history.add(turn):
            self._append({"type": "cut"})
        self._append(_turn_line(turn))
        return turn

    def _append(self, record: Record) -> None:
        with self._reporting():
            self._file.append(record)

    @contextlib.contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or str(error)
            self.report(f"Undo works only until Forge ends: its record can't be written ({reason}).")


class _TurnFile:
    """Appends lines. Names that are not valid Unicode survive: JSON escapes lone surrogates."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None

    def records(self) -> Iterator[Record]:
        """Yield the readable lines; none when the file does not exist. Raises OSError."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return
        for line in data.split(b"\n"):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(record, dict):
                yield record

    def append(self, record: Record) -> None:
        """Raises OSError when the whole line cannot be written; then no part of it remains."""
        fd = self._open()
        line = _encoded(record)
        end = os.lseek(fd, 0, os.SEEK_END)
        # os.write may be short without an exception, on a full disk above all.
        if os.write(fd, line) != len(line):
            os.ftruncate(fd, end)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def sync(self) -> None:
        """Flush to disk, so that the lines survive a power failure."""
        if self._fd is not None:
            with contextlib.suppress(OSError):
                os.fsync(self._fd)

    def rewrite(self, records: Iterator[Record]) -> None:
        """Replace the file by these lines. Raises OSError and then keeps the old file."""
        lines = b"".join(map(_encoded, records))
        temporary = self._path.with_suffix(".new")
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
        self.close()
        temporary.replace(self._path)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open(self) -> int:
        if self._fd is None:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._fd = os.open(self._path, flags, 0o600)
            size = os.fstat(self._fd).st_size
            # After a line that a kill has torn, the next one starts on a line of its own.
            if size and os.pread(self._fd, 1, size - 1) != b"\n":
                os.write(self._fd, b"\n")
        return self._fd


def _replay(records: Iterator[Record]) -> History:
    """Build the history from the lines; invalid lines are skipped."""
    turns: dict[int, TurnRecord] = {}
    for record in records:
        with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError):
            _apply(record, turns)
    return History(turn for turn in turns.values() if not turn.is_empty)


def _apply(record: Record, turns: dict[int, TurnRecord]) -> None:
    kind = record["type"]
    if kind == "cut":
        for number in [number for number, turn in turns.items() if turn.undone is not None]:
            del turns[number]
        return
    number = int(record["turn"])
    if kind == "turn":
        turns[number] = TurnRecord(number, str(record["text"]), float(record["at"]))
        return
    turn = turns[number]
    match kind:
        case "change":
            change = _change_of(record)
            turn.changes.pop(change.path, None)
            if change.path in turn.doubts and turn.doubts[change.path].change.after != change.before:
                del turn.doubts[change.path]
            if change.before != change.after:
                turn.changes[change.path] = change
        case "doubt":
            path = str(record["path"])
            turn.changes.pop(path, None)
            turn.doubts.pop(path, None)
            if "after" in record:
                turn.doubts[path] = DoubtfulChange(_change_of(record), str(record["command"]))
        case "lost":
            turn.lost[str(record["name"])] = str(record["why"])
        case "undone":
            turn.undone = tuple(str(path) for path in record["paths"])
            turn.undone_doubts = tuple(str(path) for path in record.get("chosen", ()))
        case "redone":
            turn.undone, turn.undone_doubts = None, ()


def _change_of(record: Record) -> FileChange:
    before, after = FileState.from_record(record["before"]), FileState.from_record(record["after"])
    return FileChange(str(record["path"]), before, after)


def _lines_of(turn: TurnRecord) -> Iterator[Record]:
    """Yield the lines that lead to `turn` when they are replayed in this order."""
    yield _turn_line(turn)
    for change in turn.changes.values():
        yield _change_line(turn.number, change)
    for path, doubt in turn.doubts.items():
        yield _doubt_line(turn.number, path, doubt)
        # A doubt removes the change of its path; a later change of the path follows it.
        if path in turn.changes:
            yield _change_line(turn.number, turn.changes[path])
    for name, why in turn.lost.items():
        yield _lost_line(turn.number, name, why)
    if turn.undone is not None:
        yield _undone_line(turn)


def _turn_line(turn: TurnRecord) -> Record:
    return {"v": 1, "type": "turn", "turn": turn.number, "text": turn.text, "at": turn.at}


def _change_line(number: int, change: FileChange) -> Record:
    return {"type": "change", "turn": number, "path": change.path, **_states(change)}


def _doubt_line(number: int, path: str, doubt: DoubtfulChange | None) -> Record:
    record = {"type": "doubt", "turn": number, "path": path}
    return record if doubt is None else record | _states(doubt.change) | {"command": doubt.command}


def _states(change: FileChange) -> Record:
    return {"before": change.before.as_record(), "after": change.after.as_record()}


def _lost_line(number: int, name: str, why: str) -> Record:
    return {"type": "lost", "turn": number, "name": name, "why": why}


def _undone_line(turn: TurnRecord) -> Record:
    record = {"type": "undone", "turn": turn.number, "paths": list(turn.undone or ())}
    return record | ({"chosen": list(turn.undone_doubts)} if turn.undone_doubts else {})


def _encoded(record: Record) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n"
