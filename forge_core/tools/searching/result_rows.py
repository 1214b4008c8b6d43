"""Formats the matches of a search as rows, a page at a time."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate, islice

from forge_core.tools.searching.engine import MAX_ROWS, SearchEngine
from forge_core.tools.searching.query import SearchLine, SearchQuery

MAX_LINE_CHARS = 500


def file_rows(
    counts: dict[str, int],
    offset: int,
    limit: int | None,
    shown: Callable[[str], str],
    *,
    with_count: bool,
) -> list[str]:
    """Return a row a file, from number `offset` on: `limit` of them, or all (None)."""
    chosen = list(islice(counts, offset, None if limit is None else offset + limit))
    rows = [shown(path) + (f":{counts[path]}" if with_count else "") for path in chosen]
    return rows + _more(len(chosen), offset, len(counts), "files")


def line_rows(
    engine: SearchEngine,
    query: SearchQuery,
    counts: dict[str, int],
    offset: int,
    limit: int | None,
    shown: Callable[[str], str],
    stop: threading.Event,
) -> list[str]:
    """Return a row a line, matches and their context, from match number `offset` on: `limit` matches, or all
    (None)."""
    skip, paths = offset, list(counts)
    # With multiline a count is not that of the lines, so only reading shows where the matches are.
    if not query.multiline:
        ends = [*accumulate(counts.values())]
        first = bisect_right(ends, offset)
        skip, paths = offset - (ends[first - 1] if first else 0), paths[first:]
    lines = engine.lines(query, paths, None if limit is None else skip + limit, stop)
    is_cut = len(lines) >= MAX_ROWS
    lines = _without_first(lines, skip, query.before)
    matches = sum(1 for line in lines if line.is_match)
    more = _more(matches, offset, sum(counts.values()), "matches")
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
