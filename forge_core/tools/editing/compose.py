"""The new text of a place: its unchanged lines keep their own characters, the others get what was sent."""

from __future__ import annotations

from collections.abc import Sequence

from forge_core.errors import ToolError
from forge_core.tools.editing.lines import Opcode, line_opcodes, split_lines
from forge_core.tools.editing.places import Place, Span
from forge_core.tools.editing.text import TERMINATOR, usual_terminator, with_newlines
from forge_core.tools.editing.views import Key


def compose(text: str, place: Place, line_ends: LineEnds) -> str:
    """What is to stand at `place` of `text`.

    A line that is the same in old and new text keeps the file's characters, whatever the match looked past,
    and its line end. A new line takes the line end of the line it replaces, else that of its neighbours. A
    lone carriage return that was sent within a line stays one. Raises ToolError when a changed line would
    turn bytes that are no text into U+FFFD.
    """
    span, pair = place.span, place.pair
    block = text[span.start : span.end]
    end = line_ends.at(span, block)
    new = with_newlines(pair.new) if end == "\r" else pair.new.replace("\r\n", "\n")
    kinds = set(TERMINATOR.findall(block)) if "\r" in block else set()
    if place.reindent is None and len(kinds) < 2 and with_newlines(block) == pair.old:
        return new if end == "\n" else new.replace("\n", end)
    return _merged(block, place, new, end)


def _merged(block: str, place: Place, new: str, end: str) -> str:
    file, file_ends = split_lines(block)
    old, fresh = place.pair.old.split("\n"), new.split("\n")
    if len(file) != len(old):
        raise ToolError("old_string could not be laid over the file line by line. Nothing was written.")
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
    """What becomes of the lines. Those that differ in blanks and look-alikes only count as the same; where
    these can be laid side by side in several ways, those that were sent the same are the same."""
    loose = line_opcodes(Key.STRIPPED.of(old), Key.STRIPPED.of(fresh))
    if old == fresh or len(loose) == 1:
        return loose
    strict: list[Opcode] = []
    for tag, i, j, k, m in line_opcodes(old, fresh):
        if tag != "replace":
            strict.append((tag, i, j, k, m))
            continue
        parts = line_opcodes(Key.STRIPPED.of(old[i:j]), Key.STRIPPED.of(fresh[k:m]))
        strict += [(kind, i + a, i + b, k + c, k + d) for kind, a, b, c, d in parts]
    return loose if _same(loose) > _same(strict) else strict


def _same(codes: Sequence[Opcode]) -> int:
    return sum(j - i for tag, i, j, _, _ in codes if tag == "equal")


def _changed(line: str, place: Place, block: str) -> str:
    if "\ufffd" in line and any("\ud800" <= char <= "\udfff" for char in block):
        raise ToolError(
            "A changed line of new_string holds U+FFFD where the file has bytes that are not valid text. "
            "Nothing was written. Choose lines without them, or change the bytes with bash."
        )
    if place.reindent is None:
        return line
    deeper = place.reindent.line(line)
    return line if deeper is None else deeper


class LineEnds:
    """Which line end a new line takes in a text: asked from its start to its end, it looks at each character
    once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._looked = range(0)
        self._found = ""

    def at(self, span: Span, block: str) -> str:
        """The block's own, else that of the line it stands in, else the most frequent one before it."""
        if "\r" not in self._text:
            return "\n"
        if "\n" in block or "\r" in block:
            return usual_terminator(block)
        if span.end not in self._looked:
            after = TERMINATOR.search(self._text, span.end)
            self._found = after[0] if after is not None else usual_terminator(self._text[: span.start])
            self._looked = range(span.end, (after.start() if after is not None else len(self._text)) + 1)
        return self._found
