"""Files with keys that git holds, in its index or its history, and which commands may show them.

No sandbox hides them: git reads its own objects.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from forge_core.permissions.path_info import is_example, is_secret, real_path
from forge_core.permissions.programs.git_command_line import option_values, subcommand
from forge_core.permissions.programs.git_config import index_around
from forge_core.permissions.shell.syntax import SimpleCommand
from forge_core.workspace.git import hardened_git_args
from forge_core.workspace.git_index import IndexEntry, index_version, parse_index
from forge_core.workspace.program_lookup import require_program, search_path
from forge_core.workspace.repository import find_repository

_MAY_BE_SECRET = re.compile(
    rb"\.env|id_rsa|id_dsa|id_ecdsa|id_ed25519|netrc|pgpass|pypirc|npmrc|htpasswd|credentials|vault-token"
    rb"|client_secret|secring|\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk)\0|\.(?:ssh|gnupg|aws|docker|kube|azure)/",
    re.IGNORECASE,
)
_SHOWS = re.compile(
    r"-[A-Za-z]*[pucULWv][\w,:./]*|--(?:patch|unified|cc|word-diff|color-words|function-context|verbose)(?:=.*)?"
)
"""Options with which a listing shows what files hold; other options may match, and ask needlessly."""
_ONLY_NAMES = re.compile(
    r"--(?:stat|shortstat|numstat|summary|name-only|name-status|no-patch|raw|compact-summary|dirstat|quiet"
    r"|files-with-matches|count)(?:=.*)?|-[slLcq]"
)
_CONTENTS = frozenset({"show", "diff-tree", "diff-index", "diff-files", "grep", "cat-file"})
_LISTINGS = frozenset({"log", "whatchanged", "reflog", "rev-list", "shortlog", "stash"})
_VARIABLES = ("HOME", "LANG")
_GUARDS = {"GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
_TIMEOUT_S = 2.0
_FRESH_S = 0.2
"""One decision asks several times."""
_UNKNOWN_S = 60.0
"""A history that took too long is not read again within this time."""
_MAX_REPOSITORIES = 16


@dataclass(frozen=True, slots=True)
class _History:
    """What was found in the commits that these tips reach."""

    checked_at: float
    tips: frozenset[str]
    secrets: frozenset[str] | None
    """Paths in the repository; None when they could not be determined."""


_known: dict[Path, _History] = {}


def shown_secret(command: SimpleCommand, folders: Sequence[Path], root: Path) -> str:
    """Return a file with keys that git holds and this command may show; "" when there is none. `root` is the
    workspace.

    The first call for a repository reads the names in its whole history, later ones those in new commits.
    """
    if command.program != "git" or not _shows_contents(subcommand(command.words[1:])):
        return ""
    places = dict.fromkeys(real_path(folder) for folder in folders)
    for start in option_values(command.words[1:], "-C"):
        places = dict.fromkeys(real_path(folder / start) for folder in places)
    return next(filter(None, (_shown_in(folder, command, root) for folder in places)), "")


def indexed_secrets(folder: Path) -> Iterator[tuple[Path, IndexEntry]]:
    """Yield the work tree and the entry of each file with keys that git tracks. Raises OSError or ValueError
    when the index cannot be read."""
    work_tree, data = index_around(folder)
    # Parsing takes 1 µs an entry. Version 4 shortens names, so the pattern would miss them.
    if data and (index_version(data) >= 4 or _MAY_BE_SECRET.search(data)):
        yield from ((work_tree, entry) for entry in parse_index(data) if is_secret(entry.name))


def _shows_contents(words: Sequence[str]) -> bool:
    if not words:
        return False
    name, rest = words[0], words[1:]
    options = (
        [word for word in rest[: rest.index("--")] if word.startswith("-")]
        if "--" in rest
        else [word for word in rest if word.startswith("-")]
    )
    shows = any(_SHOWS.fullmatch(word) for word in options)
    if name == "diff":  # without a revision it shows files of the work tree, which are hidden or checked
        is_of_tree = not any(not word.startswith("-") for word in rest)
        if is_of_tree and {"--cached", "--staged"}.isdisjoint(options):
            return False
        return shows or not any(_ONLY_NAMES.fullmatch(word) for word in options)
    if name in _CONTENTS:
        return shows or not any(_ONLY_NAMES.fullmatch(word) for word in options)
    return name in _LISTINGS and shows


def _shown_in(folder: Path, command: SimpleCommand, workspace: Path) -> str:
    repository = find_repository(folder)
    if repository is None:
        return ""
    try:
        held = {entry.name for _, entry in indexed_secrets(folder)}
    except (IndexError, OSError, ValueError):
        return "a file"
    history = _history(repository.top, workspace)
    if history is None:
        return "a file of its history"
    found = sorted(one for one in held | history if not is_example(one))
    if not found:
        return ""
    specs = _paths(command, folder, repository.top)
    return next((one for one in found if specs is None or any(_meets(one, spec) for spec in specs)), "")


def _paths(command: SimpleCommand, folder: Path, root: Path) -> list[str] | None:
    """Return the paths to which the command is limited, relative to `root`; None for no limit."""
    words = [word for word in command.parts[1:] if word.text == "--" or not word.text.startswith("-")][1:]
    texts = [word.text for word in words]
    if any(word.is_dynamic for word in words) or any(text.startswith(":") for text in texts):
        return None
    if "--" in texts:
        named = texts[texts.index("--") + 1 :]
    else:
        named = [text for text in texts if (folder / text).exists()]
        if texts and all(":" in text for text in texts):
            named = [text.partition(":")[2] for text in texts]  # `HEAD:path`; the path is checked as a word
    if not named:
        return None
    base = os.path.relpath(folder, root)
    return [os.path.normpath(f"{base}/{text}") for text in named]


def _meets(path: str, spec: str) -> bool:
    """Return whether a path of git is, or may be, among those of a pathspec."""
    lowered, wanted = path.casefold(), spec.casefold()
    return (
        wanted in (".", lowered)
        or lowered.startswith(f"{wanted}/")
        or wanted.startswith("..")
        or fnmatchcase(lowered, wanted)
    )


def _history(top: Path, workspace: Path) -> frozenset[str] | None:
    """Return the files with keys in all commits of a repository, those that only reflogs and stashes hold
    included; None when that takes too long."""
    now = time.monotonic()
    known = _known.get(top)
    if known is not None and now - known.checked_at < (_UNKNOWN_S if known.secrets is None else _FRESH_S):
        return known.secrets
    secrets: frozenset[str] | None = None
    tips: frozenset[str] = frozenset()
    try:
        tips = frozenset(_run(top, workspace, "rev-list", "--no-walk", "--all", "--reflog").split())
        before: frozenset[str] = frozenset()
        found: frozenset[str] = frozenset()
        if known is not None and known.secrets is not None:
            before, found = known.tips, known.secrets
        if fresh := tips - before:
            revisions = [*sorted(fresh), *(f"^{one}" for one in sorted(before))]
            options = ("--format=", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", "-z")
            listed = _run(top, workspace, "log", *options, "-c", "--stdin", given="\n".join(revisions))
            found |= {one.strip("\n") for one in listed.split("\0") if is_secret(one.strip("\n"))}
        secrets = found
    except (OSError, subprocess.SubprocessError):
        secrets = None
    while len(_known) >= _MAX_REPOSITORIES:
        del _known[next(iter(_known))]
    _known[top] = _History(time.monotonic(), tips, secrets)
    return secrets


def _run(top: Path, workspace: Path, *words: str, given: str = "") -> str:
    variables = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    done = subprocess.run(
        [require_program("git", workspace), *hardened_git_args(), "-C", str(top), *words],
        input=given.encode(),
        capture_output=True,
        timeout=_TIMEOUT_S,
        check=True,
        env=variables | _GUARDS | {"PATH": search_path(workspace)},
    )
    return done.stdout.decode("utf-8", "surrogateescape")
