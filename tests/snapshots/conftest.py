"""Pictures are drawn in full colour, whatever terminal the tests run in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from forge_core.config.forge_config import ForgeConfig
from tests.support.chat_app import ChatApp, make_config, until
from tests.support.pilot_waits import shorten_pilot_waits
from tests.support.shared_stylesheets import share_parsed_rules

shorten_pilot_waits()
share_parsed_rules()


@pytest.fixture(autouse=True)
def _full_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("TEXTUAL_THEME", raising=False)
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.fixture
def config(tmp_path: Path) -> ForgeConfig:
    return make_config(tmp_path)


@pytest.fixture
def snap_compare(snap_compare: Callable[..., bool]) -> Callable[..., bool]:
    """Compare a picture after the welcome, if there is one, has said what the folder contains."""

    def compare(app: Any, *, run_before: Callable[[Pilot[Any]], Awaitable[None]], **options: Any) -> bool:
        async def run(pilot: Pilot[Any]) -> None:
            await run_before(pilot)
            if isinstance(app, ChatApp) and app.chat.welcome.display:
                await until(pilot, lambda: app.chat.welcome.has_found)
                await pilot.pause()

        return snap_compare(app, run_before=run, **options)

    return compare
