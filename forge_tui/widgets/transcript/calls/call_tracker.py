"""The calls of the running turn: events are applied to cards, grouped and nested."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from forge_core.approval import ToolKind
from forge_core.events import AgentEnd, AgentEvent, Permission, ToolEnd, ToolProgress, ToolStart
from forge_tui.widgets.blockview.block_layout import Layout
from forge_tui.widgets.blockview.blocks import Block
from forge_tui.widgets.blockview.folding import Fold, SharedFolding
from forge_tui.widgets.transcript.calls.reasoning import ReasoningBlock
from forge_tui.widgets.transcript.calls.tool_card import AgentCard, Failure, ToolCard
from forge_tui.widgets.transcript.calls.tool_group import ToolGroup

_ENDED_BY_A_CALL = frozenset({"loop", "denied"})
"""Reasons to stop for which the last failed calls are the cause."""


class CallTracker:
    """Adds cards to the end of a layout, to a group, or to the call that made them."""

    def __init__(self, layout: Layout, add: Callable[[Block], None]) -> None:
        self._layout = layout
        self._add = add
        self.folding = SharedFolding()
        """The folding of all cards and reasoning together."""
        self._cards: dict[str, ToolCard] = {}
        """The turn's calls by id."""
        self._running: dict[str, ToolCard] = {}
        self._waiting: set[str] = set()
        """Calls that wait for the user."""
        self._failed: list[ToolCard] = []
        """Calls that have failed since the last model call began."""

    @property
    def running(self) -> list[ToolCard]:
        return list(self._running.values())

    def start(self, event: ToolStart) -> None:
        before = self._running.pop(event.call_id, None)
        if before is not None:  # a second start of the same call: the first one will never end
            before.interrupt()
        card = AgentCard if event.kind is ToolKind.AGENT else ToolCard
        self._place(card(event, Fold(self.folding)), event)

    def follow_agent(self, event: AgentEvent) -> None:
        """Apply an event of a sub-agent to its card and to those in it."""
        match event:
            case ToolStart():
                self.start(event)
            case ToolEnd():
                self.end(event)
            case Permission(decision="deny"):
                self.denied(event)
            case _:
                pass
        card = self._running.get(event.parent_id or "")
        if isinstance(card, AgentCard) and not isinstance(event, ToolEnd | Permission):
            card.follow(event)

    def progress(self, event: ToolProgress) -> None:
        if event.call_id in self._running:
            self._running[event.call_id].progress(event.text)

    def denied(self, event: Permission) -> None:
        if event.call_id in self._running:
            card = self._running[event.call_id]
            if event.by == "person":
                card.refuse(event.reason)
            else:
                card.deny(event.rule)

    def end(self, event: ToolEnd) -> None:
        card = self._running.pop(event.call_id, None)
        if card is None:
            if event.call_id in self._cards:  # it has ended already
                return
            began = event.timestamp - event.duration_s
            start = ToolStart(call_id=event.call_id, name=event.name, arguments={}, timestamp=began)
            card = ToolCard(start, Fold(self.folding))
            self._place(card, event)
            del self._running[event.call_id]
        # End the calls that it has made, whose own ends were lost.
        for inner in [inner for inner, made in self._running.items() if card in made.path()]:
            self._running.pop(inner).interrupt()
        card.finish(event)
        if card.state in ("failed", "denied"):
            self._failed.append(card)

    def settle_failures(self, failure: Failure) -> None:
        """Show failed calls as recovered, since the model is called again, or as what ended the turn."""
        for card in self._failed:
            card.set_failure(failure)
        self._failed.clear()

    def turn_ended(self, event: AgentEnd) -> None:
        for card in self._running.values():
            card.interrupt()
        is_cause = event.result.stopped_reason in _ENDED_BY_A_CALL
        self.settle_failures("final" if is_cause else "recovered")
        self._forget()

    def tick(self, now: float) -> bool:
        """Update the times of the running cards; return whether any text changed."""
        going = [card for call_id, card in self._running.items() if call_id not in self._waiting]
        return sum(card.tick(now) for card in going) > 0

    def pause_clock(self, call_id: str) -> None:
        """Stop the time of a call that waits for the user; its start may not have arrived yet."""
        self._waiting.add(call_id)

    def resume_clock(self, call_id: str, now: float) -> None:
        """Continue the time of a call: the user has answered."""
        self._waiting.discard(call_id)
        if call_id in self._running:
            self._running[call_id].resume_clock(now)

    def clear(self) -> None:
        self._failed.clear()
        self._forget()
        self.folding = SharedFolding()

    def _forget(self) -> None:
        self._cards.clear()
        self._running.clear()
        self._waiting.clear()

    def _place(self, card: ToolCard, event: ToolStart | ToolEnd) -> None:
        parent = self._cards.get(event.parent_id) if event.parent_id else None
        self._cards[event.call_id] = self._running[event.call_id] = card
        if parent is None or parent is card:
            self._place_at_end(card)
        else:
            self._place_in(parent, card)

    def _place_at_end(self, card: ToolCard) -> None:
        blocks = self._layout.blocks
        thoughts = _thoughts_at_end(blocks)
        last = blocks[-1 - len(thoughts)] if len(blocks) > len(thoughts) else None
        group = (
            _group_for(last, card) if not thoughts or self._layout.can_remove_last(len(thoughts)) else None
        )
        if group is None:
            self._add(card)
            return
        # Remove the reasoning at the end, replace the card before it by the group, then add both to it.
        for _ in thoughts:
            self._layout.replace(len(blocks) - 1, [])
        if group is not last:
            assert isinstance(last, ToolCard)
            group.gap = last.gap
            self._layout.replace(len(blocks) - 1, [group])
        for thought in thoughts:
            group.add_reasoning(thought)
        group.add(card)

    def _place_in(self, parent: ToolCard, card: ToolCard) -> None:
        card.fold.detach()
        last = parent.calls.last
        group = _group_for(last, card)
        if group is None:
            parent.calls.append(card)
        else:
            if group is not last:
                group.fold.detach()
                parent.calls.replace_last(group)
            group.add(card)
        parent.calls.count += 1
        parent.changed()


def _thoughts_at_end(blocks: Sequence[Block]) -> list[ReasoningBlock]:
    """Return the folded reasoning after the last other block, the oldest first."""
    thoughts: list[ReasoningBlock] = []
    for block in reversed(blocks):
        if not isinstance(block, ReasoningBlock) or block.is_running or block.is_open:
            break
        thoughts.append(block)
    return thoughts[::-1]


def _group_for(last: Block | None, card: ToolCard) -> ToolGroup | None:
    """Return the group for `card`: the preceding one, or a new one with the preceding card; None without
    either. A card that the user has unfolded is not grouped."""
    if card.subject is None:
        return None
    if isinstance(last, ToolGroup):
        return last
    if isinstance(last, ToolCard) and last.subject is not None and not last.is_open and not last.calls.count:
        return ToolGroup(last, last.fold.sibling())
    return None
