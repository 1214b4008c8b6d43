"""The model's reasoning: its last lines while it streams, one line when it has ended, all of it on a
click."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style

from forge_core.commands.figures import estimate_tokens, tokens_text
from forge_core.config.settings import ThinkingSetting
from forge_core.durations import time_taken
from forge_tui.widgets.blockview.blocks import GUTTER, MARGIN, RIGHT_EDGE, Passage, estimate_rows
from forge_tui.widgets.blockview.folding import Fold, SharedFolding
from forge_tui.widgets.blockview.rows import Canvas, LogicalLine, RenderedBlock
from forge_tui.widgets.blockview.styles import TranscriptStyles
from forge_tui.widgets.transcript.calls.card_block import CardBlock, ClickTarget
from forge_tui.widgets.transcript.calls.card_header import WORTH_TELLING_S

_TAIL_ROWS = 4
_LONG_LINE = 4_000
"""Characters of an unfinished line beyond which its beginning is not wrapped again."""


class ReasoningBlock(CardBlock):
    """One stretch of reasoning, alone in the transcript or within a group of calls."""

    def __init__(
        self, started: float, thinking: ThinkingSetting = "folded", everyone: SharedFolding | None = None
    ) -> None:
        """`everyone`: the folding that it takes part in."""
        super().__init__(Fold(everyone, is_usually_open=thinking != "folded"))
        self._parts: list[str] = []
        self._started = started
        self._duration_s: float | None = None
        self._tokens = 0
        self._thinking: ThinkingSetting = thinking
        self._grown: _Growing | None = None
        """The rows of text that shows in full while it streams."""

    @property
    def is_running(self) -> bool:
        return self._duration_s is None

    @property
    def is_open(self) -> bool:
        """Whether all of it shows."""
        return self.fold.is_open and not self.is_hidden

    @property
    def can_unfold(self) -> bool:
        return not self.is_hidden

    @property
    def is_hidden(self) -> bool:
        return self._thinking == "hidden"

    @property
    def duration_s(self) -> float:
        """How long it took; 0 while it runs."""
        return self._duration_s or 0.0

    def feed(self, text: str) -> None:
        """Add sanitised text."""
        self._parts.append(text)
        self.changed()

    def finish(self, now: float) -> None:
        if self.is_running:
            self._duration_s = max(0.0, now - self._started)
            self._grown = None
            # Joined: each fragment by itself takes ten times its characters.
            self._tokens = estimate_tokens(self._text())
            self.changed()

    def show_as(self, thinking: ThinkingSetting) -> None:
        """Set how it is shown, whatever the user has folded or unfolded."""
        self._thinking = thinking
        # Hidden reasoning is open by default, so that it does not count as something to unfold.
        self.fold.set_default(is_usually_open=thinking != "folded")
        self.changed()

    def find_text(self) -> str:
        return "" if self.is_hidden else f"{self._headline()}\n{self._text().strip()}"

    def show_passage(self, number: int) -> None:
        self.set_open(True)

    def render(self, width: int, styles: TranscriptStyles) -> RenderedBlock:
        return RenderedBlock() if self.is_hidden else super().render(width, styles)

    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        self._draw(canvas, styles, MARGIN)

    def draw_in_list(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        if not self.is_hidden:
            self._draw(canvas, styles, "")

    def draw_header(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        self._draw_header(canvas, styles, "")

    def _draw(self, canvas: Canvas, styles: TranscriptStyles, margin: str) -> None:
        self._draw_header(canvas, styles, margin)
        canvas.mark(ClickTarget(self, "text"))
        quiet = _quiet(styles)
        with canvas.limited(RIGHT_EDGE), canvas.indented([Segment(margin + "  ")]):
            if self.is_running and self.is_open:
                self._draw_growing(canvas, quiet)
            elif self.is_running:
                self._draw_tail(canvas, quiet)
            elif self.is_open:
                for line in self._text().strip().split("\n"):
                    canvas.text([(line.expandtabs(4), quiet)], original=line)

    def _draw_header(self, canvas: Canvas, styles: TranscriptStyles, margin: str) -> None:
        canvas.mark(ClickTarget(self, "header"))
        canvas.mark(Passage(self))
        arrow = "▾" if self.is_open or self.is_running else "▸"
        first = [Segment(margin), Segment(arrow, styles.faint), Segment(" ")]
        with canvas.indented([Segment(margin + "  ")], first if margin else first[1:]):
            canvas.text([(self._headline(), _quiet(styles))])

    def estimate(self, width: int) -> int:
        if self.is_hidden:
            return 0
        return self.gap + (estimate_rows(self._text().split("\n"), width) if self.is_open else 1)

    def _text(self) -> str:
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""

    def _headline(self) -> str:
        if self._duration_s is None:
            return "Thinking…"
        count = tokens_text(self._tokens)
        took = "briefly" if self._duration_s < WORTH_TELLING_S else f"for {time_taken(self._duration_s)}"
        return f"Thought {took} (~{count} tokens)"

    def _draw_tail(self, canvas: Canvas, style: Style) -> None:
        # Only the part that can show is wrapped: the cost of a frame does not grow with the text.
        tail = self._text()[-canvas.width * (_TAIL_ROWS + 2) :].rstrip()
        below = Canvas(canvas.width)
        for line in tail.split("\n"):
            below.text([(line.expandtabs(4), style)])
        for row in below.rendered.rows[-_TAIL_ROWS:]:
            canvas.decoration([(segment.text, segment.style or style) for segment in row.segments])

    def _draw_growing(self, canvas: Canvas, style: Style) -> None:
        lines = len(canvas.rendered.lines)
        if self._grown is None or self._grown.key != (canvas.width, style, lines):
            self._grown = _Growing(canvas.width, style, lines)
        below = self._grown.take(self._text())
        canvas.rendered.rows += below.rows
        canvas.rendered.lines += below.lines[lines:]


def _quiet(styles: TranscriptStyles) -> Style:
    return styles.muted + Style(italic=True)


class _Growing:
    """Text that only grows, wrapped once; only the unfinished line is wrapped again."""

    def __init__(self, width: int, style: Style, lines_above: int) -> None:
        self.key = (width, style, lines_above)
        self._canvas = self._new_canvas(lines_above)
        self._taken = 0

    def take(self, text: str) -> RenderedBlock:
        """Return all rows of `text`, which must begin with the text of the last call."""
        while (cut := self._end_of_line(text)) > self._taken:
            self._add(text[self._taken : cut].removesuffix("\n"), self._canvas)
            self._taken = cut
        # Rows of complete lines are reused; the unfinished line is wrapped on a canvas of its own.
        done = self._canvas.rendered
        coming = self._new_canvas(len(done.lines))
        if rest := text[self._taken :]:
            self._add(rest, coming)
        last = coming.rendered
        return RenderedBlock([*done.rows, *last.rows], [*done.lines, *last.lines[len(done.lines) :]])

    def _new_canvas(self, lines_above: int) -> Canvas:
        canvas = Canvas(self.key[0] + len(GUTTER[0].text), GUTTER)
        canvas.rendered.lines = [LogicalLine()] * lines_above
        return canvas

    def _add(self, line: str, canvas: Canvas) -> None:
        canvas.text([(line.expandtabs(4), self.key[1])])

    def _end_of_line(self, text: str) -> int:
        """Return the end of the part that will not change any more."""
        end = text.find("\n", self._taken) + 1
        if end or len(text) - self._taken <= _LONG_LINE:
            return end
        return text.rfind(" ", self._taken, self._taken + _LONG_LINE) + 1 or self._taken + _LONG_LINE
