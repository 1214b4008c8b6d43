"""What a `git push` takes from a remote: its history, its branches."""

from __future__ import annotations

import re
from collections.abc import Sequence

from forge_core.permissions.programs.git_aliases import subcommand


def pushed(words: Sequence[str]) -> list[str]:
    """What follows `git … push`, or nothing. `words` are those behind `git`."""
    rest = list(subcommand(words))
    return rest[1:] if rest[:1] == ["push"] else []


def is_leased(word: str) -> bool:
    """Whether it forces, but only over what was last seen there."""
    return word.startswith(("--force-w", "--force-i"))


def rewrites_a_remote(words: Sequence[str]) -> str | None:
    """Why the push overwrites what others may have pushed, or None."""
    for word in pushed(words):
        forces = word.startswith("--force") and not is_leased(word)
        mirrors = len(word) > 3 and "--mirror".startswith(word)
        if forces or mirrors or word.startswith("+") or re.fullmatch(r"-[a-z]*f[a-z]*", word):
            return f"git push {word} rewrites the history of a remote"
    return None


def deletes_branches(words: Sequence[str]) -> bool:
    """Whether the push deletes branches or tags of the remote."""
    return any(
        re.fullmatch(r":.+|-[a-z]*d[a-z]*", word)
        or (len(word) > 4 and ("--delete".startswith(word) or "--prune".startswith(word)))
        for word in pushed(words)
    )
