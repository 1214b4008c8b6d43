"""The parts of a journal that the user has rewound past.

A `rewind` record names the first turn that leaves the conversation (`turn`, counted since the last reset; 0:
the conversation stays as it is) and the turns of the undo store whose file changes were undone with it
(`undone`). An `unrewind` record takes back the last rewind. Both leave the records before them in the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from forge_core.workspace.record_file import Record

_FINAL = frozenset({"user", "retry", "message", "window"})
"""After one of these, a rewind can no longer be taken back."""


@dataclass(frozen=True, slots=True)
class SavedRewind:
    """A rewind that can be taken back."""

    turn: int
    """The first turn that left the conversation; 0 if none did."""
    undone: tuple[int, ...]
    """The turns of the undo store whose file changes were undone."""


@dataclass(slots=True)
class Rewinds:
    """The rewinds of a journal."""

    hidden: set[int] = field(default_factory=set)
    """The indices of the records of turns that left the conversation."""
    revocable: list[SavedRewind] = field(default_factory=list)
    """The rewinds that can be taken back, the last one at the end."""


def find_rewinds(records: Sequence[Record]) -> Rewinds:
    """Return the rewinds of a journal. Records that make no sense are ignored."""
    found = Rewinds()
    starts: list[int] = []
    """The `user` records of the turns in the conversation."""
    taken: list[tuple[SavedRewind, list[int], range]] = []
    """With the `user` records and the records that each rewind has removed."""

    def settle() -> None:
        found.hidden.update(*(hidden for _, _, hidden in taken))
        taken.clear()

    for index, record in enumerate(records):
        kind = record["type"]
        if kind in _FINAL:
            settle()
        if kind == "user":
            starts.append(index)
        elif kind == "reset":
            settle()
            starts.clear()
        elif kind == "rewind" and (rewind := _rewind(record, len(starts))) is not None:
            kept = rewind.turn - 1 if rewind.turn else len(starts)
            removed = starts[kept:]
            taken.append((rewind, removed, range(removed[0] if removed else index, index)))
            del starts[kept:]
        elif kind == "unrewind" and taken:
            starts += taken.pop()[1]
    found.revocable = [rewind for rewind, _, _ in taken]
    settle()
    return found


def _rewind(record: Record, turns: int) -> SavedRewind | None:
    data = record.get("data")
    turn = data.get("turn") if isinstance(data, dict) else None
    if not isinstance(turn, int) or not 0 <= turn <= turns:
        return None
    undone = data.get("undone") if isinstance(data, dict) else None
    numbers = undone if isinstance(undone, list) else []
    return SavedRewind(turn, tuple(number for number in numbers if isinstance(number, int)))
