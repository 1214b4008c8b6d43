"""`/connect`: the endpoint of the session, changed while it runs."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Sequence

from forge_core.commands.command_spec import ArgumentValue
from forge_core.commands.result import ChooseEndpoint, CommandNotice, CommandResult, Failure
from forge_core.config.forge_config import OFFLINE_ENDPOINT, OFFLINE_MODEL, ForgeConfig
from forge_core.errors import AuthenticationError, ConfigError, ProviderError
from forge_core.llm.choice import OFFLINE_NAME
from forge_core.llm.endpoints import DEFAULT_PROVIDER, PROVIDERS, identify, shown_url
from forge_core.runtime.connecting import (
    Connection,
    first_model,
    name_of,
    offered,
    prepare,
    prepare_offline,
    resolve_with_key,
    url_of,
)
from forge_core.sanitize import safe_line
from forge_core.session.session import ForgeSession


async def connect(argument: str, session: ForgeSession) -> CommandResult:
    """Use another endpoint from the next answer on; ask for what the argument leaves open."""
    name, _, model = argument.partition(" ")
    if not name:
        return ChooseEndpoint()
    if " " in model.strip():
        return Failure("The name of a model contains no spaces. /connect alone asks for the endpoint.")
    model = model.strip()
    try:
        url = url_of(name)
        if not url:
            return await _change(_offline_connection(session, model), session)
        endpoint = await asyncio.to_thread(resolve_with_key, session.config, url)
    except ConfigError as error:
        return Failure(str(error))
    if endpoint.provider.needs_key and endpoint.api_key is None:
        return ChooseEndpoint(url)
    return await _change(prepare(session, endpoint, model), session)


def _offline_connection(session: ForgeSession, model: str) -> Connection:
    """Return the connection to the built-in model. Raise ConfigError if another model is named."""
    if model and model not in (OFFLINE_NAME, OFFLINE_MODEL):
        raise ConfigError(
            f"{OFFLINE_MODEL!r} is the only offline model, not {model!r}. Run /connect offline."
        )
    return prepare_offline(session)


async def _change(connection: Connection, session: ForgeSession) -> CommandResult:
    """Change to a connection, or close it."""
    result = await _use(connection, session)
    if not isinstance(result, CommandNotice):
        await connection.close()
    return result


async def _use(connection: Connection, session: ForgeSession) -> CommandResult:
    """Change to a connection, with the endpoint's own choice of a model if none is named."""
    url = connection.config.endpoint.base_url
    if not connection.config.model:
        provider = identify(url)
        try:
            model = provider.default_model or first_model(provider, await offered(connection))
        except AuthenticationError as error:
            return Failure(str(error)) if connection.config.endpoint.api_key else ChooseEndpoint(url)
        except ProviderError as error:
            return Failure(f"{provider.label} lists no models: {error}")
        if model is None:
            return ChooseEndpoint(url)
        connection = connection.with_model(model)
    model = connection.config.model
    used, again = session.status.context_used, f"/connect {name_of(url)} {model}"
    if warning := session.models.cache_warning(model, used, connection.provider, again):
        return Failure(warning)
    session.use_endpoint(connection.config, connection.provider)
    with contextlib.suppress(OSError):  # the lists are a convenience
        await asyncio.to_thread(session.models.lists.add_recent, model)
    return CommandNotice(report(session.config))


def report(config: ForgeConfig) -> str:
    """Return what the session uses now, and how to start with it."""
    endpoint = config.endpoint
    if endpoint == OFFLINE_ENDPOINT:
        return (
            "The built-in offline model answers from now on. Nothing is sent over a network.\n"
            "To start with it: forge chat --model offline"
        )
    provider = identify(endpoint.base_url)
    text = f"Connected to {provider.label}, model {safe_line(config.model)}. {endpoint.key_notice}"
    if config.base_url is None and provider is DEFAULT_PROVIDER:
        return text
    url, model = shlex.quote(shown_url(endpoint.base_url)), shlex.quote(config.model)
    return f"{text}\nTo start with it: forge chat --base-url {url} --model {safe_line(model)}"


def provider_values(session: ForgeSession) -> Sequence[ArgumentValue]:
    """Return the known providers, and the built-in model."""
    present = name_of(session.config.endpoint.base_url)
    providers = [ArgumentValue(name, one.label, name == present) for name, one in PROVIDERS.items()]
    return [*providers, ArgumentValue(OFFLINE_NAME, "Offline model", present == OFFLINE_NAME)]
