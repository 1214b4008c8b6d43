"""The parts of a session's context window: those that `/context` lists, and instruction files left out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import islice

from forge_core.context.ledger import Composition, Item, Kind, reserved_output
from forge_core.events import AgentEvent, LLMEnd, LLMStart
from forge_core.langchain.agent import ForgeAgent
from forge_core.llm.account.pricing import input_prices
from forge_core.session.billing import SessionBilling
from forge_core.session.cache_watch import CacheWatch
from forge_core.session.compacting import SessionCompactor
from forge_core.session.context_meter import ContextMeter
from forge_core.session.provider import SessionProvider
from forge_core.session.tool_environment import ToolEnvironment

MOST_USED = 50
"""The most files that `used_files` returns."""


class ContextParts:
    """The content of the window of one session."""

    def __init__(
        self,
        agent: ForgeAgent,
        meter: ContextMeter,
        environment: ToolEnvironment,
        provider: SessionProvider,
        billing: SessionBilling,
        compaction: SessionCompactor,
        model: Callable[[], str],
    ) -> None:
        self._meter = meter
        self._environment = environment
        self._provider = provider
        self._billing = billing
        self._model = model
        self.cache = CacheWatch(agent, meter, environment, provider, compaction, model)
        """Where the prompt cache broke."""
        compaction.cache_warning = self.cache.warning
        self.listed: tuple[Item, ...] | None = None
        """What `/context` has listed last as what can be left out, by number; None before it has."""

    def follow(self, event: AgentEvent) -> None:
        """Compare the requests of a turn."""
        if isinstance(event, LLMStart):
            self.cache.requested(event)
        elif isinstance(event, LLMEnd):
            self.cache.answered(event)

    async def composition(self) -> Composition:
        """Return the content of the context window; a long history is processed in a thread."""
        model, provider = self._model(), self._provider
        window = provider.context_window(model)
        holding = self._meter.holding(self._billing.turn)
        reserved = reserved_output(window, provider.max_output(model))
        prices = input_prices(provider.price, model)
        return await asyncio.to_thread(holding.composition, model, window, reserved, prices)

    def used_files(self) -> list[str]:
        """Return the real paths of the files that the model has read or changed last, the latest first."""
        return [*islice(reversed(self._environment.files), MOST_USED)]

    @property
    def left_out(self) -> Sequence[str]:
        """The real paths of the instruction files that are left out."""
        return sorted(self._environment.omitted_instructions)

    def leave_out(self, items: Sequence[Item]) -> None:
        """Leave out these instruction files, once the system prompt is made again."""
        names = {item.label for item in items if item.kind is Kind.INSTRUCTIONS}
        files = [str(one.file) for one in self._meter.prompt.instructions if one.path in names]
        self._environment.omitted_instructions.update(files)

    def restore_instructions(self) -> int:
        """Leave out no file any more, once the system prompt is made again; return how many were."""
        count = len(self._environment.omitted_instructions)
        self._environment.omitted_instructions.clear()
        return count


def is_present(item: Item, composition: Composition) -> bool:
    """Return whether an item of an earlier composition is still in the window."""
    if item.message is not None:
        return any(item.message is one.message for one in composition.items)
    return any((item.kind, item.label) == (one.kind, one.label) for one in composition.items)
