"""Foreign text through every surface of the real app: what the terminal gets is text and our own sequences."""

from __future__ import annotations

import os
import random
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from forge_core.config.forge_config import ForgeConfig
from tests.support.chat_app import make_app, ready
from tests.support.hostile import CHARACTERS, ESCAPES, LONG, MARKDOWN, MARKUP, TRICKS, random_text
from tests.support.output_stream import StreamDriver, UnknownOutputError, check_stream
from tests.support.surfaces import SHOWN, VISITED, Stage

pytestmark = pytest.mark.property


IS_FULL = bool(os.environ.get("FORGE_FULL"))
STRINGS = 10_000 if IS_FULL else 500
BATCH = 50
LITERAL = ("answer", "reasoning", "tool name", "output", "diff", "notice", "message", "tasks", "raw view")
"""Where there is room for every letter of a short text."""
MIXED = [" ".join(group) for group in (ESCAPES + CHARACTERS, MARKUP + MARKDOWN)]
"""All tricks in few texts."""
OUR_MARKS = re.compile(r"[\s│▕▏▌▎┃█▁▔›⏎]+")
"""What wrapping, bars and frames put between the letters of a text."""


@asynccontextmanager
async def staged(config: ForgeConfig, *, shows: bool = False) -> AsyncIterator[Stage]:
    app = make_app(config)
    app.driver_class = StreamDriver
    async with app.run_test(headless=False, size=(100, 40)) as pilot:
        await ready(pilot)
        stage = Stage(pilot, shows=shows)
        app.chat.welcome.display = False
        await stage.painted()
        yield stage


async def show(stage: Stage, surface: str, texts: Sequence[str]) -> str:
    """What the screen has shown of the texts on this surface."""
    if surface in VISITED:
        shown = await VISITED[surface](stage, texts)
    else:
        for text in texts:
            SHOWN[surface](stage, text)
        shown = await stage.leafed(most=1000 if IS_FULL or stage.stream.shows else 4)
    stage.app.chat.transcript.clear_blocks()
    return shown


async def test_escape_sequences_in_the_conversation_reach_the_terminal_as_text(config: ForgeConfig) -> None:
    async with staged(config) as stage:
        for surface in SHOWN:
            await show(stage, surface, TRICKS if IS_FULL else [*MIXED, *LONG[-3:]])
        assert stage.stream.seen > len(SHOWN) * 2000


async def test_escape_sequences_on_other_surfaces_reach_the_terminal_as_text(config: ForgeConfig) -> None:
    async with staged(config) as stage:
        for surface in VISITED:
            before = stage.stream.seen
            await show(stage, surface, TRICKS if IS_FULL else MIXED)
            assert stage.stream.seen > before, surface


async def test_random_text_reaches_the_terminal_as_text(config: ForgeConfig) -> None:
    chance = random.Random(20)
    async with staged(config) as stage:
        for _ in range(STRINGS // BATCH):
            texts = [random_text(chance) for _ in range(BATCH)]
            for text in texts:
                SHOWN[chance.choice(list(SHOWN))](stage, text)
            await stage.leafed(most=1000 if IS_FULL else 3)
            stage.app.chat.transcript.clear_blocks()
            if IS_FULL or chance.random() < 0.1:
                surface = chance.choice(list(VISITED))
                await show(stage, surface, [text for text in texts if text.strip()][:2])
        assert stage.stream.seen > STRINGS * 20


async def test_markup_is_shown_literally(config: ForgeConfig) -> None:
    async with staged(replace(config, thinking="full"), shows=True) as stage:
        for surface in LITERAL if IS_FULL else ("tool name", "diff", "tasks"):
            # In an answer a backslash before a bracket is Markdown's, and does not show.
            tricks = [trick for trick in MARKUP if surface != "answer" or not trick.startswith("\\")]
            shown = OUR_MARKS.sub("", await show(stage, surface, [f"Q{trick}Q" for trick in tricks]))
            for trick in tricks:
                assert f"Q{OUR_MARKS.sub('', trick)}Q" in shown, surface


def test_the_output_check_rejects_unknown_escape_sequences() -> None:
    """The check itself: what terminals obey fails it, but for colours, web links and the clipboard, which are
    ours too."""
    for escape in ESCAPES:
        if not escape.startswith(("\x1b[31;1m", "\x1b]52;", "\x1b]8;;http:")):
            with pytest.raises(UnknownOutputError):
                check_stream(escape, 100, 40)
