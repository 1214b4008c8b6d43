"""Turns the stream of events into blocks. Decides what is shown; knows nothing of rows and screens."""

from __future__ import annotations

from forge_core.events import (
    AgentEnd,
    AgentEvent,
    Compaction,
    Error,
    LLMChunk,
    LLMEnd,
    Notice,
    Permission,
    ToolEnd,
    ToolProgress,
    ToolStart,
)
from forge_core.sanitize import safe_text
from forge_tui.widgets.transcript.answer import Answer
from forge_tui.widgets.transcript.blocks import Block, Level, NoticeBlock, ReasoningBlock
from forge_tui.widgets.transcript.layout import Layout
from forge_tui.widgets.transcript.tool_card import ToolCard

_REASONS = {
    "max_iterations": "Stopped: the limit of model calls for one turn is reached.",
    "timeout": "Stopped: the turn took too long.",
    "budget": "Stopped: the budget is spent.",
    "loop": "Stopped: the same step was repeated without getting further.",
    "length": "The answer was cut off at the model's output limit.",
    "refusal": "The model declined to answer.",
}
"""What the person is told where a turn did not simply end."""
_RECENT = 32
"""Blocks from the end among which a running turn's cards are looked for."""


class Conversation:
    """Applies events to the blocks of a layout."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._answer: Answer | None = None
        self._open: Block | None = None
        """The answer's open block, when it is in the layout."""
        self._reasoning: ReasoningBlock | None = None
        self._cards: dict[str, ToolCard] = {}
        """The turn's calls by id."""
        self._running: dict[str, ToolCard] = {}
        self._depths: dict[str, int] = {}

    @property
    def running_cards(self) -> list[ToolCard]:
        return list(self._running.values())

    @property
    def is_streaming(self) -> bool:
        """Whether text waits to be cut into blocks."""
        return self._answer is not None

    def apply(self, event: AgentEvent) -> None:
        """Takes one event. Answer text only reaches the blocks with `flush()`."""
        match event:
            case LLMChunk(kind="answer", text=text) if text:
                self._finish_reasoning(event.timestamp)
                if self._answer is None:
                    self._answer = Answer()
                self._answer.feed(text)
            case LLMChunk(kind="reasoning", text=text) if text:
                self._reason(text, event.timestamp)
            case LLMEnd():
                self.finish_text(event.timestamp)
            case ToolStart():
                self._start_tool(event)
            case ToolProgress() if event.call_id in self._cards:
                self._cards[event.call_id].progress(event.text)
                self.settle_gaps()
            case ToolEnd():
                self._end_tool(event)
            case Permission(decision="deny") if event.call_id in self._cards:
                self._cards[event.call_id].deny()
            case Notice():
                self.add(NoticeBlock(event.text, event.level))
            case Compaction():
                self.add(
                    NoticeBlock(
                        f"Conversation summarised: ~{event.before:,} → ~{event.after:,} tokens", "info"
                    )
                )
            case Error():
                self.finish_text(event.timestamp)
                self.add(NoticeBlock(event.error, "error", is_final=True))
            case AgentEnd():
                self._end(event)
            case _:
                pass

    def add(self, block: Block) -> None:
        """Appends a block, closer to the one before where both are calls in a row."""
        previous = self._layout.blocks[-1] if self._layout.blocks else None
        block.gap = _gap(previous, block)
        self._layout.append(block)

    def add_markdown(self, text: str) -> None:
        """Appends Markdown that is complete."""
        answer = Answer()
        answer.feed(text)
        for block in answer.take(is_final=True)[0]:
            if not self._layout.blocks:
                block.gap = 0
            self._layout.append(block)

    def flush(self) -> None:
        """Cuts what has come of the answer into blocks."""
        if self._answer is not None:
            self._place(*self._answer.take())

    def finish_text(self, now: float) -> None:
        """The model call is over: nothing of the answer or the reasoning is open any more."""
        self._finish_reasoning(now)
        if self._answer is not None:
            self._place(*self._answer.take(is_final=True))
            self._answer = self._open = None

    def tick(self, now: float) -> bool:
        """Moves the running cards' times on; whether any shows."""
        return sum(card.tick(now) for card in self.running_cards) > 0

    def toggle_cards(self) -> bool:
        """Unfolds all cards, or folds all when all are unfolded; whether anything changed."""
        cards = [block for block in self._layout.blocks if isinstance(block, ToolCard)]
        is_open = not all(card.is_open for card in cards)
        has_changed = sum(card.set_open(is_open) for card in cards) > 0
        self.settle_gaps(0)
        return has_changed

    def settle_gaps(self, first: int = -_RECENT) -> None:
        """Brings the gaps between neighbouring cards up to date, from block `first` on."""
        blocks = self._layout.blocks
        start = max(1, first if first >= 0 else len(blocks) + first)
        for previous, block in zip(blocks[start - 1 :], blocks[start:], strict=False):
            if isinstance(block, ToolCard):
                block.gap = _gap(previous, block)

    def clear(self) -> None:
        self._answer = self._open = self._reasoning = None
        self._running.clear()
        self._cards.clear()
        self._depths.clear()

    def _place(self, finished: list[Block], still_open: Block | None) -> None:
        blocks = [*finished, *([] if still_open is None else [still_open])]
        if self._open is None:
            for block in blocks:
                if not self._layout.blocks:
                    block.gap = 0
                self._layout.append(block)
        elif blocks != [self._open]:
            if self._layout.blocks[0] is self._open and blocks:
                blocks[0].gap = 0
            self._layout.replace(_index_from_end(self._layout.blocks, self._open), blocks)
        self._open = still_open

    def _reason(self, text: str, now: float) -> None:
        if self._reasoning is None:
            self.finish_text(now)
            self._reasoning = ReasoningBlock(now)
            self.add(self._reasoning)
        self._reasoning.feed(safe_text(text))

    def _finish_reasoning(self, now: float) -> None:
        if self._reasoning is not None:
            self._reasoning.finish(now)
            self._reasoning = None

    def _start_tool(self, event: ToolStart) -> None:
        self.finish_text(event.timestamp)
        depth = self._depths.get(event.parent_id, -1) + 1 if event.parent_id else 0
        self._depths[event.call_id] = depth
        card = ToolCard(event.name, event.arguments, event.timestamp, depth)
        self._cards[event.call_id] = self._running[event.call_id] = card
        self.add(card)

    def _end_tool(self, event: ToolEnd) -> None:
        card = self._cards.get(event.call_id)
        self._running.pop(event.call_id, None)
        if card is None:
            card = self._cards[event.call_id] = ToolCard(event.name, {}, event.timestamp)
            self.add(card)
        card.finish(
            success=event.success,
            result=event.result,
            summary=event.summary,
            duration_s=event.duration_s,
            diffs=event.diffs,
        )
        self.settle_gaps()

    def _end(self, event: AgentEnd) -> None:
        self.finish_text(event.timestamp)
        for card in self.running_cards:
            card.interrupt()
        self._running.clear()
        self._cards.clear()
        self._depths.clear()
        result = event.result
        if result.stopped_reason == "cancelled":
            self.add(NoticeBlock("interrupted", "info"))
        elif text := result.warning or _REASONS.get(result.stopped_reason, ""):
            level: Level = "info" if result.stopped_reason == "complete" else "warning"
            self.add(NoticeBlock(text, level))


def _gap(previous: Block | None, block: Block) -> int:
    if previous is None:
        return 0
    if isinstance(previous, ToolCard) and isinstance(block, ToolCard):
        return int(previous.has_body)
    return 1


def _index_from_end(blocks: list[Block], block: Block) -> int:
    for index in range(len(blocks) - 1, -1, -1):
        if blocks[index] is block:
            return index
    raise ValueError("the block is not in the transcript")
