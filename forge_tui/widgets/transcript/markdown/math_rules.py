"""Formulas for the Markdown parser: kept as they were typed, where its escapes would eat backslashes.

`$$…$$` and `\\[…\\]` may stand on lines of their own; `$…$`, `\\(…\\)` and both others inside a line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

_CLOSING = {"$$": "$$", "\\[": "\\]"}
_INLINE = re.compile(
    r"\$\$(?=\S)[^$]{1,2000}?\$\$|\\\([^\n]{1,2000}?\\\)|\\\[[^\n]{1,2000}?\\\]"
    r"|\$(?![\s$])[^$\n`]{0,400}?(?<![\s\\])\$(?![\d$])"
)


def add_math(parser: MarkdownIt) -> None:
    """Teaches `parser` to leave formulas alone."""
    parser.block.ruler.before(
        "fence", "math_block", _block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    parser.inline.ruler.before("escape", "math_inline", _inline)


def _block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.is_code_block(start):
        return False
    first = _line(state, start)
    closing = _CLOSING.get(first[:2])
    if closing is None or closing in first[2:].rstrip()[:-2]:
        return False
    if silent:
        return True
    line = start
    if not (len(first) > 2 and first.rstrip().endswith(closing)):
        line += 1
        while line < end and _is_inside(state, line) and not _line(state, line).rstrip().endswith(closing):
            line += 1
        line -= not (line < end and _is_inside(state, line))
    state.line = line + 1
    token = state.push("math_block", "", 0)
    token.content = state.getLines(start, line + 1, state.blkIndent, False).rstrip("\n")
    token.map = [start, line + 1]
    return True


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _is_inside(state: StateBlock, line: int) -> bool:
    """Whether the formula may go on here: an empty line or the end of its container ends it."""
    return not state.isEmpty(line) and state.sCount[line] >= state.blkIndent


def _inline(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "$\\":
        return False
    match = _INLINE.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        state.pending += match.group()
    state.pos = match.end()
    return True
