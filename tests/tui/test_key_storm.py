"""Random keys, mouse events and resizes while a turn streams: nothing fails, no typed text is lost."""

from __future__ import annotations

import os
import random

import pytest
from textual import events

from forge_core.config.forge_config import ForgeConfig
from tests.support.chat_app import make_app, ready, until
from tests.support.endless_session import EndlessSession
from tests.support.output_stream import StreamDriver
from tests.support.storm import Storm

pytestmark = pytest.mark.property


IS_FULL = bool(os.environ.get("FORGE_FULL"))
STEPS = 2_000 if IS_FULL else 200
SEEDS = os.environ.get("FORGE_STORM_SEEDS", "1 2 3 4 5" if IS_FULL else "1").split()
"""Each is another storm; a number names it."""
STEPS_PER_LOOK = 100


async def test_mouse_events_outside_the_screen_keep_the_focus(config: ForgeConfig) -> None:
    """Its report may be older than the last resize."""
    app = make_app(config)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        typed = ""
        for kind in (events.MouseMove, events.MouseScrollUp, events.MouseDown, events.MouseUp):
            app.post_message(kind(None, 90, 30, 0, 0, 0, False, False, False, 90, 30))
            app.post_message(events.Key("k", "k"))
            typed += "k"
            await until(pilot, lambda typed=typed: app.chat.composer.text == typed)
            assert app.focused is app.chat.composer


@pytest.mark.parametrize("seed", SEEDS)
async def test_the_app_survives_random_keys_while_a_turn_streams(config: ForgeConfig, seed: str) -> None:
    made: list[EndlessSession] = []

    def make(approver: object, scripted: object) -> EndlessSession:
        session = EndlessSession(config, random.Random(-int(seed)))
        session.responder = app.chat.prompts.ask
        made.append(session)
        return session

    app = make_app(config, make_session=make)
    app.driver_class = StreamDriver
    async with app.run_test(headless=False, size=(100, 30)) as pilot:
        await ready(pilot)
        [session] = made
        storm = Storm(pilot, session, int(seed))
        await storm.settle()
        while storm.steps < STEPS:
            looks = storm.steps // STEPS_PER_LOOK
            await storm.step()
            if storm.steps // STEPS_PER_LOOK > looks:
                await storm.look()
        await storm.look()
        await storm.end()
        assert len(storm.kinds) == len(storm.singles) + 1 or not IS_FULL
        app.exit()
    assert app.crash is None
    assert app.return_code == 0
    assert session.is_closed
