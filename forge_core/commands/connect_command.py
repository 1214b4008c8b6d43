"""`/connect`: the endpoint of the session, changed while it runs."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Sequence

from forge_core.commands.command_spec import ArgumentValue
from forge_core.commands.result import ChooseEndpoint, CommandNotice, CommandResult, Failure
from forge_core.config.forge_config import ForgeConfig
from forge_core.errors import AuthenticationError, ConfigError, ProviderError
from forge_core.llm.endpoints import DEFAULT_PROVIDER, PROVIDERS, identify, shown_url
from forge_core.runtime.connecting import (
    Connection,
    first_model,
    name_of,
    offered,
    prepare,
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
    try:
        url = url_of(name)
        endpoint = await asyncio.to_thread(resolve_with_key, session.config, url)
    except ConfigError as error:
        return Failure(str(error))
    if endpoint.provider.needs_key and endpoint.api_key is None:
        return ChooseEndpoint(url)
    connection = prepare(session, endpoint, model.strip())
    result = await _use(connection, session)
    if not isinstance(result, CommandNotice):
        await connection.close()
    return result


async def _use(connection: Connection, session: ForgeSession) -> CommandResult:
    """Change to a connection, with the endpoint's own choice of a model if none is named."""
    url = connection.config.endpoint.base_url
    provider = identify(url)
    if not connection.config.model:
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
    provider = identify(endpoint.base_url)
    text = f"Connected to {provider.label}, model {safe_line(config.model)}. {endpoint.key_notice}"
    if config.base_url is None and provider is DEFAULT_PROVIDER:
        return text
    url, model = shlex.quote(shown_url(endpoint.base_url)), shlex.quote(config.model)
    return f"{text}\nTo start with it: forge chat --base-url {url} --model {safe_line(model)}"


def provider_values(session: ForgeSession) -> Sequence[ArgumentValue]:
    """Return the known providers."""
    present = name_of(session.config.endpoint.base_url)
    return [ArgumentValue(name, one.label, name == present) for name, one in PROVIDERS.items()]
