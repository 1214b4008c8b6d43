from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.hooks import HookBench


@pytest.fixture
def bench(tmp_path: Path) -> Callable[..., HookBench]:
    """Returns a function that makes a runner of declared hooks in a folder of the test."""
    folder = tmp_path / "project"
    folder.mkdir()
    return lambda *declared, **options: HookBench.of(folder, *declared, **options)
