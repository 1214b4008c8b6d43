"""The context windows of a custom endpoint's models, where its server reports them.

Read from `GET /models`: `context_length` (OpenRouter, Together), `max_model_len` (vLLM), `context_window`
(Groq), `max_context_length` (Mistral, LM Studio), `meta.n_ctx` (llama.cpp). Ollama reports none of them
there; its own API returns the size that is in use: `/api/ps` for a loaded model, otherwise the parameter
`num_ctx` in `/api/show`. The largest size that a model supports is not read: Ollama truncates longer prompts
silently.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from forge_core.errors import ProviderError
from forge_core.llm.account.catalog import read_model

if TYPE_CHECKING:
    from forge_core.llm.client import OpenRouterClient

_LEAST, _MOST = 256, 10**9
"""Tokens; a figure outside is an error of the server."""
_OLLAMA_PORT = ":11434"
_NUM_CTX = re.compile(r"^\s*num_ctx\s+(\d{1,10})\s*$", re.MULTILINE)


class ContextWindows:
    """What one endpoint has reported so far."""

    def __init__(self, client: OpenRouterClient) -> None:
        self._client = client
        self._known: dict[str, int] = {}

    def get(self, model: str) -> int | None:
        """Return the context window of `model` in tokens; None where it is unknown."""
        return self._known.get(model)

    async def learn(self, model: str) -> None:
        """Ask the endpoint for the context window of `model`. A failure counts as no answer; no request is
        repeated, and each is bounded in time and size (see `OpenRouterClient.probe`)."""
        entry = _entry_of(model, await self._ask("models"))
        info = read_model(entry)
        window = info.context_length if info is not None else None
        base_url = self._client.base_url
        if _OLLAMA_PORT in base_url or entry.get("owned_by") == "library":
            window = await self._ollama(model, base_url.removesuffix("/v1")) or window
        if window is not None and _LEAST <= window <= _MOST:
            self._known[model] = window

    async def _ollama(self, model: str, root: str) -> int | None:
        loaded = read_model(_entry_of(model, await self._ask("api/ps", base_url=root), alone=False))
        if loaded is not None and loaded.context_length:
            return loaded.context_length
        body = json.dumps({"model": model}).encode()
        shown = await self._ask("api/show", body, base_url=root)
        parameters = shown.get("parameters") if isinstance(shown, dict) else None
        found = _NUM_CTX.search(parameters) if isinstance(parameters, str) else None
        return int(found[1]) if found else None

    async def _ask(self, path: str, body: bytes | None = None, *, base_url: str | None = None) -> Any:
        try:
            return await self._client.probe(path, body, base_url=base_url)
        except ProviderError:
            return None


def _entry_of(model: str, listed: Any, *, alone: bool = True) -> dict[str, Any]:
    """Return the entry for `model` in a list of models, with its `id`; with `alone`, a single entry of any
    name: a server with one model accepts any name. Empty when there is none."""
    if isinstance(listed, dict):
        listed = listed.get("data") or listed.get("models")
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, Sequence) else []
    for entry in entries:
        names = {entry.get(key) for key in ("id", "name", "model") if isinstance(entry.get(key), str)}
        if model in names or f"{model}:latest" in names:
            return {**entry, "id": model}
    return {**entries[0], "id": model} if alone and len(entries) == 1 else {}
