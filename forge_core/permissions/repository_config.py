"""Whether a repository's own git config makes git run programs, read without running git."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

_MAX_BYTES = 200_000
_MAX_FOLDERS = 40
_MAX_INNER = 200
_MAX_INDEX_BYTES = 32_000_000
_SECTION = re.compile(r'\s*\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\](.*)')
_SETTING = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:=\s*(.*))?$")
_RUNNING = re.compile(
    r"core\.(?:fsmonitor|hookspath|pager|editor|sshcommand|gitproxy|askpass|worktree|attributesfile|alternaterefscommand)"
    r"|diff\.external|(?:diff|merge|filter|difftool|mergetool)\..*\.?(?:command|textconv|clean|smudge|process|driver|cmd)"
    r"|alias\..+|pager\..+|gpg\.(?:.+\.)?program|include(?:if)?\..*|credential\..*|sequence\.editor|interactive\.difffilter"
    r"|uploadpack\..*|remote\..*\.(?:uploadpack|receivepack|vcs)|trace2\..*"
)
"""Settings that name a program, or another place for settings."""
_HARMLESS_VALUES = frozenset({"", "true", "false", "yes", "no", "on", "off", "0", "1", "cat"})


def running_setting(folder: Path) -> str:
    """The first setting of the repository around `folder`, or of one within it that its commands visit, that
    makes git run a program; "" when there is none. What cannot be read counts as one."""
    for one in (folder, *list(folder.parents)[:_MAX_FOLDERS]):
        git = one / ".git"
        if not os.path.lexists(git):
            continue
        try:
            configs = (path for place in (git, *_inner(one, git)) for path in _configs(place))
            return next((found for path in configs for found in _settings(path)), "")
        except (OSError, ValueError):
            return f"{git} (it cannot be read)"
    return ""


def _inner(folder: Path, git: Path) -> Iterator[Path]:
    """The repositories within: git looks into them when it tells the state of the outer one."""
    if git.is_dir():
        modules = [path.parent for path in islice((git / "modules").rglob("config"), _MAX_INNER + 1)]
        if len(modules) > _MAX_INNER:
            raise ValueError
        yield from modules
    for path in _links(git / "index"):
        if os.path.lexists(folder / path / ".git"):
            yield folder / path / ".git"


def _links(index: Path) -> Iterator[str]:
    """The paths that a git index holds as links to other repositories; too many rather than too few."""
    if not index.is_file():
        return
    if index.stat().st_size > _MAX_INDEX_BYTES:
        raise ValueError
    data = index.read_bytes()
    for found in re.finditer(
        rb"\x00\x00\xe0\x00", data
    ):  # the mode of such an entry; its name stands 38 bytes on
        if data[4:8] == b"\0\0\0\4":  # names are shortened there
            raise ValueError
        start = found.start() + 38
        name = data[start : data.find(b"\0", start)]
        if 0 < len(name) < 4_096:
            yield os.fsdecode(name)


def _configs(git: Path) -> Iterator[Path]:
    """The config files of a repository: its own, and of a linked worktree the common one."""
    if git.is_file():
        pointer = git.read_text(errors="replace")[:4_096].strip()
        if not pointer.startswith("gitdir:"):
            raise ValueError
        git = git.parent / pointer.removeprefix("gitdir:").strip()
        common = git / "commondir"
        if common.is_file():
            yield git / "config.worktree"
            git = git / common.read_text(errors="replace")[:4_096].strip()
    yield from (git / "config", git / "config.worktree")


def _settings(path: Path) -> Iterator[str]:
    if not path.exists():
        return
    with path.open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ValueError
    section = ""
    for line in data.decode(errors="replace").replace("\\\n", " ").splitlines():
        header = _SECTION.match(line)
        if header is not None:
            section = header[1].lower() + (f".{header[2].lower()}" if header[2] is not None else "")
        elif line.lstrip().startswith("["):
            raise ValueError
        setting = _SETTING.match(line if header is None else header[3])
        if setting is None:
            continue
        name = f"{section}.{setting[1].lower()}"
        value = (setting[2] or "").strip().strip('"').casefold()
        if _RUNNING.fullmatch(name) and not (value in _HARMLESS_VALUES and not section.startswith("include")):
            yield name
