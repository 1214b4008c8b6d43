"""What the chat shows about a model server on this machine."""

from __future__ import annotations

from dataclasses import replace

from forge_core.config.forge_config import ForgeConfig
from tests.support.chat_app import make_app, shown, until


async def test_the_chat_shows_what_was_found(config: ForgeConfig) -> None:
    app = make_app(config)
    app._environment = replace(app._environment, local_server=lambda config: "Ollama is running here.")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "Ollama is running here." in shown(app))
