"""The rows of an answer: a window of the matches, and how to come to the next one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from forge_core.tools.searching.engine import MAX_ROWS, SearchEngine
from forge_core.tools.searching.query import SearchLine, SearchQuery

MAX_LINE_CHARS = 500


@dataclass(frozen=True, slots=True)
class MatchWindow:
    """Which matches (or files) to show."""

    offset: int
    limit: int | None
    """None: all that follow."""


def file_rows(
    counts: dict[str, int], window: MatchWindow, shown: Callable[[str], str], *, with_count: bool
) -> list[str]:
    """Return a row a file."""
    paths = list(counts)
    end = None if window.limit is None else window.offset + window.limit
    chosen = paths[window.offset : end]
    rows = [shown(path) + (f":{counts[path]}" if with_count else "") for path in chosen]
    return rows + _more(len(chosen), window.offset, len(paths), "files")


def line_rows(
    engine: SearchEngine,
    query: SearchQuery,
    counts: dict[str, int],
    window: MatchWindow,
    shown: Callable[[str], str],
    stop: threading.Event,
) -> list[str]:
    """Return a row a line, matches and their context."""
    passed, paths = 0, list(counts)
    if not query.multiline:
        first = 0
        while first < len(paths) and passed + counts[paths[first]] <= window.offset:
            passed += counts[paths[first]]
            first += 1
        paths = paths[first:]
    skip = window.offset - passed
    lines = engine.lines(query, paths, None if window.limit is None else skip + window.limit, stop)
    is_cut = len(lines) >= MAX_ROWS
    lines = _without_first(lines, skip, query.before)
    matches = sum(1 for line in lines if line.is_match)
    more = _more(matches, window.offset, sum(counts.values()), "matches")
    cut = [f"[cut after {MAX_ROWS:,} lines]"] if is_cut else []
    return _rows(lines, query, shown) + cut + more


def _without_first(lines: list[SearchLine], skip: int, before: int) -> list[SearchLine]:
    """Return the lines from match number `skip` on, with the context before it."""
    if not skip:
        return lines
    at = [index for index, line in enumerate(lines) if line.is_match][skip : skip + 1]
    if not at:
        return []
    first = lines[at[0]]
    return [
        line if line.number >= first.number or line.path != first.path else replace(line, is_match=False)
        for line in lines[max(at[0] - before, 0) :]
        if line.path != first.path or line.number >= first.number - before
    ]


def _rows(lines: list[SearchLine], query: SearchQuery, shown: Callable[[str], str]) -> list[str]:
    rows: list[str] = []
    last: SearchLine | None = None
    name = ""
    for line in lines:
        if last is None or line.path != last.path:
            name = shown(line.path)
        is_apart = last is not None and (line.path != last.path or line.number > last.number + 1)
        if is_apart and (query.before or query.after):
            rows.append("--")
        mark = ":" if line.is_match else "-"
        text = line.text if len(line.text) <= MAX_LINE_CHARS else line.text[:MAX_LINE_CHARS] + " [line cut]"
        rows.append(f"{name}{mark}{line.number}{mark}{text}")
        last = line
    return rows


def _more(count: int, offset: int, total: int, what: str) -> list[str]:
    if count == 0:
        return [f"[nothing at offset {offset}: there are {total:,} {what}]"]
    if offset + count >= total:
        return []
    return [f"[{what} {offset + 1}-{offset + count} of {total:,}; continue with offset={offset + count}]"]
