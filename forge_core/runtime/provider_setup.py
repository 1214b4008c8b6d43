"""The parts of a session that depend on its provider: client, models, context windows, prices and bills."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from forge_core.config.forge_config import ForgeConfig
    from forge_core.llm.account.call_estimate import PlannedCall
    from forge_core.llm.account.catalog import ModelInfo
    from forge_core.llm.client import OpenRouterClient
    from forge_core.llm.endpoints import Provider
    from forge_core.llm.models import CompletionRequest, TokenUsage
    from forge_core.session.event_channel import EventChannel
    from forge_core.session.provider import SessionProvider
    from forge_core.session.status import ModelChoice


def build_client(
    config: ForgeConfig,
    events: EventChannel,
    on_abandoned: Callable[[str], None],
    admit: Callable[[CompletionRequest], Awaitable[Callable[[], None] | None]] | None = None,
) -> OpenRouterClient:
    """Return the client of the configured endpoint; the offline model is a transport of its own."""
    from forge_core.llm.client import OpenRouterClient
    from forge_core.llm.endpoints import PROVIDERS
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
        provider=PROVIDERS.get(config.endpoint.kind),
        max_retries=config.max_retries,
        first_token_timeout_s=config.first_token_timeout_s,
        idle_timeout_s=config.idle_timeout_s,
        connect_timeout_s=config.connect_timeout_s,
        transport=transport,
        on_retry=events.retry,
        on_abandoned=on_abandoned,
        admit=admit,
    )


def llm_factory(client: OpenRouterClient, session_id: str) -> Callable[[str], BaseChatModel]:
    """Return the function that makes the chat model of a name."""
    from forge_core.langchain.llm import OpenRouterLLM

    provider = client.provider

    def make(model: str) -> BaseChatModel:
        # One breakpoint on the last block: the provider caches the whole prompt up to it.
        is_marked = model.startswith(provider.cache_control_models)
        return OpenRouterLLM(
            client=client,
            model=model,
            session_id=session_id if provider.takes_session_id else None,
            cache_control={"type": "ephemeral"} if is_marked else None,
        )

    return make


def session_provider(
    config: ForgeConfig,
    events: EventChannel,
    session_id: str,
    *,
    learns_windows: bool,
    admit: Callable[[PlannedCall], Awaitable[Callable[[], None]]] | None = None,
) -> SessionProvider:
    """Connect to the configured provider. With `learns_windows` an endpoint without a list of models is asked
    for the context windows of its models. `admit` is awaited before each model call."""
    from forge_core.llm.account.call_estimate import planned_call
    from forge_core.llm.account.catalog import lookup_at, price_at
    from forge_core.llm.account.catalog_cache import refresh_catalogue
    from forge_core.llm.account.context_windows import ContextWindows
    from forge_core.offline.protocol import CONTEXT_LENGTH
    from forge_core.session.provider import SessionProvider

    abandoned: deque[str] = deque(maxlen=1)

    async def check(request: CompletionRequest) -> Callable[[], None] | None:
        if admit is None:
            return None
        return await admit(planned_call(request, partial(price_at, client.provider)))

    client = build_client(config, events, abandoned.append, check)
    provider, kind = client.provider, config.endpoint.kind
    windows, cache = ContextWindows(client), config.state_dir / "cache"
    entry = partial(lookup_at, provider)

    def context_window(model: str) -> int | None:
        if config.context_window or kind == "offline":
            return config.context_window or CONTEXT_LENGTH
        found = entry(model)
        return found.context_length if found is not None else windows.get(model)

    has_windows = not provider.has_catalogue and kind != "offline"
    return SessionProvider(
        label="local" if provider.is_local else kind,
        make_llm=llm_factory(client, session_id),
        close=client.aclose,
        price=partial(price_at, provider),
        context_window=context_window,
        known_models=partial(_known_models, provider),
        max_output=lambda model: found.max_output_tokens if (found := entry(model)) else None,
        output_price=lambda model: found.prices.completion if (found := entry(model)) else None,
        bill=partial(_bill, client) if provider.reports_bills else None,
        refresh=partial(refresh_catalogue, client, cache) if provider.has_catalogue else None,
        learn_window=windows.learn if learns_windows and has_windows else None,
        abandoned=abandoned,
    )


async def _bill(client: OpenRouterClient, generation_id: str) -> TokenUsage | None:
    found = await client.generation(generation_id)
    return found.usage if found is not None else None


def _known_models(provider: Provider) -> tuple[ModelChoice, ...]:
    from forge_core.llm.account.catalog import bundled
    from forge_core.session.status import ModelChoice

    models = bundled().values() if provider.has_catalogue else ()
    return tuple(ModelChoice(model.id, _window_and_prices(model)) for model in models if model.takes_tools)


def _window_and_prices(model: ModelInfo) -> str:
    window = f"{model.context_length // 1000:,}k" if model.context_length else ""
    given, made = model.prices.prompt, model.prices.completion
    prices = ""
    if given is not None and made is not None:
        prices = f"${given * 1_000_000:g} in, ${made * 1_000_000:g} out per million"
    return " · ".join(part for part in (window, prices) if part)
