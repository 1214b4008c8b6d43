"""Brings the catalogue up to date: from disk when that is young enough, else from the provider."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from forge_core.llm.account.catalog import learn, read_model
from forge_core.llm.account.catalog_cache import cache_file, load_models, save_models

if TYPE_CHECKING:
    from forge_core.llm.client import OpenRouterClient


async def refresh_catalogue(client: OpenRouterClient, folder: Path) -> None:
    """Learns the current windows and prices; asks the provider at most once a day.

    Raises:
        ProviderError: the provider could not be asked; the bundled copy stays in use.
    """
    path = cache_file(folder, client.base_url)
    known = await asyncio.to_thread(load_models, path, client.base_url)
    if known is None:
        entries = await client.model_entries()
        await asyncio.to_thread(save_models, path, client.base_url, entries)
        known = [model for model in (read_model(entry) for entry in entries) if model is not None]
    learn(known)
