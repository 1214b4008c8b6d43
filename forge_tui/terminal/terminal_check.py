"""Whether the terminal can show the app. Imports nothing heavy."""

from __future__ import annotations

import os


def terminal_problem(command: str, instead: str) -> str:
    """Return why an app cannot be shown, and what to use instead; empty if it can."""
    if not (os.isatty(0) and os.isatty(1)):  # sys.stdin may be None
        return f"{command} needs a terminal. Without one, use: {instead}"
    if _is_dumb():
        return f'This terminal cannot show the app (TERM is "dumb" or not set). Use: {instead}'
    return ""


def _is_dumb() -> bool:
    return os.environ.get("TERM", "") in ("", "dumb")


def is_dumb_terminal() -> bool:
    """Return whether there is a terminal, but one that cannot show the app."""
    return _is_dumb() and os.isatty(0) and os.isatty(1)
