"""Reads the `*** Begin Patch` grammar."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from forge_core.errors import ToolError

BEGIN, END = "*** Begin Patch", "*** End Patch"
_ADD, _DELETE, _UPDATE = "*** Add File:", "*** Delete File:", "*** Update File:"
_MOVE, _AT_END = "*** Move to:", "*** End of File"
_WRAPPER = re.compile(
    r"\s*(?:```\w*|~~~\w*|(?:\w+ +)?(?:apply_patch|cat)?\s*<<-?\s*['\"]?\w+['\"]?.*|apply_patch)?\s*"
)
_UNIFIED = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@.*")

Mark: TypeAlias = Literal[" ", "+", "-"]


@dataclass(frozen=True, slots=True)
class Hunk:
    """One change within a file."""

    line: int
    """Of the patch, from 1: for errors."""
    anchors: tuple[str, ...]
    """The `@@` lines before it: each is a line of the file, after which the next is looked for."""
    rows: tuple[tuple[Mark, str], ...]
    is_at_end: bool = False

    @property
    def old(self) -> list[str]:
        return [text for mark, text in self.rows if mark != "+"]

    @property
    def new(self) -> list[str]:
        return [text for mark, text in self.rows if mark != "-"]


@dataclass(frozen=True, slots=True)
class Section:
    """What becomes of one file."""

    kind: Literal["add", "delete", "update"]
    path: str
    line: int
    content: str = ""
    """Of a new file."""
    move_to: str | None = None
    hunks: tuple[Hunk, ...] = ()


def parse_patch(text: str) -> tuple[Section, ...]:
    """The sections of a patch, in order. A code fence or here-document around it is taken off.

    Raises ToolError naming the line of the patch that does not fit.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    first, last = _bounds(lines)
    sections: list[Section] = []
    at = first + 1
    while at < last:
        if not lines[at].strip():
            at += 1
            continue
        end = at + 1
        while end < last and not lines[end].startswith((_ADD, _DELETE, _UPDATE)):
            end += 1
        sections.append(_section(lines, at, end))
        at = end
    if not sections:
        raise ToolError(f"The patch names no file. Between {BEGIN!r} and {END!r} go {_ADD!r}, {_UPDATE!r}, …")
    return tuple(sections)


def _bounds(lines: list[str]) -> tuple[int, int]:
    first = next((at for at, line in enumerate(lines) if line.strip() == BEGIN), None)
    if first is None:
        raise ToolError(f"The patch has no line {BEGIN!r}. It begins with that and ends with {END!r}.")
    last = next((at for at in range(len(lines) - 1, first, -1) if lines[at].strip() == END), None)
    if last is None:
        raise ToolError(
            f"The patch has no line {END!r}: it may have been cut short, so nothing was written. Send it "
            "whole."
        )
    for at, line in enumerate(lines[:first]):
        if not _WRAPPER.fullmatch(line):
            raise _fault(at, line, f"nothing goes before {BEGIN!r}")
    for at in range(last + 1, len(lines)):
        if not re.fullmatch(r"\s*(?:```|~~~|\w+|\))?\s*", lines[at]):
            raise _fault(at, lines[at], f"nothing goes after {END!r}")
    return first, last


def _section(lines: list[str], start: int, end: int) -> Section:
    header = lines[start]
    path = header.partition(":")[2].strip()
    if header.startswith((_ADD, _DELETE, _UPDATE)) and not path:
        raise _fault(start, header, "it names no file")
    while end > start + 1 and not lines[end - 1]:
        end -= 1  # a blank line between two sections
    if header.startswith(_ADD):
        return Section("add", path, start + 1, _content(lines, start + 1, end))
    if header.startswith(_DELETE):
        for at in range(start + 1, end):
            if lines[at].strip():
                raise _fault(at, lines[at], f"{_DELETE!r} has no lines below it")
        return Section("delete", path, start + 1)
    if not header.startswith(_UPDATE):
        raise _fault(start, header, f"expected {_ADD!r}, {_UPDATE!r} or {_DELETE!r}")
    move_to: str | None = None
    body = start + 1
    if body < end and lines[body].startswith(_MOVE):
        move_to = lines[body].removeprefix(_MOVE).strip()
        if not move_to:
            raise _fault(body, lines[body], "it names no file")
        body += 1
    hunks = tuple(_hunks(lines, body, end))
    if not hunks and move_to is None:
        raise _fault(start, header, "it changes nothing: below it go lines with '-', '+' or ' '")
    return Section("update", path, start + 1, "", move_to, hunks)


def _content(lines: list[str], start: int, end: int) -> str:
    for at in range(start, end):
        if not lines[at].startswith("+"):
            raise _fault(at, lines[at], "each line of a new file begins with '+'")
    return "".join(line[1:] + "\n" for line in lines[start:end])


def _hunks(lines: list[str], start: int, end: int) -> Iterator[Hunk]:
    anchors: list[str] = []
    rows: list[tuple[Mark, str]] = []
    first = start
    for at in range(start, end):
        line = lines[at]
        if line.startswith("@@"):
            if rows:
                yield _hunk(lines, first, anchors, rows)
                anchors, rows = [], []
            if not rows and not anchors:
                first = at
            anchor = "" if _UNIFIED.fullmatch(line) else line[2:].removesuffix("@@").strip()
            anchors += [anchor] if anchor else []
        elif line.rstrip() == _AT_END:
            yield _hunk(lines, first, anchors, rows, is_at_end=True)
            anchors, rows, first = [], [], at + 1
        elif line.startswith("\\ No newline"):
            continue
        elif line[:1] in (" ", "+", "-") or not line:
            if not rows and not anchors:
                first = at
            mark: Mark = "+" if line[:1] == "+" else "-" if line[:1] == "-" else " "
            rows.append((mark, line[1:]))
        else:
            raise _fault(at, line, "a line of a hunk begins with ' ', '-' or '+', and a hunk with '@@'")
    if rows or anchors:
        yield _hunk(lines, first, anchors, rows)


def _hunk(
    lines: list[str], at: int, anchors: list[str], rows: list[tuple[Mark, str]], *, is_at_end: bool = False
) -> Hunk:
    if all(mark == " " for mark, _ in rows):
        raise _fault(at, lines[at], "this hunk changes nothing: it has no line with '-' or '+'")
    return Hunk(at + 1, tuple(anchors), tuple(rows), is_at_end)


def _fault(at: int, line: str, why: str) -> ToolError:
    return ToolError(f"Line {at + 1} of the patch, {line[:120]!r}: {why}. Nothing was written.")
