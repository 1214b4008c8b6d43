"""Denied programs under another name: links and copies, aliases of git, names that the line itself makes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from forge_core.permissions.shell_syntax import Reading, SimpleCommand
from forge_core.permissions.tables import table

_NAMERS = table("ln cp mv install link rsync scp")
_DECLARERS = table("declare typeset local readonly export")
_PUSHERS = table("send-pack http-push subtree remote-http remote-https")
_GIT_OWN = table(
    "add am annotate apply archive bisect blame branch bundle cat-file check-ignore checkout cherry"
    " cherry-pick clean clone commit config count-objects describe diff diff-tree fetch format-patch fsck gc"
    " grep help init log ls-files ls-remote ls-tree merge merge-base mv name-rev notes prune pull push"
    " range-diff rebase reflog remote reset restore rev-list rev-parse revert rm shortlog show show-ref stash"
    " status submodule switch symbolic-ref tag var version whatchanged worktree"
)
"""No alias takes the place of these."""


def other_names(command: SimpleCommand, folder: Path) -> Iterator[tuple[str, ...]]:
    """The words of the command as they would be spelled without its disguise: the program that a link leads
    to, `git push` for `git-push`."""
    words = command.words
    if not words:
        return
    if "/" in words[0] and not command.parts[0].is_dynamic:
        try:
            real = os.path.realpath(folder / words[0])
        except (OSError, ValueError):
            real = words[0]
        if real.rpartition("/")[2] != command.program:
            yield (real, *words[1:])
    if command.program.startswith("git-") and len(command.program) > 4:
        yield ("git", command.program.removeprefix("git-"), *words[1:])


def is_disguised(reading: Reading) -> bool:
    """Whether a command of the line may be another program than its name says: one that the line itself
    names by a link or a copy, or by words whose borders or variables the line redefines."""
    commands = reading.commands
    made = {word.rpartition("/")[2] for one in commands if one.program in _NAMERS for word in one.words[1:]}
    sets = {each.partition("=")[0] for one in commands for each in one.assignments if not one.words}
    sets |= {
        word.partition("=")[0] for one in commands if one.program in _DECLARERS for word in one.words[1:]
    }
    finds_anew = any(each.startswith("PATH=") for one in commands for each in one.assignments)
    for one in commands:
        name = one.written[0] if one.written else ""
        if ("/" in name or finds_anew or "PATH" in sets) and name.rpartition("/")[2] in made - {""}:
            return True
    if "$" not in reading.line:
        return False
    has_reference = any(
        one.program in _DECLARERS - {"export"}
        and any(re.fullmatch(r"-\w*n\w*", word) for word in one.words[1:])
        for one in commands
    )
    return "IFS" in sets or has_reference


def may_be_git(wanted: tuple[str, ...], command: SimpleCommand, reading: Reading) -> bool:
    """Whether a git command may be the denied one: by an alias that the line sets, or because git knows
    several names for it."""
    if wanted[:1] != ("git",) or len(wanted) < 2 or command.program != "git":
        return False
    words = command.words[1:]
    if wanted[1] == "push" and not _PUSHERS.isdisjoint(words[:4]):
        return _subcommand(words) in _PUSHERS and (_subcommand(words) != "subtree" or "push" in words)
    sets_alias = any(
        re.match(r"(?:-c)?alias\.", word, re.IGNORECASE)
        for one in reading.commands
        if one.program == "git"
        for word in one.words[1:]
    )
    return sets_alias and _subcommand(words) not in _GIT_OWN


def _subcommand(words: tuple[str, ...]) -> str:
    rest = list(words)
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] in ("-c", "-C", "--git-dir", "--work-tree", "--namespace") else rest[1:]
    return rest[0] if rest else ""
