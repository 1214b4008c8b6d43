"""Transcripts for tests: blocks drawn without a screen, and an app that holds nothing else."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.color import Color
from textual.widgets import Input

from forge_core.events import AgentEnd, AgentEvent, LLMChunk, LLMEnd, ToolEnd, ToolStart
from forge_core.llm.models import TokenUsage
from forge_core.result import AgentResult, FileDiff, Omission, StoppedReason, ToolOutcome
from forge_tui.widgets.blockview.block_layout import Layout
from forge_tui.widgets.blockview.blocks import Block
from forge_tui.widgets.blockview.rows import Row
from forge_tui.widgets.blockview.styles import TranscriptStyles
from forge_tui.widgets.transcript import Transcript
from forge_tui.widgets.transcript.transcript_builder import TranscriptBuilder
from tests.support.tool_events import tool_start

STYLES = TranscriptStyles.from_theme({}, Color.parse("#101010"))


def row_text(row: Row) -> str:
    return "".join(segment.text for segment in row.segments)


def drawn(block: Block, width: int = 60) -> list[str]:
    """The block's rows as text, without the blanks at their ends."""
    return [row_text(row).rstrip() for row in block.render(width, STYLES).rows]


def layout_of(*events: AgentEvent) -> Layout:
    """The blocks that `events` make."""
    layout = Layout()
    layout.configure(60, 20, STYLES)
    conversation = TranscriptBuilder(layout)
    for event in events:
        conversation.apply(event)
        conversation.flush()
    return layout


def shown(layout: Layout, width: int = 60) -> list[str]:
    """All rows of all blocks as text."""
    return [line for block in layout.blocks for line in drawn(block, width)]


def said(text: str) -> LLMChunk:
    return LLMChunk(text=text)


def call_ended(timestamp: float = 0.0) -> LLMEnd:
    usage = TokenUsage()
    return LLMEnd(
        usage=usage,
        cost_usd=None,
        finish_reason="stop",
        duration_s=1,
        total_usage=usage,
        timestamp=timestamp,
    )


def turn_ended(reason: StoppedReason = "complete") -> AgentEnd:
    return AgentEnd(result=AgentResult("", [], [], TokenUsage(), 1, stopped_reason=reason))


def tool_started(name: str, call_id: str = "1", **arguments: Any) -> ToolStart:
    return tool_start(call_id, name, arguments, timestamp=100.0)


def tool_ended(
    name: str,
    result: str = "",
    *,
    call_id: str = "1",
    success: bool = True,
    summary: str = "",
    diffs: tuple[FileDiff, ...] = (),
    outcome: ToolOutcome | None = None,
    aside: str = "",
    model_notes: tuple[str, ...] = (),
    omission: Omission | None = None,
    display: str = "",
    parent_id: str | None = None,
) -> ToolEnd:
    return ToolEnd(
        call_id=call_id,
        name=name,
        result=result,
        success=success,
        duration_s=0.4,
        summary=summary,
        diffs=diffs,
        outcome=outcome,
        aside=aside,
        model_notes=model_notes,
        omission=omission,
        display=display,
        parent_id=parent_id,
        timestamp=100.4,
    )


class TranscriptApp(App[None]):
    """A transcript above an input that has the focus, as in the real screen."""

    CSS = "Transcript { height: 1fr } Input { height: 3 }"
    ENABLE_COMMAND_PALETTE = False
    CLICK_CHAIN_TIME_THRESHOLD: ClassVar[float] = 10.0  # what follows at once may take its time

    def __init__(self) -> None:
        super().__init__()
        self.transcript = Transcript()

    def compose(self) -> ComposeResult:
        yield self.transcript
        yield Input()

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    def rows(self) -> list[str]:
        """The transcript's rows as they are on the screen, without the scroll bar."""
        region = self.transcript.region
        strips = self.screen._compositor.render_strips()[region.y : region.bottom]
        return [strip.crop(0, region.width - 1).text.rstrip() for strip in strips]
