"""Moving a session to another endpoint between turns."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from forge_core.approval import deny_all
from forge_core.config.forge_config import Endpoint, ForgeConfig
from forge_core.events import AgentEnd
from forge_core.runtime import build_session, load_session_config
from forge_core.session import ForgeSession
from forge_core.store.journal import journal_path, read_journal
from tests.support.sse_server import SseServer, answer

KEY = "Zq7+wV/2mN9xKp4tRb8yLc3d"


@asynccontextmanager
async def offline_session(root: Path) -> AsyncIterator[ForgeSession]:
    """A session with the offline model."""
    environ = {"FORGE_HOME": str(root / "home"), "HOME": str(root)}
    session = build_session(load_session_config(root, environ=environ), deny_all)
    try:
        yield session
    finally:
        await session.aclose()


def at(session: ForgeSession, server: SseServer, model: str = "test/model") -> ForgeConfig:
    """The settings of the session with a server's endpoint."""
    return replace(session.config, endpoint=Endpoint("custom", server.base_url, KEY, "your key"), model=model)


def change(session: ForgeSession, config: ForgeConfig) -> None:
    assert session._provider.at is not None
    session.use_endpoint(config, session._provider.at(config))


async def say(session: ForgeSession, text: str) -> str:
    events = [event async for event in session.send(text)]
    assert isinstance(events[-1], AgentEnd)
    return events[-1].result.output


async def test_the_conversation_continues_at_the_other_endpoint(tmp_path: Path) -> None:
    with SseServer(answer("Real.")) as server:
        async with offline_session(tmp_path) as session:
            await say(session, "hello")
            assert session.status.provider_label == "offline"
            change(session, at(session, server))
            assert await say(session, "again") == "Real."
            status = session.status
            assert (status.model, status.provider_label) == ("test/model", "local")
        sent = server.requests[0]
        assert sent.headers["authorization"] == f"Bearer {KEY}"
        assert [one["content"] for one in sent.json["messages"] if one["role"] == "user"] == [
            "hello",
            "again",
        ]


async def test_the_journal_holds_the_change_and_never_the_key(tmp_path: Path) -> None:
    with SseServer(answer(f"Your key is {KEY}.")) as server:
        async with offline_session(tmp_path) as session:
            await say(session, "hello")
            change(session, at(session, server))
            await say(session, "what is my key?")
        path = journal_path(session.config.state_dir, session.id)
        states = [record["data"] for record in read_journal(path).records if record["type"] == "state"]
        changed = {"model": "test/model", "provider": "custom"}
        assert changed.items() <= next(one for one in states if "provider" in one).items()
        assert KEY not in path.read_text()
        saved = await session.recorded()
        assert (saved.provider, saved.model) == ("custom", "test/model")


async def test_prices_limits_and_windows_are_those_of_the_other_endpoint(tmp_path: Path) -> None:
    with SseServer() as server:
        async with offline_session(tmp_path) as session:
            offline_window = session.status.context_window
            assert session.budget._is_free
            openrouter = Endpoint("openrouter", "https://openrouter.ai/api/v1", KEY)
            model = "anthropic/claude-sonnet-5"
            change(session, replace(session.config, endpoint=openrouter, model=model))
            status = session.status
            assert not session.budget._is_free
            assert status.context_window != offline_window
            assert status.output_price_usd is not None
            assert any(choice.id == "anthropic/claude-haiku-4.5" for choice in session.models.known())
            change(session, at(session, server))
            assert session.budget._local == server.base_url.split("/")[2]
            assert session.status.context_window is None


async def test_each_endpoint_has_its_own_favourites(tmp_path: Path) -> None:
    with SseServer() as server:
        async with offline_session(tmp_path) as session:
            session.models.lists.toggle_favourite("a/one")
            change(session, at(session, server))
            assert session.models.lists.read().favourites == ()
