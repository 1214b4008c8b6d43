"""Replaces text in a file's bytes.

The steps of the engine, in the order of their use:

    text              decode the bytes so that encoding gives the same bytes again
    line_views        the lines of a text, with views that leave differences out
    matching          find the old text, from exact to tolerant (occurrences, indentation)
    line_joins        keep lines apart that a missing newline would join
    replace           check the match, compose the new text of each occurrence, splice the bytes
    draft, patch      several edits of one file; the hunks of a patch
    file_changes      plan the changes of a call, and commit all or none (atomic_write)

Bytes outside of the edited ranges are copied, never encoded again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forge_core.errors import ToolError
from forge_core.tools.editing.diff import Opcode, line_opcodes
from forge_core.tools.editing.line_joins import keep_lines_apart
from forge_core.tools.editing.line_views import BLANKS, LineKey, indent_of
from forge_core.tools.editing.match_errors import ambiguous_match_error, missing_text_error
from forge_core.tools.editing.matching import find
from forge_core.tools.editing.occurrences import MatchTier, Occurrence
from forge_core.tools.editing.text import (
    TERMINATOR,
    FileText,
    decode,
    dominant_terminator,
    line_number,
    split_lines,
    with_newlines,
)

_OPENING = ":{([<>,=+-*/|&\\"
_GOING_ON = ".?:,=+*|&"


@dataclass(frozen=True, slots=True)
class TextEdit:
    """New text for a half-open range of the file's text."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Replacement:
    """What became of the bytes."""

    data: bytes
    before: FileText
    after: str
    """The new text, line ends as in the file."""
    tier: MatchTier
    pieces: tuple[TextEdit, ...]
    """The places replaced."""


def replace(data: bytes, old: str, new: str, *, replace_all: bool = False) -> Replacement:
    """Return `data` with `old` replaced by `new`, which takes the line ends of what it replaces.

    Raise ToolError, written for the model, when `old` is missing, ambiguous, empty or equal to `new`, and
    when the file is binary or cannot hold a character of `new`.
    """
    if "\0" in new:
        raise ToolError(
            "new_string contains a NUL character, which no text file can contain. Nothing was written."
        )
    file = decode(data)
    if not old:
        return _fill_empty(file, new)
    if with_newlines(old) == with_newlines(new):
        raise ToolError(
            "old_string and new_string are the same (apart from line endings at most). Nothing to change."
        )
    match = find(file.text, old, new, every=replace_all)
    if not match.starts:
        raise ToolError(missing_text_error(file.readable, old))
    if not match.places or (not replace_all and len(match.starts) > 1):
        raise ToolError(ambiguous_match_error(file.text, match))
    match = keep_lines_apart(file.text, match)
    for place in match.places:
        _check_depth(file.text, place)
    ends = LineEndings(file.text)
    pieces = tuple(
        TextEdit(place.start, place.end, compose(file.text, place, ends)) for place in match.places
    )
    done = splice(data, file, pieces, match.tier)
    if done.data == data:
        raise ToolError(
            "Nothing would change: old_string and new_string differ only where the file has its own "
            "characters (line endings, blanks, kinds of quotes). Nothing was written."
        )
    return done


def _check_depth(text: str, place: Occurrence) -> None:
    """Refuse text that begins within or after the indentation of a line if the depth of the new lines is not
    clear.

    A model that leaves the indentation out may mean this for all lines, or for the first only.
    """
    if "\n" not in place.pair.old and "\n" not in with_newlines(place.pair.new):
        return
    start = place.start
    while start and text[start - 1] in BLANKS:
        start -= 1
    before = text[start : place.start]
    if not before or (start and text[start - 1] not in "\r\n"):
        return
    old, new = (_nonblank_lines(one) for one in (place.pair.old, place.pair.new))
    if not old or not new or place.pair.old.startswith("\n"):
        return
    depth = before + indent_of(old[0])
    is_same = indent_of(new[0]) == indent_of(old[0])
    is_clear = len(old) > 1 or all(line.startswith(depth) for line in new[1:])
    if is_same and (is_clear or (depth == before and _steps_out(new, depth))):
        return
    line = line_number(text, place.start)
    raise ToolError(
        f"old_string begins after the indentation of line {line}, so the indentation meant for the lines "
        f"of new_string is not clear. Nothing was written. Send both with the whole indentation of "
        f"{len(depth)} character{'s' if len(depth) > 1 else ''}: {depth!r}."
    )


def _steps_out(new: Sequence[str], depth: str) -> bool:
    """Return whether the lines after the first are indented as in the file, in an enclosing block.

    If they were meant to be deeper than the first, that line would open a block or a bracket, or they would
    continue its expression.
    """
    indent = indent_of(new[1])
    return (
        len(indent) < len(depth)
        and depth.startswith(indent)
        and all(line[0] in BLANKS for line in new[1:])
        and new[0].rstrip()[-1] not in _OPENING
        and new[1][len(indent)] not in _GOING_ON
    )


def _nonblank_lines(text: str) -> list[str]:
    return [line for line in with_newlines(text).split("\n") if line.strip()]


def _fill_empty(file: FileText, new: str) -> Replacement:
    if file.text:
        raise ToolError(
            "old_string is empty, but the file is not. Give the exact text to replace, or write the whole "
            "file."
        )
    if not new:
        raise ToolError("old_string and new_string are both empty. Nothing to change.")
    return Replacement(file.bom + file.encode(new), file, new, "exact", (TextEdit(0, 0, new),))


