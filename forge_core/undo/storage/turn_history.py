"""The turns that changed something, in order, and which of them are undone. Pure: no file is touched here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from forge_core.undo.file_state import FileChange, FileState


@dataclass(frozen=True, slots=True)
class DoubtfulChange:
    """A change that was found while a command ran, and that may be the user's own."""

    change: FileChange
    command: str
    """The line that ran, cut."""


@dataclass(slots=True)
class TurnRecord:
    """One turn's net changes."""

    number: int
    text: str
    at: float
    changes: dict[str, FileChange] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    """Names that changed and are not covered, with the reason."""
    doubts: dict[str, DoubtfulChange] = field(default_factory=dict)
    """Changes that are undone only when they are chosen. Where the same path is in `changes` as well, what is
    there came after."""
    undone: tuple[str, ...] | None = None
    """The paths that the last undo brought back; None while the turn stands."""
    undone_doubts: tuple[str, ...] = ()
    """Paths of `doubts` that were chosen and brought back."""

    @property
    def is_empty(self) -> bool:
        return not self.changes and not self.lost and not self.doubts

    def doubtful(self) -> list[str]:
        """The paths that an undo leaves alone unless they are chosen."""
        return sorted(path for path in self.doubts if path not in self.undone_doubts)

    def to_undo(self, chosen: Collection[str]) -> list[FileChange]:
        """What an undo has still to take back, when `chosen` are the paths that it takes of `doubts`."""
        wanted: list[FileChange] = []
        for path in dict.fromkeys((*self.changes, *self.doubts)):
            is_chosen = path in chosen and path not in self.undone_doubts
            is_done = self.undone is not None and path in self.undone
            if is_chosen and is_done:
                wanted.append(self.doubts[path].change)
            elif is_chosen:
                wanted.append(self._whole(path))
            elif path in self.changes and self.undone is None:
                wanted.append(self.changes[path])
        return [change.reversed() for change in wanted]

    def to_redo(self) -> list[FileChange]:
        """What a redo brings back: all that undo has taken."""
        plain = [
            path for path in self.undone or () if path not in self.undone_doubts and path in self.changes
        ]
        chosen = [path for path in self.undone_doubts if path in self.doubts]
        return [self.changes[path] for path in plain] + [self._whole(path) for path in chosen]

    def _whole(self, path: str) -> FileChange:
        """A doubtful change with what came after it."""
        doubt, later = self.doubts[path].change, self.changes.get(path)
        return doubt if later is None else FileChange(path, doubt.before, later.after)

    def digests(self) -> set[str]:
        """Every blob that the turn needs."""
        changes = [*self.changes.values(), *(doubt.change for doubt in self.doubts.values())]
        images = (image for change in changes for image in (change.before, change.after))
        return {image.digest for image in images if image.digest and not image.git}

    def record(self, path: str, before: FileState, after: FileState) -> FileChange:
        """Joins a change to what the turn did to the path before; gives the net change.

        When somebody else changed the path in between (`before` is not what the turn had left), the chain
        starts anew: undo then brings back that person's content, never what lay before it.
        """
        known = self.changes.get(path)
        first = known.before if known is not None and known.after == before else before
        change = FileChange(path, first, after)
        doubt = self.doubts.get(path)
        if doubt is not None and doubt.change.after != first:
            del self.doubts[path]
        if first == after:
            self.changes.pop(path, None)
        else:
            self.changes[path] = change
        return change

    def doubt(self, change: FileChange, command: str) -> DoubtfulChange | None:
        """Notes a change that may be the user's. What the turn did to the path before belongs to it then: an
        undo can't take that back alone. None when nothing is left of it."""
        path, first = change.path, change.before
        for known in (self.changes.pop(path, None), getattr(self.doubts.pop(path, None), "change", None)):
            if known is not None and known.after == first:
                first = known.before
        if first == change.after:
            return None
        self.doubts[path] = DoubtfulChange(FileChange(path, first, change.after), command)
        return self.doubts[path]


class History:
    """A stack of turns with a pointer: undo moves it down, redo up, a new change cuts what lies above."""

    def __init__(self, turns: Iterable[TurnRecord] = ()) -> None:
        self._turns = list(turns)

    def __iter__(self) -> Iterator[TurnRecord]:
        return iter(self._turns)

    def __len__(self) -> int:
        return len(self._turns)

    @property
    def next_number(self) -> int:
        return self._turns[-1].number + 1 if self._turns else 1

    def add(self, turn: TurnRecord) -> bool:
        """Puts a turn on top; whether undone turns were given up for it."""
        standing = [known for known in self._turns if known.undone is None]
        is_cut = len(standing) < len(self._turns)
        self._turns = [*standing, turn]
        return is_cut

    def to_undo(self) -> TurnRecord | None:
        """The last turn that stands and changed something that can be brought back."""
        standing = (turn for turn in reversed(self._turns) if turn.undone is None)
        return next((turn for turn in standing if turn.changes or turn.doubts), None)

    def above(self, turn: TurnRecord | None) -> list[TurnRecord]:
        """The standing turns after `turn`: they did nothing that can be brought back."""
        number = turn.number if turn is not None else 0
        return [one for one in self._turns if one.number > number and one.undone is None and one.lost]

    def to_redo(self) -> TurnRecord | None:
        """The first turn that was undone."""
        return next((turn for turn in self._turns if turn.undone is not None), None)

    def forget_oldest(self) -> TurnRecord | None:
        """Drops the oldest turn, to make room."""
        return self._turns.pop(0) if self._turns else None

    def digests(self) -> set[str]:
        """Every blob that a turn needs."""
        return set().union(*(turn.digests() for turn in self._turns))
