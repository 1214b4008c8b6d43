"""Where to split a block that grows long, so that the open part never costs more than a window of text.

The split point depends on the window's text only, not on the fragments in which it arrived: the same answer
gives the same pieces. A list is split between items, a quote between the blocks in it, a table between rows,
a paragraph at the end of a line or sentence; an item or a quote with one long block is split inside that
block.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forge_core.text_width import cell_len
from forge_tui.widgets.transcript.markdown.containers import (
    Container,
    Lead,
    ListItem,
    markers,
    open_item,
    open_quote,
    spaced,
)
from forge_tui.widgets.transcript.markdown.markdown_parser import parse

if TYPE_CHECKING:
    from markdown_it.token import Token

WINDOW_LINES = 40
WINDOW_CHARS = 6_000
"""The window: the first lines of the open part. A block that is still open at its end is split."""
_LONG_LINE = 1_000
"""Characters of an unfinished line from which its kind is certain."""
_TRIED = 40
"""Candidates for a split point that are tried in a paragraph."""
_SENTENCE_END = re.compile(r"[.!?:;…]['\")\]]* |[。！？]")
_SPACE = re.compile(r" ")
_BLOCK_START = re.compile(r"[-+*>#|=~`\s\\]|\d{1,9}[.)]")
_CODE_SPAN = re.compile(r"`[^`]*`")
_JOINING = re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u200c\u200d\ufe00-\ufe0f]")


@dataclass(frozen=True, slots=True)
class SplitPoint:
    """A position in the window's source, and how the rest continues the block."""

    line: int
    column: int
    lead: Lead
    gap: int
    is_fence: bool = False
    """Whether nothing is split off: a fence begins here, in `lead.containers`."""


def window_of(tail: str, is_final: bool) -> tuple[str, bool]:
    """Return the beginning of `tail` that is parsed, in whole lines, and whether it is a full window."""
    at = -1
    for _ in range(WINDOW_LINES):
        at = tail.find("\n", at + 1, WINDOW_CHARS)
        if at < 0:
            break
    else:
        return tail[: at + 1], True
    if len(tail) < WINDOW_CHARS:
        return (tail if is_final else tail[: tail.rfind("\n") + 1]), False
    window = tail[:WINDOW_CHARS]
    complete = window.rfind("\n") + 1
    # A long unfinished line is split itself; a short one waits, since its kind is not known yet.
    return (window[:complete] if WINDOW_CHARS - complete < _LONG_LINE else window), True


def find_split_point(source: str, tokens: Sequence[Token], lead: Lead) -> SplitPoint:
    """Return where to split the first block of `source`, a full window in which it does not end."""
    return _Splitter(source, tokens, lead).find(0, len(tokens), 0, ())


