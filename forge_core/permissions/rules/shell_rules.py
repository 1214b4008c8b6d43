"""What to say of a shell line before a person decides: is it hard to undo, and which rule would cover it."""

from __future__ import annotations

import re
from pathlib import Path

from forge_core.permissions.programs.runners import runner_of
from forge_core.permissions.programs.word_sets import table
from forge_core.permissions.read_only.commands import reads_only
from forge_core.permissions.rules.additions import is_harmless
from forge_core.permissions.shell.syntax import read_line

_DESTRUCTIVE = table(
    "rm rmdir unlink shred truncate dd mkfs kill pkill killall sudo doas su chmod chown mv"
    " reboot shutdown halt poweroff crontab systemctl"
)
_DESTRUCTIVE_PARTS = {
    "git": table("push reset clean checkout restore rebase filter-branch stash gc prune rm branch tag"),
    "docker": table("rm rmi kill prune system volume"),
    "kubectl": frozenset({"delete", "drain"}),
    "npm": frozenset({"publish", "unpublish"}),
    "cargo": frozenset({"publish", "yank"}),
    "gh": frozenset({"repo", "release", "secret", "api"}),
    "terraform": frozenset({"apply", "destroy"}),
}
_NETWORK = table("curl wget ssh scp sftp rsync nc ncat telnet ftp")


def is_destructive(command: str) -> bool:
    """Whether the line deletes, rewrites, leaves the machine or acts as somebody else, so that the answer
    offered first should be no."""
    for one in read_line(command).commands:
        if one.is_hint and one.program not in _DESTRUCTIVE:
            continue
        parts = _DESTRUCTIVE_PARTS.get(one.program, frozenset())
        if (
            not _DESTRUCTIVE.isdisjoint((one.program, *one.wrappers))
            or one.program in _NETWORK
            or not parts.isdisjoint(one.words[1:])
        ):
            return True
        if one.program == "find" and "-delete" in one.words:
            return True
    return False


def is_read_only(command: str, root: Path) -> bool:
    """Whether every command of the line is on the built-in list of those that only read, with harmless
    options and nothing outside `root`. It changes nothing, so nothing need be kept to undo it."""
    return reads_only(read_line(command), root)


def exact_pattern(command: str) -> str:
    """The pattern that means exactly this line."""
    command = command.strip()
    return "=" + command if command.startswith("=") or command.endswith("*") else command


def session_pattern(command: str, root: Path) -> str:
    """The pattern that "yes, for this session" stores: exactly this line, but for test, lint and build
    runners and what git only shows, where other harmless words may follow the next time."""
    reading = read_line(command)
    exact = exact_pattern(command)
    if reading.problem or len(reading.commands) != 1:
        return exact
    one = reading.commands[0]
    runner = runner_of(list(one.words))
    if (
        runner is None
        or one.wrappers
        or one.assignments
        or one.writes
        or one.reads
        or one.fed
        or not one.is_known
    ):
        return exact
    own = len(runner.words)
    prefix = " ".join(one.words[:own])
    is_plain = re.fullmatch(r"[\w./ -]+", prefix) is not None
    return f"{prefix}:*" if is_plain and is_harmless(one.words, one.parts[own:], root) else exact
