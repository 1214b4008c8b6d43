"""The turns of a session, in memory and on disk.

On disk they are append-only JSON lines, so that a kill -9 costs at most the line being written. Types of
lines: `turn` (number, text, time, and in `reverts` the number of the turn of which it reverts a part),
`change` (the net change of a path so far), `lost` (a name that is not covered), `doubt` (a change that may be
the user's), `link` (a link in git's index), `undone`, `redone`, `cut` (undone turns were dropped). Loading
replays them and skips lines that cannot be read.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from pathlib import Path

from forge_core.redact import Redactor
from forge_core.undo.file_state import FileChange, FileState
from forge_core.undo.storage.turn_history import DoubtfulChange, History, TurnRecord
from forge_core.workspace.record_file import Record, RecordFile, read_records


class TurnLog:
    """The running turn and the ones before it. `on_trouble` gets a message for the user."""

    def __init__(self, path: Path, on_trouble: Callable[[str], None], redact: Redactor) -> None:
        self._redact = redact
        self._path = path
        self._file = RecordFile(path)
        self._on_trouble = on_trouble
        self._reported: set[str] = set()
        self.history = History()
        self.running: TurnRecord | None = None
        self._last: TurnRecord | None = None

    def load(self) -> None:
        """Read the turns from disk. Raises OSError."""
        with contextlib.suppress(FileNotFoundError):
            self.history = _replay(read_records(self._path))

    def close(self) -> None:
        self._file.close()

    def begin(self, text: str, at: float | None = None) -> None:
        self.running = self._last = TurnRecord(0, self._redact(text), time.time() if at is None else at)
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

    def link(self, path: str, commit: str) -> None:
        """Add a link to another repository in git's index to the running turn."""
        turn = self._turn_in_history()
        if turn is not None:
            turn.links[path] = commit
            self._append(_link_line(turn.number, path, commit))

    def doubt(self, change: FileChange, command: str) -> None:
        """Add a change that may be the user's to the running turn."""
        turn = self._turn_in_history()
        if turn is not None:
            self._append(_doubt_line(turn.number, change.path, turn.doubt(change, self._redact(command))))

    def begin_revert(self, number: int, text: str, changes: Iterable[FileChange]) -> TurnRecord:
        """Add a turn that reverts a part of turn `number`, before any file is changed."""
        turn = TurnRecord(self.history.next_number, self._redact(text), time.time(), reverts=number)
        for change in changes:
            turn.record(change)
        self._add(turn)
        for change in turn.changes.values():
            self._append(_change_line(turn.number, change))
        self._file.sync()
        return turn

    def not_reverted(self, turn: TurnRecord, changes: Iterable[FileChange]) -> None:
        """Remove changes that could not be made from a turn that reverts."""
        for change in changes:
            self._append(_change_line(turn.number, turn.record(change.reversed())))
        if turn.is_empty:
            self.history.turns.remove(turn)

    def undone(self, turn: TurnRecord, paths: Sequence[str], chosen: Set[str]) -> None:
        """Note what an undo has restored, in addition to earlier undos of the turn; `chosen` are doubtful."""
        turn.undone = (*(turn.undone or ()), *(path for path in paths if path not in chosen))
        turn.undone_doubts = (*turn.undone_doubts, *(path for path in paths if path in chosen))
        self._append(_undone_line(turn))
        self._file.sync()

    def redone(self, turn: TurnRecord) -> None:
        turn.undone, turn.undone_doubts = None, ()
        self._append({"type": "redone", "turn": turn.number})
        self._file.sync()

    def forget_oldest(self) -> bool:
        """Drop the oldest turn unless it is running; return whether one was dropped. Call `compact` after."""
        turns = self.history.turns
        if not turns or turns[0] is self.running:
            return False
        del turns[0]
        return True

    def compact(self) -> None:
        """Rewrite the file with the turns that are left."""
        with self._reporting():
            self._file.rewrite(line for turn in self.history.turns for line in _lines_of(turn))

    @property
    def last(self) -> TurnRecord | None:
        """The turn that runs, or else the last one; after a resume the last that changed something. What
        reverts a part of a turn is none."""
        last = self._last or next(reversed(self.history.turns), None)
        return last if last is None else self.history.reverted_by(last)

    def report(self, message: str) -> None:
        """Show a message to the user, each message once per turn."""
        if message not in self._reported:
            self._reported.add(message)
            self._on_trouble(message)

    def _turn_in_history(self) -> TurnRecord | None:
        """Return the running turn. Its first change puts it into the history, which drops undone turns."""
        turn = self.running
        if turn is None or any(turn is one for one in self.history.turns):
            return turn
        turn.number = self.history.next_number
        self._add(turn)
        return turn

    def _add(self, turn: TurnRecord) -> None:
        if self.history.add(turn):
            self._append({"type": "cut"})
        self._append(_turn_line(turn))

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


def _replay(records: Iterable[Record | None]) -> History:
    """Build the history from the lines; invalid lines are skipped."""
    turns: dict[int, TurnRecord] = {}
    for record in filter(None, records):
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
        reverts = int(record.get("reverts", 0))
        turns[number] = TurnRecord(number, str(record["text"]), float(record["at"]), reverts=reverts)
        return
    turn = turns[number]
    match kind:
        case "change":
            turn.record(_change_of(record))
        case "doubt":
            path = str(record["path"])
            turn.changes.pop(path, None)
            turn.doubts.pop(path, None)
            if "after" in record:
                turn.doubts[path] = DoubtfulChange(_change_of(record), str(record["command"]))
        case "lost":
            turn.lost[str(record["name"])] = str(record["why"])
        case "link":
            turn.links[str(record["path"])] = str(record["commit"])
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
    for path, commit in turn.links.items():
        yield _link_line(turn.number, path, commit)
    if turn.undone is not None:
        yield _undone_line(turn)


def _turn_line(turn: TurnRecord) -> Record:
    record = {"v": 1, "type": "turn", "turn": turn.number, "text": turn.text, "at": turn.at}
    return record | ({"reverts": turn.reverts} if turn.reverts else {})


def _change_line(number: int, change: FileChange) -> Record:
    return {"type": "change", "turn": number, "path": change.path, **_states(change)}


def _doubt_line(number: int, path: str, doubt: DoubtfulChange | None) -> Record:
    record = {"type": "doubt", "turn": number, "path": path}
    return record if doubt is None else record | _states(doubt.change) | {"command": doubt.command}


def _states(change: FileChange) -> Record:
    return {"before": change.before.as_record(), "after": change.after.as_record()}


def _lost_line(number: int, name: str, why: str) -> Record:
    return {"type": "lost", "turn": number, "name": name, "why": why}


def _link_line(number: int, path: str, commit: str) -> Record:
    return {"type": "link", "turn": number, "path": path, "commit": commit}


def _undone_line(turn: TurnRecord) -> Record:
    record = {"type": "undone", "turn": turn.number, "paths": list(turn.undone or ())}
    return record | ({"chosen": list(turn.undone_doubts)} if turn.undone_doubts else {})
