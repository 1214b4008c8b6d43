"""The parts of a session that depend on its provider: client, models, context windows, prices and bills."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from forge_core.config.forge_config import ForgeConfig
    from forge_core.llm.account.call_estimate import PlannedCall
    from forge_core.llm.account.catalog import ModelInfo
    from forge_core.llm.account.context_windows import ContextWindows
    from forge_core.llm.client import OpenRouterClient
    from forge_core.llm.endpoints import Provider
    from forge_core.llm.image_data import ImageLoader
    from forge_core.llm.models import CompletionRequest, TokenUsage
    from forge_core.session.event_channel import EventChannel
    from forge_core.session.provider import ModelPreferences, SessionProvider
    from forge_core.session.status import ModelChoice

ROUTING_FIELDS = ("order", "only", "ignore", "allow_fallbacks", "sort", "data_collection", "zdr")
"""https://openrouter.ai/docs/features/provider-routing"""
_NO_URL = "http://offline.invalid/v1"
"""That of the offline model, whose requests reach no network."""


def build_client(
    config: ForgeConfig,
    events: EventChannel,
    on_abandoned: Callable[[str], None],
    admit: Callable[[CompletionRequest], Awaitable[AbstractContextManager[None]]] | None = None,
    prepare: Callable[[CompletionRequest], Awaitable[CompletionRequest]] | None = None,
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
        base_url=config.endpoint.base_url or _NO_URL,
        provider=PROVIDERS.get(config.endpoint.kind),
        max_retries=config.max_retries,
        first_token_timeout_s=config.first_token_timeout_s,
        idle_timeout_s=config.idle_timeout_s,
        connect_timeout_s=config.connect_timeout_s,
        transport=transport,
        on_retry=events.retry,
        on_abandoned=on_abandoned,
        admit=admit,
        prepare=prepare,
    )


def llm_factory(
    client: OpenRouterClient, session_id: str, preferences: ModelPreferences
) -> Callable[[str], BaseChatModel]:
    """Return the function that makes the chat model of a name, with the preferences of that moment."""
    from forge_core.langchain.llm import OpenRouterLLM

    provider = client.provider

    def make(model: str) -> BaseChatModel:
        effort = preferences.effort if takes_effort(provider, model) else None
        # One breakpoint on the last block: the provider caches the whole prompt up to it.
        is_marked = model.startswith(provider.cache_control_models)
        return OpenRouterLLM(
            client=client,
            model=model,
            session_id=session_id if provider.takes_session_id else None,
            cache_control={"type": "ephemeral"} if is_marked else None,
            fallbacks=tuple(one for one in preferences.fallbacks if one != model) or None,
            provider=dict(preferences.routing) or None,
            reasoning={"effort": effort} if effort and provider.reasoning_in_object else None,
            model_kwargs={"reasoning_effort": effort} if effort and not provider.reasoning_in_object else {},
        )

    return make


def session_provider(
    config: ForgeConfig,
    events: EventChannel,
    session_id: str,
    *,
    learns_windows: bool,
    admit: Callable[[PlannedCall], Awaitable[AbstractContextManager[None]]] | None = None,
) -> SessionProvider:
    """Connect to the configured provider. With `learns_windows` an endpoint without a list of models is asked
    for the context windows of its models. `admit` is awaited before each model call."""
    from forge_core.llm.account.call_estimate import planned_call
    from forge_core.llm.account.catalog import lookup_at, price_at
    from forge_core.llm.account.catalog_cache import refresh_catalogue
    from forge_core.llm.account.context_windows import ContextWindows
    from forge_core.session.provider import AbandonedCalls, ModelPreferences, SessionProvider

    abandoned = AbandonedCalls()

    async def check(request: CompletionRequest) -> AbstractContextManager[None]:
        if admit is None:
            return contextlib.nullcontext()
        return await admit(planned_call(request, partial(price_at, client.provider)))

    client = build_client(config, events, abandoned.add, check, _image_loader(config, session_id))
    provider, kind = client.provider, config.endpoint.kind
    windows, cache = ContextWindows(client), config.state_dir / "cache"
    entry = partial(lookup_at, provider)

    preferences = ModelPreferences(
        effort=config.effort,
        fallbacks=config.models if kind != "offline" else (),
        routing=routing_of(config) if provider.routes_requests else {},
    )
    is_free, local_host = charges(config)
    has_windows = not provider.has_catalogue and kind != "offline"
    return SessionProvider(
        label="local" if provider.is_local else kind,
        make_llm=llm_factory(client, session_id, preferences),
        close=client.aclose,
        price=partial(price_at, provider),
        context_window=partial(_context_window, config, entry, windows),
        known_models=partial(_known_models, provider),
        offered_models=partial(offered_models, client) if has_windows else None,
        max_output=lambda model: found.max_output_tokens if (found := entry(model)) else None,
        output_price=lambda model: found.prices.completion if (found := entry(model)) else None,
        bill=partial(_bill, client) if provider.reports_bills else None,
        refresh=partial(refresh_catalogue, client, cache) if provider.has_catalogue else None,
        learn_window=windows.learn if learns_windows and has_windows else None,
        takes_effort=partial(takes_effort, provider),
        takes_images=partial(takes_images, provider),
        preferences=preferences,
        abandoned=abandoned,
        is_free=is_free,
        local_host=local_host,
        at=lambda other: session_provider(
            other, events, session_id, learns_windows=learns_windows, admit=admit
        ),
    )


