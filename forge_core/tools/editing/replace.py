"""Replaces text in a file's bytes. Bytes in, bytes out: what lies outside the range stays as it is."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from forge_core.errors import ToolError
from forge_core.tools.editing.hint import not_found, several_places
from forge_core.tools.editing.match import Span, Tier, count_overlapping, find
from forge_core.tools.editing.text import (
    TERMINATOR,
    FileText,
    decode,
    lines_of,
    usual_terminator,
    with_newlines,
)

_MAX_ALIGNED_LINES = 2_000


@dataclass(frozen=True, slots=True)
class Replacement:
    """What became of the bytes."""

    data: bytes
    before: FileText
    after: str
    """The new text, line ends as in the file."""
    count: int
    """Places replaced."""
    tier: Tier


def replace(data: bytes, old: str, new: str, *, replace_all: bool = False) -> Replacement:
    """`data` with `old` replaced by `new`, which takes the line ends of what it replaces.

    Raises ToolError, written for the model, when `old` is missing, ambiguous, empty or equal to `new`, and
    when the file is binary or cannot hold a character of `new`.
    """
    if "\0" in new:
        raise ToolError("new_string holds a NUL character. Text files hold none; nothing was written.")
    file = decode(data)
    if not old:
        return _fill_empty(file, new)
    if with_newlines(old) == with_newlines(new):
        raise ToolError(
            "old_string and new_string are the same (but for line ends at most). Nothing to change."
        )
    match = find(file.text, old)
    if not match.spans:
        raise ToolError(not_found(file.readable, old))
    if not replace_all and (len(match.spans) > 1 or count_overlapping(file.text, old) > 1):
        raise ToolError(several_places(file.text, match.spans))
    return _splice(data, file, match.spans, new, match.tier)


def _fill_empty(file: FileText, new: str) -> Replacement:
    if file.text:
        raise ToolError(
            "old_string is empty, but the file is not. Give the exact text to replace, or write the whole "
            "file."
        )
    if not new:
        raise ToolError("old_string and new_string are both empty. Nothing to change.")
    return Replacement(file.bom + file.encode(new), file, new, 1, "exact")


def _splice(data: bytes, file: FileText, spans: tuple[Span, ...], new: str, tier: Tier) -> Replacement:
    """Encodes only the new parts and the lengths between them: bytes outside the spans are copied."""
    pieces: list[bytes] = []
    texts: list[str] = []
    done_text, done_bytes = 0, len(file.bom)
    pieces.append(file.bom)
    for span in spans:
        kept = len(file.encode(file.text[done_text : span.start]))
        text = with_line_ends(file.text, span, new)
        pieces += [data[done_bytes : done_bytes + kept], file.encode(text)]
        texts += [file.text[done_text : span.start], text]
        done_bytes += kept + len(file.encode(file.text[span.start : span.end]))
        done_text = span.end
    pieces.append(data[done_bytes:])
    texts.append(file.text[done_text:])
    return Replacement(b"".join(pieces), file, "".join(texts), len(spans), tier)


def with_line_ends(text: str, span: Span, new: str) -> str:
    """`new` as it is to stand at `span`: unchanged lines keep their own line end, new ones take that of the
    replaced block, else of the neighbour. A lone carriage return that the model meant stays one."""
    block = text[span.start : span.end]
    end = _terminator_at(text, span, block)
    if "\r" not in text:
        return new.replace("\r\n", "\n")
    fresh = lines_of(new.replace("\r\n", "\n") if end != "\r" else with_newlines(new))
    if len({found[0] for found in TERMINATOR.finditer(block)}) < 2:
        return "".join(_ended(line, end) for line in fresh)
    return _aligned(lines_of(block), fresh, end)


def _aligned(old: list[str], new: list[str], end: str) -> str:
    """The new lines, each that is also an old one in the old one's bytes."""
    bare_old = [with_newlines(line) for line in old]
    if len(old) + len(new) > _MAX_ALIGNED_LINES:
        return "".join(_ended(line, end) for line in new)
    result: list[str] = []
    matcher = difflib.SequenceMatcher(None, bare_old, [with_newlines(line) for line in new], autojunk=False)
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if tag == "equal":
            result += old[old_from:old_to]
            continue
        replaced = old[old_from:old_to] or old[max(old_from - 1, 0) : old_from]
        ends = [found[0] for line in replaced if (found := TERMINATOR.search(line))]
        for at, line in enumerate(new[new_from:new_to]):
            result.append(_ended(line, ends[min(at, len(ends) - 1)] if ends else end))
    return "".join(result)


def _ended(line: str, end: str) -> str:
    return line[:-1] + end if line.endswith("\n") else line


def _terminator_at(text: str, span: Span, block: str) -> str:
    if "\n" in block or "\r" in block:
        return usual_terminator(block)
    after = TERMINATOR.search(text, span.end)
    if after is not None:
        return after[0]
    return usual_terminator(text[: span.start])
