"""The provider's model list on disk, so that a start needs no request: one JSON file for each base URL.

The file is a convenience: one that is missing, old, damaged or of another endpoint counts as none, and a
failed write is reported by the return value only.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forge_core.config.project_state import replace_file
from forge_core.llm.account.catalog import ModelInfo, learn, read_model
from forge_core.llm.http.wire import parse_json
from forge_core.private_folders import make_private_folder

if TYPE_CHECKING:
    from forge_core.llm.client import OpenRouterClient

MAX_AGE_S = 24 * 3600.0
_VERSION = 1
_MAX_BYTES = 32 * 1024 * 1024


async def refresh_catalogue(client: OpenRouterClient, folder: Path) -> None:
    """Learn the current windows and prices; ask the provider at most once a day.

    Raises:
        ProviderError: the request failed; the bundled copy stays in use.
    """
    path = cache_file(folder, client.base_url)
    known = await asyncio.to_thread(load_models, path, client.base_url)
    if known is None:
        entries = await client.model_entries()
        await asyncio.to_thread(save_models, path, client.base_url, entries)
        known = [model for model in (read_model(entry) for entry in entries) if model is not None]
    learn(known)


def cache_file(folder: Path, base_url: str) -> Path:
    """Return the file of the list of `base_url` in `folder`."""
    return folder / f"models-{hashlib.sha256(base_url.encode()).hexdigest()[:16]}.json"


def load_models(
    path: Path, base_url: str, *, max_age_s: float = MAX_AGE_S, now: float | None = None
) -> list[ModelInfo] | None:
    """Return the saved models; None without any for `base_url` that are younger than `max_age_s`."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            return None
        kept = parse_json(path.read_bytes())
        age = (time.time() if now is None else now) - float(kept["fetched_at"])
        if kept["version"] != _VERSION or kept["base_url"] != base_url or not 0 <= age <= max_age_s:
            return None
        models = [read_model(entry) for entry in kept["models"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return [model for model in models if model is not None] or None


def save_models(path: Path, base_url: str, entries: Sequence[Any], *, now: float | None = None) -> bool:
    """Save `entries`, as `GET /models` returned them; return False when they could not be written.

    Atomic, with mode 0600 in a folder of 0700.
    """
    fetched_at = time.time() if now is None else now
    kept = {"version": _VERSION, "base_url": base_url, "fetched_at": fetched_at, "models": list(entries)}
    try:
        make_private_folder(path.parent)
        replace_file(path, json.dumps(kept))
    except (OSError, ValueError, TypeError):
        return False
    return True
