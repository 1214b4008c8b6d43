"""What the current model call has brought, and what broken calls of the same step have left on the screen."""

from __future__ import annotations

from forge_tui.widgets.blockview.blocks import Block, UserBlock
from forge_tui.widgets.blockview.layout import Layout
from forge_tui.widgets.transcript.answer.answer_blocks import AnswerBlock, AnswerText
from forge_tui.widgets.transcript.calls.reasoning import ReasoningBlock
from forge_tui.widgets.transcript.calls.tool_card import ToolCard
from forge_tui.widgets.transcript.calls.tool_group import ToolGroup


class BrokenAnswer:
    """The text of a call that breaks off is dimmed, and removed when the next attempt begins to answer."""

    def __init__(self, layout: Layout, answers: list[AnswerText]) -> None:
        self._layout = layout
        self._answers = answers
        self._is_repeated = False
        """Whether the next call is another attempt at the same step."""
        self._current: list[AnswerText | ReasoningBlock] = []
        self._void: list[AnswerText | ReasoningBlock] = []

    def call_started(self) -> None:
        """The model is asked: for the same answer again after `discard`, else for another."""
        if not self._is_repeated:
            self.remove()
        self._is_repeated = False
        self._current = []

    def brought(self, part: AnswerText | ReasoningBlock) -> None:
        """The current call has begun this."""
        self._current.append(part)

    def discard(self) -> None:
        """Dims what the current call has brought: the next call repeats it."""
        self._is_repeated = True
        for part in self._current:
            if isinstance(part, AnswerText):
                part.is_void = True
        self._void += self._current
        self._current = []

    def remove(self) -> None:
        """Takes what was dimmed off the screen."""
        if not self._void:
            return
        blocks = self._layout.blocks
        for index in range(len(blocks) - 1, -1, -1):
            if isinstance(blocks[index], UserBlock | ToolCard | ToolGroup) or not self._void:
                break  # a step's text comes after what began it
            if any(_shows(blocks[index], part) for part in self._void):
                self._layout.replace(index, [])
        self._answers[:] = [text for text in self._answers if not any(text is part for part in self._void)]
        self._void = []

    def turn_ended(self, *, is_resumable: bool) -> None:
        """What is dimmed stays so, unless the turn is resumed and the answer begins again."""
        if not is_resumable:
            self.forget()

    def forget(self) -> None:
        """What comes now belongs to another turn."""
        self._is_repeated = False
        self._current, self._void = [], []


def _shows(block: Block, part: AnswerText | ReasoningBlock) -> bool:
    return block is part or (isinstance(block, AnswerBlock) and block.answer is part)
