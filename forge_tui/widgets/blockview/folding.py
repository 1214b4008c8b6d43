"""Which cards and thoughts are unfolded: all of them at once in constant time, then each by itself again."""

from __future__ import annotations


class SharedFolding:
    """What was last done to all cards and thoughts of a transcript."""

    def __init__(self) -> None:
        self.is_open = False
        self.round = 0
        """Grows each time that all are folded or unfolded."""
        self.exceptions = 0
        """How many are otherwise since."""

    def toggle_all(self) -> None:
        """Unfolds all, or folds all when all are unfolded: what is usually open stays so."""
        self.is_open = not self.is_open or self.exceptions > 0
        self.round += 1
        self.exceptions = 0


class Fold:
    """Whether one of them is unfolded. A new one is as it usually is, also when all the others are not."""

    __slots__ = ("_all", "_is_open", "_is_usually_open", "_round")

    def __init__(self, everyone: SharedFolding | None = None, *, is_usually_open: bool = False) -> None:
        """`everyone`: None for one that only folds by itself, within another."""
        self._all = everyone
        self._is_usually_open = self._is_open = is_usually_open
        self._round = 0
        if everyone is not None:
            self._round = everyone.round
            everyone.exceptions += self._is_exception

    @property
    def round(self) -> int:
        return 0 if self._all is None else self._all.round

    @property
    def is_open(self) -> bool:
        if self._all is not None and self._all.round != self._round:
            return self._all.is_open or self._is_usually_open
        return self._is_open

    def set(self, is_open: bool) -> bool:
        """Whether that changed anything."""
        if self.is_open == is_open:
            return False
        self._put(is_open)
        return True

    def set_default(self, *, is_usually_open: bool) -> None:
        """Unfolds or folds it for good: that is how it usually is from now on."""
        self._put(is_usually_open, is_usually_open)

    def sibling(self) -> Fold:
        """A new one that is folded and unfolded together with the same others."""
        return Fold(self._all)

    def detach(self) -> None:
        """From now on it folds by itself: its card has gone into another."""
        is_open = self.is_open
        if self._all is not None:
            self._all.exceptions -= self._is_exception
        self._all, self._is_open = None, is_open

    @property
    def _is_exception(self) -> bool:
        """Whether it is otherwise than all were last made."""
        return self._all is not None and self.is_open != (self._all.is_open or self._is_usually_open)

    def _put(self, is_open: bool, is_usually_open: bool | None = None) -> None:
        was_exception = self._is_exception
        self._is_open = is_open
        if is_usually_open is not None:
            self._is_usually_open = is_usually_open
        if self._all is not None:
            self._round = self._all.round
            self._all.exceptions += self._is_exception - was_exception
