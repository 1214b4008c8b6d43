"""What every test gets: a home of its own, no key, no colour switches, no tracing."""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key

from tests.support import preloaded
from tests.support.collection_pause import without_collection
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

_MORE_TIME = {"slow": 3.0}
"""Marker → the factor on the time limit of pyproject.toml."""
_SAMPLE = 3
"""Of each so many cases of a parametrized test that is marked "sampled", the gate runs one."""
_FULL_FACTOR = 10.0
"""On every limit with FORGE_FULL, which asks for many more examples."""
_GRACE_S = 60.0
"""From a test's limit to the end of its process, where the signal of pytest-timeout has not ended the test."""
_YOUNG_COLLECTIONS = 10
"""After so many collections of the middle generation, everything is collected: as Python does by itself."""


def pytest_configure() -> None:
    """Handle SIGINT, as Forge does: a shell starts programs in the background with SIGINT ignored, and their
    children could not be interrupted either."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out cases that only a full run tries, and give each test its time limit, unless it has one of its
    own or the command line sets one for all."""
    if not os.environ.get("FORGE_FULL"):
        _deselect_cases(config, items)
    if config.getoption("timeout") is not None:
        return
    usual = float(config.getini("timeout")) * (_FULL_FACTOR if os.environ.get("FORGE_FULL") else 1.0)
    for item in items:
        if item.get_closest_marker("timeout") is None:
            factor = max((_MORE_TIME.get(marker.name, 1.0) for marker in item.iter_markers()), default=1.0)
            item.add_marker(pytest.mark.timeout(usual * factor))


def _deselect_cases(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep every third case of each sampled test, the first one included; all that were named one by one."""
    if any("[" in argument for argument in config.args):
        return
    seen: dict[str, int] = {}
    left_out = []
    for item in items:
        if item.get_closest_marker("sampled") is not None:
            test = item.nodeid.partition("[")[0]
            number = seen[test] = seen.get(test, -1) + 1
            if number % _SAMPLE:
                left_out.append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        dropped = {*left_out}
        items[:] = [item for item in items if item not in dropped]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect the tests without garbage collection: it takes half the time, in every worker of xdist."""
    with without_collection():
        return (yield)


def pytest_runtestloop() -> None:
    """Never collect everything during a test: see `pytest_runtest_logfinish`."""
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, 1_000_000)


def pytest_runtest_logfinish() -> None:
    """Collect everything between two tests, and leave out later what survives: modules and caches.

    Each full collection would traverse them, which took a quarter of the CPU time of the screen's tests.
    """
    if gc.get_count()[2] > _YOUNG_COLLECTIONS:
        gc.collect()
        gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """End the process of a test that goes on after its time limit.

    The exception that pytest-timeout raises in a signal handler is lost in a callback of the event loop, never
    comes in C code that does not return, and is not raised where the test sets an alarm of its own. xdist reports
    the test as failed and starts another worker.
    """
    marker = item.get_closest_marker("timeout")
    if marker is None or item.config.getoption("usepdb"):
        return (yield)
    stderr = item.config.stash[fault_handler_stderr_fd_key]  # as before pytest captures it
    faulthandler.dump_traceback_later(marker.args[0] + _GRACE_S, exit=True, file=stderr)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


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


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Paths of folders that do not exist yet.

    Not one `mktemp` a test: it lists all folders that it has made before it makes the next.
    """
    parent = tmp_path_factory.mktemp("homes")
    return (parent / str(number) for number in count())


@pytest.fixture(autouse=True)
def _own_home(_homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Settings and sessions of a test lie in a folder of its own; the person's environment stays out."""
    home = next(_homes)
    home.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("FORGE_HOME", str(home / "forge"))
    monkeypatch.setenv(
        "PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring"
    )  # never the person's keyring
    for name in _CLEARED:
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def server() -> Iterator[SseServer]:
    """A loopback server of the provider's API; `server.add` scripts its answers."""
    with SseServer() as running:
        yield running


@pytest.fixture
def preloaded_bridge(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bridge to MCP servers starts without its imports, which cost a second of CPU time each time."""
    monkeypatch.setattr(subprocess, "Popen", preloaded.PreloadedPopen)
