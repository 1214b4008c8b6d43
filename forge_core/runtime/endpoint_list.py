"""The endpoints that `/connect` offers, and the check of their keys."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from forge_core.config.forge_config import OFFLINE_ENDPOINT, ForgeConfig
from forge_core.llm.account.key_check import check_key
from forge_core.llm.endpoints import PROVIDERS, SAVED_KEYS
from forge_core.runtime.connecting import resolve_for, resolve_with_key
from forge_core.runtime.local_servers import RunningServer, local_servers


class KnownEndpoint(NamedTuple):
    """One endpoint, and what has to be known before a session can use it."""

    label: str
    base_url: str
    """Empty for the built-in model."""
    is_local: bool
    needs_key: bool
    """Whether it answers only with a key."""
    key_source: str | None
    """The variable that holds its key, or "your saved keys"; None where Forge has no key for it."""
    picks_model: bool
    """Whether a session that names no model gets one."""
    is_current: bool
    running: str = ""
    """The models of a server that was found on this machine, in a few words."""

    @property
    def note(self) -> str:
        """What it has: models that run here, or a key."""
        if self.running:
            return f"running here: {self.running}"
        if self.is_ready:
            return "built in, needs no key"
        notes = {None: "", SAVED_KEYS: "key saved"}
        return notes.get(self.key_source, f"key in {self.key_source}")

    @property
    def is_ready(self) -> bool:
        """Whether it can be used at once, without a key."""
        return bool(self.running) or self.base_url == OFFLINE_ENDPOINT.base_url

    @property
    def has_fixed_key(self) -> bool:
        """Whether its key is in a variable, which comes before a saved key."""
        return self.key_source not in (None, SAVED_KEYS)

    @property
    def is_exposed(self) -> bool:
        """Whether a key is sent unencrypted over a network."""
        return self.base_url.startswith("http:") and not self.is_local


def known_endpoints(
    config: ForgeConfig, find_servers: Callable[[], Sequence[RunningServer]] = local_servers
) -> list[KnownEndpoint]:
    """Return the servers that run, the hosted providers, and the built-in model. Blocks while it looks for
    servers."""
    running = [
        endpoint_at(config, server.provider.base_url)._replace(running=server.summary)
        for server in find_servers()
    ]
    hosted = (one.base_url for one in PROVIDERS.values() if not one.is_local)
    return [*running, *(endpoint_at(config, url) for url in (*hosted, OFFLINE_ENDPOINT.base_url))]


def endpoint_at(config: ForgeConfig, base_url: str) -> KnownEndpoint:
    """Return what is known of the endpoint at a URL."""
    if base_url == OFFLINE_ENDPOINT.base_url:
        return KnownEndpoint(
            label="Offline model",
            base_url=base_url,
            is_local=True,
            needs_key=False,
            key_source=None,
            picks_model=True,
            is_current=config.endpoint == OFFLINE_ENDPOINT,
        )
    found = resolve_for(config, base_url)
    provider = found.provider
    return KnownEndpoint(
        label=provider.label,
        base_url=base_url,
        is_local=provider.is_local,
        needs_key=provider.needs_key,
        key_source=found.key_variable,
        picks_model=provider.is_local or provider.default_model is not None,
        is_current=base_url == config.endpoint.base_url,
    )


async def check(config: ForgeConfig, base_url: str, key: str = "") -> str:
    """Check a key at its endpoint, by default the one that Forge has; see `check_key`.

    Raises also ConfigError if the keyring does not return that.
    """
    if not key:
        key = (await asyncio.to_thread(resolve_with_key, config, base_url)).api_key or ""
    return await check_key(base_url, key)
