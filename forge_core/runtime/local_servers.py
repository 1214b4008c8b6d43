"""Model servers that run on this machine, for a user who has set up no model yet."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from forge_core.sanitize import safe_line
from forge_core.text_width import clip

if TYPE_CHECKING:
    from forge_core.config.forge_config import ForgeConfig
    from forge_core.llm.endpoints import Provider

TIMEOUT_S = 0.3
_SERVERS = ("ollama", "lmstudio", "llamacpp")
_LONGEST_NAME = 100
"""Characters of a model's name that a command shows; a longer one is not offered."""


class RunningServer(NamedTuple):
    """A model server that answers on this machine."""

    provider: Provider
    models: tuple[str, ...]
    """Those that can chat, as far as one can tell; at least one."""

    @property
    def summary(self) -> str:
        """Its models in a few words."""
        more = f" and {len(self.models) - 1} more" if len(self.models) > 1 else ""
        return f"{clip(self.models[0], 40)}{more}"


def local_server_notice(config: ForgeConfig) -> str:
    """Return what runs here and how to use it; empty if nothing does, or if the user has chosen a model or an
    endpoint. Blocks for at most `TIMEOUT_S` and the imports."""
    if config.endpoint.kind != "offline" or not config.origins.keys().isdisjoint(("model", "base_url")):
        return ""
    found = local_servers()
    if not found:
        return ""
    provider = found[0].provider
    return (
        f"{provider.label} is running here with {found[0].summary}. /connect {provider.name} switches to it."
    )


def local_servers() -> list[RunningServer]:
    """Return the model servers that run here. Blocks for at most `TIMEOUT_S` and the imports."""
    from forge_core.llm.endpoints import PROVIDERS

    return asyncio.run(find_servers([PROVIDERS[name] for name in _SERVERS]))


async def find_servers(providers: Sequence[Provider]) -> list[RunningServer]:
    """Ask the servers at the same time; return those of `providers` that have a model, in their order."""
    found = await asyncio.gather(*map(_models, providers))
    return [RunningServer(provider, names) for provider, names in zip(providers, found, strict=True) if names]


async def _models(provider: Provider) -> tuple[str, ...]:
    """Return the names of the models that can chat; none if no server answers."""
    from forge_core.errors import ProviderError
    from forge_core.llm.client import OpenRouterClient
    from forge_core.runtime.provider_setup import offered_models

    try:
        async with OpenRouterClient(base_url=provider.base_url, max_retries=0) as client:
            async with asyncio.timeout(TIMEOUT_S):
                names = [choice.id for choice in await offered_models(client)]
    except (ProviderError, TimeoutError):
        return ()
    return usable_models(names)


def usable_models(names: Iterable[str]) -> tuple[str, ...]:
    """Return the models that can chat, as far as one can tell by their names."""
    return tuple(name for name in names if _can_be_offered(name))


def _can_be_offered(name: str) -> bool:
    return len(name) <= _LONGEST_NAME and safe_line(name) == name and "embed" not in name.lower()
