"""The Markdown parser: CommonMark with tables, strikethrough and formulas.

markdown-it is imported, and its parsers are built, on first use; `warm_up()` does both ahead of time, off the
event loop.

Formulas stay as they were typed, where the parser's escapes would remove backslashes: `$$…$$` and `\\[…\\]`
may stand on lines of their own; `$…$`, `\\(…\\)` and both others inside a line.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from forge_tui.widgets.blockview import highlighting

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token


_DEEPEST = 64
"""Levels of nesting (a list has two) that are parsed; a deeper source is shown as typed."""
_MOST_BRACKETS = 400
"""Opening brackets in a piece beyond which there are no links: finding their ends is quadratic."""
_MATH_CLOSINGS = {"$$": "$$", "\\[": "\\]"}
_INLINE_MATH = re.compile(
    r"\$\$(?=\S)[^$]{1,2000}?\$\$|\\\([^\n]{1,2000}?\\\)|\\\[[^\n]{1,2000}?\\\]"
    r"|\$(?![\s$])[^$\n`]{0,400}?(?<![\s\\])\$(?![\d$])"
)


def warm_up() -> None:
    """Import the parser and the lexers, and build the parsers."""
    parse("warm *up*")
    outline("warm up")
    highlighting.warm_up()


def parse(source: str) -> list[Token]:
    """Return the tokens of sanitised Markdown, inline ones included."""
    return _parsed(_parser(source.count("[") <= _MOST_BRACKETS), source)


def outline(source: str) -> list[Token]:
    """Return the block tokens only: a tenth of the cost if only the positions of blocks matter."""
    return _parsed(_outline_parser(), source)


def _parsed(parser: MarkdownIt, source: str) -> list[Token]:
    tokens = parser.parse(source)
    if any(token.level >= _DEEPEST - 1 for token in tokens):
        return _as_typed(source)
    return tokens


@lru_cache(maxsize=2)
def _parser(has_links: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _DEEPEST})
    parser.enable(["table", "strikethrough"])
    parser.disable("reference")  # a definition would vanish, and a piece cannot know those in another one
    parser.block.ruler.before(
        "fence", "math_block", _math_block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    parser.inline.ruler.before("escape", "math_inline", _math_inline)
    if not has_links:
        parser.disable(["link", "image"])
    return parser


@lru_cache(maxsize=1)
def _outline_parser() -> MarkdownIt:
    # A parser of its own: ruler settings are per instance, and `_parser` caches its instances.
    parser = _parser.__wrapped__(True)
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _as_typed(source: str) -> list[Token]:
    """Return one token that shows `source` as it is: the parser would drop what is nested too deep."""
    from markdown_it.token import Token

    lines = source.count("\n") + (not source.endswith("\n"))
    return [Token("as_typed", "", 0, map=[0, lines], content=source, block=True)]


def _math_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.is_code_block(start):
        return False
    first = _line(state, start)
    closing = _MATH_CLOSINGS.get(first[:2])
    if closing is None or closing in first[2:].rstrip()[:-2]:
        return False
    if silent:
        return True
    line = start
    if not (len(first) > 2 and first.rstrip().endswith(closing)):
        line += 1
        while line < end and _is_inside(state, line) and not _line(state, line).rstrip().endswith(closing):
            line += 1
        # A formula that is not closed ends with the last line of its paragraph.
        line -= not (line < end and _is_inside(state, line))
    state.line = line + 1
    token = state.push("math_block", "", 0)
    token.content = state.getLines(start, line + 1, state.blkIndent, False).rstrip("\n")
    token.map = [start, line + 1]
    return True


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _is_inside(state: StateBlock, line: int) -> bool:
    """Return whether the formula may continue here: an empty line or the end of its container ends it."""
    return not state.isEmpty(line) and state.sCount[line] >= state.blkIndent


def _math_inline(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "$\\":
        return False
    match = _INLINE_MATH.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        state.pending += match.group()
    state.pos = match.end()
    return True
