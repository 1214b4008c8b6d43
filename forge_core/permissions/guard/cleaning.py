"""What a `git clean` deletes: files that git keeps no copy of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from forge_core.permissions.programs.git_aliases import VALUE_OPTIONS

_DRY = re.compile(r"--d(?:r(?:y(?:-(?:r(?:u(?:n)?)?)?)?)?)?")
_EVERYTHING = re.compile(r"(?:\.|\*+|:/|:\(top\))?/*")


@dataclass(frozen=True, slots=True)
class Cleaning:
    """One `git … clean …`."""

    folders: tuple[str, ...]
    """Where it begins, as written: each from the one before it."""
    operands: tuple[str, ...]
    is_deep: bool
    """It also takes ignored files (keys and settings among them), or repositories within this one."""

    @property
    def takes_all(self) -> bool:
        """Whether it is not told what to delete."""
        return not self.operands or any(
            _EVERYTHING.fullmatch(one) or re.search(r"[$`]", one) for one in self.operands
        )


def cleaning(words: Sequence[str], assignments: Sequence[str] = ()) -> Cleaning | None:
    """What follows `git`, read as a clean that deletes; None for everything else, dry runs too."""
    folders = [
        value for name, _, value in (one.partition("=") for one in assignments) if name == "GIT_WORK_TREE"
    ]
    rest = list(words)
    while rest and rest[0].startswith("-"):
        option, equals, value = rest[0].partition("=")
        takes_next = option in ("-C", "--work-tree") and not equals
        if option in ("-C", "--work-tree"):
            folders += [value] if equals else rest[1:2]
        rest = rest[2:] if takes_next or (option in VALUE_OPTIONS and not equals) else rest[1:]
    if rest[:1] != ["clean"]:
        return None
    operands: list[str] = []
    letters, is_dry = "", False
    left = iter(rest[1:])
    for word in left:
        if word == "--":
            operands += left
        elif word.startswith("--"):
            is_dry = is_dry or _DRY.fullmatch(word) is not None
            letters += "f" if word.startswith("--f") else ""
            if word.startswith("--e") and "=" not in word:
                next(left, None)
        elif word.startswith("-") and len(word) > 1:
            own, excludes, pattern = word[1:].partition("e")
            letters += own
            if excludes and not pattern:
                next(left, None)
        else:
            operands.append(word)
    if is_dry or "n" in letters:
        return None
    is_unknown = any(re.search(r"[$`]", word) for word in rest[1:])  # it may be the option that matters
    is_deep = is_unknown or "x" in letters or "X" in letters or letters.count("f") > 1
    return Cleaning(tuple(folders), tuple(operands), is_deep)
