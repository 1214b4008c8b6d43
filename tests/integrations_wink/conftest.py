"""The provider of these tests. They need weakincentives, which needs Python 3.12 or newer: an environment of
their own, pinned by constraints.txt; elsewhere they skip."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.sse_server import SseServer


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SseServer]:
    """A provider on loopback; models built without an address talk to it."""
    with SseServer() as running:
        monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-test-key")
        monkeypatch.setenv("OPENROUTER_BASE_URL", running.base_url)
        yield running
