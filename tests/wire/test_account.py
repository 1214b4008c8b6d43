"""Models, key, credits and generations over real HTTP, and the model list on disk."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from forge_core.errors import AuthenticationError, MalformedResponseError
from forge_core.llm.account.account_info import read_credits, read_generation, read_key
from forge_core.llm.account.catalog import ModelInfo, learn, lookup
from forge_core.llm.account.catalog_cache import cache_file, load_models, save_models
from forge_core.llm.client import OpenRouterClient
from tests.support.sse_server import Answer, Reply, Seen, SseServer, error_reply, json_reply

KEY = "sk-or-v1-0123456789abcdef"
ENTRY: dict[str, Any] = {
    "id": "acme/coder",
    "name": "Acme: Coder",
    "context_length": 200000,
    "architecture": {"input_modalities": ["text", "image"]},
    "pricing": {"prompt": "0.000003", "completion": "0.000015", "input_cache_read": "0.0000003"},
    "top_provider": {"max_completion_tokens": 64000},
    "supported_parameters": ["tools", "reasoning"],
    "expiration_date": "2027-01-01",
}
URL = "https://llm.example.com/v1"


def serving(**routes: Answer) -> SseServer:
    return SseServer(routes={f"GET /{path}": reply for path, reply in routes.items()})


async def test_the_model_list_is_read_with_windows_and_prices() -> None:
    with serving(models=json_reply({"data": [ENTRY, None, {"id": "bare"}]})) as server:
        async with OpenRouterClient(KEY, server.base_url) as client:
            coder, bare = await client.models()
    assert (coder.id, coder.context_length, coder.max_output_tokens) == ("acme/coder", 200000, 64000)
    assert (coder.prices.prompt, coder.prices.cache_read) == (Decimal("0.000003"), Decimal("0.0000003"))
    assert coder.input_modalities == ("text", "image")
    assert coder.takes_tools
    assert coder.expires == "2027-01-01"
    assert bare.context_length is None
    assert bare.prices.prompt is None


@pytest.mark.parametrize("body", [{"data": 5}, {}, {"models": "x"}])
async def test_an_invalid_model_list_is_malformed(body: Any) -> None:
    with serving(models=json_reply(body)) as server:
        async with OpenRouterClient(KEY, server.base_url) as client:
            with pytest.raises(MalformedResponseError):
                await client.models()


async def test_the_key_info_contains_its_limits() -> None:
    data = {
        "label": "sk-or-v1-012...def",
        "limit": 10,
        "limit_remaining": 7.5,
        "usage": 2.5,
        "is_free_tier": False,
    }
    with serving(key=json_reply({"data": data})) as server:
        async with OpenRouterClient(KEY, server.base_url) as client:
            info = await client.key_info()
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert (info.limit, info.limit_remaining, info.usage) == (Decimal(10), Decimal("7.5"), Decimal("2.5"))
    assert info.usage_daily is None


async def test_a_wrong_key_is_an_authentication_error() -> None:
    with serving(key=error_reply(401, "User not found.")) as server:
        async with OpenRouterClient(KEY, server.base_url) as client:
            with pytest.raises(AuthenticationError, match="User not found"):
                await client.key_info()


async def test_credits_are_purchased_minus_used() -> None:
    with serving(credits=json_reply({"data": {"total_credits": 100.5, "total_usage": 25.75}})) as server:
        async with OpenRouterClient(KEY, server.base_url) as client:
            found = await client.credits()
    assert found is not None
    assert found.remaining == Decimal("74.75")


async def test_a_generation_is_requested_again_until_it_is_available() -> None:
    seen: list[str] = []

    def reply(request: Seen) -> Reply:
        seen.append(request.path)
        if len(seen) == 1:
            return error_reply(404, "not found yet")
        return json_reply(
            {
                "data": {
                    "id": "gen-1",
                    "model": "acme/coder",
                    "provider_name": "Acme",
                    "total_cost": 0.0125,
                    "tokens_prompt": 1,
                    "native_tokens_prompt": 100,
                    "native_tokens_completion": 50,
                    "native_tokens_reasoning": 20,
                    "native_tokens_cached": 80,
                    "finish_reason": "stop",
                    "cancelled": True,
                }
            }
        )

    with serving(generation=reply) as server:
        async with OpenRouterClient(KEY, server.base_url) as client:
            found = await client.generation("gen-1 &x")
    assert found is not None
    assert (found.usage.prompt_tokens, found.usage.completion_tokens) == (100, 50)
    assert (found.usage.cached_tokens, found.usage.reasoning_tokens) == (80, 20)
    assert found.usage.cost_usd == Decimal("0.0125")
    assert (found.provider, found.was_cancelled) == ("Acme", True)
    assert seen == ["/api/v1/generation?id=gen-1%20%26x"] * 2


@pytest.mark.parametrize("data", [None, 5, [], {}, {"id": 4}])
def test_unexpected_account_answers_are_read_as_unknown(data: Any) -> None:
    assert read_generation(data) is None
    assert read_credits(data) is None
    assert read_key(data).limit is None


def test_the_model_list_is_cached_on_disk(tmp_path: Path) -> None:
    path = cache_file(tmp_path / "cache", URL)
    assert load_models(path, URL) is None
    assert save_models(path, URL, [ENTRY, None], now=1000.0)
    kept = load_models(path, URL, now=2000.0)
    assert kept is not None
    assert [model.id for model in kept] == ["acme/coder"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_model_lists_that_are_old_from_the_future_or_of_another_server_are_ignored(tmp_path: Path) -> None:
    path = cache_file(tmp_path, URL)
    save_models(path, URL, [ENTRY], now=1000.0)
    assert load_models(path, URL, now=1000.0 + 25 * 3600) is None
    assert load_models(path, URL, now=500.0) is None
    assert load_models(path, "https://other.example.com/v1", now=1001.0) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"version": 1}', b"\xff\xfe", b"[" * 100_000])
def test_a_truncated_model_list_is_ignored(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "models.json"
    path.write_bytes(content)
    assert load_models(path, URL) is None


def test_a_model_list_that_cannot_be_saved_is_reported_and_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert not save_models(tmp_path / "file" / "models.json", URL, [ENTRY])
    assert not save_models(tmp_path / "models.json", URL, [object()])
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_fetched_models_take_precedence_over_bundled_ones() -> None:
    learn([ModelInfo("acme/learned", "Acme: Learned", 5000)])
    found = lookup("acme/learned:nitro")
    assert found is not None
    assert found.context_length == 5000
