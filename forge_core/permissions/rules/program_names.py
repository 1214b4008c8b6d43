"""Denied programs under another name: links and copies, aliases of git, names that the line itself makes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from forge_core.permissions.path_info import real_path
from forge_core.permissions.programs.git_command_line import (
    OWN_SUBCOMMANDS,
    REMOTE_WRITERS,
    option_values,
    subcommand,
)
from forge_core.permissions.programs.git_config import aliases_in
from forge_core.permissions.programs.program_catalog import DECLARERS, FILE_NAMERS, MULTICALL
from forge_core.permissions.read_only.read_only_commands import folders_before
from forge_core.permissions.shell.syntax import Reading, SimpleCommand

_STEERS_GIT = re.compile(r"(?:GIT_|HOME=|XDG_CONFIG_HOME=)")
_MAX_LINKS = 40
_MAX_CD = 3
"""Where a line changes its folder more often, the aliases of any folder may hold."""


def clear_caches() -> None:
    """Clear what was read of links and config files: they may have changed."""
    _names_of.cache_clear()
    aliases_in.cache_clear()


def other_names(command: SimpleCommand, reading: Reading, folder: Path) -> Iterator[tuple[str, ...] | None]:
    """Yield the words of the command under the other names of its program: the program that a
    link leads to, `git push` for `git-push` and for an alias of it. None where that cannot be determined."""
    words = command.words
    if not words or command.parts[0].is_dynamic:
        return
    searched = () if "/" in words[0] else searched_folders(reading, folder)
    yield from ((name, *words[1:]) for name in _names_of(words[0], searched, str(folder)))
    if command.program.startswith("git-") and len(command.program) > 4:
        yield ("git", command.program.removeprefix("git-"), *words[1:])
    if command.program == "git":
        yield from _unaliased(command, reading, folder)


def settings_of(command: SimpleCommand) -> tuple[str, ...]:
    """Return the words that set variables: the assignments before a command, and what a builtin declares."""
    return (*command.assignments, *(command.words[1:] if command.program in DECLARERS else ()))


def searched_folders(reading: Reading, folder: Path) -> tuple[str, ...]:
    """Return the folders where programs are looked for, those first that the line itself names."""
    settings = [word for one in reading.commands for word in settings_of(one)]
    set_here = [word.partition("=")[2] for word in settings if word.startswith("PATH=")]
    known = ":".join((*set_here, os.environ.get("PATH", os.defpath)))
    for variable in ("${PWD}", "$PWD"):
        known = known.replace(variable, str(folder))
    return tuple(dict.fromkeys(one for one in known.split(":") if "$" not in one and "`" not in one))


@lru_cache(maxsize=1_000)
def _names_of(program: str, searched: tuple[str, ...], folder: str) -> tuple[str, ...]:
    """Return what the program is called further on, where links lead from its name."""
    places = [os.path.join(folder, one, program) for one in searched] or [os.path.join(folder, program)]  # noqa: PTH118
    names: list[str] = []
    try:
        path = next((one for one in places if os.access(one, os.X_OK) and not os.path.isdir(one)), "")  # noqa: PTH112
        # Each link on the way counts: a rule may name any of them, and realpath would give only the last.
        for _ in range(_MAX_LINKS):
            if not path or not os.path.islink(path):  # noqa: PTH114
                break
            path = os.path.join(os.path.realpath(os.path.dirname(path)), os.readlink(path))  # noqa: PTH115, PTH118, PTH120
            names.append(path)
    except (OSError, ValueError):
        return ()
    own = program.rpartition("/")[2]
    # The file behind a link of a multi-call program (busybox) says nothing: it acts by the link's name.
    return tuple(one for one in names if one.rpartition("/")[2] not in MULTICALL | {own})


def _unaliased(command: SimpleCommand, reading: Reading, folder: Path) -> Iterator[tuple[str, ...] | None]:
    words = command.words[1:]
    own = subcommand(words)
    # git ignores an alias with the name of one of its own subcommands.
    if not own or own[0] in OWN_SUBCOMMANDS:
        return
    settings = [word for one in reading.commands for word in settings_of(one)]
    if any(word.startswith("--git-dir") for word in words) or any(map(_STEERS_GIT.match, settings)):
        yield None
    if sum(one.program == "cd" for one in reading.commands) > _MAX_CD:
        yield None
        return
    places = dict.fromkeys(folders_before(reading, command, folder))
    for start in option_values(words, "-C"):  # each from the one before it
        if re.search(r"[$`]", start):
            yield None
        places = dict.fromkeys(place / start for place in places)
    for place in places:
        for found in aliases_in(real_path(place)).expanded(words):
            is_pusher = found is not None and found[0] == "git" and _first(found[1:]) in REMOTE_WRITERS
            yield None if is_pusher else found


def may_rename_programs(reading: Reading) -> bool:
    """Return whether a command of the line may be another program than its name says: one that the line
    itself names by a link or a copy, or by words whose borders or variables the line redefines."""
    commands = reading.commands
    made = {
        word.rpartition("/")[2] for one in commands if one.program in FILE_NAMERS for word in one.words[1:]
    }
    sets = {each.partition("=")[0] for one in commands for each in one.assignments if not one.words}
    sets |= {word.partition("=")[0] for one in commands if one.program in DECLARERS for word in one.words[1:]}
    sets_path = any(each.startswith("PATH=") for one in commands for each in one.assignments)
    for one in commands:
        name = one.written[0] if one.written else ""
        if ("/" in name or sets_path or "PATH" in sets) and name.rpartition("/")[2] in made - {""}:
            return True
    # IFS and namerefs change only what is expanded.
    if "$" not in reading.line:
        return False
    has_reference = any(
        one.program in DECLARERS - {"export"}
        and any(re.fullmatch(r"-\w*n\w*", word) for word in one.words[1:])
        for one in commands
    )
    return "IFS" in sets or has_reference


def may_be_git(wanted: tuple[str, ...], command: SimpleCommand, reading: Reading) -> bool:
    """Return whether a git command may be the denied one: by an alias that the line sets, or because git
    knows several names for it."""
    if wanted[:1] != ("git",) or len(wanted) < 2 or command.program != "git":
        return False
    words = command.words[1:]
    if wanted[1] == "push" and not REMOTE_WRITERS.isdisjoint(words[:4]):
        return _first(words) in REMOTE_WRITERS and (_first(words) != "subtree" or "push" in words)
    sets_alias = any(
        re.match(r"(?:-c)?alias\.", word, re.IGNORECASE)
        for one in reading.commands
        if one.program == "git"
        for word in one.words[1:]
    )
    return sets_alias and _first(words) not in OWN_SUBCOMMANDS


def _first(words: tuple[str, ...]) -> str:
    return next(iter(subcommand(words)), "")
