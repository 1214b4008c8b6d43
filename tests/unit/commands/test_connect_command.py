"""`/connect`: the session moves to another endpoint while it runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import deny_all
from forge_core.commands.result import ChooseEndpoint, CommandNotice, Failure, Text
from forge_core.config.forge_config import OFFLINE_MODEL
from forge_core.config.saved_keys import SavedKeys
from forge_core.events import LLMEnd
from forge_core.llm.endpoints import OPENROUTER_URL, PROVIDERS
from forge_core.llm.models import TokenUsage
from forge_core.runtime import build_session, load_session_config
from forge_core.session import ForgeSession
from tests.support.commands import run_command
from tests.support.sse_server import SseServer, answer, error_reply, json_reply

KEY = "Zq7+wV/2mN9xKp4tRb8yLc3d"
OTHER_KEY = "Jk4/pQ+8sV1bNt6yWm3xZr9f"


def models(*names: str) -> dict[str, Any]:
    return {"GET /models": json_reply({"data": [{"id": name} for name in names]})}


@asynccontextmanager
async def offline_session(root: Path, **flags: Any) -> AsyncIterator[ForgeSession]:
    environ = {"FORGE_HOME": str(root / "home"), "HOME": str(root)}
    session = build_session(load_session_config(root, environ=environ, flags=flags), deny_all)
    try:
        yield session
    finally:
        await session.aclose()


async def test_a_local_server_is_used_at_once_with_its_first_model(tmp_path: Path) -> None:
    with SseServer(answer("Hi."), routes=models("nomic-embed-text", "qwen3:8b", "b")) as server:
        async with offline_session(tmp_path) as session:
            done = await run_command(f"/connect {server.base_url}", session)
            assert isinstance(done, CommandNotice)
            assert "model qwen3:8b" in done.text
            assert f"forge chat --base-url {server.base_url} --model qwen3:8b" in done.text
            assert session.status.provider_label == "local"
            assert session.models.lists.read().recent == ("qwen3:8b",)
            async for _ in session.send("hello"):
                pass
        assert [one.json["model"] for one in server.requests if one.method == "POST"] == ["qwen3:8b"]


async def test_a_session_goes_back_to_the_offline_model(tmp_path: Path) -> None:
    with SseServer(answer("Hi."), routes=models("qwen3:8b")) as server:
        async with offline_session(tmp_path) as session:
            await run_command(f"/connect {server.base_url}", session)
            refused = await run_command("/connect offline qwen3:8b", session)
            assert isinstance(refused, Failure)
            assert "'forge/offline'" in refused.text
            assert session.status.provider_label == "local"
            done = await run_command("/connect OFFLINE", session)
            assert isinstance(done, CommandNotice)
            assert "Nothing is sent over a network" in done.text
            assert "forge chat --model offline" in done.text
            assert (session.status.model, session.status.provider_label) == (OFFLINE_MODEL, "offline")
            listed = await run_command("/model", session)
            assert isinstance(listed, Text)
            assert f"› {OFFLINE_MODEL}" in listed.body
            async for _ in session.send("hello"):
                pass
            assert session.last_result is not None
            assert session.last_result.stopped_reason == "complete"
        assert all(one.method == "GET" for one in server.requests)


async def test_a_provider_without_a_key_and_no_argument_are_asked_for(tmp_path: Path) -> None:
    async with offline_session(tmp_path) as session:
        assert await run_command("/connect", session) == ChooseEndpoint()
        assert await run_command("/connect groq", session) == ChooseEndpoint(PROVIDERS["groq"].base_url)
        SavedKeys(session.config.state_dir).save(PROVIDERS["groq"].base_url, KEY)
        done = await run_command("/connect GROQ some/model", session)
        assert isinstance(done, CommandNotice)
        assert session.config.endpoint.api_key == KEY
        assert KEY not in done.text
        SavedKeys(session.config.state_dir).save(OPENROUTER_URL, KEY)
        assert isinstance(await run_command("/connect openrouter", session), CommandNotice)
        assert session.status.model == "anthropic/claude-sonnet-5"
        assert session.status.provider_label == "openrouter"


@pytest.mark.parametrize(
    "argument",
    [f"sk-{KEY}", KEY, "ftp://host", "http://user:pass@host/v1", "http://host/v1?key=1", "groq a b"],
)
async def test_what_is_no_endpoint_is_refused_without_repeating_it(tmp_path: Path, argument: str) -> None:
    async with offline_session(tmp_path) as session:
        done = await run_command(f"/connect {argument}", session)
        assert isinstance(done, Failure)
        assert argument not in done.text
        assert session.status.provider_label == "offline"


async def test_a_server_that_lists_no_models_changes_nothing(tmp_path: Path) -> None:
    with SseServer(routes={"GET /models": error_reply(500, "it is down")}) as server:
        async with offline_session(tmp_path) as session:
            done = await run_command(f"/connect {server.base_url}", session)
            assert isinstance(done, Failure)
            assert "lists no models" in done.text
    with SseServer(routes={"GET /models": error_reply(401, "no key")}) as server:
        async with offline_session(tmp_path) as session:
            assert await run_command(f"/connect {server.base_url}", session) == ChooseEndpoint(
                server.base_url
            )
    with SseServer(routes=models()) as server:
        async with offline_session(tmp_path) as session:
            done = await run_command(f"/connect {server.base_url}", session)
            assert done == ChooseEndpoint(server.base_url)
            assert session.status.provider_label == "offline"


async def test_the_key_for_the_configured_endpoint_goes_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORGE_API_KEY", KEY)
    with SseServer(routes=models("a")) as own, SseServer(routes=models("a")) as other:
        async with offline_session(tmp_path, base_url=own.base_url, model="a") as session:
            await run_command(f"/connect {other.base_url}", session)
            assert session.config.endpoint.api_key is None
            await run_command(f"/connect {own.base_url}", session)
            assert session.config.endpoint.api_key == KEY
        assert all("authorization" not in one.headers for one in other.requests)


async def test_a_change_that_gives_up_a_cached_prompt_is_asked_for_twice(tmp_path: Path) -> None:
    with SseServer(routes=models("a/b")) as server:
        async with offline_session(tmp_path) as session:
            usage = TokenUsage(prompt_tokens=90_000, completion_tokens=9, cached_tokens=80_000)
            end = LLMEnd(
                model="forge/offline",
                usage=usage,
                cost_usd=None,
                finish_reason="stop",
                duration_s=1.0,
                total_usage=usage,
            )
            session.models.answered(end)
            session._meter.answered(end)
            done = await run_command(f"/connect {server.base_url}", session)
            assert isinstance(done, Failure)
            assert f"/connect {server.base_url} a/b again changes it" in done.text
            assert isinstance(await run_command(f"/connect {server.base_url}", session), CommandNotice)


async def test_settings_for_the_models_of_another_endpoint_are_left_behind(tmp_path: Path) -> None:
    with SseServer(routes=models("a")) as server:
        async with offline_session(tmp_path, models=["x/one"], context_window=1234) as session:
            await run_command(f"/connect {server.base_url}", session)
            assert session.models.fallbacks == ()
            assert session.status.context_window is None
