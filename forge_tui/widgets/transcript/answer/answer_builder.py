"""A streamed answer as blocks: finished ones are frozen, only the last, open one is parsed again.

CommonMark closes a top-level block when the next one begins, so everything but the last top-level block of
the open tail is final. A block that stays open for long is split (`answer_splitting`), a long fence every few
lines, with the lexer's state carried over: the cost of a frame does not grow with either. Only complete lines
decide, so the blocks do not depend on the fragments in which the answer arrived.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

from forge_core.sanitize import safe_line, safe_text
from forge_tui.widgets.transcript.answer import answer_splitting
from forge_tui.widgets.transcript.answer.answer_blocks import (
    AnswerBlock,
    AnswerText,
    CodeBlock,
    MarkdownBlock,
)
from forge_tui.widgets.transcript.markdown.containers import (
    WHOLE,
    BlockQuote,
    Container,
    Lead,
    ListItem,
    enter,
    markers,
    open_item,
    spaced,
)
from forge_tui.widgets.transcript.markdown.markdown_parser import outline

if TYPE_CHECKING:
    from markdown_it.token import Token


_UNDECIDED = re.compile(
    r"(?:\A|(?<=\n))[ \t]*(?:> ?)*(?:[-=*_+#|~`:]+|\d{1,9}[.)]?|(?:`{3,}|~{3,})[^\n]*)?[ \t]*\Z"
)
"""A last line that may still become a list, a rule, a heading or a fence. It is not shown until more has
arrived: otherwise `Title\\n-` would flash as a heading on its way to a list."""
_CODE_SPAN = re.compile(r"`[^`]*`")
_ENDED_BY_BLANK = frozenset({"paragraph_open", "heading_open", "hr", "table_open", "blockquote_open"})
"""Blocks that an empty line ends for good."""
_OPENING = re.compile(r"(?P<indent> {0,3})(?P<marks>`{3,}(?=[^`\n]*\n)|~{3,})[ \t]*(?P<info>[^\n]*)\n")
_PIECE_LINES = 64
"""Lines per piece of a fence."""
_PIECE_CHARS = 4_000
"""Characters from which a piece takes no more lines."""
_PART_CHARS = 1_000
"""A longer line is split into parts, so that its cost does not grow with it."""


class AnswerBuilder:
    """Builds the blocks of an answer from its fragments."""

    def __init__(self) -> None:
        self.text = AnswerText()
        self._tail = ""
        """Sanitised source that is not in a finished block yet."""
        self._held = ""
        self._fence: Fence | None = None
        self._lead = WHOLE
        """How the tail continues a block that was split."""
        self._left: tuple[Container, ...] = ()
        """The containers at the end of the last piece; the next line decides which of them continue."""
        self._gap = 1
        """Empty rows before the next block."""
        self._start = 0
        """Where the next block's part of `text` begins."""
        self._seen = ""
        """The window parsed last, in which no block was final."""
        self._finished: list[AnswerBlock] = []

    def feed(self, fragment: str) -> None:
        """Add a fragment as it was received; a carriage return at its end waits for the next character."""
        text = self._held + fragment
        self._held = "\r" if text.endswith("\r") else ""
        self._take_in(text[: len(text) - len(self._held)])

    def take(self, is_final: bool = False) -> tuple[list[AnswerBlock], AnswerBlock | None]:
        """Return the blocks finished since the last call, and the open one, or None."""
        if is_final:
            self._take_in(self._held)
            self._held = ""
            self.text.join()
        while self._advance(is_final):
            pass
        if is_final and self._fence is not None:
            self._fence.piece.close()
            self._finish(self._fence.piece, len(self._tail))
            self._fence = None
        finished, self._finished = self._finished, []
        return finished, None if is_final else self._open()

    def _take_in(self, text: str) -> None:
        safe = safe_text(text, keep_invisible=True)
        self.text.append(safe)
        self._tail += safe

    def _advance(self, is_final: bool) -> bool:
        """Take one step through the tail; return whether another may follow."""
        if self._fence is not None:
            return self._take_code(self._fence, is_final)
        if self._left or self._lead == WHOLE:
            if not self._settle(is_final):
                return False
            if self._lead == WHOLE and (opened := open_fence(self._tail, self._gap)) is not None:
                self._fence, taken = opened
                self._drop(taken)
                return True
        # Parsed again with each complete line, but never more than a window; see `answer_splitting`.
        window, is_full = answer_splitting.window_of(self._tail, is_final)
        if not window.strip() or (window == self._seen and not is_full and not is_final):
            return False
        self._seen = window
        # A part of a split block is parsed with what came before it in short: its markers, a table's head.
        source = self._lead.source(window)
        tokens = outline(source)
        if self._freeze(source, tokens, is_final and not is_full):
            return True
        if is_full:
            self._cut(source, tokens, window)
        return is_full

    def _take_code(self, fence: Fence, is_final: bool) -> bool:
        self._drop(fence.take(self._tail, is_final, self._finish))
        if not fence.is_closed:
            return False
        self._fence, self._left, self._gap = None, fence.containers, 1
        return True

    def _settle(self, is_final: bool) -> bool:
        """Skip empty lines; after containers, find which of them continue. Return False if that is not known
        yet."""
        lead, gap, blank = self._outlook()
        line_end = self._tail.find("\n", blank)
        rest = len(self._tail) - blank
        is_known = line_end >= 0 or rest >= answer_splitting.WINDOW_CHARS or (is_final and rest > 0)
        if not self._left:
            self._drop(blank)
            return rest > 0
        if is_known:
            self._drop(blank)
            self._lead, self._gap, self._left = lead, gap, ()
        return is_known

    def _outlook(self) -> tuple[Lead, int, int]:
        """Return how the tail seems to continue, the gap before it, and the length of its leading empty
        lines."""
        blank = _blank_lines(self._tail)
        if not self._left:
            return self._lead, self._gap, blank
        line = self._tail[blank:].partition("\n")[0]
        depth, inside = enter(line, self._left)
        containers = self._left[:depth]
        following = open_item(inside)
        number = None
        is_next_item = False
        if (
            following is not None
            and depth < len(self._left)
            and isinstance(before := self._left[depth], ListItem)
        ):
            is_next_item = (before.number is None) == (following.number is None)
            number = before.number + 1 if before.number is not None and is_next_item else None
        is_close = is_next_item or (bool(containers) and not isinstance(containers[-1], BlockQuote))
        return Lead(containers, number=number), int(blank > 0 or not is_close), blank

    def _freeze(self, source: str, tokens: list[Token], is_all: bool) -> bool:
        """Finish the top-level blocks that are final; return whether there were any."""
        tops = [token for token in tokens if token.level == 0 and token.nesting >= 0 and token.map]
        starts = [token.map[0] for token in tops if token.map]
        # The first block also takes leading lines that have no token.
        starts[:1] = [0] if starts else []
        lines = source.split("\n")
        count = len(lines) - (not lines[-1])
        fences = [start for start, token in zip(starts, tops, strict=True) if token.type == "fence" and start]
        # A fence that follows other blocks is streamed line by line: finish what is before it, and stop
        # there.
        if fences:
            starts = starts[: starts.index(fences[0]) + 1]
        elif tops and (is_all or (not lines[count - 1].strip() and tops[-1].type in _ENDED_BY_BLANK)):
            starts.append(count)
        # Lines of the source that are not in the tail: a table's repeated head.
        offset = self._lead.added_lines
        for start, end in pairwise(starts):
            piece = "\n".join(lines[start:end]).rstrip()
            taken = _line_start(self._tail, end - max(start, offset))
            self._finish(MarkdownBlock(piece, self._gap, self._lead), taken)
            self._drop(taken)
            self._lead, self._gap, offset = WHOLE, 1, 0
        return len(starts) > 1

    def _cut(self, source: str, tokens: list[Token], window: str) -> None:
        """Finish the beginning of a block that does not end in the window."""
        cut = answer_splitting.find_split_point(source, tokens, self._lead)
        lines = source.split("\n")
        if cut.is_fence:
            if self._open_fence_inside(lines[0], cut.lead.containers):
                return
            cut = answer_splitting.SplitPoint(0, len(lines[0]), Lead(is_mid_line=True), 1)
        added = self._lead.added_lines
        taken = _line_start(window, cut.line - added)
        kept = "\n".join(lines[: cut.line])
        if cut.column:
            # The source's first line may have markers in front that the tail does not have.
            raw_line = window[taken:].partition("\n")[0]
            taken += max(1, cut.column - len(lines[cut.line]) + len(raw_line))
            kept = "\n".join([*lines[: cut.line], lines[cut.line][: cut.column]])
        self._finish(MarkdownBlock(kept.rstrip(), self._gap, self._lead), taken)
        self._drop(taken)
        self._gap, self._lead = cut.gap, cut.lead
        if cut.line >= len(lines) - (not lines[-1]):
            self._left, self._lead = cut.lead.containers, WHOLE

    def _open_fence_inside(self, opening_line: str, containers: tuple[Container, ...]) -> bool:
        inside = spaced(opening_line)[len(markers(containers)) :]
        opened = open_fence(f"{inside}\n", self._gap, containers)
        if opened is None:
            return False
        self._fence = opened[0]
        self._lead = WHOLE
        self._drop(_line_start(self._tail, 1))
        return True

    def _finish(self, block: AnswerBlock, taken: int) -> None:
        """Add a finished block that ends after `taken` characters of the tail."""
        # The tail is always the end of `text`, so its length gives its position.
        end = self.text.length - len(self._tail) + taken
        block.assign(self.text, self._start, end)
        self._start = end
        self._finished.append(block)

    def _drop(self, count: int) -> None:
        if count:
            self._tail = self._tail[count:]
            self._seen = ""

    def _open(self) -> AnswerBlock | None:
        block: AnswerBlock
        if self._fence is not None:
            block = self._fence.piece
        else:
            lead, gap, blank = self._outlook()
            shown = _UNDECIDED.sub("", self._tail[blank:]).rstrip()
            if not shown:
                return None
            block = MarkdownBlock(_balanced(lead.source(shown)), gap, lead)
        block.assign(self.text, self._start, None)
        return block


