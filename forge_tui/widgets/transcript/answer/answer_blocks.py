"""The blocks of an answer: parts of Markdown, and pieces of fenced code."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.segment import Segment

from forge_core.sanitize import safe_line
from forge_core.text_width import wrap_cells
from forge_tui.terminal.editor_links import NO_LINKS, Links
from forge_tui.widgets.blockview import highlighting
from forge_tui.widgets.blockview.blocks import GUTTER, Block, Linkable, estimate_rows, letters_of
from forge_tui.widgets.blockview.rows import Canvas, RenderedBlock, without_tabs
from forge_tui.widgets.blockview.styles import TranscriptStyles
from forge_tui.widgets.transcript.markdown.code_card import CodeLabel, draw_code
from forge_tui.widgets.transcript.markdown.containers import WHOLE, BlockQuote, Container, Lead
from forge_tui.widgets.transcript.markdown.markdown_parser import parse
from forge_tui.widgets.transcript.markdown.markdown_rows import draw_markdown

_NOT_AS_WRITTEN = re.compile(r"[\[&<]")


@dataclass(frozen=True, slots=True)
class CodeText:
    """One block of code in an answer."""

    language: str
    """As the model named it, or ""."""
    text: str
    """Without the fence and the newline at the end."""


class AnswerText:
    """The source of one answer, which grows while the answer streams. The answer's blocks refer to it."""

    __slots__ = ("_parts", "is_discarded", "length", "toggles")

    def __init__(self, source: str = "") -> None:
        self._parts = [source] if source else []
        self.length = len(source)
        self.toggles = 0
        """How often the view was switched between rendered text and source."""
        self.is_discarded = False
        """Whether the answer broke off and is requested again: dimmed until the next attempt begins."""

    @property
    def appearance(self) -> int:
        """A number for each way of showing it."""
        return self.toggles * 2 + self.is_discarded

    @property
    def is_raw(self) -> bool:
        """Whether its blocks show the source."""
        return self.toggles % 2 > 0

    def toggle_raw(self) -> None:
        """Switch all its blocks between rendered text and source."""
        self.toggles += 1

    @property
    def source(self) -> str:
        """The Markdown source, sanitised."""
        self.join()
        return self._parts[0] if self._parts else ""

    def append(self, text: str) -> None:
        """Add sanitised text."""
        if text:
            self._parts.append(text)
            self.length += len(text)

    def join(self) -> None:
        """Join the fragments: each by itself takes ten times its characters."""
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]

    @property
    def code_blocks(self) -> list[CodeText]:
        """All blocks of code in order, also those in lists and quotes."""
        return [code for _, code in self._numbered_code()]

    def code_at(self, offset: int) -> str:
        """Return the first block of code that begins in the line of `offset` or after it; "" if there is
        none."""
        line = self.source.count("\n", 0, offset)
        return next((code.text for number, code in self._numbered_code() if number >= line), "")

    def _numbered_code(self) -> Iterator[tuple[int, CodeText]]:
        """Yield the blocks of code, each with the number of its first line."""
        for token in parse(self.source):
            if token.type in ("fence", "code_block") and token.map:
                language = safe_line(token.info.strip().partition(" ")[0])
                yield token.map[0], CodeText(language, token.content.removesuffix("\n"))


class AnswerBlock(Block):
    """A part of an answer, rendered or, in the raw view, as its source."""

    def __init__(self, gap: int) -> None:
        self.answer = AnswerText()
        """The answer that it is a part of."""
        super().__init__()
        self.gap = gap
        self.start = 0
        self.end: int | None = 0
        """Its part of the answer's source; None: up to the end of what has been received."""
        self._labels: list[tuple[int, CodeLabel]] = []
        """The labels of its code, each with its row."""

    @property
    def revision(self) -> int:
        """Incremented also when the whole answer changes its appearance."""
        # In the high bits, which a block's own changes never reach: neither count can cancel the other.
        return self._changes + (self.answer.appearance << 32)

    def assign(self, answer: AnswerText, start: int, end: int | None) -> None:
        self.answer, self.start, self.end = answer, start, end

    def render(self, width: int, styles: TranscriptStyles) -> RenderedBlock:
        rendered = self._raw(width, styles) if self.answer.is_raw else super().render(width, styles)
        self._labels = [(row, mark) for row, mark in rendered.marks if isinstance(mark, CodeLabel)]
        if self.answer.is_discarded:
            for row in rendered.rows:
                shown = [] if row.is_edge else row.segments
                row.segments = [Segment(segment.text, styles.muted) for segment in shown]
        return rendered

    def _raw(self, width: int, styles: TranscriptStyles) -> RenderedBlock:
        canvas = self.canvas(width)
        canvas.gap(self.gap if self.start == 0 else 0)
        with canvas.indented(GUTTER):
            for line in self.raw_lines():
                spans = without_tabs([(line, styles.text)])
                canvas.text(spans, wrap=wrap_cells, original=line)
        return canvas.rendered

    def copied_at(self, row: int, column: int) -> str:
        label = next((label for at, label in self._labels if at == row), None)
        if label is None or column < label.column:
            return ""
        return label.text or self.answer.code_at(self.start)

    def raw_lines(self) -> list[str]:
        """Return its lines of the source. Blank lines between two blocks belong to the second."""
        source = self.answer.source[self.start : self.end]
        if self.end is None or self.end == self.answer.length:
            source = source.rstrip("\n")
        return source.removesuffix("\n").split("\n")

    def find_text(self) -> str:
        return "\n".join(self.raw_lines()) if self.answer.is_raw else super().find_text()

    def estimate(self, width: int) -> int:
        if self.answer.is_raw:
            return estimate_rows(self.raw_lines(), width)
        return self.estimate_shown(width)

    @abstractmethod
    def estimate_shown(self, width: int) -> int:
        """Return the approximate number of rows outside the raw view."""


