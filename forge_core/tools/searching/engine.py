"""Runs a search in a process of its own: it can be stopped at any time, and no pattern can freeze Forge.

Two steps: first how often each file matches (small, whatever the matches are), then the lines of only those
files whose matches will be shown. Everything here blocks: it belongs in a thread.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from forge_core.errors import ToolError
from forge_core.tools.searching.lines import LineReader
from forge_core.tools.searching.program import output_of
from forge_core.tools.searching.query import Line, Query
from forge_core.tools.searching.ripgrep import count_arguments, line_arguments

MAX_ROWS = 50_000
"""Lines of one answer, context included; what is beyond is left out and told."""

_MAX_FILES = 500_000
_BATCH_FILES = 1_000
_BATCH_BYTES = 100_000
_COUNT = re.compile(r"([^\0]+)\0(\d+)\r?\n")


class Engine:
    """Counts and shows matches, with ripgrep (`ripgrep` is its path) or with our own engine (None)."""

    def __init__(self, ripgrep: str | None) -> None:
        self._ripgrep = ripgrep

    @classmethod
    def best(cls) -> Engine:
        return cls(shutil.which("rg"))

    def count(self, query: Query, admits: Callable[[str], bool], stop: threading.Event) -> dict[str, int]:
        """Matching lines (with multiline: matches) of each file that has any and that `admits` lets in, in
        the order of the walk. Files are judged while the program still runs."""
        ripgrep = self._ripgrep_for(query)
        command = [ripgrep, *count_arguments(query)] if ripgrep else _own("count", query)
        found: dict[str, int] = {}
        rest = b""
        with contextlib.closing(output_of(command, query.root, stop)) as pieces:
            for piece in pieces:
                whole, end, rest = (rest + piece).rpartition(b"\n")
                for path, count in _COUNT.findall(os.fsdecode(whole + end)):
                    name = path.removeprefix("./")
                    if admits(name):
                        found[name] = int(count)
                if len(found) > _MAX_FILES:
                    raise ToolError("the pattern matches in too many files. Give a path or a glob.")
        return {path: found[path] for path in sorted(found, key=_in_walk_order)}

    def lines(
        self, query: Query, paths: Sequence[str], matches: int | None, stop: threading.Event
    ) -> list[Line]:
        """The first `matches` matches (None: all) in `paths`, in their order, with context; at most MAX_ROWS
        lines."""
        lines: list[Line] = []
        ripgrep = self._ripgrep_for(query)
        for batch in _batches(paths):
            reader = LineReader(matches, MAX_ROWS - len(lines))
            if ripgrep:
                command, listed = [ripgrep, *line_arguments(query, batch)], b""
            else:
                command, listed = _own("lines", query), b"\0".join(os.fsencode(path) for path in batch)
            with contextlib.closing(output_of(command, query.root, stop, listed)) as pieces:
                for piece in pieces:
                    if not reader.feed(piece):
                        break
            lines += reader.lines
            if matches is not None:
                matches -= reader.matches
            if matches == 0 or len(lines) >= MAX_ROWS or stop.is_set():
                break
        return lines

    def _ripgrep_for(self, query: Query) -> str | None:
        """ripgrep, but not where a `.rgignore` would make it leave out what we would not: no option of
        version 13 stops that."""
        folders = [Path(query.root), *(Path(query.root) / part for part in _parents(query.start))]
        return None if any((folder / ".rgignore").exists() for folder in folders) else self._ripgrep


def _in_walk_order(path: str) -> str:
    """Names compared folder by folder: no name holds a NUL, and nothing sorts before it."""
    return path.replace("/", "\0")


def _parents(path: str) -> list[str]:
    parts = path.split("/") if path else []
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _own(step: str, query: Query) -> list[str]:
    return [
        sys.executable,
        "-P",
        "-W",
        "ignore",
        "-m",
        "forge_core.tools.searching.scan",
        step,
        query.to_json(),
    ]


def _batches(paths: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for path in paths:
        if batch and (len(batch) >= _BATCH_FILES or size + len(path) > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(path)
        size += len(path) * 2
    if batch:
        yield batch
