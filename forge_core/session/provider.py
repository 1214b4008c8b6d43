"""What a session uses of its provider."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Any

from langchain_core.language_models import BaseChatModel

from forge_core.config.forge_config import ForgeConfig
from forge_core.config.settings import EffortSetting
from forge_core.llm.account.pricing import Pricer
from forge_core.llm.models import TokenUsage
from forge_core.session.agents.agent_scope import running_agent
from forge_core.session.status import ModelChoice


@dataclass(slots=True)
class ModelPreferences:
    """What requests say beside the model's name; read when a chat model is made."""

    effort: EffortSetting | None = None
    """How much the model reasons; None for its own default."""
    fallbacks: tuple[str, ...] = ()
    """Models that answer when the chosen one cannot."""
    routing: Mapping[str, Any] = field(default_factory=dict)
    """OpenRouter's preferences for upstream providers, as its API names them; empty elsewhere."""


class AbandonedCalls:
    """The ids of the generations that were abandoned last: one of the session, and one of each sub-agent."""

    def __init__(self) -> None:
        self._ids: dict[str | None, str] = {}

    def add(self, generation_id: str) -> None:
        """Take note of a generation, in a task of whoever abandons it."""
        scope = running_agent.get()
        self._ids[None if scope is None else scope.call_id] = generation_id

    def take(self, parent_id: str | None) -> str | None:
        """Return what was added last by the sub-agent of a call, or None for the session's own, and forget
        it."""
        return self._ids.pop(parent_id, None)


@dataclass(slots=True, kw_only=True)
class SessionProvider:
    """The abilities of a provider as functions; None for an ability that it does not have.

    The parts of a session share one, and read a field when they use it: `become` moves all of them to another
    endpoint.
    """

    label: str
    """"local", or the kind of the endpoint."""
    make_llm: Callable[[str], BaseChatModel]
    """Returns the chat model of a name."""
    close: Callable[[], Awaitable[None]]
    """Closes the connections."""
    price: Pricer = lambda model, usage: None
    """Returns the US dollars for the usage of a model; None where unknown."""
    context_window: Callable[[str], int | None]
    """Returns the tokens that a model holds; None where unknown."""
    known_models: Callable[[], Sequence[ModelChoice]] = tuple
    offered_models: Callable[[], Awaitable[Sequence[ModelChoice]]] | None = None
    """Asks an endpoint without a catalogue for its models. Raises ProviderError."""
    max_output: Callable[[str], int | None] = lambda model: None
    """Returns the longest answer of a model, in tokens."""
    output_price: Callable[[str], Decimal | None] = lambda model: None
    """Returns the US dollars for a token that a model writes; for figures while it writes."""
    is_free: bool = False
    """Whether a call without a price costs nothing."""
    local_host: str = ""
    """The host and port of a local endpoint, which may report costs all the same."""
    bill: Callable[[str], Awaitable[TokenUsage | None]] | None = None
    """Returns what an abandoned generation cost, by its id."""
    refresh: Callable[[], Awaitable[None]] | None = None
    """Updates the list of models, beside the first turn."""
    learn_window: Callable[[str], Awaitable[None]] | None = None
    """Asks the endpoint for the context window of a model, which `context_window` returns from then on."""
    takes_effort: Callable[[str], bool] = lambda model: True
    """Returns whether a model can reason; assumed where unknown."""
    takes_images: Callable[[str], bool] = lambda model: True
    """Returns whether messages for a model may have images; assumed where unknown."""
    preferences: ModelPreferences = field(default_factory=ModelPreferences)
    abandoned: AbandonedCalls = field(default_factory=AbandonedCalls)
    """The generations that were abandoned last; the client adds them."""
    at: Callable[[ForgeConfig], SessionProvider] | None = None
    """Returns what the same session uses of the endpoint of other settings; None where it cannot change."""

    def current_price(self, model: str, usage: TokenUsage) -> Decimal | None:
        """Return what `price` returns, also after `become`."""
        return self.price(model, usage)

    def become(self, other: SessionProvider) -> None:
        """Take over everything of `other`. The present connections stay open until `close`: a bill may still
        be on its way."""
        former, latter = self.close, other.close

        async def close() -> None:
            try:
                await former()
            finally:
                await latter()

        for one in fields(self):
            setattr(self, one.name, getattr(other, one.name))
        self.close = close
