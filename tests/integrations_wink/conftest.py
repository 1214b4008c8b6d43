"""These tests need weakincentives, which needs Python 3.12 or newer: an environment of their own."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

from tests.support.sse_server import SseServer

_MISSING = [
    name for name in ("weakincentives", "langgraph", "langchain") if importlib.util.find_spec(name) is None
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if _MISSING:
        reason = f"{', '.join(_MISSING)} not installed: tests/integrations_wink/constraints.txt says what is needed"
        for item in items:
            if "integrations_wink" in str(item.path):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SseServer]:
    """A provider on loopback; models built without an address talk to it."""
    with SseServer() as running:
        monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-test-key")
        monkeypatch.setenv("OPENROUTER_BASE_URL", running.base_url)
        yield running
