"""The transcript widget: applies events, and redraws a streaming answer as often as that is cheap."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual.timer import Timer

from forge_core.config.settings import ThinkingSetting
from forge_core.events import AgentEvent, Steered
from forge_tui import workers
from forge_tui.widgets.blockview.block_view import BlockView
from forge_tui.widgets.blockview.blocks import (
    Block,
    CommandBlock,
    Level,
    Linkable,
    NoticeBlock,
    TextBlock,
    UserBlock,
)
from forge_tui.widgets.pacing import FramePacer
from forge_tui.widgets.transcript.answer.answer_blocks import AnswerBlock, AnswerText
from forge_tui.widgets.transcript.markdown import markdown_parser
from forge_tui.widgets.transcript.transcript_builder import TranscriptBuilder

if TYPE_CHECKING:
    from forge_core.commands.result import Tint
    from forge_core.session.replay import ReplayedTurn
    from forge_tui.terminal.editor_links import EditorLinks

_NEWEST_TURNS = 10
"""The turns of a continued session that are shown first: more than a page."""
_LINKS_S = 0.2
"""How long after a frame paths are looked for."""
_TICK_S = 0.25
"""Between two updates of the times of running cards."""


class Transcript(BlockView):
    """The conversation: messages of the user, answers, reasoning, tool calls, notices."""

    def __init__(self, thinking: ThinkingSetting = "folded", links: EditorLinks | None = None) -> None:
        super().__init__()
        self.clock: Callable[[], float] = time.time
        """The clock of running cards; the same clock as that of the events' timestamps."""
        self._builder = TranscriptBuilder(self.model)
        self._builder.show_thinking(thinking)
        self._flush_handle: asyncio.Handle | None = None
        self._pacer = FramePacer(time.monotonic)
        self._ticker: Timer | None = None
        self._links = links
        self._links_handle: asyncio.TimerHandle | None = None
        self._is_linking = False

    def apply(self, event: AgentEvent) -> None:
        """Show one event of a turn, within the time of a frame."""
        self._builder.apply(event)
        self._schedule()

    def add_user(self, text: str, folded: str = "") -> None:
        """Show a message of the user, with labels for its pastes as in `folded`, and scroll to the end."""
        self.model.follows_end = True
        self._builder.begin_turn()
        self._add(UserBlock(text, folded, self._builder.calls.folding))

    def add_steered(self, event: Steered, folded: str) -> None:
        """Show a message that has entered the running turn, with labels for its pastes as in `folded`."""
        self._builder.add_steered(event, folded)
        self._grew()

    async def show_earlier_turns(self, turns: Sequence[ReplayedTurn]) -> None:
        """Show the turns of a continued session before everything else, the newest of them at once."""
        for part in (turns[-_NEWEST_TURNS:], turns[:-_NEWEST_TURNS]):
            count = await self._builder.prepend_turns(part)
            if part and not count:
                return
            self.finder.prepended(count)
            self.show()

    def resume_turn(self) -> None:
        """Scroll to the end, where a failed turn is resumed; the text of its failed call is dimmed."""
        self.model.follows_end = True
        self._builder.resume_turn()
        self.show()

    def add_notice(self, text: str, level: Level = "info") -> None:
        self._add(NoticeBlock(text, level))

    def add_command(self, line: str) -> None:
        """Show the line of a command, above what it prints next."""
        self._add(CommandBlock(line))

    def add_block(self, block: Block) -> None:
        """Show a block that belongs to no turn."""
        self._add(block)

    def add_text(self, text: str, title: str = "", tints: Sequence[Tint] = ()) -> None:
        """Show the output of a command as it is."""
        self._add(TextBlock(text, title, tints))

    def add_markdown(self, text: str) -> None:
        """Show complete Markdown: help, a replayed answer."""
        self._builder.add_markdown(text)
        self._grew()

    def pause_clock(self, call_id: str) -> None:
        """Stop the time of a call that waits for the user."""
        self._builder.calls.pause_clock(call_id)

    def resume_clock(self, call_id: str) -> None:
        """Continue the time of a call: the user has answered."""
        self._builder.calls.resume_clock(call_id, self.clock())

    @property
    def answers(self) -> list[AnswerText]:
        """The model's answers, source and code, one per stretch of text, the oldest first."""
        return list(self._builder.answers)

    def clear_blocks(self) -> None:
        """Remove everything."""
        self._builder.clear()
        self.reset()
        self.show()

    def toggle_cards(self) -> None:
        """Unfold every card and all reasoning, or fold them if all are unfolded; the top stays where it
        is."""

        def toggle() -> None:
            self.model.follows_end = False
            self._builder.calls.folding.toggle_all()
            self.model.follow_if_at_end()

        self.move(toggle)

    def toggle_raw(self, answer: AnswerText | None = None) -> bool:
        """Show an answer as its source, or rendered again; return False if there is none.

        Without `answer`: the one under the pointer, otherwise the last one in view, otherwise the last one.
        """
        chosen = answer or self._target_answer()
        if chosen is not None:
            self.move(chosen.toggle_raw)
        return chosen is not None

    @property
    def thinking(self) -> ThinkingSetting:
        """How much of the reasoning shows."""
        return self._builder.thinking

    def show_thinking(self, thinking: ThinkingSetting) -> None:
        """Set how reasoning is shown, past and future."""
        self._builder.show_thinking(thinking)
        self.show()

    def _target_answer(self) -> AnswerText | None:
        self.show()  # an answer that is being split may have fewer blocks than in the last frame
        pointed = self.pointed_block
        shown = [] if pointed is None else [pointed]
        shown += reversed([block for block, _ in self.frame.places])
        for index in shown:
            if isinstance(block := self.model.blocks[index], AnswerBlock) and block.answer.length:
                return block.answer
        return self._builder.answers[-1] if self._builder.answers else None

    @staticmethod
    def warm() -> None:
        """Import the Markdown parser and the lexers; to be called in a thread, after the first frame."""
        markdown_parser.warm_up()

    def on_mount(self) -> None:
        self._ticker = self.set_interval(_TICK_S, self._tick, pause=True)

    def on_unmount(self) -> None:
        for handle in (self._flush_handle, self._links_handle):
            if handle is not None:
                handle.cancel()

    def show(self) -> None:
        super().show()
        self._link_later()

    def _add(self, block: Block) -> None:
        self._builder.add(block)
        self._grew()

    def _grew(self) -> None:
        if not self.model.follows_end:
            self.new_below = True
        self.show()

    def _schedule(self) -> None:
        """Flush now if the last frame is paid for (the first of a burst), otherwise when it will be."""
        if self._flush_handle is not None:
            return
        loop, wait_s = asyncio.get_running_loop(), self._pacer.wait_s()
        is_due = wait_s <= 0
        self._flush_handle = loop.call_soon(self._flush) if is_due else loop.call_later(wait_s, self._flush)

    def _flush(self) -> None:
        self._flush_handle = None
        try:
            with self._pacer.frame():
                self._builder.flush()
                if not self.model.follows_end:
                    self.new_below = True
                self.show_now()
            self._link_later()
        except Exception as error:  # an event loop callback: no message handler would report a bug of ours
            self.report_exception(error)
        if self._ticker is not None and self._builder.has_clock:
            self._ticker.resume()

    # Links

    def _link_later(self) -> None:
        """Look for paths in what is in view, a moment later: frames and the streaming answer do not wait."""
        if self._links is not None and self._links_handle is None and self.is_attached:
            loop = asyncio.get_running_loop()
            self._links_handle = loop.call_later(_LINKS_S, self._begin_linking)

    def _begin_linking(self) -> None:
        self._links_handle = None
        if self._builder.is_answering or self._is_linking:  # its end calls for a frame, and that for this
            return
        if parts := self._parts_without_links():
            self._is_linking = True
            workers.start(self.screen, partial(self._link, parts), "links")

    def _parts_without_links(self) -> list[Linkable]:
        blocks = self.model.blocks
        shown = dict.fromkeys(block for block, _ in self.frame.places if block < len(blocks))
        return [part for block in shown for part in blocks[block].without_links()]

    async def _link(self, parts: Sequence[Linkable]) -> None:
        assert self._links is not None
        find, texts = self._links.of, [part.text_with_paths() for part in parts]
        try:
            found = await workers.in_thread(lambda: [find(text) for text in texts])
        finally:
            self._is_linking = False
        for part, links in zip(parts, found, strict=True):
            part.set_links(links)
        self.show()

    def _tick(self) -> None:
        if not self._builder.has_clock:
            if self._ticker is not None:
                self._ticker.pause()
        elif self._builder.tick(self.clock()):
            self.show()
