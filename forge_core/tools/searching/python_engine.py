"""Our own search engine, as a program:
`python -m forge_core.tools.searching.python_engine count|lines QUERY-JSON`.

A process of its own, because a hostile pattern can keep Python's `re` busy for hours with the interpreter's
lock held: it can be killed, a thread cannot. It prints what ripgrep prints for the arguments in `engine.py`.

Known differences: a carriage return within a line, which ripgrep lets no class match; bytes that are no
UTF-8, which its `\\S` and dot pass over; marks and joiners, which its `\\w` takes.
"""

from __future__ import annotations

import codecs
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from forge_core.tools.searching.query import MAX_COLUMNS, SearchQuery
from forge_core.workspace.ignore import IgnoreRules, walk

MAX_FILE_BYTES = 50 * 1024 * 1024
"""Larger files are skipped."""

_POSIX = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "word": r"\w",
    "punct": r"!-/:-@\[-`{-~",
    "xdigit": "0-9a-fA-F",
}
_LOOKS_AROUND = re.compile(r"\(\?[^:P]|\\[AzZ]|[*+?}]\+")
"""What may match in a line alone but not in the same line within its text."""
_LITERAL = re.compile(r"[\w \t\"'=,:;<>/%&@!~`-]+", re.ASCII)


def main(step: str, query_text: str, given: BinaryIO, out: BinaryIO) -> int:
    """Print the answer; 0 with matches, 1 without, 2 (and a message on stderr) for a bad pattern."""
    query = SearchQuery.from_json(query_text)
    try:
        search = _Search(query)
    except re.error as error:
        print(f"regex parse error: {error}", file=sys.stderr)
        return 2
    any_match = False
    if step == "count":
        for path in _files(query):
            if count := search.count(path):
                any_match = True
                out.write(os.fsencode(f"./{path}") + b"\0" + str(count).encode() + b"\n")
    else:
        for raw in given.read().split(b"\0"):
            for row in search.lines(os.fsdecode(raw)) if raw else ():
                any_match = True
                out.write(row)
    return 0 if any_match else 1


def _files(query: SearchQuery) -> Iterator[str]:
    if query.is_single_file:
        yield query.start
        return
    root = Path(query.root)
    for found in walk(root, IgnoreRules(root), start=query.start):
        if found.is_file:
            yield found.path


class _Search:
    """The compiled query."""

    def __init__(self, query: SearchQuery) -> None:
        flags = (
            re.MULTILINE | (re.IGNORECASE if query.ignore_case else 0) | (re.DOTALL if query.multiline else 0)
        )
        self._query = query
        self._prefix = query.root.rstrip("/") + "/"
        self._expression = re.compile(translate(query.pattern), flags)
        is_literal = not query.ignore_case and _LITERAL.fullmatch(query.pattern) is not None
        self._literal = query.pattern.encode() if is_literal else None
        self._is_local = _LOOKS_AROUND.search(query.pattern) is None

    def count(self, path: str) -> int:
        text = self._text(path)
        if text is None:
            return 0
        if self._query.multiline:
            return sum(1 for _ in self._expression.finditer(text))
        search = self._expression.search
        # One search over the whole text settles most files; line by line it takes over ten times as long.
        if self._is_local and not search(text.replace("\r\n", "\n").removesuffix("\r")):
            return 0
        return sum(1 for line in _lines(text) if search(line))

    def lines(self, path: str) -> Iterator[bytes]:
        text = self._text(path)
        if text is None:
            return
        lines = _lines(text)
        matching = self._matching(text, lines)
        near = {
            at
            for match in matching
            for at in range(
                max(match - self._query.before, 0), min(match + self._query.after + 1, len(lines))
            )
        }
        for at in sorted(near):
            mark = ":" if at in matching else "-"
            shown = lines[at].encode("utf-8", "surrogateescape")
            if len(shown) > MAX_COLUMNS:
                shown = shown[:MAX_COLUMNS] + b" [... omitted end of long line]"
            yield os.fsencode(f"./{path}") + f"\0{at + 1}{mark}".encode() + shown + b"\n"

    def _matching(self, text: str, lines: list[str]) -> set[int]:
        if not self._query.multiline:
            return {at for at, line in enumerate(lines) if self._expression.search(line)}
        matching: set[int] = set()
        for found in self._expression.finditer(text):
            first = text.count("\n", 0, found.start())
            matching.update(
                range(first, first + text.count("\n", found.start(), max(found.end() - 1, 0)) + 1)
            )
        return matching

    def _text(self, path: str) -> str | None:
        """Return the file's text; None if it is binary, too large or unreadable, or certainly has no
        match."""
        data = _bytes_of(self._prefix + path)
        if data is None:
            return None
        for bom, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
            if data.startswith(bom):
                return data[2:].decode(encoding, "replace")
        if b"\0" in data or (self._literal is not None and self._literal not in data):
            return None
        return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")


def _bytes_of(path: str) -> bytes | None:
    """Return the file's content; None when it cannot be read or is too large. By bare calls: `open` costs
    thrice."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        size = os.fstat(descriptor).st_size
        if size > MAX_FILE_BYTES:
            return None
        return os.read(descriptor, size + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _lines(text: str) -> list[str]:
    """Return the lines by \\n, without their ends."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return [line.rstrip("\r") for line in lines] if "\r" in text else lines


def translate(pattern: str) -> str:
    """Return a pattern in ripgrep's syntax as Python's `re` writes it: POSIX classes, `\\z`,
    `\\x{…}`."""
    pattern = re.sub(r"\[:(\w+):\]", lambda found: _POSIX.get(found[1], found[0]), pattern)
    pattern = re.sub(r"(?<!\\)((?:\\\\)*)\\z", r"\1\\Z", pattern)
    return re.sub(r"\\x\{([0-9A-Fa-f]{1,6})\}", lambda found: re.escape(chr(int(found[1], 16))), pattern)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.stdin.buffer, sys.stdout.buffer))
