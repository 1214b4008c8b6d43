"""Durations in words, the same everywhere."""

from __future__ import annotations


def time_taken(seconds: float) -> str:
    """Return how long something took: "0.4 s", "12 s", "3 min 05 s", "1 h 02 min"."""
    return f"{seconds:.1f} s" if seconds < 9.95 else time_so_far(round(seconds))


def time_ago(seconds: float) -> str:
    """Return how long ago something was, roughly: "now", "5 min ago", "3 h ago", "2 days ago"."""
    minutes = int(max(0.0, seconds)) // 60
    if minutes < 1:
        return "now"
    if minutes < 60:
        return f"{minutes} min ago"
    if minutes < 24 * 60:
        return f"{minutes // 60} h ago"
    days = minutes // (24 * 60)
    return "1 day ago" if days == 1 else f"{days} days ago"


def time_so_far(seconds: float) -> str:
    """Return how long something has been running, in whole seconds: "8 s", "3 min 05 s", "1 h 02 min"."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"
