"""The turns that changed something, in order, and which of them are undone. Pure: no file is accessed
here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from forge_core.undo.file_state import FileChange


@dataclass(frozen=True, slots=True)
class DoubtfulChange:
    """A change that was found while a command ran, and that may be the user's own."""

    change: FileChange
    command: str
    """The command line, shortened."""


@dataclass(slots=True)
class TurnRecord:
    """The net changes of one turn."""

    number: int
    text: str
    at: float
    changes: dict[str, FileChange] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    """Names that changed and are not covered, with the reason."""
    doubts: dict[str, DoubtfulChange] = field(default_factory=dict)
    """Changes that are undone only when they are chosen. Where the same path is in `changes` as well, that
    change came later: `doubts[path].change.after == changes[path].before`."""
    links: dict[str, str] = field(default_factory=dict)
    """Links to other repositories that it added to git's index: path and commit."""
    undone: tuple[str, ...] | None = None
    """The paths that undo has restored; None while the turn is not undone."""
    undone_doubts: tuple[str, ...] = ()
    """Paths of `doubts` that were chosen and restored."""
    reverts: int = 0
    """The number of the turn of which this one has reverted a part; 0 for a turn of the model."""

    @property
    def is_empty(self) -> bool:
        return not (self.changes or self.lost or self.doubts or self.links)

    def doubtful(self) -> list[str]:
        """Return the paths that an undo leaves alone unless they are chosen."""
        return sorted(path for path in self.doubts if path not in self.undone_doubts)

    def to_undo(self, chosen: Collection[str]) -> list[FileChange]:
        """Return what an undo still has to restore; `chosen` are the paths of `doubts` that it includes."""
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
        """Return the changes that undo has reverted."""
        plain = [
            path for path in self.undone or () if path not in self.undone_doubts and path in self.changes
        ]
        chosen = [path for path in self.undone_doubts if path in self.doubts]
        return [self.changes[path] for path in plain] + [self._whole(path) for path in chosen]

    def _whole(self, path: str) -> FileChange:
        """Return a doubtful change together with the change that followed it."""
        doubt, later = self.doubts[path].change, self.changes.get(path)
        return doubt if later is None else FileChange(path, doubt.before, later.after)

    def digests(self) -> set[str]:
        """Return the blobs that the turn needs."""
        changes = [*self.changes.values(), *(doubt.change for doubt in self.doubts.values())]
        states = (state for change in changes for state in (change.before, change.after))
        return {state.digest for state in states if state.digest and not state.git}

    def record(self, change: FileChange) -> FileChange:
        """Join a change to what the turn did to the path before; return the net change.

        When the user or another process changed the path in between (`change.before` is not what the turn had
        left), the chain starts again: undo then restores that content, never what was there before it.
        """
        path, first = change.path, change.before
        known = self.changes.get(path)
        if known is not None and known.after == first:
            first = known.before
        doubt = self.doubts.get(path)
        # Keep what `doubts` promises: the later change begins with the result of the doubtful one.
        if doubt is not None and doubt.change.after != first:
            del self.doubts[path]
        net = FileChange(path, first, change.after)
        if first == change.after:
            self.changes.pop(path, None)
        else:
            self.changes[path] = net
        return net

    def doubt(self, change: FileChange, command: str) -> DoubtfulChange | None:
        """Note a change that may be the user's; return it, or None when nothing is left of it.

        It includes what the turn did to the path before, which an undo cannot revert by itself.
        """
        path, first = change.path, change.before
        earlier = [self.changes.pop(path, None)]
        if path in self.doubts:
            earlier.append(self.doubts.pop(path).change)
        for known in earlier:
            if known is not None and known.after == first:
                first = known.before
        if first == change.after:
            return None
        self.doubts[path] = DoubtfulChange(FileChange(path, first, change.after), command)
        return self.doubts[path]


class History:
    """A stack of turns with a pointer: undo moves it down, redo up, and a new change drops the turns above
    it."""

    def __init__(self, turns: Iterable[TurnRecord] = ()) -> None:
        self.turns = list(turns)

    @property
    def next_number(self) -> int:
        return self.turns[-1].number + 1 if self.turns else 1

    def add(self, turn: TurnRecord) -> bool:
        """Put a turn on top; return whether undone turns were dropped for it."""
        before = len(self.turns)
        self.turns = [*(known for known in self.turns if known.undone is None), turn]
        return len(self.turns) <= before

    def to_undo(self) -> TurnRecord | None:
        """Return the last turn that is not undone and has changes that can be reverted."""
        candidates = (turn for turn in reversed(self.turns) if turn.undone is None)
        return next((turn for turn in candidates if turn.changes or turn.doubts or turn.links), None)

    def above(self, turn: TurnRecord | None) -> list[TurnRecord]:
        """Return the turns after `turn` that are not undone: nothing of them can be reverted."""
        number = turn.number if turn is not None else 0
        return [one for one in self.turns if one.number > number and one.undone is None and one.lost]

    def to_redo(self) -> TurnRecord | None:
        """Return the first turn that was undone."""
        return next((turn for turn in self.turns if turn.undone is not None), None)

    def with_reverts(self, turn: TurnRecord) -> TurnRecord:
        """Return the net changes of a turn and of what has reverted parts of it."""
        net = replace(turn, changes=dict(turn.changes), doubts=dict(turn.doubts))
        for later in self.turns:
            if later.reverts and later.reverts == turn.number and later.undone is None:
                for change in later.changes.values():
                    net.record(change)
        return net

    def reverted_by(self, turn: TurnRecord) -> TurnRecord:
        """Return the turn of which `turn` has reverted a part; itself if there is none."""
        return next((one for one in self.turns if turn.reverts and one.number == turn.reverts), turn)

    def digests(self) -> set[str]:
        """Return the blobs that the turns need."""
        return set().union(*(turn.digests() for turn in self.turns))


def selected(paths: Sequence[str], names: Sequence[str] | None) -> Sequence[str]:
    """Return those of `paths` that a name selects: the path, a folder above it, or a pattern; None: all."""
    if names is None:
        return paths
    wanted = [name.removeprefix("./").rstrip("/") for name in names]
    return [
        path
        for path in paths
        if any(path == one or path.startswith(one + "/") or fnmatchcase(path, one) for one in wanted)
    ]
