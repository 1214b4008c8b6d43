"""tau2's types for these tests: the real ones where they are installed, else a stand-in for 1.0.1."""

from __future__ import annotations

import importlib.util
import os
import sys
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from tests.support.sse_server import SseServer

STANDIN = Path(__file__).parents[3] / "support" / "tau2_standin"
_OURS = "forge_core.integrations.tau2"


@pytest.fixture(scope="package", autouse=True)
def _tau2() -> Iterator[None]:
    is_real = importlib.util.find_spec("tau2") is not None
    if not is_real:
        sys.path.insert(0, str(STANDIN))
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # LiteLLM would ask the network for prices
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tau2's own, while it loads
        import_module("tau2.registry")
        import_module("tau2.cli")
    yield
    del os.environ["LITELLM_LOCAL_MODEL_COST_MAP"]
    if not is_real:
        sys.path.remove(str(STANDIN))
        for name in [name for name in sys.modules if name.partition(".")[0] == "tau2" or _OURS in name]:
            if not name.startswith("tests."):
                del sys.modules[name]


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NEBIUS_API_KEY", "OPENROUTER_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[SseServer]:
    with SseServer() as running:
        yield running
