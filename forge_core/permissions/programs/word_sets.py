"""Sets of words, written as text so that long tables stay readable."""

from __future__ import annotations


def table(text: str) -> frozenset[str]:
    """Return the blank-separated words of `text`."""
    return frozenset(text.split())
