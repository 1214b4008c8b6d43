"""The model that a session uses, its reasoning effort, and the choice of another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from langchain_core.language_models import BaseChatModel

from forge_core.config.forge_config import ForgeConfig
from forge_core.config.model_lists import SavedModelLists
from forge_core.config.settings import EffortSetting
from forge_core.errors import ConfigError, ForgeError
from forge_core.events import LLMEnd
from forge_core.llm.account.pricing import input_prices
from forge_core.session.provider import SessionProvider
from forge_core.session.status import ModelChoice

DEFAULT_EFFORT = "default"
"""In records and commands: the model's own."""

CACHE_WARNING_TOKENS = 50_000
"""Cached tokens that are not given up without a warning."""


class ModelSelection:
    """Changes the model between model calls: `use` is given each new chat model, `record` is called after."""

    def __init__(
        self,
        config: ForgeConfig,
        provider: SessionProvider,
        use: Callable[[BaseChatModel], None],
        record: Callable[[], None],
    ) -> None:
        self.current = config.model
        self.lists = _lists(config)
        """The favourites, and the models used last."""
        self._provider = provider
        self._use = use
        self._record = record
        self._cached_tokens = 0
        """Of the last call's prompt."""
        self._warned_about = ""
        """The command of the last warning."""
        self._answered_by = ""
        """The fallback that gave the last answer; empty where it was the chosen model."""

    def choose(self, model: str) -> None:
        """Use `model` from the next model call on."""
        self._use(self._provider.make_llm(model))
        self.current, self._answered_by, self._cached_tokens = model, "", 0
        self._record()

    @contextmanager
    def for_turn(self, model: str | None) -> Iterator[None]:
        """Use another model in the block; None: the chosen one."""
        before = self.current
        if model is None or model == before:
            yield
            return
        self._use(self._provider.make_llm(model))
        self.current = model
        try:
            yield
        finally:
            self._use(self._provider.make_llm(before))
            self.current = before
            self._record()

    def use_endpoint(self, config: ForgeConfig) -> None:
        """Use the model of `config` from the next model call on; the provider serves its endpoint already."""
        self.lists = _lists(config)
        self.choose(config.model)

    def provider_at(self, config: ForgeConfig) -> SessionProvider:
        """Return what would serve the endpoint of these settings in this session.

        Raises:
            ForgeError: the session cannot change its endpoint.
        """
        if self._provider.at is None:
            raise ForgeError("This session cannot change its endpoint.")
        return self._provider.at(config)

    @property
    def effort(self) -> EffortSetting | None:
        """How much the model reasons; None for its own default, or if it does not reason."""
        return self._provider.preferences.effort if self.takes_effort else None

    def set_effort(self, effort: EffortSetting | None) -> None:
        """Reason so much from the next model call on.

        Raises:
            ConfigError: the model does not reason.
        """
        if effort is not None and not self.takes_effort:
            raise ConfigError(f"{self.current!r} does not reason: there is no effort to set.")
        self._provider.preferences.effort = effort
        self._use(self._provider.make_llm(self.current))
        self._record()

    @property
    def takes_effort(self) -> bool:
        """Whether the model can reason; assumed where unknown."""
        return bool(self.current) and self._provider.takes_effort(self.current)

    @property
    def takes_images(self) -> bool:
        """Whether messages may have images; assumed where unknown."""
        return self._provider.takes_images(self.current)

    @property
    def fallbacks(self) -> Sequence[str]:
        """The models that answer when the chosen one cannot."""
        return self._provider.preferences.fallbacks

    @property
    def routing(self) -> str:
        """The preferences that are sent to OpenRouter, in a few words; empty without any."""
        return ", ".join(
            f"{name} {_words(value)}" for name, value in self._provider.preferences.routing.items()
        )

    @property
    def listed(self) -> frozenset[str]:
        """The ids in the provider's list, and the current one; none if it has no list."""
        listed = self._provider.known_models()
        return frozenset((self.current, *(choice.id for choice in listed))) if listed else frozenset()

    def known(self) -> Sequence[ModelChoice]:
        """Return the models in the provider's list; the current one is always among them."""
        known = self._provider.known_models()
        is_listed = not self.current or any(choice.id == self.current for choice in known)
        return known if is_listed else (ModelChoice(self.current), *known)

    def next_recent(self) -> str | None:
        """Return the model to which a key switches: the next of those used before; None without any."""
        recent = self.lists.read().recent
        at = recent.index(self.current) + 1 if self.current in recent else 0
        return next((name for name in (*recent[at:], *recent[:at]) if name != self.current), None)

    async def offered(self) -> Sequence[ModelChoice]:
        """Ask the endpoint for its models; empty where the provider's list is known without.

        Raises:
            ProviderError: it gave none.
        """
        return () if self._provider.offered_models is None else await self._provider.offered_models()

    def cache_warning(
        self, model: str, context_used: int, provider: SessionProvider | None = None, again: str = ""
    ) -> str:
        """Return what a change to `model` costs if much of the conversation, which has so many tokens, is in
        the prompt cache, else an empty string. The same change, asked for again, gets no warning.

        `provider` is that of another endpoint, and `again` the command that makes the change."""
        cached_tokens = min(self._cached_tokens, context_used)
        change = again or f"/model {model}"
        was_warned, self._warned_about = change == self._warned_about, change
        is_same = provider is None and model == self.current
        if was_warned or is_same or cached_tokens < CACHE_WARNING_TOKENS:
            return ""
        price = input_prices((provider or self._provider).price, model).uncached
        cost = f", about ${price * cached_tokens:.2f}" if price else ""
        return (
            f"{self.current} has {cached_tokens:,} tokens of this conversation in its prompt cache; {model} "
            f"would read them again{cost}. {change} again changes it."
        )

    def answered(self, call: LLMEnd) -> str:
        """Take note of an answer. Return a notice when a fallback gave it and not the one before, else an
        empty string."""
        model, self._cached_tokens = call.model, call.usage.cached_tokens + call.usage.cache_write_tokens
        self._warned_about = ""
        # A provider may add a date to the name of the model that it was asked for.
        others = (
            one for one in self.fallbacks if model.startswith(one) and not model.startswith(self.current)
        )
        other = next(others, "")
        is_new, self._answered_by = other != self._answered_by, other
        return f"{self.current} could not answer; {other} answered instead." if other and is_new else ""


def _lists(config: ForgeConfig) -> SavedModelLists:
    return SavedModelLists(config.state_dir, config.endpoint.shown)


def _words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " > ".join(map(str, value)) if isinstance(value, list) else str(value)
