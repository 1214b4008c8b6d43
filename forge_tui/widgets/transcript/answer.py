"""A streamed answer cut into blocks: what is finished is frozen, only the last open part is parsed again.

CommonMark closes a top-level block when the next one begins, so everything but the last top-level block of
the open tail is final. A long list is cut between its items, a long fence every few lines with the lexer's
state carried over: the cost of a frame stays flat however long either grows.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from forge_core.sanitize import safe_line, safe_text
from forge_tui.widgets.transcript.answer_blocks import CodeBlock, MarkdownBlock
from forge_tui.widgets.transcript.blocks import Block

if TYPE_CHECKING:
    from markdown_it.token import Token

_FENCE = re.compile(r" {0,3}(?P<marks>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)\n")
_UNDECIDED = re.compile(r"(?:\A|(?<=\n))[ \t]*(?:[-=*_+#>|~`]+|\d{1,9}[.)]?|(?:`{3,}|~{3,})[^\n]*)[ \t]*\Z")
"""A last line that may still become a list, a rule, a heading or a fence. It is shown when more has come, or
`Title\\n-` would flash as a heading on its way to a list."""
_CODE_SPAN = re.compile(r"`[^`]*`")
_PIECE_LINES = 64
"""Lines of a fence per block."""
_LONG_LIST_LINES = 40
"""Lines of an open list beyond which its finished items are frozen."""


class Answer:
    """Takes fragments; gives the blocks they make."""

    def __init__(self) -> None:
        self._tail = ""
        """Sanitised source that is not in a finished block yet."""
        self._held = ""
        self._fence: _Fence | None = None
        self._gap = 1
        """Empty rows before the next block."""

    def feed(self, fragment: str) -> None:
        """Adds a fragment as it came; a carriage return at its end waits for what follows."""
        text = self._held + fragment
        self._held = "\r" if text.endswith("\r") else ""
        self._tail += safe_text(text[: len(text) - len(self._held)])

    def take(self, is_final: bool = False) -> tuple[list[Block], Block | None]:
        """The blocks finished since the last call, and the open one (None when there is none)."""
        if is_final:
            self._tail += safe_text(self._held)
            self._held = ""
        finished: list[Block] = []
        while self._advance(finished, is_final):
            pass
        still_open = self._open(is_final)
        if is_final and still_open is not None:
            if isinstance(still_open, CodeBlock):
                still_open.close()
            finished.append(still_open)
            still_open = None
        return finished, still_open

    def _advance(self, finished: list[Block], is_final: bool) -> bool:
        """Takes one step through the tail; whether another may follow."""
        if self._fence is not None:
            self._tail = self._fence.take(self._tail, is_final, finished)
            if not self._fence.is_closed:
                return False
            self._fence = None
            return True
        self._tail = _without_blank_lines(self._tail)
        opening = _FENCE.match(self._tail)
        if opening is not None:
            self._fence = _Fence(opening["marks"], safe_line(opening["info"].strip()), self._gap)
            self._gap = 1
            self._tail = self._tail[opening.end() :]
            return True
        return self._freeze(finished, is_final)

    def _freeze(self, finished: list[Block], is_final: bool) -> bool:
        """Moves what is final into blocks; whether the tail now begins with a fence."""
        tokens = _parse(self._shown(is_final))
        starts = [token.map[0] for token in tokens if token.level == 0 and token.nesting >= 0 and token.map]
        lines = self._tail.split("\n")
        for start, end in pairwise(starts):
            finished.append(MarkdownBlock("\n".join(lines[start:end]).rstrip(), self._gap))
            self._gap = 1
        if len(starts) > 1:
            self._tail = "\n".join(lines[starts[-1] :])
            if _FENCE.match(self._tail):
                return True
        if len(lines) - (starts[-1] if starts else 0) > _LONG_LIST_LINES:
            self._freeze_items(finished)
        return False

    def _freeze_items(self, finished: list[Block]) -> None:
        tokens = _parse(self._tail)
        if not tokens or tokens[0].type not in ("bullet_list_open", "ordered_list_open"):
            return
        items = [token.map[0] for token in tokens if _is_top_item(token) and token.map]
        if len(items) < 2:
            return
        lines = self._tail.split("\n")
        cut = items[-1]
        finished.append(MarkdownBlock("\n".join(lines[:cut]).rstrip(), self._gap))
        self._gap = 0 if lines[cut - 1].strip() else 1
        self._tail = "\n".join(lines[cut:])

    def _open(self, is_final: bool) -> Block | None:
        if self._fence is not None:
            return self._fence.piece
        shown = self._shown(is_final).rstrip()
        if not shown:
            return None
        return MarkdownBlock(shown if is_final else _balanced(shown), self._gap)

    def _shown(self, is_final: bool) -> str:
        return self._tail if is_final else _UNDECIDED.sub("", self._tail)


class _Fence:
    """An open fence: its complete lines go into pieces, the unfinished one is shown with them."""

    def __init__(self, marks: str, info: str, gap: int) -> None:
        mark = re.escape(marks[0])
        self._closing = re.compile(rf" {{0,3}}{mark}{{{len(marks)},}}[ \t]*\Z")
        self._may_close = re.compile(rf" {{0,3}}{mark}*[ \t]*\Z")
        language = info.split(maxsplit=1)[0] if info else ""
        self.piece = CodeBlock(language, language, gap=gap)
        self.is_closed = False

    def take(self, tail: str, is_final: bool, finished: list[Block]) -> str:
        """Moves what `tail` holds of the fence into pieces; gives back what follows."""
        *complete, rest = tail.split("\n")
        for number, line in enumerate(complete):
            if self._closing.match(line):
                return self._close(finished, "\n".join([*complete[number + 1 :], rest]))
            self._add(line, finished)
        if not is_final:
            self.piece.set_partial("" if self._may_close.match(rest) else rest)
            return rest
        if self._closing.match(rest):
            return self._close(finished, "")
        if rest:
            self._add(rest, finished)
        return ""

    def _add(self, line: str, finished: list[Block]) -> None:
        if len(self.piece.lines) >= _PIECE_LINES:
            finished.append(self.piece)
            self.piece = self.piece.following()
        self.piece.add(line)

    def _close(self, finished: list[Block], rest: str) -> str:
        self.is_closed = True
        self.piece.close()
        finished.append(self.piece)
        return rest


def _balanced(source: str) -> str:
    """`source` with the code span or the bold text closed that is still open at its end, so that marks do not
    stand there until the closing ones arrive."""
    paragraph = source[source.rfind("\n\n") + 1 :]
    if paragraph.count("`") % 2:
        return source + "`"
    if _CODE_SPAN.sub("", paragraph).count("**") % 2:
        return source.removesuffix("**") if source.endswith("**") else source + "**"
    return source


def _without_blank_lines(text: str) -> str:
    while (end := text.find("\n")) >= 0 and not text[:end].strip():
        text = text[end + 1 :]
    return text


def _is_top_item(token: Token) -> bool:
    return token.type == "list_item_open" and token.level == 1


def _parse(source: str) -> list[Token]:
    from forge_tui.widgets.transcript.markdown import parse

    return parse(source)
