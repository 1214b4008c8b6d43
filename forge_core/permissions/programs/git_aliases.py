"""What the aliases in git's config files make of a git command, read without running git."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from forge_core.permissions.programs.git_config import config_files, config_text, settings_in
from forge_core.permissions.programs.word_sets import table

GIT_OWN = table(
    "add am annotate apply archive bisect blame branch bundle cat-file check-ignore checkout cherry"
    " cherry-pick clean clone commit config count-objects describe diff diff-tree fetch format-patch fsck gc"
    " grep help init log ls-files ls-remote ls-tree merge merge-base mv name-rev notes prune pull push"
    " range-diff rebase reflog remote reset restore rev-list rev-parse revert rm shortlog show show-ref stash"
    " status submodule switch symbolic-ref tag var version whatchanged worktree"
)
"""No alias takes the place of these."""
VALUE_OPTIONS = table(
    "-C -c --git-dir --work-tree --namespace --config-env --super-prefix --attr-source --shallow-file"
)
"""Options before the subcommand that take the next word for their value."""
_SYSTEM = ("/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig")
_MAX_STEPS = 5
"""An alias may name another one, and a config file another."""
_MAX_FILES = 30
_VALUE = re.compile(r'(?:[^"#;\\]|\\.|"(?:[^"\\]|\\.)*")*')
_PLAIN_SHELL = re.compile(r"[\w ./=:@,+-]+")


@dataclass(frozen=True, slots=True)
class Aliases:
    """Those that hold in a folder, whichever file they are from."""

    named: dict[str, list[str]] = field(default_factory=dict)
    unread: list[Path] = field(default_factory=list)
    """Files that cannot be read for sure: they may name any."""

    def expanded(self, words: Sequence[str], steps: int = _MAX_STEPS) -> Iterator[tuple[str, ...] | None]:
        """The commands that a git command with an alias stands for; None for one that cannot be told."""
        own = list(subcommand(words))
        if not own or own[0] in GIT_OWN:
            return
        values = self.named.get(own[0].casefold(), [])
        if self.unread or (values and not steps):
            yield None
        for value in values if steps else ():
            if value.startswith("!"):
                is_plain = _PLAIN_SHELL.fullmatch(value[1:]) is not None
                yield (*value[1:].split(), *own[1:]) if is_plain else None
                continue
            try:
                found = ("git", *shlex.split(value), *own[1:])
            except ValueError:
                yield None
                continue
            if any(word.casefold().startswith(("alias.", "-calias.")) for word in found):
                yield None  # one that sets another
            yield found
            yield from self.expanded(found[1:], steps - 1)


def subcommand(words: Sequence[str]) -> Sequence[str]:
    """The words behind `git`, from the subcommand on."""
    rest = list(words)
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] in VALUE_OPTIONS else rest[1:]
    return rest


@lru_cache(maxsize=16)
def aliases_in(folder: Path) -> Aliases:
    """The aliases that hold in `folder`: the repository's, the person's and the system's."""
    found = Aliases()
    home = Path.home()
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    todo = [*map(Path, _SYSTEM), settings / "git/config", home / ".gitconfig"]
    try:
        todo += config_files(folder)
    except (OSError, ValueError):
        found.unread.append(folder)
    done: set[Path] = set()
    while todo:
        path = todo.pop()
        if path in done or not os.path.lexists(path):
            continue
        done.add(path)
        try:
            todo += _read(path, found, home)
        except (OSError, ValueError):
            found.unread.append(path)
        if len(done) > _MAX_FILES:
            found.unread.append(path)
            break
    return found


def _read(path: Path, found: Aliases, home: Path) -> list[Path]:
    """Adds the file's aliases, and gives the files that it includes. Raises ValueError for what is not plain
    to read."""
    included: list[Path] = []
    for section, key, written in settings_in(_lines(config_text(path))):
        if "\r" in written:
            raise ValueError
        shown = _VALUE.match(written)
        value = re.sub(r'\\(.)|"', lambda one: one[1] or "", shown[0] if shown else "").strip()
        kind, _, name = section.partition(".")
        kind = kind.casefold()
        if kind == "alias":
            found.named.setdefault((name or key).casefold(), []).append(value)
        elif kind in ("include", "includeif") and key.casefold() == "path":
            inner = home / value[2:] if value.startswith("~/") else Path(value)
            included.append(path.parent / inner)
    return included


def _lines(text: str) -> Iterator[str]:
    """The lines as git has them: a backslash at the end goes on in the next. Raises ValueError for one in
    what may be a comment."""
    before = ""
    for line in text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"):
        whole = before + line
        before = ""
        if re.search(r"(?<!\\)(?:\\\\)*\\$", whole):
            if re.search(r"[#;]", whole):
                raise ValueError
            before = whole[:-1]
        else:
            yield whole
    if before:
        yield before
