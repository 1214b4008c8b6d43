"""How soon something happens: what it takes when the machine lets it, which other programs do not change."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

_TRIES = 6


async def assert_prompt(limit_s: float, attempt: Callable[[], Awaitable[float]]) -> None:
    """Fails when none of a few attempts, each of which gives how long it took, stays below the limit."""
    took: list[float] = []
    for _ in range(_TRIES):
        took.append(await attempt())
        if took[-1] < limit_s:
            return
    raise AssertionError(f"not within {limit_s:g} s: {', '.join(f'{one:.3f}' for one in took)}")
