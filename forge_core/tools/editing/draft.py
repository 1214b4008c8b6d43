"""Several edits of one file, applied in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from forge_core.errors import ToolError
from forge_core.tools.editing.content_checks import new_syntax_error, refuse_placeholders
from forge_core.tools.editing.diff import line_opcodes
from forge_core.tools.editing.file_changes import CurrentFile, PlannedChange
from forge_core.tools.editing.matching import find
from forge_core.tools.editing.occurrences import MatchTier, is_as_sent
from forge_core.tools.editing.patch import PatchHunk, apply_hunks
from forge_core.tools.editing.replace import Replacement, TextEdit, replace
from forge_core.tools.editing.text import decode, split_keeping_ends

NOTES: dict[MatchTier, str] = {
    "line ends": "matched with different line endings",
    "trailing blanks": "matched except for trailing blanks",
    "look-alike characters": "matched except for look-alike characters; unchanged lines keep theirs",
    "blanks within lines": "matched except for the number of blanks in lines; unchanged lines keep theirs",
    "indentation": "matched except for the indentation; new_string was indented as the file is",
    "line numbers": "matched without the line numbers of read",
    "blank edges": "matched without an extra blank line at the beginning or end",
}
"""The note that the model gets about a match that was not exact."""


class FileDraft:
    """Edits of one file, each applied to the result of those before it.

    An edit may change text that an earlier one has inserted if its old text occurs there exactly and did not
    occur anywhere in the original file. If it occurred there as well, the original and the edited text are
    both possible readings, and the edit is refused.
    """

    def __init__(self, there: CurrentFile) -> None:
        self._there = there
        self._data = there.data
        self._after: str | None = None
        self._written: list[tuple[int, int]] = []
        """Ranges of the text that are the work of earlier edits; an empty one is where something went."""
        self._notes: list[str] = []
        self._recovered: list[str] = []
        """The notes about matches that were not exact."""

    def edit(self, old: str, new: str, *, replace_all: bool = False) -> None:
        """Raise ToolError naming the file when the edit does not apply."""
        try:
            refuse_placeholders(new, old)
            done = replace(self._data, old, new, replace_all=replace_all)
            if any(_touches(piece, span) for piece in done.pieces for span in self._written):
                self._check_meant(done, old, new)
        except ToolError as error:
            raise ToolError(f"{self._there.name}: {error}") from error
        self._written = _moved(self._written, done)
        self._notes += [f"{len(done.pieces)} places"] if len(done.pieces) > 1 else []
        self._take(done, [done.tier])

    def patch(self, hunks: Sequence[PatchHunk]) -> None:
        """Make the hunks of a patch. Raise ToolError naming the file when one does not fit."""
        try:
            for hunk in hunks:
                refuse_placeholders("\n".join(hunk.new), "\n".join(hunk.old))
            done, tiers = apply_hunks(self._data, hunks)
        except ToolError as error:
            raise ToolError(f"{self._there.name}: {error}") from error
        self._take(done, tiers)

    def _take(self, done: Replacement, tiers: Sequence[MatchTier]) -> None:
        self._data, self._after = done.data, done.after
        self._notes += [note for tier in tiers if (note := NOTES.get(tier))]
        self._recovered += [NOTES[tier] for tier in tiers if not is_as_sent(tier)]

    def change(self) -> PlannedChange:
        """Return the change that the edits make. Raise ToolError if the file parsed before and would not
        afterwards, unless all matches were exact: then that is what was asked for."""
        before = decode(self._there.data).text
        after = before if self._after is None else self._after
        error = new_syntax_error(self._there.name, before, after) if self._recovered else None
        if error is not None:
            raise ToolError(
                f"{self._there.name}: old_string {'; '.join(dict.fromkeys(self._recovered))}. With this edit "
                f"the file would no longer parse: {error}. Nothing was written. Send old_string and "
                "new_string with the blanks and the indentation that the file has."
            )
        note = f" ({'; '.join(dict.fromkeys(self._notes))})" if self._notes else ""
        return self._there.changed(self._data, before, after, note)

    def _check_meant(self, done: Replacement, old: str, new: str) -> None:
        is_plain = is_as_sent(done.tier)
        if not is_plain or (old and find(decode(self._there.data).text, old, new).starts):
            raise ToolError(
                "old_string matches text that an earlier edit of this call has changed, and whether the "
                "text before or after that is meant is not clear. Nothing was written. Combine the two edits "
                "into one, or make them in two calls."
            )


def _touches(piece: TextEdit, span: tuple[int, int]) -> bool:
    start, end = span
    if start == end:
        return piece.start < start < piece.end
    return piece.start < end and piece.end > start


def _moved(written: Sequence[tuple[int, int]], done: Replacement) -> list[tuple[int, int]]:
    """Return the written ranges after an edit, including its own, which absorb those that it touches."""
    ranges = [span for span in written if not any(_touches(piece, span) for piece in done.pieces)]
    touched = {piece for piece in done.pieces if any(_touches(piece, span) for span in written)}
    result = [(_shifted(start, done.pieces), _shifted(end, done.pieces)) for start, end in ranges]
    offset = 0
    # `offset` is how much the edits before this one have lengthened the text.
    for piece in done.pieces:
        start = piece.start + offset
        if piece in touched:
            result.append((start, start + len(piece.text)))
        else:
            before = done.before.text[piece.start : piece.end]
            result += [(start + a, start + b) for a, b in _changed(before, piece.text)]
        offset += len(piece.text) - (piece.end - piece.start)
    return result


def _shifted(position: int, pieces: Sequence[TextEdit]) -> int:
    return position + sum(
        len(piece.text) - (piece.end - piece.start) for piece in pieces if piece.end <= position
    )


def _changed(before: str, after: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of `after` that differ from `before`, lines first, then within them."""
    old, new = split_keeping_ends(before), split_keeping_ends(after)
    at = 0
    for tag, i, j, k, m in line_opcodes(old, new):
        ours, theirs = "".join(old[i:j]), "".join(new[k:m])
        if tag != "equal":
            most = min(len(ours), len(theirs))
            head = next((n for n in range(most) if ours[n] != theirs[n]), most)
            tail = next((n for n in range(most - head) if ours[-1 - n] != theirs[-1 - n]), most - head)
            yield at + head, at + len(theirs) - tail
        at += len(theirs)
