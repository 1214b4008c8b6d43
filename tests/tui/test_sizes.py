"""Every size of the window works, whatever is on the screen."""

from __future__ import annotations

import asyncio

import pytest
from textual.events import Resize
from textual.geometry import Size
from textual.pilot import Pilot

from forge_core.approval import Question, QuestionOption, QuestionRequest
from forge_core.config.forge_config import ForgeConfig
from tests.bench.script import every_block
from tests.support.chat_app import DEADLINE_S, ChatApp, edit_request, make_app, ready, shown, until
from tests.support.scripted_session import Step

pytestmark = pytest.mark.slow


SIZES = ((20, 5), (1, 1), (1, 40), (3, 40), (150, 1), (6, 3))
QUESTIONS = QuestionRequest(
    "c", (Question("Which one?", "Storage", (QuestionOption("A"), QuestionOption("B"))),)
)
SCENES: dict[str, tuple[list[str], list[Step]]] = {
    "every kind of block": (["h", "enter"], [event for event in every_block() if not isinstance(event, str)]),
    "a permission prompt": (["h", "enter"], [edit_request()]),
    "questions": (["h", "enter"], [QUESTIONS]),
    "help": (["f1"], []),
    "completion": (["slash", "t"], []),
}


@pytest.mark.parametrize("scene", SCENES)
async def test_the_app_survives_every_small_terminal_size(config: ForgeConfig, scene: str) -> None:
    keys, script = SCENES[scene]
    app = make_app(config, [script])
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await pilot.press(*keys)
        await pilot.pause()
        for width, height in SIZES:
            await resized(pilot, app, width, height)
        await resized(pilot, app, 100, 30)
        await until(pilot, lambda: "test/model" in shown(app))
    assert app.crash is None


@pytest.mark.parametrize("keys", [[], ["f1"]], ids=["the conversation", "an overlay"])
async def test_a_stale_resize_event_does_not_override_the_current_size(
    config: ForgeConfig, keys: list[str]
) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await pilot.press(*keys)
        await pilot.resize_terminal(1, 1)
        await pilot.resize_terminal(100, 30)
        app.screen.post_message(Resize(Size(1, 1), Size(1, 1)))  # as the layout for 1 by 1 does
        await until(pilot, lambda: app.screen.size == (100, 30) and "test/model" in shown(app))


@pytest.mark.parametrize("keys", [[], ["f1"]], ids=["the conversation", "an overlay"])
async def test_a_resize_is_not_lost_when_a_stale_one_replaces_it_in_the_queue(
    config: ForgeConfig, keys: list[str]
) -> None:
    app = make_app(config)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await pilot.press(*keys)
        await pilot.pause()
        busy = asyncio.Event()
        app.screen.call_later(busy.wait)
        app.post_message(Resize(Size(60, 20), Size(60, 20)))
        async with asyncio.timeout(DEADLINE_S):
            while app.size != (60, 20) or app._resize_event is not None:
                await asyncio.sleep(0)
        app.screen.post_message(Resize(Size(100, 30), Size(100, 30)))  # Textual keeps the last of several
        busy.set()
        await until(pilot, lambda: len(shown(app).split("\n")) == 20)


async def resized(pilot: Pilot[None], app: ChatApp, width: int, height: int) -> None:
    await pilot.resize_terminal(width, height)
    await until(pilot, lambda: len(shown(app).split("\n")) == height, f"{width} by {height}")


OVERLAYS = {"help": "f1", "palette": "ctrl+p", "history": "ctrl+r", "models": "alt+p"}


@pytest.mark.parametrize("key", OVERLAYS.values(), ids=OVERLAYS)
async def test_panels_have_one_width_and_leave_the_composer_whole(config: ForgeConfig, key: str) -> None:
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await pilot.press(key)
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.pause()
        panel, composer = app.screen.query_one(".panel").region, app.chat.composer.region
        assert (panel.x, panel.y, panel.width) == (0, 1, 80)
        assert panel.bottom <= composer.y
        await resized(pilot, app, 60, 15)
        assert app.screen.query_one(".panel").region.bottom <= 15
