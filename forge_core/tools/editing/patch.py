"""Reads the `*** Begin Patch` grammar."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, TypeAlias

from forge_core.errors import ToolError
from forge_core.tools.editing.diff import line_opcodes
from forge_core.tools.editing.line_views import TextLines, indent_of
from forge_core.tools.editing.match_errors import missing_text_error
from forge_core.tools.editing.matching import match_hunk_lines
from forge_core.tools.editing.occurrences import EditPair, MatchTier, TextMatch
from forge_core.tools.editing.replace import LineEndings, Replacement, TextEdit, compose, splice
from forge_core.tools.editing.text import decode, dominant_terminator, line_number, split_keeping_ends

BEGIN, END = "*** Begin Patch", "*** End Patch"
_ADD, _DELETE, _UPDATE = "*** Add File:", "*** Delete File:", "*** Update File:"
_MOVE, _AT_END = "*** Move to:", "*** End of File"
_WRAPPER = re.compile(
    r"\s*(?:```\w*|~~~\w*|(?:\w+ +)?(?:apply_patch|cat)?\s*<<-?\s*['\"]?\w+['\"]?.*|apply_patch)?\s*"
)
_UNIFIED = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@.*")

_KIND = re.compile(r"[^\W_]+|(?:_|[^\w\s])+")

Mark: TypeAlias = Literal[" ", "+", "-"]
_CLOSERS = ("}", ")", "]", "end", "else", "elif", "except", "finally", "catch", "case", "fi", "done", "esac")


@dataclass(frozen=True, slots=True)
class PatchHunk:
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
class PatchSection:
    """The part of a patch about one file."""

    kind: Literal["add", "delete", "update"]
    path: str
    line: int
    content: str = ""
    """Of a new file."""
    move_to: str | None = None
    hunks: tuple[PatchHunk, ...] = ()


def parse_patch(text: str) -> tuple[PatchSection, ...]:
    """Return the sections of a patch, in order, without a code fence or here-document around it.

    Raise ToolError naming the line of the patch that is wrong.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    first, last = _bounds(lines)
    sections: list[PatchSection] = []
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
            raise _patch_error(at, line, f"nothing may precede {BEGIN!r}")
    for at in range(last + 1, len(lines)):
        if not re.fullmatch(r"\s*(?:```|~~~|\w+|\))?\s*", lines[at]):
            raise _patch_error(at, lines[at], f"nothing may follow {END!r}")
    return first, last


def _section(lines: list[str], start: int, end: int) -> PatchSection:
    header = lines[start]
    path = header.partition(":")[2].strip()
    if header.startswith((_ADD, _DELETE, _UPDATE)) and not path:
        raise _patch_error(start, header, "it names no file")
    while end > start + 1 and not lines[end - 1]:
        end -= 1  # a blank line between two sections
    if header.startswith(_ADD):
        return PatchSection("add", path, start + 1, _content(lines, start + 1, end))
    if header.startswith(_DELETE):
        for at in range(start + 1, end):
            if lines[at].strip():
                raise _patch_error(at, lines[at], f"{_DELETE!r} has no lines below it")
        return PatchSection("delete", path, start + 1)
    if not header.startswith(_UPDATE):
        raise _patch_error(start, header, f"expected {_ADD!r}, {_UPDATE!r} or {_DELETE!r}")
    move_to: str | None = None
    body = start + 1
    if body < end and lines[body].startswith(_MOVE):
        move_to = lines[body].removeprefix(_MOVE).strip()
        if not move_to:
            raise _patch_error(body, lines[body], "it names no file")
        body += 1
    hunks = tuple(_hunks(lines, body, end))
    if not hunks and move_to is None:
        raise _patch_error(start, header, "it changes nothing: below it go lines with '-', '+' or ' '")
    return PatchSection("update", path, start + 1, "", move_to, hunks)


def _content(lines: list[str], start: int, end: int) -> str:
    for at in range(start, end):
        if not lines[at].startswith("+"):
            raise _patch_error(at, lines[at], "each line of a new file begins with '+'")
    return "".join(line[1:] + "\n" for line in lines[start:end])


def _hunks(lines: list[str], start: int, end: int) -> Iterator[PatchHunk]:
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
            raise _patch_error(at, line, "a line of a hunk begins with ' ', '-' or '+', and a hunk with '@@'")
    if rows or anchors:
        yield _hunk(lines, first, anchors, rows)


def _hunk(
    lines: list[str], at: int, anchors: list[str], rows: list[tuple[Mark, str]], *, is_at_end: bool = False
) -> PatchHunk:
    if all(mark == " " for mark, _ in rows):
        raise _patch_error(at, lines[at], "this hunk changes nothing: it has no line with '-' or '+'")
    return PatchHunk(at + 1, tuple(anchors), tuple(rows), is_at_end)


def _patch_error(at: int, line: str, why: str) -> ToolError:
    return ToolError(f"Line {at + 1} of the patch, {line[:120]!r}: {why}. Nothing was written.")


