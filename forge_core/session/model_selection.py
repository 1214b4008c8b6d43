"""The model that a session uses, its reasoning effort, and the choice of another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from langchain_core.language_models import BaseChatModel

from forge_core.config.settings import EffortSetting
from forge_core.errors import ConfigError
from forge_core.session.provider import SessionProvider
from forge_core.session.status import ModelChoice

DEFAULT_EFFORT = "default"
"""In records and commands: the model's own."""


class ModelSelection:
    """Changes the model between model calls: `use` is given each new chat model, `record` is called after."""

    def __init__(
        self,
        model: str,
        provider: SessionProvider,
        use: Callable[[BaseChatModel], None],
        record: Callable[[], None],
    ) -> None:
        self.current = model
        self._provider = provider
        self._preferences = provider.preferences
        self._use = use
        self._record = record
        self._answered_by = ""
        """The fallback that gave the last answer; empty where it was the chosen model."""

    def choose(self, model: str) -> None:
        """Use `model` from the next model call on."""
        self._use(self._provider.make_llm(model))
        self.current, self._answered_by = model, ""
        self._record()

    @property
    def effort(self) -> EffortSetting | None:
        """How much the model reasons; None for its own default, or if it does not reason."""
        return self._preferences.effort if self.takes_effort else None

    def set_effort(self, effort: EffortSetting | None) -> None:
        """Reason so much from the next model call on.

        Raises:
            ConfigError: the model does not reason.
        """
        if effort is not None and not self.takes_effort:
            raise ConfigError(f"{self.current!r} does not reason, so that it takes no effort.")
        self._preferences.effort = effort
        self.choose(self.current)

    @property
    def takes_effort(self) -> bool:
        """Whether the model can reason; assumed where unknown."""
        return self._provider.takes_effort(self.current)

    @property
    def fallbacks(self) -> Sequence[str]:
        """The models that answer when the chosen one cannot."""
        return self._preferences.fallbacks

    @property
    def routing(self) -> str:
        """The preferences that are sent to OpenRouter, in a few words; empty without any."""
        return ", ".join(f"{name} {_words(value)}" for name, value in self._preferences.routing.items())

    def known(self) -> Sequence[ModelChoice]:
        """Return the models in the provider's list; the current one is always among them."""
        known = self._provider.known_models()
        is_listed = any(choice.id == self.current for choice in known)
        return known if is_listed else (ModelChoice(self.current), *known)

    def answered_by(self, model: str) -> str:
        """Take note of the model that answered. Return a notice when it is a fallback and the last answer was
        not its own, else an empty string."""
        # A provider may add a date to the name of the model that it was asked for.
        others = (
            one for one in self.fallbacks if model.startswith(one) and not model.startswith(self.current)
        )
        other = next(others, "")
        is_new, self._answered_by = other != self._answered_by, other
        return f"{self.current} could not answer; {other} answered instead." if other and is_new else ""


def _words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " > ".join(map(str, value)) if isinstance(value, list) else str(value)
