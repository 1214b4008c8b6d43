"""Pictures are drawn in full colour, whatever terminal the tests run in."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_core.config.forge_config import ForgeConfig
from tests.support.chat_app import make_config


@pytest.fixture(autouse=True)
def _full_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("TEXTUAL_THEME", raising=False)
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.fixture
def config(tmp_path: Path) -> ForgeConfig:
    return make_config(tmp_path)
