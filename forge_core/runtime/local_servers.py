"""Model servers that run on this machine, for a user who has set up no model yet."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from forge_core.sanitize import safe_line
from forge_core.text_width import clip

if TYPE_CHECKING:
    from forge_core.config.forge_config import ForgeConfig
    from forge_core.llm.endpoints import Provider

TIMEOUT_S = 0.3
_SERVERS = ("ollama", "lmstudio", "llamacpp")
_LONGEST_NAME = 100
"""Characters of a model's name that a command shows; a longer one is not offered."""


def local_server_notice(config: ForgeConfig) -> str:
    """Return what runs here and how to use it; empty if nothing does, or if the user has chosen a model or an
    endpoint. Blocks for at most `TIMEOUT_S` and the imports."""
    if config.endpoint.kind != "offline" or not config.origins.keys().isdisjoint(("model", "base_url")):
        return ""
    from forge_core.llm.endpoints import PROVIDERS

    return asyncio.run(find_server([PROVIDERS[name] for name in _SERVERS]))


async def find_server(providers: Sequence[Provider]) -> str:
    """Ask the servers at the same time; return a notice about the first of `providers` that has a model."""
    found = await asyncio.gather(*map(_models, providers))
    for provider, names in zip(providers, found, strict=True):
        if names:
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            return (
                f"{provider.label} is running here with {clip(names[0], 40)}{more}. To use it:\n"
                f"forge chat --base-url {provider.base_url} --model {shlex.quote(names[0])}"
            )
    return ""


async def _models(provider: Provider) -> list[str]:
    """Return the names of the models that can chat, as far as one can tell; none if no server answers."""
    from forge_core.errors import ProviderError
    from forge_core.llm.client import OpenRouterClient
    from forge_core.runtime.provider_setup import offered_models

    try:
        async with OpenRouterClient(base_url=provider.base_url, max_retries=0) as client:
            async with asyncio.timeout(TIMEOUT_S):
                names = [choice.id for choice in await offered_models(client)]
    except (ProviderError, TimeoutError):
        return []
    return [name for name in names if _can_be_offered(name)]


def _can_be_offered(name: str) -> bool:
    return len(name) <= _LONGEST_NAME and safe_line(name) == name and "embed" not in name.lower()
