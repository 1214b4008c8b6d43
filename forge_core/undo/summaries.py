"""Names what undo does not cover in a few words: no card wants ten thousand paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

MAX_NAMES = 5
"""Of one reason; the rest is counted."""


def not_undoable(lost: Mapping[str, str], ignored: Sequence[str]) -> tuple[str, ...]:
    """One text a reason: `big.iso (larger than 10 MB)`, `node_modules/ and 3 others (ignored by git)`."""
    by_reason: dict[str, list[str]] = {}
    for name, why in lost.items():
        by_reason.setdefault(why, []).append(name)
    if ignored:
        by_reason.setdefault("ignored by git", []).extend(ignored)
    texts: list[str] = []
    for why, names in by_reason.items():
        if not why:
            texts.extend(names)
        else:
            texts.append(f"{_enumerated(sorted(names))} ({why})")
    return tuple(texts)


def _enumerated(names: list[str]) -> str:
    if len(names) <= MAX_NAMES:
        return ", ".join(names)
    kept = names[: MAX_NAMES - 1]
    return f"{', '.join(kept)} and {len(names) - len(kept)} others"
