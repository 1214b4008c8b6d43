"""Each ability of a provider follows from one field of its record, tried with a provider made for the test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from forge_core.config.forge_config import Endpoint, ForgeConfig
from forge_core.errors import AuthenticationError, ConfigError
from forge_core.integrations.tau2.llm_arguments import _model_id
from forge_core.langchain.llm import OpenRouterLLM
from forge_core.llm import endpoints
from forge_core.llm.account.catalog import price_at
from forge_core.llm.choice import choose_endpoint
from forge_core.llm.client import OpenRouterClient
from forge_core.llm.endpoints import DEFAULT_MODEL, PROVIDERS, Provider, resolve
from forge_core.llm.http.payload import build_body
from forge_core.llm.models import CompletionRequest, Message, TokenUsage, ToolCall
from forge_core.runtime.provider_setup import llm_factory, session_provider
from forge_core.session.event_channel import EventChannel
from forge_core.session.provider import ModelPreferences, SessionProvider
from forge_core.store.journal import new_session_id

URL = "https://api.acme.test/v1"
PLAIN = Provider("acme", "Acme", URL, "ACME_API_KEY")


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Registers `PLAIN` with other values of some fields, as a row of the table would."""

    def register(**abilities: Any) -> Provider:
        provider = replace(PLAIN, **abilities)
        monkeypatch.setitem(endpoints.PROVIDERS, "acme", provider)  # type: ignore[arg-type]
        monkeypatch.setitem(endpoints._BY_HOST, "api.acme.test", provider)
        return provider

    return register


def client() -> OpenRouterClient:
    return OpenRouterClient("k", URL)


def abilities_of_session(tmp_path: Path) -> SessionProvider:
    kind = choose_endpoint(URL, DEFAULT_MODEL, {}, {})[0].kind
    config = ForgeConfig(working_dir=tmp_path, endpoint=Endpoint(kind, URL, "k"), model=DEFAULT_MODEL)
    return session_provider(config, EventChannel(), new_session_id(), learns_windows=True)


def test_a_custom_provider_has_no_optional_abilities(registry: Any, tmp_path: Path) -> None:
    registry()
    found = abilities_of_session(tmp_path)
    assert found.label == "custom"
    assert found.known_models() == ()
    assert (found.bill, found.refresh) == (None, None)
    assert found.learn_window is not None
    numbers = (found.context_window, found.max_output, found.output_price)
    assert [number(DEFAULT_MODEL) for number in numbers] == [None] * 3
    with pytest.raises(ConfigError, match="No model given"):
        choose_endpoint(URL, None, {}, {})


def test_the_key_is_read_from_the_variable(registry: Any) -> None:
    registry(key_variable="OTHER_KEY")
    assert resolve(URL, {"OTHER_KEY": "k", "ACME_API_KEY": "no"}).api_key == "k"


async def test_no_request_is_sent_to_a_hosted_provider_without_a_key(registry: Any) -> None:
    registry()
    with pytest.raises(AuthenticationError, match="ACME_API_KEY"):
        await OpenRouterClient(None, URL).complete(CompletionRequest("m", []))


def test_default_model(registry: Any) -> None:
    registry(default_model="acme-1")
    assert choose_endpoint(URL, None, {}, {})[1] == "acme-1"


def test_has_catalogue(registry: Any, tmp_path: Path) -> None:
    provider = registry(has_catalogue=True)
    found = abilities_of_session(tmp_path)
    assert found.refresh is not None
    assert found.learn_window is None
    assert found.label == "acme"
    assert found.known_models()
    assert (found.context_window(DEFAULT_MODEL) or 0) > 100_000
    usage = TokenUsage(prompt_tokens=1000)
    assert price_at(provider, DEFAULT_MODEL, usage) == OpenRouterLLM(client=client())._price("", usage)
    assert price_at(PLAIN, DEFAULT_MODEL, usage) is None
    assert price_at(PLAIN, DEFAULT_MODEL, replace(usage, cost_usd=Decimal(1))) == 1


def test_reports_bills(registry: Any, tmp_path: Path) -> None:
    registry(reports_bills=True)
    assert abilities_of_session(tmp_path).bill is not None


@pytest.mark.parametrize("routes", [False, True])
def test_routes_requests(registry: Any, routes: bool) -> None:
    provider = registry(routes_requests=routes)
    bound: Any = OpenRouterLLM(client=client()).with_structured_output(
        {"title": "answer", "type": "object", "properties": {}}, method="json_schema"
    )
    assert ("provider" in bound.first.kwargs) is routes
    assert _model_id("acme/auto", provider) == ("acme/auto" if routes else "auto")
    details = [{"type": "reasoning.text", "text": "t", "format": "anthropic-claude-v1"}]
    message = Message.assistant("a", reasoning_details=details)
    body = build_body(CompletionRequest("acme/auto", [message]), provider, stream=False)
    assert ("reasoning_details" in body["messages"][0]) is routes


def test_prompt_caching(registry: Any) -> None:
    registry(takes_session_id=True, cache_control_models=("b/",))
    make: Any = llm_factory(client(), "s-1", ModelPreferences())
    assert (make("a/m").session_id, make("a/m").cache_control) == ("s-1", None)
    assert make("b/m").cache_control == {"type": "ephemeral"}
    registry()
    make = llm_factory(client(), "s-1", ModelPreferences())
    assert (make("b/m").session_id, make("b/m").cache_control) == (None, None)


def test_attribution_headers(registry: Any) -> None:
    registry(attribution_headers={"X-App": "Forge"})
    assert client()._headers["X-App"] == "Forge"
    assert "X-App" not in OpenRouterClient("k", URL, attribution=False)._headers


def test_fields_of_the_request(registry: Any) -> None:
    call = ToolCall("c", {"name": "read", "arguments": "{}"})
    request = CompletionRequest("m", [Message.assistant("", [call], reasoning="why")], max_tokens=5)

    def body(**abilities: Any) -> dict[str, Any]:
        return build_body(request, registry(**abilities), stream=True)

    assert body()["stream_options"] == {"include_usage": True}
    assert body(usage_in_body=True)["usage"] == {"include": True}
    assert body(max_tokens_field="most")["most"] == 5
    assert "reasoning" not in body()["messages"][0]
    assert body(takes_reasoning_text=True)["messages"][0]["reasoning"] == "why"
    assert "reasoning" not in body(takes_reasoning_text=True, takes_reasoning=False)["messages"][0]


def test_provider_names_are_not_hard_coded_outside_their_records() -> None:
    core = Path(endpoints.__file__).parents[1]
    naming = {
        str(path.relative_to(core))
        for path in core.rglob("*.py")
        for name in PROVIDERS
        if f'== "{name}"' in path.read_text("utf-8") or f'!= "{name}"' in path.read_text("utf-8")
    }
    assert naming == set()