def _balanced(source: str) -> str:
    """Return `source` with the code span or bold text closed that is open at its end.

    Otherwise the marks would show until the closing ones arrive.
    """
    paragraph = source[source.rfind("\n\n") + 1 :]
    if paragraph.count("`") % 2:
        has_begun = not source.endswith("`") or source.endswith("``")
        return source + "`" if has_begun else source[:-1]
    if _CODE_SPAN.sub("", paragraph).count("**") % 2:
        return source.removesuffix("**") if source.endswith("**") else source + "**"
    return source


def _blank_lines(text: str) -> int:
    """Return the length of the empty lines at the beginning of `text`."""
    at = 0
    while (end := text.find("\n", at)) >= 0 and not text[at:end].strip():
        at = end + 1
    return at


def _line_start(text: str, line: int) -> int:
    """Return the offset at which a line begins; the end of the text if it has fewer lines."""
    at = 0
    for _ in range(line):
        at = text.find("\n", at) + 1
        if at == 0:
            return len(text)
    return at


class Fence:
    """An open fence: its complete lines go into pieces, which show the unfinished line, too."""

    def __init__(self, opening: re.Match[str], gap: int, containers: tuple[Container, ...] = ()) -> None:
        marks, info = opening["marks"], safe_line(opening["info"].strip())
        mark = re.escape(marks[0])
        # CommonMark: the closing fence has the same character, at least as many of it, and nothing after it.
        self._closing = re.compile(rf" {{0,3}}{mark}{{{len(marks)},}}[ \t]*\Z")
        self._may_close = re.compile(rf" {{0,3}}{mark}*[ \t]*\Z")
        self._indent = re.compile(rf" {{0,{len(opening['indent'])}}}")
        language = info.split(maxsplit=1)[0] if info else ""
        self.containers = containers
        """The quotes and list items around it."""
        self._is_mid_line = False
        """Whether the beginning of the next line has been taken already."""
        self._piece_chars = 0
        self.piece = CodeBlock(language, language, gap=gap, containers=containers)
        self.is_closed = False

    def take(self, tail: str, is_final: bool, finish: Callable[[CodeBlock, int], None]) -> int:
        """Move what `tail` contains of the fence into pieces; return the number of characters taken.

        `finish` is called with each finished piece and the characters of `tail` taken up to its end.
        """
        at = 0
        while at < len(tail):
            end = tail.find("\n", at)
            is_complete = end >= 0 or is_final
            stop = end if end >= 0 else len(tail)
            # Take a part of a long line, complete or not: its cost must not grow with its length.
            if stop - at > 2 * _PART_CHARS:
                stop = after = at + _PART_CHARS
            elif is_complete:
                after = min(stop + 1, len(tail))
            else:
                break
            line = tail[at:stop]
            if not self._is_mid_line:
                depth, line = enter(line, self.containers)
                if depth < len(self.containers):
                    return self._close(at, finish)
                if self._closing.match(line):
                    return self._close(after, finish)
                line = self._indent.sub("", line, count=1)
            self._is_mid_line = after == stop < len(tail)
            self._add(line, at, finish)
            at = after
        self._show_partial(tail[at:])
        return at

    def _show_partial(self, rest: str) -> None:
        if not self._is_mid_line:
            depth, rest = enter(rest, self.containers)
            # A line of marks may still become the closing fence, so it is not shown as code.
            is_inside = depth == len(self.containers) and not self._may_close.match(rest)
            rest = self._indent.sub("", rest, count=1) if is_inside else ""
        self.piece.set_partial(rest)

    def _add(self, line: str, at: int, finish: Callable[[CodeBlock, int], None]) -> None:
        if len(self.piece.lines) >= _PIECE_LINES or self._piece_chars >= _PIECE_CHARS:
            finish(self.piece, at)
            self.piece = self.piece.next_piece()
            self._piece_chars = 0
        self.piece.add(line)
        self._piece_chars += len(line)

    def _close(self, at: int, finish: Callable[[CodeBlock, int], None]) -> int:
        self.is_closed = True
        self.piece.close()
        finish(self.piece, at)
        return at


def open_fence(text: str, gap: int, containers: tuple[Container, ...] = ()) -> tuple[Fence, int] | None:
    """Return the fence at the beginning of `text`, and the length of its first line; None if there is
    none."""
    opening = _OPENING.match(text)
    return None if opening is None else (Fence(opening, gap, containers), opening.end())
