"""What every test gets: a home of its own, no key, no colour switches, no tracing."""

from __future__ import annotations

from pathlib import Path

import pytest

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
