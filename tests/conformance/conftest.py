"""One loopback server for the whole suite, and local bytes for what the suites would download."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import httpx
import pytest

from tests.conformance.model_server import willing_server
from tests.support.sse_server import SseServer

_PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
_PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
_WAV = b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data"
_BYTES = {".png": _PNG, ".pdf": _PDF, ".wav": _WAV}


@pytest.fixture(scope="session")
def server() -> Iterator[SseServer]:
    with willing_server() as running:
        yield running


@pytest.fixture(autouse=True)
def _model_server(server: SseServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Models that are built without an address of their own talk to the loopback server."""
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-test-key")
    monkeypatch.setenv("OPENROUTER_BASE_URL", server.base_url)


@pytest.fixture(autouse=True)
def _local_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The standard suites fetch a picture, a document and a sound with `httpx.get`; nothing leaves this machine.

    The one patch of the tests: the suites are run unchanged and have no other seam.
    """

    def get(url: str, **_options: object) -> httpx.Response:
        suffix = url[url.rindex(".") :]
        return httpx.Response(200, content=_BYTES[suffix])

    monkeypatch.setattr(httpx, "get", get)
    monkeypatch.setenv("LANGCHAIN_TESTS_USER_AGENT", "forge-tests")
