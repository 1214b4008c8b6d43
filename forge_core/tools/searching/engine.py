"""Runs a search in a process of its own: it can be stopped at any time, and no pattern can freeze Forge.

Two steps: first how often each file matches (small, whatever the matches are), then the lines of only those
files whose matches will be shown.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import sys
from collections.abc import AsyncGenerator, Iterator, Sequence
from pathlib import Path

from forge_core.errors import ToolError
from forge_core.tools.searching.lines import LineReader
from forge_core.tools.searching.query import Line, Query
from forge_core.tools.searching.ripgrep import count_arguments, line_arguments
from forge_core.tools.shell.environment import child_environment

TIMEOUT_S = 30.0

_CHUNK = 256 * 1024
_MAX_COUNT_BYTES = 64 * 1024 * 1024
_BATCH_FILES = 1_000
_BATCH_BYTES = 100_000
_COUNT = re.compile(rb"([^\0]+)\0(\d+)\r?\n")
_IMPORT_ROOT = str(Path(__file__).resolve().parents[3])


class Engine:
    """Counts and shows matches, with ripgrep (`ripgrep` is its path) or with our own engine (None)."""

    def __init__(self, ripgrep: str | None) -> None:
        self._ripgrep = ripgrep

    @classmethod
    def best(cls) -> Engine:
        return cls(shutil.which("rg"))

    async def count(self, query: Query) -> dict[str, int]:
        """Matching lines (with multiline: matches) of each file that has any."""
        ripgrep = self._ripgrep_for(query)
        command = [ripgrep, *count_arguments(query)] if ripgrep else _own("count", query)
        output = bytearray()
        async with contextlib.aclosing(_run(command, query.root, b"")) as pieces:
            async for piece in pieces:
                output += piece
                if len(output) > _MAX_COUNT_BYTES:
                    raise ToolError("the pattern matches in too many files. Give a path or a glob.")
        return {os.fsdecode(path).removeprefix("./"): int(count) for path, count in _COUNT.findall(output)}

    async def lines(self, query: Query, paths: Sequence[str], matches: int | None) -> list[Line]:
        """The first `matches` matches (None: all) in `paths`, in their order, with context."""
        lines: list[Line] = []
        ripgrep = self._ripgrep_for(query)
        for batch in _batches(paths):
            reader = LineReader(None if matches is None else matches)
            if ripgrep:
                command, listed = [ripgrep, *line_arguments(query, batch)], b""
            else:
                command, listed = _own("lines", query), b"\0".join(os.fsencode(path) for path in batch)
            async with contextlib.aclosing(_run(command, query.root, listed)) as pieces:
                async for piece in pieces:
                    if not reader.feed(piece):
                        break
            lines += reader.lines
            if matches is not None:
                matches -= reader.matches
                if matches <= 0:
                    break
        return lines

    def _ripgrep_for(self, query: Query) -> str | None:
        """ripgrep, but not where a `.rgignore` would make it leave out what we would not: no option of
        version 13 stops that."""
        folders = [Path(query.root), *(Path(query.root) / part for part in _parents(query.start))]
        return None if any((folder / ".rgignore").exists() for folder in folders) else self._ripgrep


def _parents(path: str) -> list[str]:
    parts = path.split("/") if path else []
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _own(step: str, query: Query) -> list[str]:
    return [sys.executable, "-P", "-m", "forge_core.tools.searching.scan", step, query.to_json()]


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


async def _run(command: list[str], folder: str, given: bytes) -> AsyncGenerator[bytes, None]:
    """The program's output in pieces. It is ended when the reader stops, or after 30 s. Raises ToolError."""
    environment = child_environment() | {"PYTHONPATH": _IMPORT_ROOT, "PYTHONUTF8": "1"}
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env=environment,
        stdin=asyncio.subprocess.PIPE if given else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stderr is not None
    try:
        async with asyncio.timeout(TIMEOUT_S):
            if process.stdin is not None:
                process.stdin.write(given)
                process.stdin.close()
            while piece := await process.stdout.read(_CHUNK):
                yield piece
            complaint = (await process.stderr.read(20_000)).decode("utf-8", "replace").strip()
            if await process.wait() > 1 and complaint:
                raise ToolError(f"the pattern cannot be searched for: {_plain(complaint)}")
    except TimeoutError as error:
        raise ToolError(f"the search took longer than {TIMEOUT_S:g} s. Give a path or a glob.") from error
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            with contextlib.suppress(Exception):
                await process.communicate()


def _plain(complaint: str) -> str:
    lines = [line.strip() for line in complaint.splitlines() if line.strip(" ^")]
    return " ".join(lines)[:500]
