"""Model servers on this machine, offered to a user who has set up no model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forge_core.llm.endpoints import PROVIDERS
from forge_core.runtime import load_session_config
from forge_core.runtime.local_servers import RunningServer, find_servers, local_server_notice
from tests.support.sse_server import SseServer, json_reply


def models(*names: str) -> dict[str, Any]:
    return {"GET /models": json_reply({"data": [{"id": name} for name in names]})}


async def test_the_servers_with_a_model_are_found() -> None:
    nothing = replace(PROVIDERS["ollama"], base_url="http://127.0.0.1:9/v1")
    with (
        SseServer(routes=models("nomic-embed-text")) as empty,
        SseServer(routes=models("qwen3:8b", "b")) as one,
    ):
        providers = [
            nothing,
            replace(PROVIDERS["ollama"], base_url=empty.base_url),
            replace(PROVIDERS["lmstudio"], base_url=one.base_url),
        ]
        (found,) = await find_servers(providers)
        assert (found.provider.label, found.summary) == ("LM Studio", "qwen3:8b and 1 more")
        assert await find_servers(providers[:2]) == []
        assert "authorization" not in one.requests[0].headers


@pytest.mark.parametrize("name", ["a\x1b[2J", "x" * 500, "\u202eevil", ""])
async def test_a_hostile_name_is_not_offered(name: str) -> None:
    with SseServer(routes=models(name)) as server:
        assert await find_servers([replace(PROVIDERS["ollama"], base_url=server.base_url)]) == []


def test_nothing_is_asked_where_a_model_or_an_endpoint_was_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    async def find(providers: object) -> list[RunningServer]:
        asked.append(providers)
        return [RunningServer(PROVIDERS["ollama"], ("qwen3:8b", "b"))]

    monkeypatch.setattr("forge_core.runtime.local_servers.find_servers", find)
    environ = {"FORGE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    config = load_session_config(tmp_path, environ=environ)
    notice = local_server_notice(config)
    assert notice == "Ollama is running here with qwen3:8b and 1 more. /connect ollama switches to it."
    chosen = load_session_config(tmp_path, environ=environ, flags={"model": "offline"})
    with_key = load_session_config(tmp_path, environ={**environ, "OPENROUTER_API_KEY": "sk-0123456789"})
    assert [local_server_notice(one) for one in (chosen, with_key)] == ["", ""]
    assert len(asked) == 1
