"""Folding of cards and reasoning: all of them at once in constant time, then each by itself again."""

from __future__ import annotations


class SharedFolding:
    """The last command that folded or unfolded all blocks of a transcript."""

    def __init__(self) -> None:
        self.is_open = False
        self.round = 0
        """Incremented each time that all are folded or unfolded."""
        self.exceptions = 0
        """How many have been folded or unfolded by themselves since."""

    def toggle_all(self) -> None:
        """Unfold all, or fold all if all are unfolded; blocks that are open by default stay open."""
        self.is_open = not self.is_open or self.exceptions > 0
        self.round += 1
        self.exceptions = 0


class Fold:
    """Whether one block is unfolded. A new one has its default state, whatever was last done to all."""

    __slots__ = ("_all", "_is_open", "_is_usually_open", "_round")

    def __init__(self, everyone: SharedFolding | None = None, *, is_usually_open: bool = False) -> None:
        """`everyone`: the folding that it takes part in; None for a block within another one."""
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
        # All blocks were folded or unfolded after this one: no block had to be visited for that.
        if self._all is not None and self._all.round != self._round:
            return self._all.is_open or self._is_usually_open
        return self._is_open

    def set(self, is_open: bool) -> bool:
        """Fold or unfold; return whether that changed anything."""
        if self.is_open == is_open:
            return False
        self._put(is_open)
        return True

    def set_default(self, *, is_usually_open: bool) -> None:
        """Fold or unfold it, and make that its default."""
        self._put(is_usually_open, is_usually_open)

    def sibling(self) -> Fold:
        """Return a new one that takes part in the same folding."""
        return Fold(self._all)

    def detach(self) -> None:
        """Take no part in the common folding any more: the block has moved into another one."""
        is_open = self.is_open
        if self._all is not None:
            self._all.exceptions -= self._is_exception
        self._all, self._is_open = None, is_open

    @property
    def _is_exception(self) -> bool:
        """Whether its state differs from what was last done to all."""
        return self._all is not None and self.is_open != (self._all.is_open or self._is_usually_open)

    def _put(self, is_open: bool, is_usually_open: bool | None = None) -> None:
        was_exception = self._is_exception
        self._is_open = is_open
        if is_usually_open is not None:
            self._is_usually_open = is_usually_open
        if self._all is not None:
            self._round = self._all.round
            self._all.exceptions += self._is_exception - was_exception
