"""Frame pacing: when the next frame may be drawn depends on what frames cost, not on a clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

SHORTEST_S = 0.008
"""The shortest time between the beginnings of two frames."""
LOAD = 2
"""The next frame begins this many times the length of the last one after its beginning."""


class FramePacer:
    """Spaces frames out. The first one after a pause is not delayed."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` gives seconds."""
        self._clock = clock
        self._due = float("-inf")

    def wait_s(self) -> float:
        """Return the seconds until a frame may be drawn; 0 or less for now."""
        return self._due - self._clock()

    @contextmanager
    def frame(self) -> Iterator[None]:
        """Measure the frame drawn inside."""
        began = self._clock()
        try:
            yield
        finally:
            self._due = began + max(SHORTEST_S, LOAD * (self._clock() - began))
