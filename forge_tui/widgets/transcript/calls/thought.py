"""Reasoning between two calls of a group: a quiet line among them, its text on a click."""

from __future__ import annotations

from collections.abc import Iterator

from forge_core.config.settings import ThinkingSetting
from forge_tui.widgets.blockview.blocks import MARGIN, Passage
from forge_tui.widgets.blockview.folding import Fold
from forge_tui.widgets.blockview.rows import Canvas
from forge_tui.widgets.blockview.styles import TranscriptStyles
from forge_tui.widgets.transcript.calls.call_block import CallBlock, CallList, Handle, Part
from forge_tui.widgets.transcript.reasoning import ReasoningBlock


class Thought(CallBlock):
    """A stretch of reasoning that has ended, within another block."""

    def __init__(self, reasoning: ReasoningBlock) -> None:
        super().__init__(Fold())
        reasoning.fold.leave()
        self.calls = CallList(self)
        self._reasoning = reasoning

    @property
    def duration_s(self) -> float:
        return self._reasoning.duration_s

    @property
    def is_open(self) -> bool:
        return self._reasoning.is_open

    @property
    def has_body(self) -> bool:
        return self.is_open

    @property
    def can_unfold(self) -> bool:
        return not self._reasoning.is_hidden

    @property
    def is_hidden(self) -> bool:
        return self._reasoning.is_hidden

    def show_as(self, thinking: ThinkingSetting) -> None:
        """Shows it in this way, whatever was folded or unfolded by hand."""
        self._reasoning.show_as(thinking)
        self.changed()

    def set_open(self, is_open: bool) -> bool:
        if not self._reasoning.set_open(is_open):
            return False
        self.changed()
        return True

    def turn_page(self, part: Part) -> Handle | None:
        return None

    def passages(self) -> Iterator[tuple[Passage, str]]:
        yield Passage(self), self._reasoning.find_text()

    def show_passage(self, number: int) -> None:
        self.set_open(True)

    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        self._draw(canvas, styles, MARGIN)

    def draw_in_list(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        self._draw(canvas, styles, "")

    def draw_header(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        self._draw(canvas, styles, "")

    def _draw(self, canvas: Canvas, styles: TranscriptStyles, margin: str) -> None:
        if not self.is_hidden:
            canvas.mark(Handle(self, "header"))
            canvas.mark(Passage(self))
            self._reasoning.draw_head(canvas, styles, margin)
            canvas.mark(Handle(self, "text"))
            self._reasoning.draw_body(canvas, styles, margin)

    def estimate(self, width: int) -> int:
        return self._reasoning.estimate(width)
