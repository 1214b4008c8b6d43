"""The client over an injected transport: what goes to OpenRouter itself, without any network."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import httpx
import pytest

from forge_core.errors import BudgetExceededError, ConfigError, ProviderError
from forge_core.llm.client import OpenRouterClient
from forge_core.llm.models import CompletionRequest, Message
from tests.support.sse_server import DONE, KEY, chunk, event

REQUEST = CompletionRequest("a/b", [Message.user("hi")])


class Recording:
    """Answers every request with one chunk or one whole answer, and keeps the requests."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if json.loads(request.content).get("stream"):
            return httpx.Response(200, content=event(chunk("ok", finish_reason="stop")) + DONE)
        choice = {"message": {"content": "ok"}, "finish_reason": "stop"}
        return httpx.Response(200, json={"model": "a/b", "choices": [choice]})


async def sent(**options: Any) -> httpx.Request:
    recording = Recording()
    async with OpenRouterClient(transport=httpx.MockTransport(recording), **options) as client:
        texts = [found.text async for found in client.stream(REQUEST)]
    assert "".join(texts) == "ok"
    return recording.requests[0]


async def test_openrouter_requests_have_attribution_headers() -> None:
    request = await sent(api_key=KEY)
    assert request.url == "https://openrouter.ai/api/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["x-openrouter-title"] == "Forge"
    assert request.headers["x-openrouter-categories"] == "cli-agent"
    assert json.loads(request.content)["usage"] == {"include": True}


async def test_attribution_headers_can_be_disabled() -> None:
    request = await sent(api_key=KEY, attribution=False)
    assert not {"http-referer", "x-title", "x-openrouter-title"} & set(request.headers)


@pytest.mark.parametrize("url", ["https://api.openai.com/v1", "https://llm.example.com/v1"])
async def test_other_providers_get_no_attribution_headers(url: str) -> None:
    request = await sent(api_key=KEY, base_url=url)
    assert not {"http-referer", "x-title", "x-openrouter-title"} & set(request.headers)


async def test_an_ipv6_address_may_be_written_in_capitals() -> None:
    request = await sent(api_key=KEY, base_url="http://[FE80::1]:8000/v1")
    assert request.url.port == 8000
    assert request.headers["authorization"] == f"Bearer {KEY}"


async def test_extra_headers_are_sent_but_never_replace_the_key() -> None:
    request = await sent(api_key=KEY, default_headers={"X-Team": "a", "Authorization": "Bearer other"})
    assert request.headers["x-team"] == "a"
    assert request.headers["authorization"] == f"Bearer {KEY}"


async def test_an_injected_transport_needs_no_key() -> None:
    assert "authorization" not in (await sent()).headers


def test_synchronous_calls_use_the_transport_too() -> None:
    recording = Recording()
    client = OpenRouterClient(KEY, transport=httpx.MockTransport(recording))
    assert client.complete_sync(REQUEST).message.text == "ok"
    assert [found.text for found in client.stream_sync(REQUEST)] == ["ok"]
    client.close()
    assert len(recording.requests) == 2


@pytest.mark.parametrize(
    ("url", "trusts_environment"),
    [
        ("http://vllm.localhost:8000/v1", False),
        ("http://localhost.:8000/v1", False),
        ("http://llm.example.com/v1", True),
    ],
)
def test_requests_to_localhost_names_bypass_the_environment_proxy(url: str, trusts_environment: bool) -> None:
    assert OpenRouterClient(base_url=url)._connections._trust_env is trusts_environment


async def test_an_error_does_not_repeat_a_key_of_unknown_shape() -> None:
    key = "Tr0ub4dor-and-3-of-my-server"

    def echo(request: httpx.Request) -> httpx.Response:
        return httpx.Response(
            400, json={"error": {"message": f"bad header {request.headers['authorization']}"}}
        )

    async with OpenRouterClient(key, transport=httpx.MockTransport(echo), max_retries=0) as client:
        with pytest.raises(ProviderError) as caught:
            await client.complete(REQUEST)
    assert "bad header" in str(caught.value)
    assert key not in f"{caught.value} {caught.value!r}"


@pytest.mark.parametrize("began", [True, False])
async def test_a_generation_that_fails_counts_as_abandoned_once_it_has_begun(began: bool) -> None:
    content = event(chunk("Once" if began else "")) + event({"error": {"code": 400, "message": "no"}})
    transport = httpx.MockTransport(lambda request: httpx.Response(200, content=content))
    abandoned: list[str] = []
    async with OpenRouterClient(
        KEY, transport=transport, max_retries=0, on_abandoned=abandoned.append
    ) as client:
        with pytest.raises(ProviderError):
            async for _ in client.stream(REQUEST):
                pass
    assert abandoned == (["gen-1"] if began else [])


async def test_a_stream_that_is_closed_early_counts_as_abandoned() -> None:
    content = event(chunk("Once")) + event(chunk("upon")) + DONE
    transport = httpx.MockTransport(lambda request: httpx.Response(200, content=content))
    abandoned: list[str] = []
    async with OpenRouterClient(KEY, transport=transport, on_abandoned=abandoned.append) as client:
        chunks = client.stream(REQUEST)
        await anext(chunks)
        await chunks.aclose()
    assert abandoned == ["gen-1"]


async def test_nothing_is_sent_for_a_completion_that_is_not_admitted() -> None:
    recording = Recording()
    seen: list[CompletionRequest] = []

    async def admit(request: CompletionRequest) -> AbstractContextManager[None]:
        seen.append(request)
        if len(seen) > 2:
            raise BudgetExceededError("The limit is reached.")
        return nullcontext()

    transport = httpx.MockTransport(recording)
    async with OpenRouterClient(transport=transport, admit=admit) as client:
        await client.complete(REQUEST)
        assert (await anext(client.stream(REQUEST))).text == "ok"
        with pytest.raises(BudgetExceededError):
            await client.complete(REQUEST)
        with pytest.raises(BudgetExceededError):
            await anext(client.stream(REQUEST))
    assert seen == [REQUEST] * 4
    assert len(recording.requests) == 2


def test_a_host_that_two_parsers_read_differently_is_refused() -> None:
    with pytest.raises(ConfigError, match="ambiguous"):
        OpenRouterClient(KEY, base_url="https://openrouter.ai>x/v1")
