"""What to say of a shell line before a person decides: is it hard to undo, and which rule would cover it."""

from __future__ import annotations

import re

from forge_core.permissions.shell_syntax import simple_commands
from forge_core.permissions.tables import table

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
_BY_PROGRAM = table(
    "pytest ruff mypy tox nox black isort flake8 pylint eslint prettier tsc jest vitest"
    " ls cat head tail wc grep rg tree file stat du df pwd which date uname diff"
)
_BY_PART = table(
    "git npm pnpm yarn cargo go uv pip poetry make just docker dotnet gradle mvn bundle rake mix composer"
)
_SCRIPT_RUNNERS = frozenset({"npm", "pnpm", "yarn", "uv", "poetry"})


def is_destructive(command: str) -> bool:
    """Whether the line deletes, rewrites, leaves the machine or acts as somebody else, so that the answer
    offered first should be no."""
    for one in simple_commands(command):
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


def session_pattern(command: str) -> str:
    """The pattern that "yes, for this session" stores: program and subcommand of well-known harmless ones,
    else exactly this line. Never a prefix of an interpreter, a wrapper or a destructive command."""
    exact = "=" + command.strip() if re.match(r"=|.*:\*$", command.strip(), re.DOTALL) else command.strip()
    words = command.split(" ")
    if not re.fullmatch(r"[\w./:=@%+,~ -]+", command) or is_destructive(command):
        return exact
    if words[0] in _BY_PROGRAM:
        return f"{words[0]}:*"
    if words[0] in _BY_PART and len(words) > 1 and re.fullmatch(r"[a-z][\w:-]*", words[1]):
        if words[1] in ("run", "exec", "config", "x", "dlx"):
            named = words[0] in _SCRIPT_RUNNERS and words[1] == "run" and len(words) > 2
            return f"{' '.join(words[:3])}:*" if named and re.fullmatch(r"[\w:-]+", words[2]) else exact
        return f"{words[0]} {words[1]}:*"
    return exact
