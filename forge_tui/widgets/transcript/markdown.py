"""Markdown source to rows: headings, lists, quotes, tables, rules, code, with inline styles.

The parser is imported and built on first use and kept; `warm()` does it ahead of time, off the event loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from rich.segment import Segment
from rich.style import Style

from forge_core.sanitize import safe_line, safe_text
from forge_tui.widgets.transcript import code
from forge_tui.widgets.transcript.inline import inline_lines
from forge_tui.widgets.transcript.rows import Canvas
from forge_tui.widgets.transcript.styles import TranscriptStyles
from forge_tui.widgets.transcript.table import Align, Table, draw_table
from forge_tui.widgets.transcript.wrapping import without_tabs, wrap_cells

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_TASKS = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}


def warm() -> None:
    """Imports the parser and the lexers."""
    parse("warm *up*")
    code.warm()


def parse(source: str) -> list[Token]:
    """The block tokens of sanitised Markdown."""
    return _parser().parse(source)


def draw_markdown(source: str, canvas: Canvas, styles: TranscriptStyles, under: Style | None = None) -> None:
    """Adds the rows of `source` (sanitised) to `canvas`."""
    _Renderer(parse(source), canvas, styles, under or styles.text).run()


def draw_code(
    lines: Sequence[list[code.Token]], canvas: Canvas, styles: TranscriptStyles, label: str = ""
) -> None:
    """Adds highlighted lines on the code background, under a label where there is one."""
    with canvas.indented([Segment(" ", styles.code)]):
        if label:
            canvas.decoration(_label(label, canvas.width, styles))
        for tokens in lines:
            spans = code.styled(tokens, styles.syntax, styles.code)
            original = "".join(text for text, _ in spans)
            canvas.text(without_tabs(spans), wrap=wrap_cells, fill=styles.code, original=original)


def _label(label: str, width: int, styles: TranscriptStyles) -> list[tuple[str, Style]]:
    shown = safe_line(label)[: max(0, width - 1)]
    return [(shown, styles.code_label), (" " * max(0, width - len(shown)), styles.code)]


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


class _Renderer:
    """Walks block tokens once; each `_open` returns the index after what it drew."""

    def __init__(
        self, tokens: Sequence[Token], canvas: Canvas, styles: TranscriptStyles, under: Style
    ) -> None:
        self._tokens = tokens
        self._canvas = canvas
        self._styles = styles
        self._under = under
        self._at = 0

    def run(self, until: str = "", tight: bool = False) -> None:
        """Draws blocks up to the token type `until`, with a gap between them unless `tight`."""
        is_first = True
        while self._at < len(self._tokens) and self._tokens[self._at].type != until:
            token = self._tokens[self._at]
            if not is_first and not tight:
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
                self._inline(self._under + self._styles.heading)
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
                for line in safe_text(token.content).rstrip("\n").split("\n"):
                    self._canvas.text([(line, self._under)])

    def _inline(self, under: Style, lead: str = "") -> None:
        """Draws the inline token that follows, and steps over it and its closing token."""
        token = self._tokens[self._at]
        self._at += 2
        for number, spans in enumerate(inline_lines(token.children or [], self._styles, under)):
            self._canvas.text(spans, lead="" if number else lead)

    def _quote(self) -> None:
        bar = [Segment("▎ ", self._styles.faint)]
        under, self._under = self._under, self._under + self._styles.muted
        with self._canvas.indented(bar):
            self.run("blockquote_close")
        self._under = under

    def _code(self, token: Token) -> None:
        language = safe_line(token.info.split(maxsplit=1)[0]) if token.info.strip() else ""
        lines, _ = code.highlight(safe_text(token.content).rstrip("\n"), language)
        draw_code(lines, self._canvas, self._styles, language)

    def _list(self, opening: Token) -> None:
        closing = opening.type.replace("open", "close")
        is_ordered = opening.type.startswith("ordered")
        number = int(opening.attrs.get("start", 1)) if is_ordered else 0
        count = sum(
            token.type == "list_item_open" and token.level == opening.level + 1
            for token in self._tokens[self._at :]
        )
        width = len(str(number + count)) + 2 if is_ordered else 2
        is_tight = _is_tight(self._tokens, self._at, opening.level)
        is_first = True
        while self._tokens[self._at].type != closing:
            if not is_first and not is_tight:
                self._canvas.gap()
            is_first = False
            marker = f"{number}. ".ljust(width) if is_ordered else "• "
            self._item(marker, number, is_tight)
            number += 1
        self._at += 1

    def _item(self, marker: str, number: int, is_tight: bool) -> None:
        self._at += 1
        task = self._take_task()
        first = task or marker
        indent = " " * len(marker)
        with self._canvas.indented(
            [Segment(indent)], [Segment(first.ljust(len(marker)), self._styles.muted)]
        ):
            if self._tokens[self._at].type == "list_item_close":
                self._canvas.text([("", self._under)])
            elif self._tokens[self._at].type == "paragraph_open":
                self._at += 1
                self._inline(self._under, lead=first if task or number else "- ")
                if self._tokens[self._at].type != "list_item_close" and not is_tight:
                    self._canvas.gap()
            self.run("list_item_close", is_tight)

    def _take_task(self) -> str:
        """The box of a task-list item, its source marker removed from the item's text; "" for any other."""
        if self._at + 1 >= len(self._tokens) or self._tokens[self._at].type != "paragraph_open":
            return ""
        inline = self._tokens[self._at + 1]
        box = _TASKS.get(inline.content[:4], "")
        if box and inline.children and inline.children[0].type == "text":
            inline.children[0].content = inline.children[0].content[4:]
            inline.content = inline.content[4:]
            return box
        return ""

    def _table(self) -> None:
        table = Table()
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
        lines = inline_lines(inline.children or [], self._styles, under)
        return [span for line in lines for span in line]


def _is_tight(tokens: Sequence[Token], at: int, level: int) -> bool:
    """Whether the list's own paragraphs are hidden, which is how the parser marks a tight list."""
    for token in tokens[at:]:
        if token.level <= level:
            return True
        if token.type == "paragraph_open" and token.level == level + 2:
            return bool(token.hidden)
    return True


def _align(token: Token) -> Align:
    style = str(token.attrs.get("style", ""))
    return cast("Align", style.removeprefix("text-align:")) if style else "left"
