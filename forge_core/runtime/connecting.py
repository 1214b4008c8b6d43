"""Connecting a session to another endpoint: which one a word names, its key, and the change."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from forge_core.config.forge_config import OFFLINE_ENDPOINT, OFFLINE_MODEL, ForgeConfig, Origin
from forge_core.config.saved_keys import SavedKeys
from forge_core.errors import ConfigError, ProviderTimeoutError
from forge_core.llm.choice import OFFLINE_NAME, endpoint_of
from forge_core.llm.endpoints import (
    NAMED_KEY_VARIABLE,
    OPENROUTER_URL,
    PROVIDERS,
    SAVED_KEYS,
    Provider,
    ResolvedEndpoint,
    clean_url,
    identify,
    resolve,
    shown_url,
)
from forge_core.runtime.local_servers import usable_models
from forge_core.session.model_selection import ModelSelection

if TYPE_CHECKING:
    from forge_core.session.provider import SessionProvider
    from forge_core.session.session import ForgeSession

MODELS_TIMEOUT_S = 5.0
"""How long a local server has to list its models."""


def url_of(word: str) -> str:
    """Return the base URL that a word names: the name of a provider, a URL, or `OFFLINE_NAME`, whose URL is
    empty. Never in the error: the word may be a key.

    Raises:
        ConfigError: it is none of them, or the URL cannot be used.
    """
    if word.lower() == OFFLINE_NAME:
        return OFFLINE_ENDPOINT.base_url
    if (known := PROVIDERS.get(word.lower())) is not None:
        return known.base_url
    if not word.lower().startswith(("http://", "https://")):
        raise ConfigError(
            "That is neither the name of a provider nor a URL. /connect alone lists the providers."
        )
    url = clean_url(word)
    if shown_url(url) != url:
        raise ConfigError(
            "The URL contains a user, a password or a query. Give it without; /connect asks for the key."
        )
    identify(url)
    return url


def name_of(base_url: str) -> str:
    """Return the shortest word for which `url_of` returns this base URL."""
    if base_url == OFFLINE_ENDPOINT.base_url:
        return OFFLINE_NAME
    return next((name for name, one in PROVIDERS.items() if one.base_url == base_url), base_url)


def resolve_for(
    config: ForgeConfig, base_url: str, environ: Mapping[str, str] | None = None
) -> ResolvedEndpoint:
    """Return the endpoint with the key that Forge has for it, which is missing if it is in the keyring.
    FORGE_API_KEY belongs to the endpoint of the user's settings alone."""
    variables = dict(os.environ if environ is None else environ)
    if not _is_configured(config, base_url) or config.origins.get("base_url") is Origin.PROJECT:
        variables.pop(NAMED_KEY_VARIABLE, None)
    return resolve(base_url, variables, saved_key=SavedKeys(config.state_dir).find)


def resolve_with_key(config: ForgeConfig, base_url: str) -> ResolvedEndpoint:
    """Return the same with the key that is in the keyring. May block for seconds.

    Raises:
        ConfigError: the keyring does not return it.
    """
    found = resolve_for(config, base_url)
    if found.key_variable != SAVED_KEYS or found.api_key is not None:
        return found
    key = SavedKeys(config.state_dir).get(base_url)
    return replace(found, api_key=key, key_variable=None if key is None else SAVED_KEYS)


def _is_configured(config: ForgeConfig, base_url: str) -> bool:
    return config.base_url is not None and clean_url(config.base_url) == base_url


class Connection(NamedTuple):
    """An endpoint that a session could use, with what serves it."""

    config: ForgeConfig
    provider: SessionProvider

    def with_model(self, model: str) -> Connection:
        """Return the same with a model chosen."""
        return self._replace(config=replace(self.config, model=model))

    async def close(self) -> None:
        """Close what the session does not use."""
        await self.provider.close()

    def models(self) -> ModelSelection:
        """Return the choice of a model before the session uses the endpoint."""
        return ModelSelection(self.config, self.provider, lambda llm: None, lambda: None)


def prepare(session: ForgeSession, endpoint: ResolvedEndpoint, model: str = "") -> Connection:
    """Return a connection for the session, which is not used yet; close its `provider` if it never is.

    Raises:
        ForgeError: the endpoint of this session cannot change.
    """
    before = session.config
    config = replace(before, endpoint=endpoint_of(endpoint), model=model, effort=session.models.effort)
    if endpoint.base_url != clean_url(before.base_url or OPENROUTER_URL):
        # Set for the models of the other endpoint.
        config = replace(config, models=(), context_window=None)
    return Connection(config, session.models.provider_at(config))


def prepare_offline(session: ForgeSession) -> Connection:
    """Return the same for the built-in model."""
    config = replace(
        session.config, endpoint=OFFLINE_ENDPOINT, model=OFFLINE_MODEL, models=(), context_window=None
    )
    return Connection(config, session.models.provider_at(config))


def first_model(provider: Provider, models: Sequence[str]) -> str | None:
    """Return the model that is used at once of those that a local server offers; None if the user has to
    choose."""
    return next(iter(usable_models(models)), None) if provider.is_local else None


async def offered(connection: Connection) -> tuple[str, ...]:
    """Return the ids of the models that the endpoint lists; none where it lists none.

    Raises:
        ProviderError: it gives no list.
    """
    if connection.provider.offered_models is None:
        return ()
    try:
        async with asyncio.timeout(MODELS_TIMEOUT_S):
            return tuple(choice.id for choice in await connection.provider.offered_models())
    except TimeoutError as error:
        raise ProviderTimeoutError(f"No answer within {MODELS_TIMEOUT_S:g} s.") from error
