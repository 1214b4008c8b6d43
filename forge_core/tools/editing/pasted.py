"""What models paste by mistake, taken off again: line numbers of `read`, blank lines at the edges."""

from __future__ import annotations

import re
from collections.abc import Sequence

from forge_core.errors import ToolError
from forge_core.tools.editing.places import Pair

_NUMBERED = re.compile(r" *(\d{1,9}|\u21aa)\t")
_NUMBER_ALONE = re.compile(r" *(\d{1,9})[ \t]*")
"""The row of an empty line, of which the tab is easily lost."""


def without_numbers(pair: Pair) -> Pair | None:
    """The pair without line numbers, None when the old text has none on each line, one after the other.

    Raises ToolError when the new text has them on some lines only: what they are there is not sure.
    """
    rows = _rows(pair.old)
    if rows is None or not _is_consecutive(rows):
        return None
    old = _joined(rows)
    if any(_NUMBERED.match(line) for line in old):
        return None  # the file itself holds numbers and tabs: which are its own cannot be told
    ending = "\n" if pair.old.endswith("\n") else ""
    new = pair.new
    numbered = [bool(_NUMBERED.match(line)) for line in new.split("\n") if line.strip()]
    if any(numbered):
        rows = _rows(new)
        if rows is None:
            raise ToolError(
                "new_string has the line numbers of read on some of its lines. Nothing was written. Send "
                "old_string and new_string without them."
            )
        new = "\n".join(_joined(rows)) + ("\n" if new.endswith("\n") else "")
    return Pair("\n".join(old) + ending, new)


def without_blank_edges(pair: Pair) -> Pair | None:
    """The pair without one blank line at each edge that has one; None when there is none, or the new text
    has not the very same, or one of them has more: then blank lines may be what is to change."""
    old, new = pair.old, pair.new
    if _is_blank_first(old) and old.partition("\n")[0] == new.partition("\n")[0] and "\n" in new:
        old, new = old.partition("\n")[2], new.partition("\n")[2]
    shorter, new_shorter = _last_off(old), _last_off(new)
    if shorter is not None and new_shorter is not None and old[len(shorter) :] == new[len(new_shorter) :]:
        old, new = shorter, new_shorter
    is_left = any(_is_blank_first(text) or _last_off(text) is not None for text in (old, new))
    return None if old == pair.old or is_left or not old.strip() else Pair(old, new)


def _rows(text: str) -> list[tuple[str, str]] | None:
    """Number and content of each line; None when a line has no number."""
    lines = text.split("\n")
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    rows: list[tuple[str, str]] = []
    for line in lines:
        found = _NUMBERED.match(line)
        alone = None if found else _NUMBER_ALONE.fullmatch(line)
        if found is None and alone is None:
            return None
        rows.append((found[1], line[found.end() :]) if found else (alone[1] if alone else "", ""))
    return rows if any(content for _, content in rows) else None


def _is_consecutive(rows: Sequence[tuple[str, str]]) -> bool:
    numbers = [int(number) for number, _ in rows if number.isdigit()]
    return bool(numbers) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _joined(rows: Sequence[tuple[str, str]]) -> list[str]:
    """The lines; a row that goes on from the one before is joined to it."""
    lines: list[str] = []
    for number, content in rows:
        if not number.isdigit() and lines:
            lines[-1] += content
        else:
            lines.append(content)
    return lines


def _is_blank_first(text: str) -> bool:
    head, newline, _ = text.partition("\n")
    return bool(newline) and not head.strip()


def _last_off(text: str) -> str | None:
    """`text` without its last line when that is blank and ends with a newline."""
    lines = text.split("\n")
    if len(lines) < 3 or lines[-1] or lines[-2].strip():
        return None
    return "\n".join([*lines[:-2], ""])
