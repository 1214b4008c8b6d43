"""Runs a search in a separate process: it can be stopped at any time, and no pattern can freeze Forge.

Two steps: first how often each file matches (small, whatever the matches are), then the lines of only those
files whose matches will be shown. Everything here blocks: it belongs in a thread.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from forge_core.errors import ToolError
from forge_core.tools.searching.query import MAX_COLUMNS, SearchLine, SearchQuery
from forge_core.tools.searching.search_process import search_output
from forge_core.workspace.repository import find_repository

MAX_ROWS = 50_000
"""Lines of one answer, context included; a note says when more were left out."""

_OWN_ENGINE = "forge_core.tools.searching.python_engine"
_MAX_FILES = 500_000
_BATCH_FILES = 1_000
_BATCH_BYTES = 100_000
_COUNT = re.compile(r"([^\0]+)\0(\d+)\r?\n")
_ROW = re.compile(rb"(\d+)([:-])(.*)", re.DOTALL)
_OMITTED = re.compile(r" \[\.\.\. (?:omitted end of long line|\d+ more match(?:es)?)\]$")
_MAX_ROW = 1024 * 1024
_PLAIN_GLOB = re.compile(r"[\w.*?{},-]+")


class SearchEngine:
    """Counts and shows matches, with ripgrep (`ripgrep` is its path) or with our own engine (None)."""

    def __init__(self, ripgrep: str | None) -> None:
        self._ripgrep = ripgrep

    def count(
        self, query: SearchQuery, admits: Callable[[str], bool], stop: threading.Event
    ) -> dict[str, int]:
        """Return the number of matching lines (with multiline: matches) of each file that has any and that
        `admits` accepts, in the order of the walk.

        Files are filtered while the program still runs.
        """
        ripgrep = self._ripgrep_for(query)
        command = [ripgrep, *count_arguments(query)] if ripgrep else _own("count", query)
        found: dict[str, int] = {}
        rest = b""
        with contextlib.closing(search_output(command, query.root, stop)) as pieces:
            for piece in pieces:
                # The last record of a piece may be incomplete.
                whole, end, rest = (rest + piece).rpartition(b"\n")
                for path, count in _COUNT.findall(os.fsdecode(whole + end)):
                    name = path.removeprefix("./")
                    if admits(name):
                        found[name] = int(count)
                if len(found) > _MAX_FILES:
                    raise ToolError("the pattern matches in too many files. Give a path or a glob.")
        return {path: found[path] for path in sorted(found, key=_in_walk_order)}

    def lines(
        self, query: SearchQuery, paths: Sequence[str], matches: int | None, stop: threading.Event
    ) -> list[SearchLine]:
        """Return the first `matches` matches (None: all) in `paths`, in their order, with context; at most
        MAX_ROWS lines."""
        lines: list[SearchLine] = []
        ripgrep = self._ripgrep_for(query)
        for batch in _batches(paths):
            if ripgrep:
                command, listed = [ripgrep, *line_arguments(query, batch)], b""
            else:
                command, listed = _own("lines", query), b"\0".join(os.fsencode(path) for path in batch)
            with contextlib.closing(search_output(command, query.root, stop, listed)) as pieces:
                for line in _read_lines(pieces):
                    # The context after the last match ends only where the next match begins.
                    if line.is_match and matches == 0:
                        return lines
                    if line.is_match and matches is not None:
                        matches -= 1
                    lines.append(line)
                    if len(lines) >= MAX_ROWS:
                        return lines
            if matches == 0 or stop.is_set():
                break
        return lines

    def _ripgrep_for(self, query: SearchQuery) -> str | None:
        """Return ripgrep's path, unless a `.rgignore` would exclude files that must be searched.

        No option of version 13 disables that.
        """
        start = Path(query.start)
        rules = (Path(query.root) / folder / ".rgignore" for folder in (start, *start.parents))
        return None if any(one.exists() for one in rules) else self._ripgrep


def _in_walk_order(path: str) -> str:
    """Return a sort key that compares paths folder by folder: no name contains a NUL, and nothing sorts
    before it."""
    return path.replace("/", "\0")


def _own(step: str, query: SearchQuery) -> list[str]:
    return [sys.executable, "-P", "-W", "ignore", "-m", _OWN_ENGINE, step, query.to_json()]


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


def _read_lines(pieces: Iterable[bytes]) -> Iterator[SearchLine]:
    """Yield the lines that an engine prints; of a row over 1 MB only the beginning."""
    rest = b""
    for piece in pieces:
        *rows, rest = (rest + piece).split(b"\n")
        yield from filter(None, map(_line, rows))
        rest = rest[:_MAX_ROW]


def _line(row: bytes) -> SearchLine | None:
    path, separator, rest = row.partition(b"\0")
    found = _ROW.fullmatch(rest)
    if not separator or found is None:
        return None
    text = found[3].decode("utf-8", "replace").rstrip("\r")
    if len(found[3]) > MAX_COLUMNS:
        text = _OMITTED.sub("", text)
    return SearchLine(os.fsdecode(path).removeprefix("./"), int(found[1]), text, found[2] == b":")


def count_arguments(query: SearchQuery) -> list[str]:
    """Return the arguments with which ripgrep prints `path NUL count LF` for each file with a match.

    Its own ignore rules may let through more than ours, which is filtered afterwards, but never less: no
    global or `.ignore` files, and no rules from above the folder unless it is in a repository.
    """
    arguments = ["--count", *_common(query), "--hidden", "--glob=!.git"]
    arguments += ["--no-ignore-dot", "--no-ignore-global"]
    if find_repository(Path(query.root)) is None:
        arguments += ["--no-require-git", "--no-ignore-parent"]
    if query.glob and _PLAIN_GLOB.fullmatch(query.glob):
        arguments.append(f"--glob={query.glob}")
    return [*arguments, f"--regexp={query.pattern}", "--", f"./{query.start}"]


def line_arguments(query: SearchQuery, paths: Sequence[str]) -> list[str]:
    """Return the arguments with which ripgrep prints `path NUL number (: or -) text LF` for each match and
    line of context, in the order of `paths`."""
    return [
        *_common(query),
        "--line-number",
        "--no-heading",
        "--no-context-separator",
        f"--before-context={query.before}",
        f"--after-context={query.after}",
        f"--max-columns={MAX_COLUMNS}",
        "--max-columns-preview",
        "--threads=1",
        f"--regexp={query.pattern}",
        "--",
        *(f"./{path}" for path in paths),
    ]


def _common(query: SearchQuery) -> list[str]:
    arguments = ["--no-config", "--no-messages", "--color=never", "--with-filename", "--null", "--crlf"]
    arguments.append("--ignore-case" if query.ignore_case else "--case-sensitive")
    if query.multiline:
        arguments += ["--multiline", "--multiline-dotall"]
    return arguments