def charges(config: ForgeConfig) -> tuple[bool, str]:
    """Return whether a call without a price costs nothing, and the host and port of a local endpoint."""
    from urllib.parse import urlsplit

    from forge_core.llm.endpoints import identify

    kind, base_url = config.endpoint.kind, config.endpoint.base_url
    is_local = kind == "custom" and identify(base_url).is_local
    return kind == "offline" or is_local, urlsplit(base_url).netloc.rpartition("@")[2] if is_local else ""


def _context_window(
    config: ForgeConfig, entry: Callable[[str], ModelInfo | None], windows: ContextWindows, model: str
) -> int | None:
    if config.context_window:
        return config.context_window
    if config.endpoint.kind == "offline":
        from forge_core.offline.protocol import CONTEXT_LENGTH

        return CONTEXT_LENGTH
    found = entry(model)
    return found.context_length if found is not None else windows.get(model)


def takes_images(provider: Provider, model: str) -> bool:
    """Return whether messages for a model of the provider may have images; assumed where unknown."""
    from forge_core.llm.account.catalog import lookup_at

    return (found := lookup_at(provider, model)) is None or found.takes_images


def model_takes_images(config: ForgeConfig) -> bool:
    """Return whether messages for the model of the settings may have images; assumed where unknown."""
    return takes_images(_provider_of(config), config.model)


def _provider_of(config: ForgeConfig) -> Provider:
    from forge_core.llm.endpoints import PROVIDERS, identify

    return PROVIDERS.get(config.endpoint.kind) or identify(config.endpoint.base_url or _NO_URL)


def _image_loader(config: ForgeConfig, session_id: str) -> ImageLoader:
    """Return what adds the images of the session to requests."""
    from forge_core.images.image_store import ImageStore
    from forge_core.llm.image_data import ImageLoader
    from forge_core.store.journal import images_dir

    provider = _provider_of(config)
    return ImageLoader(ImageStore(images_dir(config.state_dir, session_id)), partial(takes_images, provider))


def takes_effort(provider: Provider, model: str) -> bool:
    """Return whether a model of the provider can reason; assumed where unknown."""
    from forge_core.config.forge_config import OFFLINE_MODEL
    from forge_core.llm.account.catalog import lookup_at

    found = lookup_at(provider, model)
    return model != OFFLINE_MODEL and (found is None or found.takes_reasoning)


def routing_of(config: ForgeConfig) -> dict[str, Any]:
    """Return the settings of the table `provider` that are set, as OpenRouter's API names them."""
    values = {name: getattr(config, f"provider_{name}") for name in ROUTING_FIELDS}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value not in (None, ())
    }


async def _bill(client: OpenRouterClient, generation_id: str) -> TokenUsage | None:
    found = await client.generation(generation_id)
    return found.usage if found is not None else None


def _known_models(provider: Provider) -> tuple[ModelChoice, ...]:
    from forge_core.llm.account.catalog import listed

    models = listed() if provider.has_catalogue else ()
    return tuple(_choice(model) for model in models if model.takes_tools)


async def offered_models(client: OpenRouterClient) -> tuple[ModelChoice, ...]:
    """Return the models of `GET /models`; entries whose id no command could name are left out."""
    from forge_core.config.checks import names
    from forge_core.llm.account.catalog import read_model

    answer = await client.probe("models")
    entries = (answer.get("data") or answer.get("models")) if isinstance(answer, dict) else answer
    found = {}
    for entry in entries if isinstance(entries, list) else ():
        model = read_model({"id": entry.get("name"), **entry} if isinstance(entry, dict) else None)
        with contextlib.suppress(ValueError):
            if model is not None and names([model.id]) == (model.id,):
                found[model.id] = _choice(model)
    return tuple(found.values())


def _choice(model: ModelInfo) -> ModelChoice:
    from forge_core.session.status import Ability, ModelChoice

    is_known = bool(model.supported_parameters)
    has: tuple[tuple[Ability, bool], ...] = (
        ("tools", model.takes_tools),
        ("images", model.takes_images),
        ("reasoning", model.takes_reasoning),
    )
    return ModelChoice(
        model.id,
        _window_and_prices(model),
        name=model.name if model.name != model.id else "",
        window=model.context_length,
        input_price_usd=model.prices.prompt,
        output_price_usd=model.prices.completion,
        abilities=frozenset(ability for ability, it_has in has if it_has) if is_known else None,
    )


def _window_and_prices(model: ModelInfo) -> str:
    window = f"{model.context_length // 1000:,}k" if model.context_length else ""
    given, made = model.prices.prompt, model.prices.completion
    prices = ""
    if given is not None and made is not None:
        prices = f"${given * 1_000_000:g} in, ${made * 1_000_000:g} out per million"
    return " · ".join(part for part in (window, prices) if part)
