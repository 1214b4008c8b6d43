"""The card of a sub-agent: what it does now and what it has used, live; then its report."""

from __future__ import annotations

from decimal import Decimal

from forge_core.commands.figures import dollars, tokens_text
from forge_core.events import AgentEvent, LLMEnd, LLMStart, Notice, ToolStart
from forge_core.sanitize import safe_line
from forge_tui.widgets.blockview.folding import Fold
from forge_tui.widgets.transcript.calls.tool_card import ToolCard


class AgentCard(ToolCard):
    """One call of a sub-agent. The calls that the sub-agent makes are the cards in it."""

    latest_calls = 1

    def __init__(self, start: ToolStart, fold: Fold | None = None) -> None:
        super().__init__(start, fold)
        self.body.shows_beginning = True
        self._step = "starting"
        self._tokens = 0
        self._cost_usd = Decimal(0)

    def follow(self, event: AgentEvent) -> None:
        """Show what an event of the sub-agent says of its progress."""
        match event:
            case LLMStart():
                self._step = "thinking"
            case LLMEnd():
                self._step = ""
                self._tokens += event.usage.total_tokens
                self._cost_usd += event.cost_usd or 0
            case Notice():
                self._step = safe_line(event.text)
            case _:
                self._step = ""
        self.changed()

    def _result(self) -> str:
        if not self.is_running:
            return super()._result()
        calls = self.calls.count
        figures = (
            f"{calls:,} call{'s'[: calls != 1]}" if calls else "",
            f"{tokens_text(self._tokens)} tokens" if self._tokens else "",
            dollars(self._cost_usd) if self._cost_usd else "",
            self._step,
        )
        return " · ".join(filter(None, figures))

    def _calls_text(self) -> str:
        return ""  # the summary says how many
