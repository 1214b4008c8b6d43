"""The endpoints that `/connect` offers: servers that run on this machine, and the hosted providers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from forge_core.config.forge_config import ForgeConfig
from forge_core.llm.endpoints import PROVIDERS, SAVED_KEYS
from forge_core.runtime.connecting import resolve_for
from forge_core.runtime.local_servers import RunningServer, local_servers


class KnownEndpoint(NamedTuple):
    """One endpoint to choose."""

    label: str
    base_url: str
    note: str
    """Whether it runs, or has a key."""
    needs_key: bool
    """Whether a key has to be entered before it can be used."""
    has_key: bool = False
    is_current: bool = False


def known_endpoints(
    config: ForgeConfig, find_servers: Callable[[], Sequence[RunningServer]] = local_servers
) -> list[KnownEndpoint]:
    """Return the servers that run, then the hosted providers. Blocks while it looks for servers."""
    return [*running_endpoints(config, find_servers()), *hosted_endpoints(config)]


def running_endpoints(config: ForgeConfig, servers: Sequence[RunningServer]) -> list[KnownEndpoint]:
    """Return servers on this machine as endpoints: they need no key."""
    return [
        KnownEndpoint(
            server.provider.label,
            server.provider.base_url,
            f"running here: {server.summary}",
            needs_key=False,
            is_current=server.provider.base_url == config.endpoint.base_url,
        )
        for server in servers
    ]


def hosted_endpoints(config: ForgeConfig) -> list[KnownEndpoint]:
    """Return the hosted providers, with where their keys are. Reads the saved keys."""
    listed = []
    for provider in PROVIDERS.values():
        if provider.is_local:
            continue
        variable = resolve_for(config, provider.base_url).key_variable
        notes = {None: "needs a key", SAVED_KEYS: "key saved"}
        listed.append(
            KnownEndpoint(
                provider.label,
                provider.base_url,
                notes.get(variable, f"key in {variable}"),
                needs_key=variable is None,
                has_key=variable is not None,
                is_current=provider.base_url == config.endpoint.base_url,
            )
        )
    return listed
