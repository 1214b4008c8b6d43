"""An index of the files and folders below a folder, searched by parts of their paths.

What git ignores is not in it. Paths are kept shortest first, in pieces of joined text, so that a search is a
few scans in C which stop early, and no scan keeps other threads waiting for long.
"""

from __future__ import annotations

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
_PIECE = 8_192
"""Entries searched by one call of the regex engine, which holds the interpreter lock."""
_PER_TIER = 100
"""How many entries of a tier are ranked; the tier's shortest paths come first."""


@dataclass(frozen=True, slots=True)
class Match:
    """A path that a query has found."""

    path: str
    """Relative to the folder, with forward slashes; folders end with one."""
    marks: tuple[int, ...]
    """The indexes of the characters that the query has matched."""


class FileIndex:
    """The files below `root`, read by a thread when `refresh` is called. Safe to search at any time."""

    def __init__(
        self, root: Path, *, clock: Callable[[], float] = time.monotonic, limit: int = MOST_ENTRIES
    ) -> None:
        self._root = root
        self._clock = clock
        self._limit = limit
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._pieces: tuple[_Piece, ...] = ()
        self._is_complete = False
        self._read_at = 0.0
        self._took_s = 0.0
        self._is_closed = False

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

    def search(self, query: str, *, limit: int = 50, recent: Sequence[str] = ()) -> list[Match]:
        """Return the best matches for `query`, best first.

        All its characters occur in a match in their order. File names count before folders' names, whole
        words and equal case before others, `recent` paths (latest first) before equally good ones, then short
        paths before long ones. An empty query finds `recent` and the entries of the root.
        """
        pieces, query = self._pieces, query.removeprefix("./")
        if not query:
            top = (path for path in _all_paths(pieces) if "/" not in path[:-1])
            found = [*recent, *islice(top, limit)]
            return [Match(path, ()) for path in dict.fromkeys(found)][:limit]
        order = {path: index for index, path in enumerate(recent)}
        candidates = dict.fromkeys([*recent, *_candidates(pieces, query.lower())])
        ranked: list[tuple[tuple[int, ...], str, tuple[int, ...]]] = []
        for path in candidates:
            if (marks := _marks(path, query)) is not None:
                ranked.append((_rank(path, query, marks, order.get(path)), path, marks))
        ranked.sort()
        found_paths = [Match(path, marks) for _, path, marks in ranked[:limit]]
        if not found_paths and (exact := self._ignored(query)):
            return [Match(exact, tuple(range(len(exact))))]
        return found_paths

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
        for found in walk(self._root, stop=lambda: self._is_closed):
            if found.is_folder:
                yield found.path + "/"
            elif found.is_file or found.entry.is_symlink():
                yield found.path


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

    def scattered_in_name(self, expression: re.Pattern[str]) -> Iterator[str]:
        for found in expression.finditer(self._names):
            yield self.paths[bisect_right(self._name_starts, found.end() - 1) - 1]

    def scattered(self, expression: re.Pattern[str]) -> Iterator[str]:
        for found in expression.finditer(self._texts):
            yield self.paths[bisect_right(self._path_starts, found.end() - 1) - 1]

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


def _candidates(pieces: Sequence[_Piece], wanted: str) -> list[str]:
    """Return the paths to rank: of each tier the first ones. Later tiers are searched only while the earlier
    ones have found little."""
    wanted = _one_line(wanted)
    # It begins with a line feed, so that a path without the first letters is not tried again at each letter.
    scattered = re.compile("\n" + "".join(f"[^\n{re.escape(one)}]*{re.escape(one)}" for one in wanted))
    tiers: list[Callable[[_Piece], Iterator[str]]] = [
        lambda piece: piece.prefixed(wanted),
        lambda piece: piece.named(wanted),
        lambda piece: piece.containing(wanted),
        lambda piece: piece.scattered_in_name(scattered),
        lambda piece: piece.scattered(scattered),
    ]
    found: list[str] = []
    for tier in tiers:
        hits = (path for piece in pieces for path in tier(piece))
        found += islice(hits, _PER_TIER)
        if len(found) >= 2 * _PER_TIER:
            break
    return found


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


def _rank(path: str, query: str, marks: Sequence[int], recent: int | None) -> tuple[int, ...]:
    """Return the key by which matches are sorted, best first."""
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
    newest = recent if recent is not None else 1_000_000
    return (kind, gaps, other_case * has_capitals, newest, other_case, len(path))
