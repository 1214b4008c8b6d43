"""A key that acts on a row of a list at its second press, and not while it is held down."""

from __future__ import annotations

from collections.abc import Callable

from forge_tui.keys.grace import Grace


class SecondPress:
    """Counts the presses of one key."""

    def __init__(self, key_id: str, clock: Callable[[], float]) -> None:
        """`clock` measures the time between presses."""
        self.row = 0
        """The number of the row that the next press acts on; 0 for none."""
        self._key_id = key_id
        self._clock = clock
        self._grace = Grace(clock)

    def press(self, row: int) -> bool:
        """Take note of a press on a row; return whether the key acts now."""
        if self.row != row:
            self.row = row
            self._grace.prompt_appeared((self._key_id, self._clock()))
            return False
        if not self._grace.admits_key(self._clock(), self._key_id):
            return False
        self.row = 0
        return True

    def forget(self) -> None:
        """Begin again: another row was selected, or another key was pressed."""
        self.row = 0
