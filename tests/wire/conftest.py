"""What the tests over HTTP share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from forge_core.langchain.llm import OpenRouterLLM
from forge_core.llm.client import OpenRouterClient
from tests.support.ray_cluster import RayCluster, two_nodes
from tests.support.sse_server import KEY, MODEL, SseServer


@pytest.fixture
async def llm(server: SseServer) -> AsyncIterator[OpenRouterLLM]:
    """The chat model at `server`."""
    async with OpenRouterClient(KEY, server.base_url) as client:
        yield OpenRouterLLM(client=client, model=MODEL)


@pytest.fixture(scope="session")
def ray_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayCluster]:
    """A cluster of two nodes on this machine."""
    with two_nodes(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster
