"""Rows of Markdown: headings, lists, quotes, tables, rules and code, with inline styles.

Blank rows between the blocks of a list follow the source, not CommonMark's loose and tight lists: there, the
rows at the beginning of a list would depend on what follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from rich.segment import Segment
from rich.style import Style

from forge_core.sanitize import safe_line, safe_text
from forge_core.text_width import cell_len
from forge_tui.terminal.editor_links import NO_LINKS, Links
from forge_tui.widgets.blockview import highlighting
from forge_tui.widgets.blockview.rows import Canvas, StyledSpan
from forge_tui.widgets.blockview.styles import TranscriptStyles
from forge_tui.widgets.transcript.markdown.code_card import draw_code
from forge_tui.widgets.transcript.markdown.containers import WHOLE, Lead, ListItem
from forge_tui.widgets.transcript.markdown.inline import inline_lines
from forge_tui.widgets.transcript.markdown.markdown_parser import parse
from forge_tui.widgets.transcript.markdown.table import Align, Table, draw_table

if TYPE_CHECKING:
    from markdown_it.token import Token


_BOXES = {"[ ]": "☐ ", "[x]": "☑ ", "[X]": "☑ "}
_BULLETS = ("• ", "◦ ", "▪ ")
"""By depth, repeated."""


def draw_markdown(
    source: str,
    canvas: Canvas,
    styles: TranscriptStyles,
    lead: Lead = WHOLE,
    links: Links = NO_LINKS,
) -> None:
    """Add the rows of `source` (sanitised) to `canvas`, with the `links` of its paths."""
    MarkdownRows(source, parse(source), canvas, styles, lead, links).draw()


class MarkdownRows:
    """Draws the block tokens of one piece, in one pass."""

    def __init__(
        self,
        source: str,
        tokens: Sequence[Token],
        canvas: Canvas,
        styles: TranscriptStyles,
        lead: Lead,
        links: Links,
    ) -> None:
        self._lines = source.split("\n")
        self._tokens = tokens
        self._canvas = canvas
        self._styles = styles
        self._under = styles.text
        self._at = 0
        self._bullet_depth = 0
        self._lead = lead
        self._links = links
        self._hidden = lead.hidden_items
        """List markers still to come that an earlier piece has shown."""
        self._numbers = [part.number for part in lead.containers if isinstance(part, ListItem)] + [
            lead.number
        ]

    def draw(self) -> None:
        self._blocks("")

    def _blocks(self, until: str, by_source: bool = False) -> None:
        """Draw blocks up to the token type `until`, with a blank row between two; with `by_source`, only
        where the source has one."""
        is_first = True
        while self._at < len(self._tokens) and self._tokens[self._at].type != until:
            token = self._tokens[self._at]
            if not is_first and (not by_source or self._has_blank_before(token)):
                self._canvas.gap()
            is_first = False
            self._at += 1
            self._block(token)
        self._at += 1

    def _block(self, token: Token) -> None:
        match token.type:
            case "paragraph_open":
                self._inline(self._under)
            case "heading_open":
                self._heading(int(token.tag[1:]))
            case "bullet_list_open" | "ordered_list_open":
                self._list(token)
            case "blockquote_open":
                self._quote()
            case "fence" | "code_block":
                self._code(token)
            case "hr":
                self._canvas.decoration([("─" * self._canvas.width, self._styles.faint)])
            case "table_open":
                self._table()
            case _:
                for line in safe_text(token.content, keep_invisible=True).rstrip("\n").split("\n"):
                    self._canvas.text([(line.expandtabs(4), self._under)], original=line)

    def _inline(self, under: Style, lead: str = "") -> int:
        """Draw the next token, an inline one, and skip its closing token; return the width of its widest
        line."""
        token = self._tokens[self._at]
        self._at += 2
        widest = 0
        for number, spans in enumerate(self._inline_lines(token, under)):
            self._canvas.text(spans, lead="" if number else lead)
            widest = max(widest, sum(cell_len(text) for text, _ in spans))
        return widest

    def _inline_lines(self, inline: Token, under: Style) -> list[list[StyledSpan]]:
        return inline_lines(inline.children or [], self._styles, under, self._links)

    def _heading(self, level: int) -> None:
        """Draw a heading, each level quieter than the one above; the first with a rule below it."""
        styles = self._styles
        looks = {1: styles.first_heading, 2: styles.second_heading, 3: styles.heading}
        widest = self._inline(self._under + looks.get(level, styles.muted + styles.strong))
        if level == 1:
            rule = "─" * min(widest, self._canvas.width)
            self._canvas.decoration([(rule, styles.faint)])

    def _quote(self) -> None:
        bar = [Segment("▎ ", self._styles.faint)]
        under, self._under = self._under, self._under + self._styles.muted
        with self._canvas.indented(bar):
            if self._tokens[self._at].type == "blockquote_close":
                self._canvas.text([("", self._under)])
            self._blocks("blockquote_close")
        self._under = under

    def _code(self, token: Token) -> None:
        language = safe_line(token.info.split(maxsplit=1)[0]) if token.info.strip() else ""
        text = safe_text(token.content, keep_invisible=True).removesuffix("\n")
        lines, _ = highlighting.highlight(text, language)
        draw_code(lines, self._canvas, self._styles, language, text=text)

    # Lists

    def _list(self, opening: Token) -> None:
        closing = opening.type.replace("open", "close")
        is_ordered = opening.type.startswith("ordered")
        known = self._numbers.pop(0) if self._numbers else None
        number = int(opening.attrs.get("start", 1)) if known is None else known
        last = number + self._count_items(opening, closing) - 1
        width = len(str(last)) + 2 if is_ordered else 2
        bullet = _BULLETS[self._bullet_depth % len(_BULLETS)]
        self._bullet_depth += not is_ordered
        is_first = True
        while (token := self._tokens[self._at]).type != closing:
            if not is_first and self._has_blank_before(token):
                self._canvas.gap()
            is_first = False
            self._item(f"{number}. ".ljust(width) if is_ordered else bullet, is_ordered)
            number += 1
        self._bullet_depth -= not is_ordered
        self._at += 1

    def _count_items(self, opening: Token, closing: str) -> int:
        count = 0
        for token in self._tokens[self._at :]:
            if token.type == closing and token.level == opening.level:
                break
            count += token.type == "list_item_open" and token.level == opening.level + 1
        return count

    def _item(self, marker: str, is_ordered: bool) -> None:
        self._at += 1
        is_hidden = self._hidden > 0
        self._hidden -= is_hidden
        box = "" if is_hidden else self._take_box()
        first = box or marker
        shown = " " * len(marker) if is_hidden else first.ljust(len(marker))
        with self._canvas.indented([Segment(" " * len(marker))], [Segment(shown, self._styles.muted)]):
            opening = self._tokens[self._at]
            if opening.type == "list_item_close":
                self._canvas.text([("", self._under)], lead=marker if is_ordered else "- ")
            elif opening.type == "paragraph_open":
                self._at += 1
                lead = first if box or is_ordered else "- "
                self._inline(self._under, lead="" if is_hidden else lead)
                if self._has_blank_before(self._tokens[self._at]):
                    self._canvas.gap()
            self._blocks("list_item_close", by_source=True)

    def _take_box(self) -> str:
        """Remove a task-list item's marker from its text and return its box; "" for any other item."""
        if self._at + 1 >= len(self._tokens) or self._tokens[self._at].type != "paragraph_open":
            return ""
        inline = self._tokens[self._at + 1]
        box = _BOXES.get(inline.content[:3], "")
        is_box = bool(box) and inline.content[3:4] in ("", " ", "\n")
        if is_box and inline.children and inline.children[0].type == "text":
            inline.children[0].content = inline.children[0].content[3:].removeprefix(" ")
            return box
        return ""

    def _has_blank_before(self, token: Token) -> bool:
        if token.nesting < 0 or not token.map or token.map[0] == 0:
            return False
        return not self._lines[token.map[0] - 1].strip(" \t>")

    # Tables

    def _table(self) -> None:
        table = Table(has_header=not self._lead.head, natural=self._lead.widths, rows_before=self._lead.rows)
        self._lead = Lead()  # only the first table continues one of an earlier piece
        row: list[list[tuple[str, Style]]] = []
        in_header = True
        while (token := self._tokens[self._at]).type != "table_close":
            self._at += 1
            match token.type:
                case "thead_close":
                    in_header = False
                case "tr_open":
                    row = []
                case "tr_close" if in_header:
                    table.header = row
                case "tr_close":
                    table.rows.append(row)
                case "th_open" | "td_open":
                    if token.type == "th_open":
                        table.aligns.append(_align(token))
                    row.append(self._cell(self._tokens[self._at], token.type == "th_open"))
        self._at += 1
        draw_table(table, self._canvas, self._styles)

    def _cell(self, inline: Token, is_header: bool) -> list[tuple[str, Style]]:
        under = self._under + self._styles.strong if is_header else self._under
        lines = self._inline_lines(inline, under)
        return [span for line in lines for span in line]


def _align(token: Token) -> Align:
    style = str(token.attrs.get("style", ""))
    return cast("Align", style.removeprefix("text-align:")) if style else "left"
