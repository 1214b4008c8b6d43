"""Which cards are unfolded: all of them at once in constant time, then each by itself again."""

from __future__ import annotations


class Folding:
    """What was last done to all cards of a transcript."""

    def __init__(self) -> None:
        self.is_open = False
        self.round = 0
        """Grows each time that all are folded or unfolded."""
        self.exceptions = 0
        """Cards that are otherwise since."""

    def toggle_all(self) -> None:
        """Unfolds all cards, or folds all when all are unfolded."""
        self.is_open = not self.is_open or self.exceptions > 0
        self.round += 1
        self.exceptions = 0


class Fold:
    """Whether one card is unfolded. A new one is folded, also when all the others are not."""

    __slots__ = ("_all", "_is_open", "_round")

    def __init__(self, everyone: Folding | None = None) -> None:
        """`everyone`: None for a card that only folds by itself, within another."""
        self._all = everyone
        self._is_open = False
        self._round = 0
        if everyone is not None:
            self._round = everyone.round
            everyone.exceptions += everyone.is_open

    @property
    def round(self) -> int:
        return 0 if self._all is None else self._all.round

    @property
    def is_open(self) -> bool:
        if self._all is not None and self._all.round != self._round:
            return self._all.is_open
        return self._is_open

    def set(self, is_open: bool) -> bool:
        """Whether that changed anything."""
        if self.is_open == is_open:
            return False
        if self._all is not None:
            self._all.exceptions += -1 if is_open == self._all.is_open else 1
            self._round = self._all.round
        self._is_open = is_open
        return True

    def another(self) -> Fold:
        """A new one that is folded and unfolded together with the same others."""
        return Fold(self._all)

    def leave(self) -> None:
        """From now on it folds by itself: its card has gone into another."""
        is_open = self.is_open
        if self._all is not None:
            self._all.exceptions -= is_open != self._all.is_open
        self._all, self._is_open = None, is_open
