"""Command lines in which git only reads: whether the repository can be kept from running programs for them.

Git runs programs that a repository's config names also while it reads (core.fsmonitor, textconv, filters,
diff.external, hooks). Forge switches them off by variables for the whole line
(`workspace.git.reading_variables`). That is possible only where the rest of the line neither needs these
programs nor sets the variables, and only for settings without which git gives the same answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from forge_core.permissions.path_info import real_path
from forge_core.permissions.programs.git_command_line import (
    OTHER_READERS,
    OWN_SUBCOMMANDS,
    PROGRAM_USERS,
    READ_ONLY_ARGUMENTS,
    READS_HISTORY,
    WRITES_WITH_OPERANDS,
    option_values,
    subcommand,
)
from forge_core.permissions.programs.git_config import (
    aliases_in,
    refresh_hook_runs,
    repository_aliases,
    running_settings,
    setting_reason,
)
from forge_core.permissions.programs.program_catalog import FILE_WRITERS, HARMLESS_WRAPPERS, NEVER_RUN
from forge_core.permissions.read_only.read_only_commands import folders_before, is_git_listing, is_reading
from forge_core.permissions.shell.shell_words import Word
from forge_core.permissions.shell.syntax import Reading, SimpleCommand
from forge_core.workspace.folders import Workspace
from forge_core.workspace.git import is_switched_off

_HOOKS_PATH = "core.hookspath"


@dataclass(frozen=True, slots=True)
class GitCall:
    """A git command of a line."""

    command: SimpleCommand
    words: tuple[str, ...]
    """From the subcommand on, an alias of the user's replaced."""
    folders: tuple[Path, ...]
    """Where it may run."""
    own_alias: str = ""
    """The setting by which the repository itself defines the subcommand."""

    @property
    def is_reading(self) -> bool:
        """Whether it changes nothing. Not so `git config`, which runs nothing and would show the
        variables."""
        name = self.words[0] if self.words else ""
        if name in WRITES_WITH_OPERANDS:
            return name != "config" and is_git_listing(self.command.parts)
        return name in READ_ONLY_ARGUMENTS or name in OTHER_READERS

    @property
    def uses_programs(self) -> bool:
        """Whether it shows something by means of programs that the config names."""
        return self.words[:1] != () and (
            self.words[0] in PROGRAM_USERS or ":".join(self.words[:2]) in PROGRAM_USERS
        )


def folders_to_read(reading: Reading, root: Workspace) -> tuple[Path, ...]:
    """Return the folders in which git reads in a line for which the programs of the repository can be
    switched off as a whole; () for other lines, also for those without git."""
    calls = list(_calls(reading, root))
    reads = [call for call in calls if call.is_reading]
    if not reads or not _is_switchable(reading, calls, root):
        return ()
    return tuple(dict.fromkeys(folder for call in reads for folder in call.folders))


def unswitched_reason(reading: Reading, root: Workspace) -> str:
    """Return why a line in which git only reads asks even where a rule allows it: the repository's config
    names a program that cannot be switched off for it. "" for none."""
    if "git" not in reading.line:
        return ""
    calls = list(_calls(reading, root))
    is_switchable = _is_switchable(reading, calls, root)
    for call in calls:
        if call.own_alias:
            return f"the repository's git config defines what it runs: {call.own_alias}"
        if not (call.is_reading or call.uses_programs):
            continue
        may_switch = is_switchable and not call.uses_programs
        for setting in _left(call, is_switchable=may_switch):
            is_plain = is_switchable or call.uses_programs
            why = "that cannot be switched off" if is_plain else "the line does more than only read"
            return f"{setting_reason(setting)}, and {why}"
    return ""


def _calls(reading: Reading, root: Workspace) -> Iterator[GitCall]:
    for command in reading.commands:
        if command.program != "git" or command.is_hint:
            continue
        folders = _folders(command, reading, root)
        own = tuple(subcommand(command.words[1:]))
        if not own:
            continue
        if own[0] in OWN_SUBCOMMANDS or own[0] in READ_ONLY_ARGUMENTS:
            yield GitCall(command, own, folders)
            continue
        yield GitCall(command, own, folders, _own_alias(own, folders))
        for folder in folders:
            for found in aliases_in(folder).expanded(command.words[1:]):
                if found is not None and found[0] == "git":
                    yield GitCall(command, tuple(subcommand(found[1:])), folders)


def _folders(command: SimpleCommand, reading: Reading, root: Workspace) -> tuple[Path, ...]:
    places = dict.fromkeys(real_path(folder) for folder in folders_before(reading, command, root))
    for start in option_values(command.words[1:], "-C"):  # each from the one before it
        places = dict.fromkeys(real_path(folder / start) for folder in places)
    return tuple(places)


def _own_alias(words: Sequence[str], folders: Sequence[Path]) -> str:
    """Return the setting by which the repository defines a subcommand as more than plain reading, or the file
    that may do so and cannot be read; "" for none."""
    for folder in folders:
        aliases = repository_aliases(folder)
        if aliases.unread:
            return f"{aliases.unread[0]} (it cannot be read reliably)"
        if not all(map(_is_plain_reading, aliases.expanded(words))):
            return f"alias.{words[0]}"
    return ""


def _is_plain_reading(command: Sequence[str] | None) -> bool:
    return command is not None and command[0] == "git" and is_git_listing([Word(word) for word in command])


def _is_switchable(reading: Reading, calls: Sequence[GitCall], root: Workspace) -> bool:
    """Return whether variables set for the line hold for all git commands in it, and disturb no other
    command."""
    if reading.problem or reading.functions or reading.features or "GIT_" in reading.line:
        return False
    reads = {id(call.command) for call in calls if call.is_reading}
    reads -= {id(call.command) for call in calls if call.own_alias}
    for command in reading.commands:
        if command.is_hint:
            continue
        if command.is_opaque or command.assignments or not set(command.wrappers) <= HARMLESS_WRAPPERS:
            return False
        is_plain_writer = command.program in FILE_WRITERS and command.program in NEVER_RUN
        if id(command) not in reads and not is_plain_writer and not is_reading(command, reading, root):
            return False
    return True


def _left(call: GitCall, *, is_switchable: bool) -> Iterator[str]:
    """Yield the settings by which the repository still runs programs for the call."""
    for folder in call.folders:
        for setting in running_settings(folder):
            name = setting.casefold()
            if name.startswith("alias."):
                continue  # none takes the place of a subcommand of git's own
            if is_switchable:
                if is_switched_off(name, call.words):
                    continue
                if name.startswith("filter.") and call.words[0] in READS_HISTORY:
                    continue
            elif name == _HOOKS_PATH and not refresh_hook_runs(folder):
                continue
            yield setting