def splice(data: bytes, file: FileText, pieces: Sequence[TextEdit], tier: MatchTier) -> Replacement:
    """Apply the edits, which are sorted and disjoint.

    Only they and the text between them, for its length, are encoded: bytes outside of the edits are copied.
    """
    parts: list[bytes] = [file.bom]
    texts: list[str] = []
    # Encoding every kept part would also work, but costs a pass over the file for each part.
    done_text, done_bytes = 0, len(file.bom)
    # Invariant: data[:done_bytes] is the encoding of file.text[:done_text], BOM included.
    for piece in pieces:
        kept = len(file.encode(file.text[done_text : piece.start]))
        parts += [data[done_bytes : done_bytes + kept], file.encode(piece.text)]
        texts += [file.text[done_text : piece.start], piece.text]
        done_bytes += kept + len(file.encode(file.text[piece.start : piece.end]))
        done_text = piece.end
    parts.append(data[done_bytes:])
    texts.append(file.text[done_text:])
    return Replacement(b"".join(parts), file, "".join(texts), tier, tuple(pieces))


def compose(text: str, place: Occurrence, line_ends: LineEndings) -> str:
    """Return the new text of an occurrence.

    A line that is the same in old and new text keeps the file's characters, whatever the tier ignored, and
    its line ending. A new line gets the line ending of the line it replaces, else that of its neighbours. A
    lone carriage return sent within a line is kept. Raise ToolError if a changed line would turn invalid
    bytes into U+FFFD.
    """
    pair, block = place.pair, text[place.start : place.end]
    end = line_ends.at(place, block)
    new = with_newlines(pair.new) if end == "\r" else pair.new.replace("\r\n", "\n")
    kinds = set(TERMINATOR.findall(block)) if "\r" in block else set()
    if place.reindent is None and len(kinds) < 2 and with_newlines(block) == pair.old:
        return new if end == "\n" else new.replace("\n", end)
    return _merged(block, place, new, end)


def _merged(block: str, place: Occurrence, new: str, end: str) -> str:
    file, file_ends = split_lines(block)
    old, fresh = place.pair.old.split("\n"), new.split("\n")
    if len(file) != len(old):
        raise ToolError("old_string could not be aligned with the file line by line. Nothing was written.")
    result: list[str] = []
    for tag, i, j, k, m in _opcodes(old, fresh):
        if tag == "equal":
            for at, line in zip(range(i, j), fresh[k:m], strict=True):
                kept = file[at] if line == old[at] else _changed(line, place, block)
                result += [kept, file_ends[at] if at < len(file_ends) else end]
            continue
        first, last = (i, j) if i < j else (max(i - 1, 0), i)
        ends = file_ends[first:last]
        for at, line in enumerate(fresh[k:m]):
            result += [_changed(line, place, block), ends[min(at, len(ends) - 1)] if ends else end]
    return "".join(result[:-1])


def _opcodes(old: Sequence[str], fresh: Sequence[str]) -> list[Opcode]:
    """Return opcodes that turn `old` into `fresh`.

    Lines that differ only in blanks and look-alike characters count as the same. If that can be aligned in
    several ways, lines that are exactly the same are aligned.
    """
    loose = line_opcodes(LineKey.STRIPPED.of(old), LineKey.STRIPPED.of(fresh))
    if old == fresh or len(loose) == 1:
        return loose
    strict: list[Opcode] = []
    for tag, i, j, k, m in line_opcodes(old, fresh):
        if tag != "replace":
            strict.append((tag, i, j, k, m))
            continue
        parts = line_opcodes(LineKey.STRIPPED.of(old[i:j]), LineKey.STRIPPED.of(fresh[k:m]))
        strict += [(kind, i + a, i + b, k + c, k + d) for kind, a, b, c, d in parts]
    return loose if _same(loose) > _same(strict) else strict


def _same(codes: Sequence[Opcode]) -> int:
    return sum(j - i for tag, i, j, _, _ in codes if tag == "equal")


def _changed(line: str, place: Occurrence, block: str) -> str:
    if "\ufffd" in line and any("\ud800" <= char <= "\udfff" for char in block):
        raise ToolError(
            "A changed line of new_string contains U+FFFD where the file has bytes that are not valid text. "
            "Nothing was written. Choose lines without them, or change the bytes with bash."
        )
    if place.reindent is None:
        return line
    deeper = place.reindent.line(line)
    return line if deeper is None else deeper


class LineEndings:
    """The line end that a new line takes in a text. Asked from the start to the end, it reads each character
    once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._looked = range(0)
        self._found = ""

    def at(self, place: Occurrence, block: str) -> str:
        """Return the block's own terminator, else that of the surrounding line, else the most frequent one
        before it."""
        if "\r" not in self._text:
            return "\n"
        if "\n" in block or "\r" in block:
            return dominant_terminator(block)
        if place.end not in self._looked:
            after = TERMINATOR.search(self._text, place.end)
            self._found = after[0] if after is not None else dominant_terminator(self._text[: place.start])
            self._looked = range(place.end, (after.start() if after is not None else len(self._text)) + 1)
        return self._found