class MarkdownBlock(AnswerBlock):
    """A finished part of an answer, or its open tail. The source is sanitised."""

    def __init__(self, source: str, gap: int = 1, lead: Lead = WHOLE) -> None:
        super().__init__(gap)
        self.source = source
        self._lead = lead
        self._letters: str | None = None
        self._links: Links | None = None
        """None until it has been looked through for paths."""

    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        with canvas.indented(GUTTER):
            draw_markdown(self.source, canvas, styles, self._lead, self._links or NO_LINKS)

    def without_links(self) -> Iterator[Linkable]:
        if self._links is None and self.end is not None:
            yield self

    def text_with_paths(self) -> str:
        return self.source

    def set_links(self, links: Links) -> None:
        self._links = links
        if links:
            self.changed()

    def may_hold(self, letters: str) -> bool:
        if self._letters is None:  # what a link or an entity shows need not be in the source
            is_plain = not _NOT_AS_WRITTEN.search(self.source)
            self._letters = letters_of(self.source) if is_plain else ""
        return not self._letters or letters in self._letters

    def estimate_shown(self, width: int) -> int:
        return self.gap + estimate_rows(self.source.split("\n"), width)


class CodeBlock(AnswerBlock):
    """A piece of a fenced code block. A long fence consists of several pieces, drawn one by one."""

    def __init__(
        self,
        language: str,
        label: str = "",
        state: highlighting.LexerState = highlighting.START,
        gap: int = 1,
        containers: Sequence[Container] = (),
    ) -> None:
        super().__init__(gap)
        self.lines: list[str] = []
        """Complete lines."""
        self._partial = ""
        self._language = language
        self._label = label
        self._containers = containers
        """The quotes and list items around it."""
        self._start = state
        self._lexed: list[list[highlighting.CodeToken]] = []
        self._state = state
        """The tokens of the first lines while the piece is open, and the lexer's state after them."""
        self._is_open = True
        self._is_beginning = self._is_end = True
        """Whether the fence begins and ends with this piece."""

    def add(self, line: str) -> None:
        """Add a complete line."""
        self.lines.append(line)
        self._partial = ""
        self.changed()

    def set_partial(self, text: str) -> None:
        """Set the unfinished line."""
        if text != self._partial:
            self._partial = text
            self.changed()

    def close(self) -> None:
        """Take no more lines; highlight them once more together, which corrects tokens that span lines."""
        self._is_open = False
        self._lexed = []
        self.changed()

    def next_piece(self) -> CodeBlock:
        """Close this piece; return the next one of the same fence."""
        self._lex_new_lines()
        state = self._state
        self._is_end = False
        self.close()
        following = CodeBlock(self._language, state=state, gap=0, containers=self._containers)
        following._is_beginning = False
        return following

    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        lines = self._tokens() or [[]]
        with canvas.indented(GUTTER), canvas.indented(self._prefix(styles)):
            # An open piece has no lower edge: written again for each line, it would be most of the output.
            draw_code(
                lines,
                canvas,
                styles,
                self._label,
                is_beginning=self._is_beginning,
                is_end=self._is_end and not self._is_open,
            )

    def find_text(self) -> str:
        if self.answer.is_raw:
            return super().find_text()
        return "\n".join([*self.lines, self._partial] if self._is_open else self.lines)

    def estimate_shown(self, width: int) -> int:
        return self.gap + self._is_beginning + self._is_end + estimate_rows(self.lines, width)

    def _prefix(self, styles: TranscriptStyles) -> list[Segment]:
        return [
            Segment("▎ ", styles.faint)
            if isinstance(container, BlockQuote)
            else Segment(" " * container.shown_width)
            for container in self._containers
        ]

    def _tokens(self) -> list[list[highlighting.CodeToken]]:
        # A closed piece keeps no tokens: it is highlighted again when it is drawn, and its rows are cached.
        if not self._is_open:
            return highlighting.highlight("\n".join(self.lines), self._language, self._start)[0]
        self._lex_new_lines()
        if not self._partial:
            return self._lexed
        # The state after the partial line is discarded: the line is lexed again when it is complete.
        return [*self._lexed, *highlighting.highlight(self._partial, self._language, self._state)[0]]

    def _lex_new_lines(self) -> None:
        new = self.lines[len(self._lexed) :]
        if new and self._is_open:
            tokens, self._state = highlighting.highlight("\n".join(new), self._language, self._state)
            self._lexed += tokens
