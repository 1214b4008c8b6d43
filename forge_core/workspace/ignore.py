"""What git ignores below a folder, by the lines of its .gitignore files, and a walk that leaves it out.

Implemented here instead of by a library: an ignored folder is never entered, so only the last segment of each
path is tested, mostly by one dictionary look-up (50,000 files in well under a second), and no pattern can
backtrack for hours. The tests compare it with `git check-ignore`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from forge_core.workspace.global_excludes import global_excludes
from forge_core.workspace.globs import compile_glob
from forge_core.workspace.repository import find_repository, read_small

_LITERAL = re.compile(r"[^\\*?\[\]]+")
_NAME = attrgetter("name")
_SUFFIX = re.compile(r"\*\.[^\\*?\[\].]+")


class WalkEntry(NamedTuple):
    """One entry of a walk."""

    path: str
    """Relative to the walk's root, with forward slashes."""
    entry: os.DirEntry[str]
    is_folder: bool
    """A real folder; a link to one is not."""

    @property
    def is_file(self) -> bool:
        """A regular file; links, sockets, FIFOs and devices are not."""
        return self.entry.is_file(follow_symlinks=False)


@dataclass(frozen=True, slots=True)
class _Line:
    index: int
    ignores: bool
    folders_only: bool
    expression: re.Pattern[str] | None = None
    """For `fullmatch` with the path relative to the .gitignore's folder; None for lines in a dictionary."""


@dataclass(slots=True)
class PatternFile:
    """The lines of one .gitignore; the last matching line decides."""

    names: dict[str, list[_Line]] = field(default_factory=dict)
    paths: dict[str, list[_Line]] = field(default_factory=dict)
    suffixes: dict[str, list[_Line]] = field(default_factory=dict)
    """By the text after the last dot, for lines such as `*.pyc`."""
    others: list[_Line] = field(default_factory=list)
    last_names: set[str] = field(default_factory=set)
    """Every last name that a line of `names` or `paths` can match."""

    @classmethod
    def parse(cls, text: str) -> PatternFile:
        patterns = cls()
        for index, raw in enumerate(text.removeprefix("\ufeff").split("\n")):
            patterns._add(index, raw.removesuffix("\r"))
        return patterns

    def verdict(self, path: str, name: str, is_folder: bool) -> bool | None:
        """Return whether `path` (relative to the file's folder) is ignored; None when no line matches."""
        best: _Line | None = None
        for lines in (
            self.names.get(name, ()),
            self.paths.get(path, ()),
            self.suffixes.get(name.rpartition(".")[2], ()) if "." in name else (),
        ):
            for line in lines:
                if (is_folder or not line.folders_only) and (best is None or line.index > best.index):
                    best = line
        for line in reversed(self.others):
            if best is not None and line.index < best.index:
                break
            if (is_folder or not line.folders_only) and line.expression and line.expression.fullmatch(path):
                best = line
                break
        return None if best is None else best.ignores

    def _add(self, index: int, line: str) -> None:
        line = _without_trailing_blanks(line)
        if not line or line.startswith("#"):
            return
        ignores = not line.startswith("!")
        line = line.removeprefix("!")
        folders_only = line.endswith("/")
        pattern = line.removesuffix("/")
        anchored = "/" in pattern
        pattern = pattern.removeprefix("/")
        known = _Line(index, ignores, folders_only)
        if not pattern:
            return
        if _LITERAL.fullmatch(pattern):
            self.last_names.add(pattern.rpartition("/")[2])
            (self.paths if anchored else self.names).setdefault(pattern, []).append(known)
        elif not anchored and _SUFFIX.fullmatch(pattern):
            self.suffixes.setdefault(pattern[2:], []).append(known)
        elif not _has_open_class(pattern):
            expression = compile_glob(pattern, braces=False, any_depth=not anchored)
            self.others.append(_Line(index, ignores, folders_only, expression))


class _Chain:
    """The pattern files that apply to a folder's entries, the nearest first.

    Folders without a .gitignore share the chain of their parent. Most entries cost two look-ups.
    """

    __slots__ = ("_has_others", "_names", "_suffixes", "files")

    def __init__(self, files: list[tuple[PatternFile, int]]) -> None:
        self.files = files
        """Each with the length of its folder's prefix in a path from the repository's top."""
        self._names = frozenset().union(*(patterns.last_names for patterns, _ in files), (".git",))
        self._suffixes = frozenset().union(*(patterns.suffixes for patterns, _ in files))
        self._has_others = any(patterns.others for patterns, _ in files)

    def ignores(self, prefix: str, name: str, is_folder: bool) -> bool:
        """Return whether the entry `name` of the folder `prefix` (from the top, with a final slash) is
        ignored, given that the folder is not."""
        if not self._has_others and name not in self._names and name.rpartition(".")[2] not in self._suffixes:
            return False
        if name == ".git":
            return True
        full = prefix + name
        for patterns, cut in self.files:
            verdict = patterns.verdict(full[cut:], name, is_folder)
            if verdict is not None:
                return verdict
        return False


