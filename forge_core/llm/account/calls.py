"""The provider's other endpoints: its models, the key, the credits, a finished generation."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import Any
from urllib.parse import quote

from forge_core.errors import MalformedResponseError, ModelNotFoundError
from forge_core.llm.account.catalog import ModelInfo, read_model
from forge_core.llm.account.records import (
    Credits,
    GenerationInfo,
    KeyInfo,
    read_credits,
    read_generation,
    read_key,
)

_GENERATION_WAITS_S = (0.5, 1.0, 2.0)
"""A generation can be asked for only some moments after its end."""


class AccountCalls(ABC):
    """Calls beside chat completions; all of them raise ProviderError."""

    @abstractmethod
    async def _get(self, path: str) -> dict[str, Any]:
        """The parsed JSON object at `path`."""

    async def model_entries(self) -> list[Any]:
        """The entries of `GET /models` as they came, for the cache on disk."""
        payload = await self._get("models")
        entries = payload.get("data", payload.get("models"))
        if not isinstance(entries, list):
            raise MalformedResponseError("The provider sent a model list that is none. Try again later.")
        return entries

    async def models(self) -> list[ModelInfo]:
        """The models that the server offers, in its order."""
        models = (read_model(entry) for entry in await self.model_entries())
        return [model for model in models if model is not None]

    async def key_info(self) -> KeyInfo:
        """Limits and usage of the key. Raises AuthenticationError when the key is wrong."""
        return read_key((await self._get("key")).get("data"))

    async def credits(self) -> Credits | None:
        """What the account has; needs a management key."""
        return read_credits((await self._get("credits")).get("data"))

    async def generation(self, generation_id: str) -> GenerationInfo | None:
        """What a finished or cancelled generation was billed; None when the provider does not know it
        (yet)."""
        for wait_s in (*_GENERATION_WAITS_S, None):
            try:
                payload = await self._get(f"generation?id={quote(generation_id, safe='')}")
            except ModelNotFoundError:
                if wait_s is None:
                    return None
                await asyncio.sleep(wait_s)
            else:
                return read_generation(payload.get("data"))
        return None
