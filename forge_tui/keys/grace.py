"""When keys and clicks answer a prompt: once the user could have seen it, and not if a key is only held."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.geometry import Region

from forge_tui.keymap import keys_of

GRACE_S = 0.5
"""Time without a key or a click after a prompt has opened, until they answer."""
HELD_S = 1.0
"""A key that was pressed sooner than this before may be held down: it is repeated after 0.2 to 0.8 s."""
LATE_S = 0.1
"""A key may wait this long until the app handles it; the time beyond that counts as its delay."""
NO_KEY = ("", float("-inf"))
"""The last key, where there was none."""
_INTERRUPT_KEYS = frozenset(keys_of("chat.copy_or_interrupt").split(","))


class Grace:
    """The time in which keys and clicks do not answer. Each of them that comes too early begins it again."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._was_over = False
        self._ends_at = clock() + GRACE_S
        self._key_before = NO_KEY
        """The last key before the prompt appeared, and when."""
        self._answers_region = Region()
        self._moved_at = clock()
        """When the answers last moved on the screen."""
        self._pressed_at: float | None = None

    def restart(self, grace_s: float = GRACE_S) -> None:
        """Let keys and clicks answer only after another grace period."""
        self._was_over, self._ends_at = False, self._clock() + grace_s

    def prompt_appeared(self, last_key: tuple[str, float]) -> None:
        """Begin: what was typed before this was not meant for the prompt. `last_key` may be held down."""
        self._key_before = last_key
        self.restart()

    def answers_placed(self, region: Region) -> None:
        """Take note of where on the screen the answers are."""
        if region != self._answers_region:
            self._answers_region, self._moved_at = region, self._clock()

    @property
    def is_over(self) -> bool:
        """Whether keys answer."""
        return self._was_over or self._clock() >= self._ends_at

    def time_of(self, pressed_at: float) -> float:
        """Convert the time of an event, which may have waited in a queue, to the prompt's clock."""
        return self._clock() - max(time.monotonic() - pressed_at - LATE_S, 0.0)

    def admits_key(self, now: float, key: str) -> bool:
        """Return whether the key at `now` answers."""
        if key in _INTERRUPT_KEYS:  # what is typed before the turn has ended is meant for the composer
            self.restart()
            return False
        last_key, last_at = self._key_before
        is_held = key == last_key and now < last_at + HELD_S
        return self._admits(now, is_early=is_held)

    def button_pressed(self, pressed_at: float) -> None:
        """Take note of when a mouse button was pressed: `time.monotonic()`."""
        self._pressed_at = self.time_of(pressed_at)

    def admits_click(self) -> bool:
        """Return whether a click answers."""
        now = self._clock() if self._pressed_at is None else self._pressed_at
        self._pressed_at = None
        has_moved = now < self._moved_at + GRACE_S
        return self._admits(now) and not has_moved

    def paste_arrived(self) -> None:
        """Take note of a paste, which is no answer."""
        self._admits(self._clock())

    def _admits(self, now: float, *, is_early: bool = False) -> bool:
        if not self._was_over:
            self._was_over = now >= self._ends_at and not is_early
            if not self._was_over:
                self._ends_at = now + GRACE_S
        return self._was_over
