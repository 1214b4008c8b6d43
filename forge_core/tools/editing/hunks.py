"""The hunks of a change to a text file, and the file without some of them. Pure: no file is accessed here.

The steps of `without_hunks`:

1. Both sides are decoded; their encodings may differ.
2. The lines are compared as the diff viewer compares them, so that a hunk is what the viewer shows as one.
3. The lines of the new side are kept, except those of the chosen hunks: the old lines take their place.
4. The text is encoded as the new side was, with its byte order mark.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from hashlib import sha256

from forge_core.errors import ToolError
from forge_core.tools.editing.diff import grouped_opcodes, newline_lines
from forge_core.tools.editing.text import FileText, decode


@dataclass(frozen=True, slots=True)
class Hunk:
    """Adjacent changes: at most twice the context of a diff is unchanged between two of them."""

    old_from: int
    old_to: int
    new_from: int
    new_to: int
    """Ranges of lines, counted from 0, from the first change to the end of the last one."""
    key: str
    """Identifies the change in this file, also after other hunks were reverted; among many equal lines the
    comparison may place it elsewhere then."""


def hunks(before: bytes, after: bytes) -> tuple[Hunk, ...]:
    """Return the hunks in the order of their lines; none if a side is binary."""
    sides = _texts(before, after)
    if sides is None:
        return ()
    old, new = (newline_lines(side.text) for side in sides)
    found = []
    for group in grouped_opcodes(old, new):
        changes = [code for code in group if code[0] != "equal"]
        _, old_from, _, new_from, _ = changes[0]
        _, _, old_to, _, new_to = changes[-1]
        added = "".join(new[new_from:new_to]).encode("utf-8", "surrogatepass")
        key = f"{old_from},{old_to},{sha256(added).hexdigest()[:16]}"
        found.append(Hunk(old_from, old_to, new_from, new_to, key))
    return tuple(found)


def without_hunks(before: bytes, after: bytes, chosen: Collection[Hunk]) -> bytes:
    """Return `after` with the lines of `before` in the place of the chosen hunks.

    Raises:
        ToolError: there is no such hunk, or the encoding of `after` lacks a character of the old lines.
    """
    sides, known = _texts(before, after), hunks(before, after)
    unknown = set(chosen).difference(known)
    if sides is None or unknown:
        raise ToolError("The change is not the one that was shown.")
    if known and set(known) == set(chosen):
        return before
    old_side, new_side = sides
    old, new = newline_lines(old_side.text), newline_lines(new_side.text)
    lines: list[str] = []
    at = 0
    for hunk in sorted(set(chosen), key=lambda one: (one.new_from, one.new_to)):
        lines += new[at : hunk.new_from]
        lines += old[hunk.old_from : hunk.old_to]
        at = hunk.new_to
    text = "".join([*lines, *new[at:]])
    return new_side.bom + new_side.encode(text)


def _texts(before: bytes, after: bytes) -> tuple[FileText, FileText] | None:
    try:
        return decode(before), decode(after)
    except ToolError:
        return None
