"""What the screen's tests share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TypeAlias

import pytest
from textual.pilot import Pilot

from forge_core.config.forge_config import ForgeConfig
from tests.support.chat_app import ChatApp, make_app, make_config, ready
from tests.support.pilot_waits import shorten_pilot_waits
from tests.support.scripted_session import Step
from tests.support.shared_stylesheets import share_parsed_rules

shorten_pilot_waits()
share_parsed_rules()

OpenChat: TypeAlias = Callable[..., AbstractAsyncContextManager[tuple[ChatApp, Pilot[None]]]]


@pytest.fixture
def config(tmp_path: Path) -> ForgeConfig:
    return make_config(tmp_path)


@pytest.fixture
def chat(config: ForgeConfig) -> OpenChat:
    """Open the app with a session that plays the given scripts, one per message, and wait for the session::

    async with chat(answer("Hello.")) as (app, pilot):
        await say(pilot, "hi")
    """

    @asynccontextmanager
    async def opened(
        *scripts: Sequence[Step], size: tuple[int, int] = (100, 30)
    ) -> AsyncIterator[tuple[ChatApp, Pilot[None]]]:
        app = make_app(config, scripts)
        async with app.run_test(size=size) as pilot:
            await ready(pilot)
            yield app, pilot

    return opened
