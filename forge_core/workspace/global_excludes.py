"""The user's own ignore patterns: the file that git's `core.excludesFile` names, read without running git.

Settings are read from the files in which git looks, includes among them; those with a condition (`includeIf`)
are left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from forge_core.workspace.repository import Repository, read_small

_SYSTEM = Path("/etc/gitconfig")
_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)\s*(?:"(?:[^"\\]|\\.)*"\s*)?\]')
_SETTING = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*=\s*(.*)", re.DOTALL)
_PART = re.compile(
    r'"(?P<quoted>(?:[^"\\]|\\.)*)"?|\\(?P<escaped>.)|(?P<comment>[#;].*)|(?P<plain>.)', re.DOTALL
)
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}
_MOST_FILES = 20
"""Further includes are left out."""


def global_excludes(repository: Repository) -> str | None:
    """Return the text of the user's file of patterns that applies in a repository; None if there is none."""
    home = _user_folder()
    named: str | None = None
    read: set[Path] = set()
    for path in (_SYSTEM, *_user_files(home), repository.common_dir / "config"):
        for value in _excludes_files(path, read):
            named = value
    if named is None:
        return read_small(_configuration_folder(home) / "ignore")
    return read_small(_path(named, repository.top)) if named else None


def _user_folder() -> Path:
    return Path(os.environ.get("HOME") or "/")


def _configuration_folder(home: Path) -> Path:
    folder = os.environ.get("XDG_CONFIG_HOME")
    return Path(folder) / "git" if folder else home / ".config/git"


def _user_files(home: Path) -> list[Path]:
    if (only := os.environ.get("GIT_CONFIG_GLOBAL")) is not None:
        return [Path(only)]
    return [_configuration_folder(home) / "config", home / ".gitconfig"]


def _excludes_files(path: Path, read: set[Path]) -> Iterator[str]:
    """Yield each value of `core.excludesFile` in a file and those that it includes, in order.

    A file in `read` is not read again: two may include each other.
    """
    if path in read or len(read) >= _MOST_FILES:
        return
    read.add(path)
    for setting, value in _settings(read_small(path) or ""):
        if setting == "core.excludesfile":
            yield value
        elif setting == "include.path":
            yield from _excludes_files(_path(value, path.parent), read)


def _settings(text: str) -> Iterator[tuple[str, str]]:
    """Yield the settings of a configuration file, names in lower case."""
    section = ""
    for raw in text.removeprefix("\ufeff").replace("\\\r\n", "").replace("\\\n", "").splitlines():
        line = raw.strip()
        if match := _SECTION.match(line):
            has_name = '"' in match[0]
            section, line = "" if has_name else match[1].lower(), line[match.end() :].strip()
        if section and (found := _SETTING.fullmatch(line)):
            yield f"{section}.{found[1].lower()}", _value(found[2])


def _value(text: str) -> str:
    """Return a value without its quotes and what follows it as a comment."""
    found, kept = "", 0
    for part in _PART.finditer(text):
        if part["comment"] is not None:
            break
        if part["plain"] is not None:
            found += part["plain"]
            kept = kept if part["plain"].isspace() else len(found)
            continue
        if part["quoted"] is not None:
            found += re.sub(r"\\(.)", lambda one: _ESCAPES.get(one[1], one[1]), part["quoted"])
        else:
            found += _ESCAPES.get(part["escaped"], part["escaped"])
        kept = len(found)
    return found[:kept]


def _path(value: str, folder: Path) -> Path:
    """Return the path that a setting names; a relative one is below `folder`."""
    if value == "~" or value.startswith("~/"):
        return _user_folder() / value[2:]
    return folder / value
