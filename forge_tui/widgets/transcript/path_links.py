"""Paths in the conversation as links to the editor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.style import Style

from forge_tui.terminal.editor_links import Links, PathMention, find_mentions
from forge_tui.widgets.blockview.block_view import COPIED
from forge_tui.widgets.blockview.rows import StyledSpan


def link_style(mention: PathMention, url: str) -> Style:
    """Return the style that makes a text a link to a file."""
    return Style(link=url, meta={COPIED: mention.text})


def with_links(spans: Sequence[StyledSpan], links: Links) -> list[StyledSpan]:
    """Return the spans of a line with the paths that have a link in a style of their own."""
    if not links:
        return list(spans)
    return [part for span in spans for part in _with_links(span, links)]


def _with_links(span: StyledSpan, links: Links) -> Iterator[StyledSpan]:
    text, style = span
    at = 0
    if style.link is None:
        for start, end, mention in find_mentions(text):
            if (url := links.get(mention)) is not None:
                yield text[at:start], style
                yield text[start:end], style + link_style(mention, url)
                at = end
    if at < len(text) or not text:
        yield text[at:], style
