"""Files with keys that git holds in the same state, and the lines for which the sandbox hides them too.

They usually stay visible: git compares a file with what it holds, and would take a placeholder for a change.
A line that only searches and reads, without such a git command, notices no difference but the missing text.
"""

from __future__ import annotations

import re

from forge_core.permissions.programs.git_command_line import (
    READS_HISTORY,
    WRITES_WITH_OPERANDS,
    subcommand,
)
from forge_core.permissions.programs.program_catalog import FEEDERS, HARMLESS_WRAPPERS, PRINTERS, RECURSIVE
from forge_core.permissions.programs.word_sets import table
from forge_core.permissions.read_only.read_only_commands import folders_before, listed_paths
from forge_core.permissions.read_only.reasons_to_ask import names_key_file, reads_folders
from forge_core.permissions.shell.syntax import Reading, SimpleCommand
from forge_core.workspace.folders import Workspace

_LISTS_OR_READS_HISTORY = READS_HISTORY | WRITES_WITH_OPERANDS | table("cat-file cherry count-objects")
_MODIFIED = re.compile(r"-[A-Za-z]*m[A-Za-z]*|--mod\w*")
_FIND_ACTIONS = table("-delete -fls -fprint -fprint0 -fprintf -ok -okdir")
_SEARCHES = (RECURSIVE.keys() | {"rg"}) - {"ls"}
_BUILTINS = frozenset({"[[", "printf", ":"})


def can_hide_committed(reading: Reading, root: Workspace) -> bool:
    """Return whether files with keys that git holds can be hidden from this line: every program in it only
    reads, none compares the folder with what git holds, and no word names such a file."""
    if reading.problem or reading.functions or reading.features or not reading.commands:
        return False
    return all(_only_reads(one) and not names_key_file(one, reading, root) for one in reading.commands)


def searches_content(command: SimpleCommand, reading: Reading, root: Workspace) -> bool:
    """Return whether the command shows lines of files that it finds in folders by itself."""
    if command.program not in _SEARCHES:
        return False
    return reads_folders(command, reading, folders_before(reading, command, root))


def _only_reads(command: SimpleCommand) -> bool:
    if command.is_opaque or command.is_remote or not command.words:
        return False
    if not set(command.wrappers) <= HARMLESS_WRAPPERS | FEEDERS:
        return False
    match command.words[0]:
        case "git":
            return _ignores_work_tree(command) and listed_paths(command.parts) is not None
        case "find" if not _FIND_ACTIONS.isdisjoint(command.words):
            return False
        case "find" if "-exec" in command.words or "-execdir" in command.words:
            return not any(word.is_dynamic for word in command.parts)  # what it runs is in the line by itself
        case program if program in PRINTERS or program in _BUILTINS:
            return True
        case _:
            return listed_paths(command.parts) is not None


def _ignores_work_tree(command: SimpleCommand) -> bool:
    words = subcommand(command.words[1:])
    if words and words[0] == "ls-files":
        return not any(_MODIFIED.fullmatch(word) for word in words)
    return not words or words[0] in _LISTS_OR_READS_HISTORY
