"""The settings of a graph run and of the model in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class LangGraphClientConfig:
    """How a graph runs."""

    recursion_limit: int = 25
    """Steps of the graph: a model call is one, the tools it calls are another."""
    interrupt_before: tuple[str, ...] | None = None
    """Nodes to pause before. The agent's own are "model" and "tools"."""
    interrupt_after: tuple[str, ...] | None = None
    thread_id: str | None = None
    """Under which a checkpointer keeps the run; None: the session's id."""

    def __post_init__(self) -> None:
        if self.recursion_limit < 1:
            raise ValueError(f"recursion_limit is {self.recursion_limit}; give 1 or more.")

    def to_invoke_kwargs(self) -> dict[str, Any]:
        """Return the keywords for a compiled graph's `invoke` and `stream`: the limit and the thread belong
        into `config`; as keywords of their own LangGraph would ignore them."""
        config: dict[str, Any] = {"recursion_limit": self.recursion_limit}
        if self.thread_id is not None:
            config["configurable"] = {"thread_id": self.thread_id}
        kwargs: dict[str, Any] = {"config": config}
        if self.interrupt_before:
            kwargs["interrupt_before"] = list(self.interrupt_before)
        if self.interrupt_after:
            kwargs["interrupt_after"] = list(self.interrupt_after)
        return kwargs


@dataclass(frozen=True, slots=True)
class LangGraphModelConfig:
    """How the model answers. The fields of WINK's LLMConfig, and two more; None leaves it to the provider."""

    temperature: float | None = None
    max_tokens: int | None = None
    top_p: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    stop: tuple[str, ...] | None = None
    seed: int | None = None
    model_provider: str | None = None
    """Put before the model's name, as OpenRouter wants it: "anthropic" makes "anthropic/claude-…"."""
    parallel_tool_calls: bool = True
    """Whether the model may ask for several tools at once. They run one after the other in any case."""

    def to_request_params(self) -> dict[str, Any]:
        """Return the sampling parameters that are set."""
        names = ("temperature", "max_tokens", "top_p", "presence_penalty", "frequency_penalty", "seed")
        params = {name: value for name in names if (value := getattr(self, name)) is not None}
        if self.stop is not None:
            params["stop"] = list(self.stop)
        return params

    def full_name(self, model: str) -> str:
        """Return `model` with its provider before it."""
        if self.model_provider is None or model.startswith(f"{self.model_provider}/"):
            return model
        return f"{self.model_provider}/{model}"
