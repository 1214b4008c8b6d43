"""The catalogue of models with their context windows and prices: a small dated copy that needs no network."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from forge_core.llm.account.pricing import ModelPrices, price
from forge_core.llm.endpoints import Provider
from forge_core.llm.http.wire import as_dict, read_decimal
from forge_core.llm.models import TokenUsage

_BUNDLED = Path(__file__).parents[1] / "data" / "models.json"  # importlib.resources would cost a start 20 ms


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """One model as the catalogue knows it."""

    id: str
    name: str
    context_length: int | None
    """Tokens; None where unknown."""
    max_output_tokens: int | None = None
    prices: ModelPrices = field(default_factory=ModelPrices)
    input_modalities: tuple[str, ...] = ("text",)
    """text, image, file, audio, video."""
    supported_parameters: tuple[str, ...] = ()
    """As OpenRouter lists them (tools, reasoning, structured_outputs, …); empty where unknown."""
    expires: str | None = None
    """ISO date after which the model is gone."""

    @property
    def takes_tools(self) -> bool:
        """Whether it can call tools; assumed where unknown."""
        return not self.supported_parameters or "tools" in self.supported_parameters

    @property
    def takes_images(self) -> bool:
        """Whether messages for it may have images; assumed where unknown."""
        return not self.supported_parameters or "image" in self.input_modalities

    @property
    def takes_reasoning(self) -> bool:
        """Whether it can reason before it answers; assumed where unknown."""
        return not self.supported_parameters or "reasoning" in self.supported_parameters


_learned: dict[str, ModelInfo] = {}


def learn(models: Iterable[ModelInfo]) -> None:
    """Use these newer entries before the bundled ones in this process."""
    _learned.update((model.id, model) for model in models)


def listed() -> list[ModelInfo]:
    """Return all models that are known, the bundled ones first."""
    return [*{**bundled(), **_learned}.values()]


def lookup(model_id: str) -> ModelInfo | None:
    """Return the entry for `model_id`, learned or bundled; for a variant (`:free`, `:nitro`, `:online`, …)
    that of its base model, without the prices, which the variant has of its own."""
    found = _learned.get(model_id) or bundled().get(model_id)
    if found is not None:
        return found
    base, _, variant = model_id.partition(":")
    found = _learned.get(base) or bundled().get(base)
    if found is None or not variant:
        return found
    zero = Decimal(0) if variant == "free" else None
    prices = ModelPrices(prompt=zero, completion=zero)
    return ModelInfo(
        model_id, f"{found.name} ({variant})", found.context_length, found.max_output_tokens, prices,
        found.input_modalities, found.supported_parameters,
    )  # fmt: skip


def lookup_at(provider: Provider, model_id: str) -> ModelInfo | None:
    """Return the entry for a model of `provider`; None where the catalogue does not list its models."""
    return lookup(model_id) if provider.has_catalogue else None


def price_at(provider: Provider, model_id: str, usage: TokenUsage) -> Decimal | None:
    """Return the price of a call in US dollars: the provider's figure, otherwise the catalogue's; None where
    both are unknown."""
    found = lookup_at(provider, model_id)
    return price(usage, found.prices if found is not None else None)


@functools.cache
def bundled() -> Mapping[str, ModelInfo]:
    """Return the bundled models by id, in the file's order."""
    data = json.loads(_BUNDLED.read_text("utf-8"))
    models = (read_model(entry) for entry in data["models"])
    return {model.id: model for model in models if model is not None}


@functools.cache
def bundled_date() -> str:
    """Return the ISO date of the bundled copy: prices may have changed since."""
    data = json.loads(_BUNDLED.read_text("utf-8"))
    return str(data["date"])


def read_model(entry: Any) -> ModelInfo | None:
    """Parse one entry of `GET /models`, leniently; return None without an id."""
    if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
        return None
    top = as_dict(entry.get("top_provider"))
    architecture = as_dict(entry.get("architecture"))
    return ModelInfo(
        id=entry["id"],
        name=str(entry.get("name") or entry["id"]),
        context_length=next(filter(None, (_positive(value) for value in _windows(entry, top))), None),
        max_output_tokens=_positive(top.get("max_completion_tokens")),
        prices=_prices(as_dict(entry.get("pricing"))),
        input_modalities=_words(architecture.get("input_modalities")) or ("text",),
        supported_parameters=_words(entry.get("supported_parameters")),
        expires=entry["expiration_date"] if isinstance(entry.get("expiration_date"), str) else None,
    )


def _windows(entry: dict[str, Any], top: dict[str, Any]) -> Iterator[Any]:
    """Yield the values of the fields in which servers report the context window."""
    yield entry.get("context_length")
    yield top.get("context_length")
    yield from (entry.get(name) for name in ("max_model_len", "context_window", "max_context_length"))
    yield as_dict(entry.get("meta")).get("n_ctx")


def _prices(pricing: dict[str, Any]) -> ModelPrices:
    return ModelPrices(
        prompt=read_decimal(pricing.get("prompt")),
        completion=read_decimal(pricing.get("completion")),
        cache_read=read_decimal(pricing.get("input_cache_read")),
        cache_write=read_decimal(pricing.get("input_cache_write")),
        reasoning=read_decimal(pricing.get("internal_reasoning")) or None,
        request=read_decimal(pricing.get("request")),
    )


def _words(value: Any) -> tuple[str, ...]:
    return tuple(word for word in value if isinstance(word, str)) if isinstance(value, list) else ()


def _positive(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e12:
        return None
    return int(value)
