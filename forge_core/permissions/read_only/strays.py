"""Why a command that the sandbox would hold should still be asked about."""

from __future__ import annotations

import re
from pathlib import Path

from forge_core.permissions.paths import place
from forge_core.permissions.read_only.commands import folders_before, git_runs
from forge_core.permissions.read_only.word_paths import names_secret, paths_in
from forge_core.permissions.shell.syntax import Reading, SimpleCommand

_SYSTEM = re.compile(r"/(?:usr|bin|sbin|lib\w*|opt|etc|proc|sys|dev|tmp|var/tmp)(?:/|$)")
"""Where the sandbox lets commands read, and what it gives them for themselves."""


def strays(command: SimpleCommand, reading: Reading, root: Path, *, is_strict: bool = False) -> str:
    """Why a sandboxed command should still be asked about: it names keys, or what lies outside; "" if not."""
    folders = folders_before(reading, command, root)
    setting = git_runs(command, folders)
    if setting:
        return f"the repository's git config runs programs: {setting}"
    for target in command.writes:
        where = place(root / target, root)
        if where.is_protected:
            return f"{target} steers git or Forge itself"
        if not where.is_inside and not target.startswith(("/tmp/", "/dev/")) and "$" not in target:
            return f"{target} lies outside the folder"
    for word in (*command.parts[1:], *[one for one in command.parts[:1] if "/" in one.text]):
        if word.is_dynamic:
            continue
        if names_secret(word.text, root, folders[:2]) if word.has_glob else _is_secret(word.text, root):
            return f"{word.text} may hold keys or passwords"
        for part in paths_in(word.text):
            here = str(Path.home()) + part[1:] if word.has_tilde and re.match(r"~(?:/|$)", part) else part
            where = place(folders[-1] / here, root)
            if (
                not where.is_inside
                and (is_strict or not (part.startswith("/") and _SYSTEM.match(str(where.real))))
                and re.match(r"\.\.|/|~", part)
            ):
                return f"{part} lies outside the folder"
    return ""


def _is_secret(text: str, root: Path) -> bool:
    return any(place(root / part, root).is_secret for part in paths_in(text) if not re.search(r"\s", part))
