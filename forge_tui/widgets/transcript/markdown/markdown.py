"""Markdown: the parser, and its way to rows.

The parser is imported and built on first use and kept; `warm()` does it ahead of time, off the event loop.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from forge_tui.widgets.blockview import code
from forge_tui.widgets.blockview.rows import Canvas
from forge_tui.widgets.blockview.styles import TranscriptStyles
from forge_tui.widgets.transcript.markdown.lead import WHOLE, Lead
from forge_tui.widgets.transcript.markdown.markdown_rows import MarkdownRows

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_DEEPEST = 64
"""Levels of nesting (a list is two) that are understood; what is deeper is shown as typed."""
_MOST_BRACKETS = 400
"""Opening brackets in a piece beyond which none is taken for a link: looking for their ends is quadratic."""


def warm() -> None:
    """Imports the parser and the lexers."""
    parse("warm *up*")
    outline("warm up")
    code.warm()


def parse(source: str) -> list[Token]:
    """The block tokens of sanitised Markdown, with what stands in their lines."""
    return _parsed(_parser(source.count("[") <= _MOST_BRACKETS), source)


def outline(source: str) -> list[Token]:
    """The block tokens alone: a tenth of the cost where only the places of blocks matter."""
    return _parsed(_outline_parser(), source)


def _parsed(parser: MarkdownIt, source: str) -> list[Token]:
    tokens = parser.parse(source)
    if any(token.level >= _DEEPEST - 1 for token in tokens):
        return _as_typed(source)
    return tokens


def draw_markdown(source: str, canvas: Canvas, styles: TranscriptStyles, lead: Lead = WHOLE) -> None:
    """Adds the rows of `source` (sanitised) to `canvas`."""
    MarkdownRows(source, parse(source), canvas, styles, lead).draw()


@lru_cache(maxsize=2)
def _parser(has_links: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt

    from forge_tui.widgets.transcript.markdown.math_rules import add_math

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _DEEPEST})
    parser.enable(["table", "strikethrough"])
    parser.disable("reference")  # a definition would vanish, and a piece cannot know those of another
    add_math(parser)
    if not has_links:
        parser.disable(["link", "image"])
    return parser


@lru_cache(maxsize=1)
def _outline_parser() -> MarkdownIt:
    parser = _parser.__wrapped__(True)
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _as_typed(source: str) -> list[Token]:
    """One token that shows `source` as it is: the parser drops what is nested too deep."""
    from markdown_it.token import Token

    lines = source.count("\n") + (not source.endswith("\n"))
    return [Token("as_typed", "", 0, map=[0, lines], content=source, block=True)]