class IgnoreRules:
    """The rules for everything under `root`: nested .gitignore files, those above it up to the repository's
    top, .git/info/exclude, and in a repository the user's own file (core.excludesFile). `.git` itself is
    always ignored. Each file is read once, when first needed.

    The folder `start` counts as not ignored, whatever the rules say: the user has named it.
    """

    def __init__(self, root: Path, start: str = "") -> None:
        self.root = Path(os.path.normpath(root.absolute()))
        repository = find_repository(self.root)
        self._top = repository.top if repository else self.root
        inside = self.root.relative_to(self._top).as_posix()
        self._prefix = "" if inside == "." else inside + "/"
        self._chains: dict[str, _Chain] = {}
        """By the folder's path from the top."""
        self._ignored_folders: dict[str, bool] = {"": False, start: False}
        texts: list[str | None] = []
        if repository is not None:  # the file of the user counts after the one of the repository
            texts = [read_small(repository.common_dir / "info/exclude"), global_excludes(repository)]
        self._excludes = [PatternFile.parse(text) for text in texts if text]

    def is_ignored(self, path: str, is_folder: bool) -> bool:
        """Return whether `path` (relative to the root, forward slashes) or one of its parents is ignored."""
        return self._is_ignored_folder(path.rpartition("/")[0]) or self.is_ignored_itself(path, is_folder)

    def is_ignored_itself(self, path: str, is_folder: bool) -> bool:
        """Return whether the entry itself is ignored, given that none of its parents is."""
        folder, slash, name = path.rpartition("/")
        return self._chain(folder).ignores(self._prefix + folder + slash, name, is_folder)

    def in_folder(self, folder: str) -> Callable[[str, bool], bool]:
        """Return `is_ignored_itself` for the entries of one folder ("" for the root), by their last name."""
        prefix = self._prefix + (folder + "/" if folder else "")
        return partial(self._chain(folder).ignores, prefix)

    def _is_ignored_folder(self, folder: str) -> bool:
        known = self._ignored_folders.get(folder)
        if known is None:
            known = self._ignored_folders[folder] = self.is_ignored(folder, True)
        return known

    def _chain(self, folder: str) -> _Chain:
        return self._chain_from_top((self._prefix + folder).rstrip("/"))

    def _chain_from_top(self, full: str) -> _Chain:
        """Return the chain of a folder, given relative to the top."""
        known = self._chains.get(full)
        if known is not None:
            return known
        patterns = self._patterns(full)
        if full:
            above = self._chain_from_top(full.rpartition("/")[0])
            chain = _Chain([(patterns, len(full) + 1), *above.files]) if patterns else above
        else:
            chain = _Chain([(one, 0) for one in (patterns, *self._excludes) if one])
        self._chains[full] = chain
        return chain

    def _patterns(self, folder: str) -> PatternFile | None:
        path = f"{self._top}/{folder}/.gitignore" if folder else f"{self._top}/.gitignore"
        text = None if os.path.islink(path) else read_small(path)  # noqa: PTH114  met in every folder
        return PatternFile.parse(text) if text else None


def walk(
    root: Path,
    rules: IgnoreRules | None = None,
    *,
    start: str = "",
    stop: Callable[[], bool] | None = None,
) -> Iterator[WalkEntry]:
    """Yield every entry below `root` that is not ignored, each folder before its entries, names in order.

    Symbolic links are yielded but never followed; unreadable folders are skipped. `start` is a folder below
    the root where the walk starts, with the root's rules. The walk ends early when `stop()` returns True.
    """
    rules = rules or IgnoreRules(root)
    stack: list[Iterator[WalkEntry]] = [iter(_entries(rules, start))]
    while stack:
        for found in stack[-1]:
            if stop is not None and stop():
                return
            yield found
            if found.is_folder:
                stack.append(iter(_entries(rules, found.path)))
                break
        else:
            stack.pop()


def _entries(rules: IgnoreRules, folder: str) -> list[WalkEntry]:
    try:
        with os.scandir(f"{rules.root}/{folder}") as scan:
            entries = list(scan)
    except OSError:
        return []
    entries.sort(key=_NAME)
    prefix = folder + "/" if folder else ""
    ignores = rules.in_folder(folder)
    found = []
    for entry in entries:
        is_folder = _is_folder(entry)
        if not ignores(entry.name, is_folder):
            found.append(WalkEntry(prefix + entry.name, entry, is_folder))
    return found


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _without_trailing_blanks(line: str) -> str:
    kept = line.rstrip(" ")
    return f"{kept} " if kept.endswith("\\") and kept != line else kept


def _has_open_class(pattern: str) -> bool:
    """Return whether a `[` is never closed: git then matches nothing."""
    return "[" in re.sub(r"\\.|\[[!^]?\]?(?:\[:[a-z]+:\]|\\.|[^\]\\])*\]", "", pattern)
