"""The endpoint of the session, chosen in an overlay: `/connect`."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from forge_core.runtime.connecting import Connection, name_of, prepare, resolve_for
from forge_core.runtime.endpoint_list import endpoint_at, known_endpoints
from forge_tui import workers
from forge_tui.screens.panels.connect_picker import ChosenEndpoint, ConnectPicker
from forge_tui.screens.panels.model_picker import ModelPicker

if TYPE_CHECKING:
    from forge_core.session.session import ForgeSession
    from forge_tui.screens.chat.screen import ChatScreen


def choose_endpoint(screen: ChatScreen, session: ForgeSession, base_url: str) -> None:
    """Ask for an endpoint, its key and its model, and connect to it; `base_url` is that of an endpoint that
    is chosen already."""

    def use(chosen: ChosenEndpoint | None) -> None:
        if chosen is not None:
            if chosen.report:
                screen.say(chosen.report)
            workers.start(screen, partial(_choose_model, screen, session, chosen.base_url), "connect")

    known = partial(known_endpoints, find_servers=screen.environment.local_servers)
    screen.app.push_screen(ConnectPicker(session.config, base_url, known), use)


async def _choose_model(screen: ChatScreen, session: ForgeSession, base_url: str) -> None:
    """Connect to an endpoint that has a model of its own choice; ask for the model of another."""
    name = name_of(base_url)
    if endpoint_at(session.config, base_url).picks_model:
        screen.run_by_name(f"connect {name}")
        return
    connection = prepare(session, await asyncio.to_thread(resolve_for, session.config, base_url))

    def use(model: str | None) -> None:
        workers.start(screen, partial(_close, connection), "connect")
        screen.run_by_name(model and f"connect {name} {model}")

    screen.app.push_screen(ModelPicker(connection.models()), use)


async def _close(connection: Connection) -> None:
    await connection.provider.close()
