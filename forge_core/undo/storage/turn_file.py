"""The turns on disk: append-only JSON lines, so that a kill -9 costs at most the line in flight.

Lines: `turn` (number, text, time), `change` (the net change of a path so far), `lost` (a name that is not
covered), `doubt` (a change that may be the user's), `undone`, `redone`,
`cut` (undone turns were given up). Loading replays them; a line that cannot be
read is passed over.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from forge_core.undo.file_state import FileChange, FileState
from forge_core.undo.storage.turn_history import DoubtfulChange, History, TurnRecord


class TurnFile:
    """Writes the lines. Names that are no Unicode survive: lone surrogates are escaped as JSON does."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None

    def load(self) -> History:
        """What the file holds; an empty history when there is none. Raises OSError."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return History()
        return replay(_records(data))

    def turn(self, turn: TurnRecord) -> None:
        self._append(_turn_record(turn))

    def change(self, number: int, change: FileChange) -> None:
        self._append(_change_record(number, change))

    def lost(self, number: int, name: str, why: str) -> None:
        self._append({"type": "lost", "turn": number, "name": name, "why": why})

    def doubt(self, number: int, path: str, doubt: DoubtfulChange | None) -> None:
        self._append(_doubt_record(number, path, doubt))

    def undone(self, turn: TurnRecord) -> None:
        self._append(_undone_record(turn))
        self.sync()

    def redone(self, number: int) -> None:
        self._append({"type": "redone", "turn": number})
        self.sync()

    def cut(self) -> None:
        self._append({"type": "cut"})

    def sync(self) -> None:
        """Makes what was appended survive a power cut too."""
        if self._fd is not None:
            with contextlib.suppress(OSError):
                os.fsync(self._fd)

    def rewrite(self, history: History) -> None:
        """Replaces the file by these turns alone. Raises OSError, leaving the old file."""
        lines = b"".join(_line(record) for turn in history for record in _all_records(turn))
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

    def _append(self, record: dict[str, Any]) -> None:
        """Raises OSError when the whole line cannot be written; nothing of it is left then."""
        fd = self._open()
        line = _line(record)
        end = os.lseek(fd, 0, os.SEEK_END)
        written = os.write(fd, line)
        if written != len(line):
            os.ftruncate(fd, end)
            raise OSError(28, "No space left on device")

    def _open(self) -> int:
        if self._fd is None:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._fd = os.open(self._path, flags, 0o600)
            size = os.fstat(self._fd).st_size
            if size and os.pread(self._fd, 1, size - 1) != b"\n":
                os.write(self._fd, b"\n")
        return self._fd


def replay(records: Iterator[dict[str, Any]]) -> History:
    """The history that these records tell; records that make no sense are passed over."""
    turns: dict[int, TurnRecord] = {}
    for record in records:
        with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError):
            _apply(record, turns)
    return History(turn for turn in turns.values() if not turn.is_empty)


def _apply(record: dict[str, Any], turns: dict[int, TurnRecord]) -> None:
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
            path = str(record["path"])
            before, after = FileState.from_record(record["before"]), FileState.from_record(record["after"])
            turn.changes.pop(path, None)
            if path in turn.doubts and turn.doubts[path].change.after != before:
                del turn.doubts[path]
            if before != after:
                turn.changes[path] = FileChange(path, before, after)
        case "doubt":
            path = str(record["path"])
            turn.changes.pop(path, None)
            turn.doubts.pop(path, None)
            if "after" in record:
                before, after = (
                    FileState.from_record(record["before"]),
                    FileState.from_record(record["after"]),
                )
                turn.doubts[path] = DoubtfulChange(FileChange(path, before, after), str(record["command"]))
        case "lost":
            turn.lost[str(record["name"])] = str(record["why"])
        case "undone":
            turn.undone = tuple(str(path) for path in record["paths"])
            turn.undone_doubts = tuple(str(path) for path in record.get("chosen", ()))
        case "redone":
            turn.undone, turn.undone_doubts = None, ()


def _records(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.split(b"\n"):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            yield record


def _all_records(turn: TurnRecord) -> Iterator[dict[str, Any]]:
    yield _turn_record(turn)
    for change in turn.changes.values():
        yield _change_record(turn.number, change)
    for path, doubt in turn.doubts.items():
        later = turn.changes.get(path)
        yield _doubt_record(turn.number, path, doubt)
        if later is not None:
            yield _change_record(turn.number, later)
    for name, why in turn.lost.items():
        yield {"type": "lost", "turn": turn.number, "name": name, "why": why}
    if turn.undone is not None:
        yield _undone_record(turn)


def _turn_record(turn: TurnRecord) -> dict[str, Any]:
    return {"v": 1, "type": "turn", "turn": turn.number, "text": turn.text, "at": turn.at}


def _change_record(number: int, change: FileChange) -> dict[str, Any]:
    return {
        "type": "change",
        "turn": number,
        "path": change.path,
        "before": change.before.as_record(),
        "after": change.after.as_record(),
    }


def _doubt_record(number: int, path: str, doubt: DoubtfulChange | None) -> dict[str, Any]:
    record = {"type": "doubt", "turn": number, "path": path}
    if doubt is None:
        return record
    images = {"before": doubt.change.before.as_record(), "after": doubt.change.after.as_record()}
    return record | images | {"command": doubt.command}


def _undone_record(turn: TurnRecord) -> dict[str, Any]:
    record = {"type": "undone", "turn": turn.number, "paths": list(turn.undone or ())}
    return record | ({"chosen": list(turn.undone_doubts)} if turn.undone_doubts else {})


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n"