class _Splitter:
    def __init__(self, source: str, tokens: Sequence[Token], lead: Lead) -> None:
        self._lines = source.split("\n")
        if not self._lines[-1]:
            self._lines.pop()
        self._tokens = tokens
        self._lead = lead
        self._opening = spaced(self._lines[0])

    def find(self, first: int, last: int, level: int, inside: tuple[Container, ...]) -> SplitPoint:
        """Return the split point among the blocks of one level: before the last one, or inside it if it is
        the only one."""
        blocks = self._starts(first, last, level)
        if not blocks:
            return self._in_text(inside)
        at = blocks[-1]
        token = self._tokens[at]
        start = token.map[0] if token.map else 0
        if start > 0:
            # Blocks of an item follow without a gap unless the source has an empty line.
            is_apart = self._is_blank(start - 1) or not (inside and isinstance(inside[-1], ListItem))
            return SplitPoint(start, 0, Lead(inside), int(is_apart))
        end = self._end(at, last)
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                return self._in_list(at + 1, end, level + 1, inside)
            case "blockquote_open" if quote := open_quote(self._rest_of_opening(inside)):
                return self.find(at + 1, end, level + 1, (*inside, quote))
            case "table_open":
                return self._in_table(at, end, inside)
            case "fence":
                return SplitPoint(0, 0, Lead(inside), 0, is_fence=True)
            case _:
                return self._in_text(inside)

    def _in_list(self, first: int, last: int, level: int, inside: tuple[Container, ...]) -> SplitPoint:
        items = self._starts(first, last, level)
        number = self._number(items[0], inside)
        start = (self._tokens[items[-1]].map or [0])[0]
        if start > 0:
            following = None if number is None else number + len(items) - 1
            return SplitPoint(start, 0, Lead(inside, number=following), int(self._is_blank(start - 1)))
        item = open_item(self._rest_of_opening(inside))
        if item is None:
            return self._in_text(inside)
        return self.find(items[-1] + 1, last, level + 1, (*inside, ListItem(item.marker, number)))

    def _number(self, item: int, inside: tuple[Container, ...]) -> int | None:
        """Return the number of a list's first item, which the lead contains for a continued list."""
        info = self._tokens[item].info
        if not info:
            return None
        known = self._lead.containers
        if len(known) > len(inside) and isinstance(held := known[len(inside)], ListItem):
            return held.number
        if len(known) == len(inside) and self._lead.number is not None:
            return self._lead.number
        return int(info)

    def _in_table(self, at: int, end: int, inside: tuple[Container, ...]) -> SplitPoint:
        rows = [token.map[0] for token in self._tokens[at:end] if token.type == "tr_open" and token.map]
        if len(rows) < 3:
            return self._in_text(inside)
        head = self._lead.head or "".join(f"{line}\n" for line in self._lines[:2])
        # The first part decides for all, so that the columns of later parts are aligned with it.
        widths = self._lead.widths or natural_widths(head + "\n".join(self._lines[2 : rows[-1]]))
        shown = self._lead.rows + len(rows) - 2  # without the header, and the row that the rest begins with
        return SplitPoint(rows[-1], 0, Lead(inside, head=head, widths=widths, rows=shown), 0)

    def _in_text(self, inside: tuple[Container, ...]) -> SplitPoint:
        """Return a split point between lines, or inside a single long line."""
        first = self._lead.added_lines
        for line in range(len(self._lines) - 1, max(first, len(self._lines) - _TRIED), -1):
            # Not beside an empty line, and not inside a code span, emphasis or a link.
            is_clear = not self._is_blank(line) and not self._is_blank(line - 1)
            if is_clear and _is_balanced("\n".join(self._lines[first:line])):
                return SplitPoint(line, 0, Lead(inside), 0)
        last = len(self._lines) - 1
        if last > first:
            at = last + 1 if self._is_blank(last) else last
            return SplitPoint(at, 0, Lead(inside), int(self._is_blank(last - 1)))
        return SplitPoint(first, _in_line(self._lines[first]), Lead(inside, is_mid_line=True), 0)

    def _rest_of_opening(self, inside: Sequence[Container]) -> str:
        return self._opening[len(markers(inside)) :]

    def _starts(self, first: int, last: int, level: int) -> list[int]:
        return [
            at
            for at in range(first, last)
            if (token := self._tokens[at]).level == level and token.nesting >= 0 and token.map
        ]

    def _end(self, at: int, last: int) -> int:
        """Return the index of the token that closes the one at `at`."""
        level = self._tokens[at].level
        ends = (end for end in range(at + 1, last) if self._tokens[end].level == level)
        return next(ends, last)

    def _is_blank(self, line: int) -> bool:
        return not self._lines[line].strip(" \t>")


def natural_widths(source: str) -> tuple[int, ...]:
    """Return the widths that the columns of the table in `source` need for every cell to fit in one row."""
    widths: list[int] = []
    column = 0
    for token in parse(source):
        if token.type == "tr_open":
            column = 0
        elif token.type == "inline":
            size = cell_len("".join(child.content for child in token.children or []))
            if column == len(widths):
                widths.append(1)
            widths[column] = max(widths[column], size)
            column += 1
    return tuple(widths)


def _in_line(line: str) -> int:
    """Return where to split a long line: after a sentence, otherwise after a word, otherwise between
    graphemes."""
    for pattern in (_SENTENCE_END, _SPACE):
        places = [match.end() for match in pattern.finditer(line, len(line) // 2)]
        for at in places[: -_TRIED - 1 : -1]:
            if at < len(line) and not _BLOCK_START.match(line, at) and _is_balanced(line[:at]):
                return at
    at = line.rfind(" ", len(line) // 2, len(line) - 1) + 1 or len(line) - 1
    # Never between a character and its combining marks or joiners.
    while at > 1 and _JOINING.match(line[at - 1 : at] if line[at - 1] == "\u200d" else line[at]):
        at -= 1
    return at


def _is_balanced(text: str) -> bool:
    """Return whether no code span, emphasis or link seems to be open at the end of `text`."""
    if text.count("`") % 2:
        return False
    bare = _CODE_SPAN.sub("", text)
    return not (bare.count("**") % 2 or bare.count("~~") % 2 or bare.count("[") > bare.count("]"))
