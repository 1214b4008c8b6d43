"""The model catalogue: asked for beside the first turn, kept for a day, done without when it cannot be had."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from forge_core.approval import deny_all
from forge_core.config.forge_config import Endpoint
from forge_core.llm.account.catalog import lookup
from forge_core.runtime import build_session, load_session_config
from tests.support.sse_server import Answer, SseServer, answer, error_reply, json_reply

MODELS = json_reply(
    {
        "data": [
            {
                "id": "new/model",
                "name": "New",
                "context_length": 123_000,
                "pricing": {"prompt": "0.000001", "completion": "0.000002"},
            }
        ]
    }
)


async def turn_at(root: Path, models: Answer) -> list[str]:
    """The paths that one turn of a fresh session asks for."""
    with SseServer(answer("ok"), routes={"GET /models": models}) as server:
        config = load_session_config(root, flags={"model": "offline"})
        endpoint = Endpoint("openrouter", "http://127.0.0.1:0", "sk-or-v1-secret0123")
        endpoint = dataclasses.replace(endpoint, base_url=server.base_url)
        session = build_session(dataclasses.replace(config, endpoint=endpoint, model="new/model"), deny_all)
        async for _ in session.send("hi"):
            pass
        await session._billing.settled()
        await session.aclose()
        return [request.path.rpartition("/")[2] for request in server.requests]


async def test_the_first_turn_fetches_context_windows_and_caches_them_on_disk(
    tmp_path: Path, _own_home: Path
) -> None:
    assert sorted(await turn_at(tmp_path, MODELS)) == ["completions", "models"]
    found = lookup("new/model")
    assert found is not None
    assert found.context_length == 123_000
    (kept,) = (_own_home / "forge" / "state" / "cache").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("status", [403, 404])
async def test_a_failed_catalogue_refresh_does_not_affect_the_turn(tmp_path: Path, status: int) -> None:
    assert "completions" in await turn_at(tmp_path, error_reply(status, "no"))
