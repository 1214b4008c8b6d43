"""Paths that a user has typed, with ~ for a home folder."""

from __future__ import annotations

from pathlib import Path


def expand_home(text: str) -> Path:
    """Return the path with ~ or ~user replaced by that home folder; if there is no such user, ~ is a name
    like any other. Unlike `Path.expanduser`, it never raises."""
    path = Path(text)
    try:
        return path.expanduser()
    except RuntimeError:
        return path
