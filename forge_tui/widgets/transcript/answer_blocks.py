"""The blocks an answer is made of: parts of Markdown, and pieces of fenced code."""

from __future__ import annotations

from forge_tui.widgets.transcript import code
from forge_tui.widgets.transcript.blocks import GUTTER, TEXT_INDENT, Block, estimate_rows
from forge_tui.widgets.transcript.rows import Canvas
from forge_tui.widgets.transcript.styles import TranscriptStyles

_PROSE_WIDTH = 112
"""Cells beyond which prose is no longer broken wider: long lines are hard to read."""


class MarkdownBlock(Block):
    """A finished part of an answer, or its open tail. The source is sanitised."""

    def __init__(self, source: str, gap: int = 1) -> None:
        super().__init__()
        self.gap = gap
        self.source = source

    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        from forge_tui.widgets.transcript.markdown import draw_markdown

        prose = Canvas(canvas.width, GUTTER, measure=_PROSE_WIDTH)
        draw_markdown(self.source, prose, styles)
        canvas.adopt(prose)

    def estimate(self, width: int) -> int:
        return self.gap + estimate_rows(self.source.split("\n"), min(width, _PROSE_WIDTH + TEXT_INDENT + 1))


class CodeBlock(Block):
    """A piece of a fenced code block. A long fence is several pieces, each drawn on its own."""

    def __init__(self, language: str, label: str = "", state: code.State = code.START, gap: int = 1) -> None:
        super().__init__()
        self.gap = gap
        self.lines: list[str] = []
        """Complete lines."""
        self._partial = ""
        self._language = language
        self._label = label
        self._start = state
        self._lexed: list[list[code.Token]] = []
        self._state = state
        """The tokens of the first lines while the piece is open, and the state after them."""
        self._is_open = True

    def add(self, line: str) -> None:
        """Adds a complete line."""
        self.lines.append(line)
        self._partial = ""
        self.changed()

    def set_partial(self, text: str) -> None:
        """The line that is still coming."""
        if text != self._partial:
            self._partial = text
            self.changed()

    def close(self) -> None:
        """No more lines: highlighted once more as a whole, which mends what spanned lines."""
        self._is_open = False
        self._lexed = []
        self.changed()

    def following(self) -> CodeBlock:
        """The next piece of the same fence; this one is closed."""
        self._lex_new_lines()
        state = self._state
        self.close()
        return CodeBlock(self._language, state=state, gap=0)

    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        from forge_tui.widgets.transcript.markdown import draw_code

        with canvas.indented(GUTTER):
            draw_code(self._tokens(), canvas, styles, self._label)

    def estimate(self, width: int) -> int:
        return self.gap + bool(self._label) + estimate_rows(self.lines, width)

    def _tokens(self) -> list[list[code.Token]]:
        if not self._is_open:
            return code.highlight("\n".join(self.lines), self._language, self._start)[0]
        self._lex_new_lines()
        if not self._partial:
            return self._lexed
        return [*self._lexed, *code.highlight(self._partial, self._language, self._state)[0]]

    def _lex_new_lines(self) -> None:
        new = self.lines[len(self._lexed) :]
        if new and self._is_open:
            tokens, self._state = code.highlight("\n".join(new), self._language, self._state)
            self._lexed += tokens
