"""What the tests over HTTP share."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from forge_core.langchain.llm import OpenRouterLLM
from forge_core.llm.client import OpenRouterClient
from tests.support.sse_server import KEY, MODEL, SseServer


@pytest.fixture
async def llm(server: SseServer) -> AsyncIterator[OpenRouterLLM]:
    """The chat model at `server`."""
    async with OpenRouterClient(KEY, server.base_url) as client:
        yield OpenRouterLLM(client=client, model=MODEL)
