"""An index of the files and folders below a folder, searched by parts of their paths.

What git ignores is not in it. Paths are kept shortest first, in pieces of joined text, so that a search is a
few scans in C which stop early, and no scan keeps other threads waiting for long.
"""

from __future__ import annotations

import os
import re
import threading
import time
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

from forge_core.workspace.ignore import walk

MOST_ENTRIES = 300_000
"""Further files and folders are left out: each costs about 200 bytes."""
FIRST_PART_S = 0.05
PART_S = 0.25
"""How often a list that is still being read is made searchable."""
_FRESH_S = 2.0
_REST = 10
"""A list is not read again before this many times the seconds that reading it took."""
_PIECE = 2_048
"""Entries searched by one call of the regex engine, which holds the interpreter lock: for about 1 ms."""
_MANY, _SOME = 200, 100
"""How many entries that match in some way are ranked; the shortest paths come first."""
_FROM_GIT, _NOT_PREFERRED = 10_000, 1_000_000
"""The preferences of changed and of other paths; those of recent ones are below."""
_PREFERRED_FIRST = 10
"""How many recent and how many changed paths an empty query finds."""


@dataclass(frozen=True, slots=True)
class Match:
    """A path that a query has found."""

    path: str
    """Relative to the folder, with forward slashes; folders end with one."""
    marks: tuple[int, ...]
    """The indexes of the characters that the query has matched."""


@dataclass(frozen=True, slots=True)
class Preferred:
    """Paths that come before others. They need not be in the index, but must exist."""

    recent: Sequence[str] = ()
    """Those in use, the latest first."""
    changed: Sequence[str] = ()
    """Those with changes that are not committed."""


@dataclass(frozen=True, slots=True)
class _Searched:
    """All paths that match a query; what matches a longer one is among them."""

    pieces: tuple[_Piece, ...]
    wanted: str
    found: Sequence[str]


