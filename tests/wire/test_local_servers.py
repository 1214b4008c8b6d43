"""Model servers on this machine, offered to a user who has set up no model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forge_core.llm.endpoints import PROVIDERS
from forge_core.runtime import load_session_config
from forge_core.runtime.local_servers import find_server, local_server_notice
from tests.support.sse_server import SseServer, json_reply


def models(*names: str) -> dict[str, Any]:
    return {"GET /models": json_reply({"data": [{"id": name} for name in names]})}


async def test_the_first_server_with_a_model_is_offered() -> None:
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
        notice = await find_server(providers)
        assert "LM Studio is running here with qwen3:8b and 1 more." in notice
        assert notice.endswith(f"forge chat --base-url {one.base_url} --model qwen3:8b")
        assert await find_server(providers[:2]) == ""
        assert "authorization" not in one.requests[0].headers


@pytest.mark.parametrize("name", ["a\x1b[2J", "x" * 500, "\u202eevil", ""])
async def test_a_hostile_name_is_not_offered(name: str) -> None:
    with SseServer(routes=models(name)) as server:
        assert await find_server([replace(PROVIDERS["ollama"], base_url=server.base_url)]) == ""


async def test_a_name_is_quoted_for_the_shell() -> None:
    with SseServer(routes=models("a;reboot")) as server:
        notice = await find_server([replace(PROVIDERS["ollama"], base_url=server.base_url)])
        assert notice.endswith("--model 'a;reboot'")


def test_nothing_is_asked_where_a_model_or_an_endpoint_was_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    async def find(providers: object) -> str:
        asked.append(providers)
        return "found"

    monkeypatch.setattr("forge_core.runtime.local_servers.find_server", find)
    environ = {"FORGE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    config = load_session_config(tmp_path, environ=environ)
    assert local_server_notice(config) == "found"
    chosen = load_session_config(tmp_path, environ=environ, flags={"model": "offline"})
    with_key = load_session_config(tmp_path, environ={**environ, "OPENROUTER_API_KEY": "sk-0123456789"})
    assert [local_server_notice(one) for one in (chosen, with_key)] == ["", ""]
    assert len(asked) == 1
