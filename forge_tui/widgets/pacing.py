"""When the next frame may be drawn: paced by what frames cost, not by a clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

SHORTEST_S = 0.008
"""From the beginning of a frame to that of the next one, however cheap it was."""
LOAD = 2
"""A frame that took long is followed by the next one this many times its length after its beginning."""


class FramePacer:
    """Spaces frames out. The first after a pause never waits."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` gives seconds."""
        self._clock = clock
        self._due = float("-inf")

    def wait_s(self) -> float:
        """Seconds until a frame may be drawn; 0 or less: now."""
        return self._due - self._clock()

    @contextmanager
    def frame(self) -> Iterator[None]:
        """Measures the frame that is drawn inside."""
        began = self._clock()
        try:
            yield
        finally:
            self._due = began + max(SHORTEST_S, LOAD * (self._clock() - began))
