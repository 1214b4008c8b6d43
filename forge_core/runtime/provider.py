"""What a session has of its provider: the client, the models over it, windows, prices and bills."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decimal import Decimal

    from langchain_core.language_models import BaseChatModel

    from forge_core.config.models import ForgeConfig
    from forge_core.llm.client import OpenRouterClient
    from forge_core.llm.models import TokenUsage
    from forge_core.runtime.notifier import Notifier
    from forge_core.session.status import ModelChoice, ProviderLabel


def build_client(config: ForgeConfig, notify: Notifier) -> OpenRouterClient:
    """The client of the configured endpoint; the offline model is one behind a transport of its own."""
    from forge_core.llm.client import OpenRouterClient
    from forge_core.llm.http.connection import warm_up

    transport = None
    if config.endpoint.kind == "offline":
        from forge_core.offline.transport import OfflineTransport

        transport = OfflineTransport(config.working_dir)
    else:
        warm_up(config.endpoint.base_url)
    return OpenRouterClient(
        api_key=config.endpoint.api_key,
        key_variable=config.endpoint.key_variable,
        base_url=config.endpoint.base_url or "http://offline.invalid/v1",
        max_retries=config.max_retries,
        first_token_timeout_s=config.first_token_timeout_s,
        idle_timeout_s=config.idle_timeout_s,
        connect_timeout_s=config.connect_timeout_s,
        transport=transport,
        on_retry=notify.retry,
        on_abandoned=notify.abandoned,
    )


def llm_factory(
    config: ForgeConfig, client: OpenRouterClient, session_id: str
) -> Callable[[str], BaseChatModel]:
    """Makes the chat model of a name."""
    from forge_core.langchain.llm import OpenRouterLLM

    def make(model: str) -> BaseChatModel:
        if config.endpoint.kind != "openrouter":
            return OpenRouterLLM(client=client, model=model)
        # Prompt caching: one breakpoint on the last block, and the same upstream for the whole session
        # (https://openrouter.ai/docs/features/prompt-caching).
        caching = {"type": "ephemeral"} if model.startswith("anthropic/") else None
        return OpenRouterLLM(client=client, model=model, session_id=session_id, cache_control=caching)

    return make


def _context_window(config: ForgeConfig, told: Callable[[str], int | None]) -> Callable[[str], int | None]:
    from forge_core.llm.account.catalog import lookup
    from forge_core.offline.protocol import CONTEXT_LENGTH

    def window(model: str) -> int | None:
        if config.context_window:
            return config.context_window
        if config.endpoint.kind == "offline":
            return CONTEXT_LENGTH
        if config.endpoint.kind == "custom":
            return told(model)
        found = lookup(model)
        return found.context_length if found else None

    return window


def price_of(config: ForgeConfig) -> Callable[[str, TokenUsage], Decimal | None]:
    """Prices calls that the provider set no price on; its catalogue holds for OpenRouter only."""
    from forge_core.llm.account.catalog import lookup
    from forge_core.llm.account.pricing import price

    def of(model: str, usage: TokenUsage) -> Decimal | None:
        found = lookup(model) if config.endpoint.kind == "openrouter" else None
        return price(usage, found.prices if found is not None else None)

    return of


def _output_price(config: ForgeConfig, model: str) -> Decimal | None:
    from forge_core.llm.account.catalog import lookup

    found = lookup(model) if config.endpoint.kind == "openrouter" else None
    return found.prices.completion if found is not None else None


def _max_output(config: ForgeConfig, model: str) -> int | None:
    from forge_core.llm.account.catalog import lookup

    found = lookup(model) if config.endpoint.kind == "openrouter" else None
    return found.max_output_tokens if found is not None else None


def provider_facts(config: ForgeConfig, client: OpenRouterClient) -> dict[str, Any]:
    """The fields of `SessionParts` that depend on the provider. The bill of a cut answer and the catalogue
    with prices are what only OpenRouter answers; a custom endpoint may tell how much its models hold."""
    from forge_core.llm.account.windows import ContextWindows

    windows = ContextWindows(client)
    facts: dict[str, Any] = {
        "provider_label": _provider_label(config),
        "context_window": _context_window(config, windows.get),
        "max_output": partial(_max_output, config),
        "output_price": partial(_output_price, config),
        "known_models": partial(_known_models, config),
    }
    if config.endpoint.kind == "openrouter":
        from forge_core.llm.account.catalog_cache import refresh_catalogue

        facts["bill"] = partial(_bill, client)
        facts["refresh"] = partial(refresh_catalogue, client, config.state_dir / "cache")
    elif config.endpoint.kind == "custom":
        facts["learn_window"] = windows.learn
    return facts


async def _bill(client: OpenRouterClient, generation_id: str) -> TokenUsage | None:
    found = await client.generation(generation_id)
    return found.usage if found is not None else None


def _known_models(config: ForgeConfig) -> Sequence[ModelChoice]:
    from forge_core.llm.account.catalog import ModelInfo, bundled
    from forge_core.session.status import ModelChoice

    if config.endpoint.kind != "openrouter":
        return ()

    def note(model: ModelInfo) -> str:
        window = f"{model.context_length // 1000:,}k" if model.context_length else ""
        given, made = model.prices.prompt, model.prices.completion
        price = ""
        if given is not None and made is not None:
            price = f"${given * 1_000_000:g} in, ${made * 1_000_000:g} out per million"
        return " · ".join(part for part in (window, price) if part)

    return tuple(ModelChoice(model.id, note(model)) for model in bundled().values() if model.takes_tools)


def _provider_label(config: ForgeConfig) -> ProviderLabel:
    if config.endpoint.kind != "custom":
        return config.endpoint.kind
    from forge_core.llm.endpoints import is_local

    return "local" if is_local(config.endpoint.base_url) else "custom"