class FileIndex:
    """The files below `root`, read by a thread when `refresh` is called. Safe to search at any time.

    Files in folders added to the workspace, which `added` returns, have absolute paths.
    """

    def __init__(
        self,
        root: Path,
        *,
        added: Callable[[], Sequence[Path]] = tuple,
        clock: Callable[[], float] = time.monotonic,
        limit: int = MOST_ENTRIES,
    ) -> None:
        self._root = root
        self._added = added
        self._added_read: Sequence[Path] = ()
        """Those that were read last."""
        self._clock = clock
        self._limit = limit
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._pieces: tuple[_Piece, ...] = ()
        self._is_complete = False
        self._read_at = 0.0
        self._took_s = 0.0
        self._is_closed = False
        self._searched: _Searched | None = None
        """The last query for which all matches are known."""

    @property
    def is_complete(self) -> bool:
        """Whether the files have been read to the end at least once."""
        return self._is_complete

    def __len__(self) -> int:
        return sum(len(piece.paths) for piece in self._pieces)

    def refresh(self, on_part: Callable[[], None] = lambda: None) -> None:
        """Start to read the files, unless that is being done or was done a moment ago.

        `on_part` is called in the reading thread whenever more of them, in the end all, can be found.
        """
        with self._lock:
            rest_s = max(_FRESH_S, _REST * self._took_s)
            is_fresh = self._is_complete and self._clock() - self._read_at < rest_s
            is_fresh = is_fresh and self._added_read == self._added()
            if self._thread is not None or is_fresh or self._is_closed:
                return
            # A daemon: leaving the program must not wait for a slow file system.
            self._thread = threading.Thread(
                target=self._read, args=(on_part,), name="forge-file-index", daemon=True
            )
            self._thread.start()

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until nothing is being read."""
        if (thread := self._thread) is not None:
            thread.join(timeout_s)

    def close(self) -> None:
        """Stop reading."""
        self._is_closed = True

    def search(
        self,
        query: str,
        *,
        limit: int = 50,
        preferred: Preferred = Preferred(),
        stop: Callable[[], bool] = lambda: False,
    ) -> list[Match]:
        """Return the best matches for `query`, best first.

        All its characters occur in a match in their order. A path that equals the query comes first, then
        preferred ones that contain it in one piece, the recent before the changed. Among others file names
        count before folders' names, whole words and equal case before others, preferred paths before equally
        good ones, then short paths before long ones. An empty query finds preferred paths and the entries of
        the root.

        `stop` is called about every millisecond; once it has returned True, what is returned is incomplete.
        """
        pieces, query = self._pieces, query.removeprefix("./")
        recent, changed = preferred.recent, preferred.changed
        if not query:
            top = (path for path in _all_paths(pieces) if "/" not in path[:-1])
            first = dict.fromkeys([*recent[:_PREFERRED_FIRST], *changed[:_PREFERRED_FIRST]])
            found = [*filter(self._exists, first), *islice(top, limit)]
            return [Match(path, ()) for path in dict.fromkeys(found)][:limit]
        order = {path: index + _FROM_GIT for index, path in enumerate(changed)}
        order |= {path: index for index, path in enumerate(recent)}
        ranked: list[tuple[tuple[int, ...], str, tuple[int, ...]]] = []
        for path in dict.fromkeys([*order, *self._candidates(pieces, query.lower(), stop)]):
            if (marks := _marks(path, query)) is not None:
                ranked.append((_rank(path, query, marks, order.get(path)), path, marks))
        ranked.sort()
        best = ((path, marks) for _, path, marks in ranked if path not in order or self._exists(path))
        matches = [Match(path, marks) for path, marks in islice(best, limit)]
        if not matches and (exact := self._ignored(query)):
            return [Match(exact, tuple(range(len(exact))))]
        return matches

    def _candidates(self, pieces: tuple[_Piece, ...], wanted: str, stop: Callable[[], bool]) -> Sequence[str]:
        """Return the paths to rank. If all matches of the beginning of this query are known, they are."""
        last = self._searched
        if last is not None and last.pieces is pieces and wanted.startswith(last.wanted):
            return last.found
        found, is_all = _candidates(pieces, wanted, stop)
        self._searched = _Searched(pieces, wanted, found) if is_all else None
        return found

    def _exists(self, path: str) -> bool:
        try:
            return os.path.lexists(self._root / path)
        except ValueError:
            return False

    def _ignored(self, query: str) -> str:
        """Return a path that is not in the index but was typed exactly; empty if there is none."""
        if query.startswith(("/", "~")) or ".." in query.split("/") or "\0" in query:
            return ""
        try:
            mode_path = self._root / query
            if mode_path.is_dir():
                return query.rstrip("/") + "/"
            return query if mode_path.is_file() else ""
        except OSError:
            return ""

    def _read(self, on_part: Callable[[], None]) -> None:
        began = self._clock()
        paths: list[str] = []
        pieces: list[_Piece] = []
        taken, due = 0, began + FIRST_PART_S
        for path in self._found():
            paths.append(path)
            if len(paths) >= self._limit:
                break
            # The clock is read once in 256 entries; a first list is shown while it grows.
            if not self._is_complete and not len(paths) % 256 and self._clock() >= due:
                pieces += _pieces_of(paths[taken:])
                taken, due = len(paths), self._clock() + PART_S
                self._pieces = tuple(pieces)
                on_part()
        with self._lock:
            self._thread = None
            if not self._is_closed:
                self._pieces = tuple(_pieces_of(paths))
                self._is_complete = True
            self._read_at = self._clock()
            self._took_s = self._read_at - began
        if not self._is_closed:
            on_part()

    def _found(self) -> Iterator[str]:
        self._added_read = self._added()  # first: the limit may leave them out
        yield from self._below(self._root, "")
        for folder in self._added_read:
            yield f"{folder}/"
            yield from self._below(folder, f"{folder}/")

    def _below(self, folder: Path, prefix: str) -> Iterator[str]:
        for found in walk(folder, stop=lambda: self._is_closed):
            if found.is_folder:
                yield f"{prefix}{found.path}/"
            elif found.is_file or found.entry.is_symlink():
                yield prefix + found.path


class _Piece:
    """Some paths, shortest first, with their texts in lower case joined by line feeds."""

    __slots__ = ("_name_starts", "_names", "_path_starts", "_texts", "paths")

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths
        lowered = [_one_line(path.lower()) for path in paths]
        names = [text[text.rfind("/", 0, -1) + 1 :] for text in lowered]
        self._texts, self._path_starts = _joined(lowered)
        self._names, self._name_starts = _joined(names)

    def prefixed(self, wanted: str) -> Iterator[str]:
        """Yield the paths whose last names begin so."""
        return self._containing("\n" + wanted, self._names, self._name_starts)

    def named(self, wanted: str) -> Iterator[str]:
        """Yield the paths whose last names contain this."""
        return self._containing(wanted, self._names, self._name_starts)

    def containing(self, wanted: str) -> Iterator[str]:
        return self._containing(wanted, self._texts, self._path_starts)

    def scattered_in_name(self, expression: re.Pattern[str], letters: Iterable[str]) -> Iterator[str]:
        return self._scattered(expression, letters, self._names, self._name_starts)

    def scattered(self, expression: re.Pattern[str], letters: Iterable[str]) -> Iterator[str]:
        return self._scattered(expression, letters, self._texts, self._path_starts)

    def _scattered(
        self, expression: re.Pattern[str], letters: Iterable[str], text: str, starts: array[int]
    ) -> Iterator[str]:
        if all(letter in text for letter in letters):  # far faster where a letter is rare
            for found in expression.finditer(text):
                yield self.paths[bisect_right(starts, found.end() - 1) - 1]

    def _containing(self, wanted: str, text: str, starts: array[int]) -> Iterator[str]:
        at = text.find(wanted)
        while at >= 0:
            index = bisect_right(starts, at + len(wanted) - 1) - 1
            yield self.paths[index]
            at = text.find(wanted, starts[index + 1] - 1)


def _joined(texts: Sequence[str]) -> tuple[str, array[int]]:
    """Return texts with a line feed before and after each, and where each begins, then the end."""
    starts, at = array("L"), 1
    for text in texts:
        starts.append(at)
        at += len(text) + 1
    starts.append(at)
    return "\n" + "\n".join(texts) + "\n", starts


def _one_line(text: str) -> str:
    return text.replace("\n", "\ufffd") if "\n" in text else text


def _pieces_of(paths: list[str]) -> list[_Piece]:
    paths = sorted(paths, key=len)
    return [_Piece(paths[start : start + _PIECE]) for start in range(0, len(paths), _PIECE)]


def _all_paths(pieces: Iterable[_Piece]) -> Iterator[str]:
    return (path for piece in pieces for path in piece.paths)


def _candidates(pieces: Sequence[_Piece], wanted: str, stop: Callable[[], bool]) -> tuple[list[str], bool]:
    """Return the paths to rank, and whether these are all matches.

    Two scans find that there are few matches; the others are for the best ones of many, and end early.
    """
    wanted = _one_line(wanted)

    def first(count: int, find: Callable[[_Piece], Iterator[str]]) -> list[str]:
        return [*islice((path for piece in pieces if not stop() for path in find(piece)), count)]

    containing = first(_MANY, lambda piece: piece.containing(wanted))
    if len(containing) == _MANY:
        prefixed = first(_SOME, lambda piece: piece.prefixed(wanted))
        return [*prefixed, *first(_SOME, lambda piece: piece.named(wanted)), *containing], False
    # It begins with a line feed, so that a path without the first letters is not tried again at each letter;
    # nor is a shorter way to a letter, since `*+` gives nothing back.
    expression = re.compile("\n" + "".join(f"[^\n{re.escape(one)}]*+{re.escape(one)}" for one in wanted))
    letters = frozenset(wanted)
    scattered = first(_MANY, lambda piece: piece.scattered(expression, letters))
    if len(scattered) < _MANY:  # those that contain the query in one piece are among them
        return scattered, not stop()
    in_names = first(_SOME, lambda piece: piece.scattered_in_name(expression, letters))
    return [*containing, *in_names, *scattered], False


def _marks(path: str, query: str) -> tuple[int, ...] | None:
    """Return which characters of a path the query matches, as far right as possible; None if not all do."""
    text, wanted = path.lower(), query.lower()
    if len(text) != len(path):  # a few capital letters become two characters
        text = path
    name = text.rfind("/", 0, -1) + 1
    for start in (text.find("/" + wanted, max(name - 1, 0)) + 1 or -1, text.find(wanted, name)):
        if start >= name:
            return tuple(range(start, start + len(wanted)))
    if text.startswith(wanted):
        return tuple(range(len(wanted)))
    if (start := text.rfind(wanted)) >= 0:
        return tuple(range(start, start + len(wanted)))
    marks, at = [], len(text)
    for character in reversed(wanted):
        at = text.rfind(character, 0, at)
        if at < 0:
            return None
        marks.append(at)
    return tuple(reversed(marks))


def _rank(path: str, query: str, marks: Sequence[int], preference: int | None) -> tuple[int, ...]:
    """Return the key by which matches are sorted, best first; the lowest `preference` is preferred most."""
    name = path.rfind("/", 0, -1) + 1
    stem = path[name:].rstrip("/")
    is_joined = marks[-1] - marks[0] + 1 == len(marks)
    if path.rstrip("/") == query.rstrip("/"):
        kind = 0
    elif marks[0] == name and is_joined:
        kind = 1 if len(stem) == len(marks) or stem[len(marks) :].startswith(".") else 2
    elif is_joined and marks[0] == 0:
        kind = 3
    elif is_joined and marks[0] > name:
        kind = 3 if not path[marks[0] - 1].isalnum() else 4
    elif is_joined:
        kind = 5
    else:
        kind = 6 if marks[0] >= name else 7
    gaps = sum(1 for one, other in pairwise(marks) if other != one + 1)
    other_case = sum(1 for at, wanted in zip(marks, query, strict=False) if path[at] != wanted)
    has_capitals = int(query != query.lower())
    order = _NOT_PREFERRED if preference is None else preference
    group = 3 if preference is None or not is_joined else 1 if preference < _FROM_GIT else 2
    return (group if kind else 0, kind, gaps, other_case * has_capitals, order, other_case, len(path))
