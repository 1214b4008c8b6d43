"""Where the provider's prompt cache broke between the requests of a session, and what that cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal

from forge_core.context.prompt_cache import LEAST_TOKENS, CacheBreak, Segment, SentRequest
from forge_core.events import LLMEnd, LLMStart
from forge_core.langchain.agent import ForgeAgent
from forge_core.llm.account.pricing import input_prices
from forge_core.session.compacting import SessionCompactor
from forge_core.session.context_meter import ContextMeter
from forge_core.session.provider import SessionProvider
from forge_core.session.tool_environment import ToolEnvironment

EXPENSIVE_USD = Decimal("0.01")
"""From which on a loss is worth a warning."""


@dataclass(frozen=True, slots=True)
class CacheLoss:
    """A break, and what it costs to send again what was in the cache."""

    at: CacheBreak
    cost_usd: Decimal | None = None
    """Beyond the price from the cache; None where a price is unknown."""
    cached: int | None = None
    """What the provider took from its cache, where its figure contradicts."""

    @property
    def past(self) -> str:
        """What has happened, for the user."""
        at = self.at
        if not at.segment:
            text = (
                f"only {self.cached or 0:,} of {at.total:,} tokens came from it, though nothing had changed"
            )
            return f"{text}. It may have expired.{self._cost('That cost')}"
        text = (
            f"{self._where}. {at.resent:,} of {at.total:,} tokens ({self._share}) were sent again uncached."
        )
        reported = (
            "" if self.cached is None else f" The provider reports {self.cached:,} from its cache, though."
        )
        return f"{text}{self._cost('That cost')}{reported}"

    @property
    def future(self) -> str:
        """What the next request will do, for the user."""
        at = self.at
        figures = f"About {at.resent:,} of {at.total:,} tokens ({self._share})"
        text = f"{self._where}. {figures} are sent again uncached."
        return f"{text}{self._cost('That costs about')}"

    @property
    def _where(self) -> str:
        return f"{self.at.segment}{f', changed by {self.at.cause}' if self.at.cause else ''}"

    @property
    def _share(self) -> str:
        return f"{100 * self.at.resent // max(self.at.total, 1)}%"

    def _cost(self, words: str) -> str:
        return "" if self.cost_usd is None else f" {words} ${self.cost_usd:.4f} more than from the cache."


class CacheWatch:
    """Compares each request of one session with the one before."""

    def __init__(
        self,
        agent: ForgeAgent,
        meter: ContextMeter,
        environment: ToolEnvironment,
        provider: SessionProvider,
        compaction: SessionCompactor,
        model: Callable[[], str],
    ) -> None:
        self._agent = agent
        self._meter = meter
        self._environment = environment
        self._provider = provider
        self._compaction = compaction
        self._model = model
        self._last: SentRequest | None = None
        self._state: tuple[object, ...] = ()
        """What explains a difference: mode, instruction files, compaction; as it was at the last request."""
        self._pending: CacheBreak | None = None
        """That of the request whose answer has not come yet."""
        self._before = 0
        """The provider's count of the request before."""
        self._answered_by = ""
        """The model that gave the answer before: a fallback has a cache of its own."""
        self._caching: set[str] = set()
        """The models for which the provider has reported cached tokens."""
        self.loss: CacheLoss | None = None
        """The largest of the last turn; None if the cache did not break."""

    def requested(self, event: LLMStart) -> None:
        """Compare the request that is about to be made with the one before."""
        if event.iteration == 1:
            self.loss = None
        request = self._request(self._model())
        found = None if self._last is None else request.since(self._last, self._cause())
        self._pending = found or self._pending  # that of an attempt that failed stays
        self._last, self._state = request, self._present()

    def answered(self, event: LLMEnd) -> None:
        """Use the provider's count of the request."""
        usage = event.usage
        if usage.estimated or not usage.prompt_tokens or self._last is None:
            return
        before, self._before = self._before, usage.prompt_tokens
        pending, self._pending = self._pending, None
        is_same, self._answered_by = event.model == self._answered_by, event.model
        found: CacheLoss | None = None
        if pending is not None:
            found = self._priced(pending.scaled(usage.prompt_tokens), self._last.model)
            if found is not None and usage.cached_tokens > found.at.total - found.at.resent + LEAST_TOKENS:
                found = replace(found, cached=usage.cached_tokens)
        elif is_same:
            found = self._expired(before, usage.cached_tokens, usage.prompt_tokens)
        if usage.cached_tokens:
            self._caching.add(self._last.model)
        if found is not None and (self.loss is None or found.at.resent > self.loss.at.resent):
            self.loss = found

    def next_loss(self) -> CacheLoss | None:
        """Return what the next request will send again uncached; None for nothing."""
        if self._last is None:
            return None
        model = self._model()
        request = self._request(model)
        found = request.since(self._last, self._cause())
        used = self._meter.used
        return None if found is None else self._priced(found.scaled(used), model)

    def warning(self) -> str:
        """Return a sentence for the user before an expensive next request; empty if it is not."""
        loss = self.next_loss()
        if loss is None or loss.cost_usd is None or loss.cost_usd < EXPENSIVE_USD:
            return ""
        return f"The next request breaks the prompt cache at: {loss.future}"

    def _expired(self, before: int, cached: int, prompt: int) -> CacheLoss | None:
        """Return the loss where neither the earlier part of the request nor the model has changed, but the
        provider took little from its cache."""
        assert self._last is not None
        missed = min(before, prompt) - cached
        if self._last.model not in self._caching or cached >= before // 2:
            return None
        found = self._priced(CacheBreak("", missed, prompt), self._last.model)
        return None if found is None else replace(found, cached=cached)

    def _priced(self, at: CacheBreak, model: str) -> CacheLoss | None:
        """Return the loss; None where it means nothing: too little, or a provider without a cache."""
        prices = input_prices(self._provider.price, model)
        is_cheaper = (
            prices.uncached is not None and prices.cached is not None and prices.cached < prices.uncached
        )
        if at.resent < LEAST_TOKENS or not (is_cheaper or model in self._caching):
            return None
        if prices.uncached is None or prices.cached is None:
            return CacheLoss(at)
        return CacheLoss(at, (prices.uncached - prices.cached) * at.resent)

    def _request(self, model: str) -> SentRequest:
        memory = self._agent.memory
        message = memory.system_message
        text = "" if message is None else message.text
        history = list(memory.counted_history())
        tokens = memory.token_count() - sum(count for _, count in history)
        return SentRequest(
            model, Segment("system prompt", text, tokens), self._meter.tool_segments(), history
        )

    def _present(self) -> tuple[object, ...]:
        files = tuple(one.text for one in self._meter.prompt.instructions)
        return self._environment.policy.mode, files, self._compaction.report

    def _cause(self) -> str:
        """Return what has changed since the last request, for the user."""
        if not self._state:
            return ""
        mode, files, report = self._present()
        if mode != self._state[0]:
            return "/mode"
        if files != self._state[1]:
            return "instruction files"
        return "a compaction or /context drop" if report is not self._state[2] else ""
