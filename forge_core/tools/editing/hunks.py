"""Where the hunks of a patch belong in a file: each at exactly one place, or nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from forge_core.errors import ToolError
from forge_core.tools.editing.compose import LineEnds, compose
from forge_core.tools.editing.hint import not_found, text_line
from forge_core.tools.editing.lines import Lines, line_opcodes
from forge_core.tools.editing.loose import whole_lines_as_sent
from forge_core.tools.editing.patch import Hunk
from forge_core.tools.editing.places import Match, Pair, Tier
from forge_core.tools.editing.replace import Piece, Replacement, splice
from forge_core.tools.editing.text import decode, lines_of, usual_terminator
from forge_core.tools.editing.views import Views, indent_of

_CLOSERS = ("}", ")", "]", "end", "else", "elif", "except", "finally", "catch", "case", "fi", "done", "esac")


def apply_hunks(data: bytes, hunks: Sequence[Hunk]) -> tuple[Replacement, tuple[Tier, ...]]:
    """The file with all hunks made. Each is looked for in the file as it was: what an earlier hunk writes is
    never taken for the text that a later one means.

    Raises ToolError for a hunk that stands nowhere, or in more places than its `@@` lines can tell apart,
    and for two that change the same lines.
    """
    file = decode(data)
    text = file.text
    ends = LineEnds(text)
    tiers: list[Tier] = []
    pieces: list[tuple[Piece, Hunk]] = []
    for hunk in hunks:
        if not hunk.old:
            tiers.append("exact")
            pieces.append((_added(text, hunk), hunk))
            continue
        match = _place(text, hunk)
        place = match.places[0]
        tiers.append(match.tier)
        fresh = Piece(place.span.start, place.span.end, compose(text, place, ends))
        pieces += [(piece, hunk) for piece in _least(text, fresh)]
    pieces.sort(key=lambda one: (one[0].start, one[0].end))
    _check_apart(pieces)
    return splice(data, file, [piece for piece, _ in pieces], tiers[0]), tuple(tiers)


def _added(text: str, hunk: Hunk) -> Piece:
    """A hunk of nothing but new lines: it says where only for an empty file, or the end of one."""
    if text and not hunk.is_at_end:
        raise ToolError(
            f"The hunk at line {hunk.line} of the patch has only '+' lines, which do not say where they go. "
            "Nothing was written. Give a line of context before or after them, or '*** End of File'."
        )
    end = usual_terminator(text)
    added = end.join(hunk.new)
    is_whole = not text or text.endswith(("\n", "\r"))
    return Piece(len(text), len(text), added + end if is_whole else end + added)


def _place(text: str, hunk: Hunk) -> Match:
    pair = Pair("".join(line + "\n" for line in hunk.old), "".join(line + "\n" for line in hunk.new))
    for part in _scopes(text, hunk):
        match = next((one for one in whole_lines_as_sent(Views(text, part), pair) if one.starts), Match())
        if len(match.starts) == 1 and match.places:
            return match
        if match.starts:
            lines = ", ".join(str(text_line(text, start)) for start in match.starts)
            more = "" if match.is_all else " and more"
            raise ToolError(
                f"The hunk at line {hunk.line} of the patch fits {len(match.starts)} places, at lines "
                f"{lines}{more}. Nothing was written. Add lines of context, or an '@@' line that names the "
                "function or section before it."
            )
    where = (
        "at the end of the file" if hunk.is_at_end else f"after {hunk.anchors[-1]!r}" if hunk.anchors else ""
    )
    reason = not_found(text, pair.old.removesuffix("\n")).replace("old_string", "its text")
    raise ToolError(
        f"The hunk at line {hunk.line} of the patch does not fit{where and ' ' + where}: {reason}"
    )


def _scopes(text: str, hunk: Hunk) -> Iterator[range]:
    """The parts of the text where the hunk may stand, the narrowest first: the block of its last `@@` line,
    then all that follows it."""
    part = range(len(text))
    if hunk.is_at_end:
        lines = Lines(text, part)
        first = max(len(lines.bare) - len(hunk.old), 0)
        yield range(lines.starts[first], len(text))
        return
    block = part
    for anchor in hunk.anchors:
        lines = Lines(text, block)
        index = _anchor(lines, anchor, hunk)
        part = range(lines.starts[index + 1], len(text))
        block = range(part.start, min(_block_end(lines, index), block.stop))
    if hunk.anchors:
        yield block
        yield part
    else:
        yield part


def _anchor(lines: Lines, anchor: str, hunk: Hunk) -> int:
    """The line of an `@@`: the one that is the same but for the blanks around it, else the one that holds
    it."""
    found = [at for at, line in enumerate(lines.bare) if line.strip() == anchor]
    found = found or [at for at, line in enumerate(lines.bare) if anchor in line]
    if len(found) == 1:
        return found[0]
    where = (
        f"stands at lines {', '.join(str(lines.number(at)) for at in found[:20])}" if found else "is missing"
    )
    raise ToolError(
        f"The line '@@ {anchor}' before the hunk at line {hunk.line} of the patch {where} in the file. "
        "Nothing was written. Give it as the file has it, and where it is not unique, an '@@' line of what "
        "it stands in before it."
    )


def _block_end(lines: Lines, index: int) -> int:
    """Where the block ends that the line begins: before the next one that stands as far out and opens
    something else. In text without indentation: before the next line of the same kind (a heading)."""
    depth = len(indent_of(lines.bare[index]).expandtabs(4))
    kind = _kind(lines.bare[index])
    is_flat: bool | None = None
    for at in range(index + 1, len(lines.bare)):
        line = lines.bare[at]
        rest = line.strip()
        if not rest:
            continue
        is_out = len(indent_of(line).expandtabs(4)) <= depth
        if is_flat is None:
            is_flat = is_out and not rest.startswith("{")
        if is_out and (_kind(line) == kind if is_flat else not rest.startswith(("{", *_CLOSERS))):
            return lines.starts[at]
    return lines.part.stop


def _kind(line: str) -> str:
    """The signs or the word a line begins with: "##", "[", "def"."""
    rest = line.strip()
    size = 0
    is_word = rest[:1].isalnum()
    while size < len(rest) and rest[size].isalnum() == is_word and not rest[size].isspace():
        size += 1
    return rest[:size]


def _least(text: str, piece: Piece) -> Iterator[Piece]:
    """The lines of a piece that really change."""
    old, new = lines_of(text[piece.start : piece.end]), lines_of(piece.text)
    at = piece.start
    for tag, i, j, k, m in line_opcodes(old, new):
        size = sum(map(len, old[i:j]))
        if tag != "equal":
            yield replace(piece, start=at, end=at + size, text="".join(new[k:m]))
        at += size


def _check_apart(pieces: Sequence[tuple[Piece, Hunk]]) -> None:
    for (one, first), (other, second) in pairwise(pieces):
        is_same_point = one.start == one.end == other.start == other.end
        if first is not second and (other.start < one.end or is_same_point):
            raise ToolError(
                f"The hunks at lines {first.line} and {second.line} of the patch change the same lines "
                "of the file. Nothing was written. Join them into one."
            )