def apply_hunks(data: bytes, hunks: Sequence[PatchHunk]) -> tuple[Replacement, tuple[MatchTier, ...]]:
    """Apply all hunks and return the file with the tier of each.

    Each hunk is matched against the original file: text that an earlier hunk inserts never matches a later
    one. Raise ToolError for a hunk without a match, for one with more matches than its `@@` lines can
    distinguish, and for two hunks that change the same lines.
    """
    file = decode(data)
    text = file.text
    ends = LineEndings(text)
    tiers: list[MatchTier] = []
    pieces: list[tuple[TextEdit, PatchHunk]] = []
    for hunk in hunks:
        if not hunk.old:
            tiers.append("exact")
            pieces.append((_added(text, hunk), hunk))
            continue
        match = _find_hunk(text, hunk)
        place = match.places[0]
        # Only the lines that change become edits, so that two hunks may share lines of context.
        tiers.append(match.tier)
        fresh = TextEdit(place.start, place.end, compose(text, place, ends))
        pieces += [(piece, hunk) for piece in _changed_lines(text, fresh)]
    pieces.sort(key=lambda one: (one[0].start, one[0].end))
    _check_disjoint(pieces)
    return splice(data, file, [piece for piece, _ in pieces], tiers[0]), tuple(tiers)


def _added(text: str, hunk: PatchHunk) -> TextEdit:
    """Return the edit of a hunk that only adds lines: possible for an empty file, or at the end of one."""
    if text and not hunk.is_at_end:
        raise ToolError(
            f"The hunk at line {hunk.line} of the patch has only '+' lines, which do not say where they go. "
            "Nothing was written. Give a line of context before or after them, or '*** End of File'."
        )
    end = dominant_terminator(text)
    added = end.join(hunk.new)
    is_whole = not text or text.endswith(("\n", "\r"))
    return TextEdit(len(text), len(text), added + end if is_whole else end + added)


def _find_hunk(text: str, hunk: PatchHunk) -> TextMatch:
    pair = EditPair("".join(line + "\n" for line in hunk.old), "".join(line + "\n" for line in hunk.new))
    for part in _scopes(text, hunk):
        match = next(
            (one for one in match_hunk_lines(TextLines(text, part), pair) if one.starts), TextMatch()
        )
        if len(match.starts) == 1 and match.places:
            return match
        if match.starts:
            lines = ", ".join(str(line_number(text, start)) for start in match.starts)
            more = "" if match.is_all else " and more"
            raise ToolError(
                f"The hunk at line {hunk.line} of the patch fits {len(match.starts)} places, at lines "
                f"{lines}{more}. Nothing was written. Add lines of context, or an '@@' line that names the "
                "function or section before it."
            )
    where = (
        "at the end of the file" if hunk.is_at_end else f"after {hunk.anchors[-1]!r}" if hunk.anchors else ""
    )
    reason = missing_text_error(text, pair.old.removesuffix("\n")).replace("old_string", "its text")
    raise ToolError(
        f"The hunk at line {hunk.line} of the patch does not fit{where and ' ' + where}: {reason}"
    )


def _scopes(text: str, hunk: PatchHunk) -> Iterator[range]:
    """Yield the ranges where the hunk may match, the narrowest first.

    These are the block of its last `@@` line, then all text that follows that line.
    """
    part = range(len(text))
    if hunk.is_at_end:
        lines = TextLines(text, part)
        first = max(len(lines.bare) - len(hunk.old), 0)
        yield range(lines.starts[first], len(text))
        return
    block = part
    for anchor in hunk.anchors:
        lines = TextLines(text, block)
        index = _anchor(lines, anchor, hunk)
        part = range(lines.starts[index + 1], len(text))
        block = range(part.start, min(_block_end(lines, index), block.stop))
    if hunk.anchors:
        yield block
        yield part
    else:
        yield part


def _anchor(lines: TextLines, anchor: str, hunk: PatchHunk) -> int:
    """Return the index of an `@@` line: the equal one, ignoring blanks around it, else the one that contains
    it."""
    found = [at for at, line in enumerate(lines.bare) if line.strip() == anchor]
    found = found or [at for at, line in enumerate(lines.bare) if anchor in line]
    if len(found) == 1:
        return found[0]
    where = (
        f"occurs at lines {', '.join(str(lines.number(at)) for at in found[:20])}" if found else "is missing"
    )
    raise ToolError(
        f"The line '@@ {anchor}' before the hunk at line {hunk.line} of the patch {where} in the file. "
        "Nothing was written. Give it as the file has it, and where it is not unique, an '@@' line of the "
        "block that contains it before it."
    )


def _block_end(lines: TextLines, index: int) -> int:
    """Return the end of the block that the line begins.

    It ends before the next line that is indented no more and opens another block; in text without
    indentation, before the next line of the same kind, such as a heading.
    """
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
    """Return the signs or the word a line begins with: "##", "[", "def"."""
    found = _KIND.match(line.strip())
    return found[0] if found else ""


def _changed_lines(text: str, piece: TextEdit) -> Iterator[TextEdit]:
    """Yield the lines of a piece that really change."""
    old, new = split_keeping_ends(text[piece.start : piece.end]), split_keeping_ends(piece.text)
    at = piece.start
    for tag, i, j, k, m in line_opcodes(old, new):
        size = sum(map(len, old[i:j]))
        if tag != "equal":
            yield replace(piece, start=at, end=at + size, text="".join(new[k:m]))
        at += size


def _check_disjoint(pieces: Sequence[tuple[TextEdit, PatchHunk]]) -> None:
    for (one, first), (other, second) in pairwise(pieces):
        is_same_point = one.start == one.end == other.start == other.end
        if first is not second and (other.start < one.end or is_same_point):
            raise ToolError(
                f"The hunks at lines {first.line} and {second.line} of the patch change the same lines "
                "of the file. Nothing was written. Combine them into one."
            )
