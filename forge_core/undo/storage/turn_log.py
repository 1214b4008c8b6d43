"""The turns in memory and on disk together, and what the person is told when the disk refuses."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from forge_core.undo.file_state import FileChange
from forge_core.undo.storage.turn_file import TurnFile
from forge_core.undo.storage.turn_history import History, TurnRecord


class TurnLog:
    """Which turn runs, and what the turns before it changed."""

    def __init__(self, path: Path, on_trouble: Callable[[str], None]) -> None:
        self._index = TurnFile(path)
        self._on_trouble = on_trouble
        self._told: set[str] = set()
        self.history = History()
        self.running: TurnRecord | None = None
        self._last: TurnRecord | None = None

    def load(self) -> None:
        """Reads what is on disk. Raises OSError."""
        self.history = self._index.load()

    def close(self) -> None:
        self._index.close()

    def begin(self, text: str) -> None:
        self.running = self._last = TurnRecord(0, text, time.time())
        self._told.clear()

    def end(self) -> None:
        self.running = None
        self._index.sync()

    def record(self, change: FileChange) -> None:
        """Adds a change to the running turn; without one it is nobody's."""
        turn = self._standing_turn()
        if turn is not None:
            net = turn.record(change.path, change.before, change.after)
            self._write(lambda: self._index.change(turn.number, net))

    def lose(self, name: str, why: str) -> None:
        """Notes what the running turn changed and undo can't bring back."""
        turn = self._standing_turn()
        if turn is not None and turn.lost.get(name) != why:
            turn.lost[name] = why
            self._write(lambda: self._index.lost(turn.number, name, why))

    def doubt(self, change: FileChange, command: str) -> None:
        """Adds a change that may be the user's to the running turn."""
        turn = self._standing_turn()
        if turn is not None:
            kept = turn.doubt(change, command)
            self._write(lambda: self._index.doubt(turn.number, change.path, kept))

    def undone(self, turn: TurnRecord, paths: tuple[str, ...], chosen: tuple[str, ...]) -> None:
        """Notes what an undo has brought back, besides what earlier ones had."""
        turn.undone = (*(turn.undone or ()), *paths)
        turn.undone_doubts = (*turn.undone_doubts, *chosen)
        self._write(lambda: self._index.undone(turn))

    def redone(self, turn: TurnRecord) -> None:
        turn.undone, turn.undone_doubts = None, ()
        self._write(lambda: self._index.redone(turn.number))

    def forget_oldest(self) -> bool:
        """Drops the oldest turn that does not run; whether there was one. `compact` writes that down."""
        oldest = next(iter(self.history), None)
        if oldest is None or oldest is self.running:
            return False
        self.history.forget_oldest()
        return True

    def running_digests(self) -> set[str]:
        """The blobs that the running turn needs."""
        return self.running.digests() if self.running is not None else set()

    def compact(self) -> None:
        self._write(lambda: self._index.rewrite(self.history))

    @property
    def last(self) -> TurnRecord | None:
        """The turn that runs, or else the last one; after a resume the last that changed something."""
        return self._last or next(reversed([*self.history]), None)

    def tell(self, sentence: str) -> None:
        """Tells the person; each sentence once a turn."""
        if sentence not in self._told:
            self._told.add(sentence)
            self._on_trouble(sentence)

    def _standing_turn(self) -> TurnRecord | None:
        """The running turn, on top of the history from its first change on; what was undone is then cut."""
        turn = self.running
        if turn is None or any(turn is one for one in self.history):
            return turn
        turn.number = self.history.next_number
        if self.history.add(turn):
            self._write(self._index.cut)
        self._write(lambda: self._index.turn(turn))
        return turn

    def _write(self, write: Callable[[], None]) -> None:
        try:
            write()
        except OSError as error:
            reason = error.strerror or str(error)
            self.tell(f"Undo works only until Forge ends: its record can't be written ({reason}).")
