"""The turns that changed something, in order, and which of them are undone. Pure: no file is touched here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from forge_core.undo.image import Change, Image


@dataclass(slots=True)
class Turn:
    """One turn's net changes."""

    number: int
    text: str
    at: float
    changes: dict[str, Change] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    """Names that changed and are not covered, with the reason."""
    undone: tuple[str, ...] | None = None
    """The paths that the last undo brought back; None while the turn stands."""

    @property
    def is_empty(self) -> bool:
        return not self.changes and not self.lost

    def digests(self) -> set[str]:
        """Every blob that the turn needs."""
        images = (image for change in self.changes.values() for image in (change.before, change.after))
        return {image.digest for image in images if image.digest and not image.git}

    def record(self, path: str, before: Image, after: Image) -> Change:
        """Joins a change to what the turn did to the path before; gives the net change.

        When somebody else changed the path in between (`before` is not what the turn had left), the chain
        starts anew: undo then brings back that person's content, never what lay before it.
        """
        known = self.changes.get(path)
        first = known.before if known is not None and known.after == before else before
        change = Change(path, first, after)
        if first == after:
            self.changes.pop(path, None)
        else:
            self.changes[path] = change
        return change


class History:
    """A stack of turns with a pointer: undo moves it down, redo up, a new change cuts what lies above."""

    def __init__(self, turns: Iterable[Turn] = ()) -> None:
        self._turns = list(turns)

    def __iter__(self) -> Iterator[Turn]:
        return iter(self._turns)

    def __len__(self) -> int:
        return len(self._turns)

    @property
    def next_number(self) -> int:
        return self._turns[-1].number + 1 if self._turns else 1

    def add(self, turn: Turn) -> bool:
        """Puts a turn on top; whether undone turns were given up for it."""
        standing = [known for known in self._turns if known.undone is None]
        is_cut = len(standing) < len(self._turns)
        self._turns = [*standing, turn]
        return is_cut

    def to_undo(self) -> Turn | None:
        """The last turn that stands and changed something that can be brought back."""
        return next((turn for turn in reversed(self._turns) if turn.undone is None and turn.changes), None)

    def above(self, turn: Turn | None) -> list[Turn]:
        """The standing turns after `turn`: they did nothing that can be brought back."""
        number = turn.number if turn is not None else 0
        return [one for one in self._turns if one.number > number and one.undone is None and one.lost]

    def to_redo(self) -> Turn | None:
        """The first turn that was undone."""
        return next((turn for turn in self._turns if turn.undone is not None), None)

    def forget_oldest(self) -> Turn | None:
        """Drops the oldest turn, to make room."""
        return self._turns.pop(0) if self._turns else None

    def digests(self) -> set[str]:
        """Every blob that a turn needs."""
        return set().union(*(turn.digests() for turn in self._turns))
