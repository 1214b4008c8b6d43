"""What every test gets: a home of its own, no key, no colour switches, no tracing."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.sse_server import SseServer

# Before any test starts a program: each would compile all of Forge anew, as an installed one never does.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

if find_spec("hypothesis"):  # the environments of LangChain's suites have none
    from hypothesis import HealthCheck, settings

    # The same examples in every run, and new ones in a full run: what fails is then owed to what was changed.
    settings.register_profile(
        "forge",
        deadline=None,
        derandomize=not os.environ.get("FORGE_FULL"),
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("forge")

_CLEARED = (
    "OPENROUTER_API_KEY",
    "OPENAI_API_KEY",
    "FORGE_API_KEY",
    "FORGE_BASE_URL",
    "FORGE_MODEL",
    "FORGE_THEME",
    "FORGE_PERMISSION_MODE",
    "FORGE_OUTPUT",
    "FORGE_SANDBOX",
    "FORGE_MAX_ITERATIONS",
    "FORGE_MAX_RETRIES",
    "FORGE_CONTEXT_WINDOW",
    "FORGE_LOG_LEVEL",
    "NO_COLOR",
    "STY",
    "TMUX",
    "TEXTUAL_THEME",
    "LANGSMITH_TRACING",
    "LANGCHAIN_TRACING_V2",
)


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Settings and sessions of a test lie in a folder of its own; the person's environment stays out."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("FORGE_HOME", str(home / "forge"))
    for name in _CLEARED:
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def server() -> Iterator[SseServer]:
    """A loopback server of the provider's API; `server.add` scripts its answers."""
    with SseServer() as running:
        yield running
