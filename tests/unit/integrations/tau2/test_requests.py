"""What goes over the wire, and how the model, its key and the prompt are chosen."""

from __future__ import annotations

import copy
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import tau2_shop as shop
from tests.support.sse_server import SseServer, answer

KEYS = ("OPENROUTER_API_KEY", "OPENAI_API_KEY", "NEBIUS_API_KEY")
NEBIUS = "https://api.tokenfactory.nebius.com/v1/"


def asked(server: SseServer, agent: Any) -> Any:
    """The body of one request of `agent`."""
    server.add(answer("Yes."))
    agent.generate_next_message(shop.user(), agent.get_init_state())
    return server.requests[-1].json


def test_seed_and_sampling_parameters_are_sent_and_secrets_are_not(server: SseServer) -> None:
    given = {"temperature": 0.0, "max_tokens": 77, "top_k": 3, "num_retries": 1, "drop_params": True}
    given["extra_body"] = {"min_p": 0.1}
    agent = shop.agent(server, llm_args=given, base_url=server.base_url, api_key="sk-explicit")
    agent.set_seed(42)
    body = asked(server, agent)
    assert (body["seed"], body["temperature"], body["max_tokens"]) == (42, 0.0, 77)
    assert (body["top_k"], body["min_p"], body["model"]) == (3, 0.1, "test/model")
    beside = {"api_key", "base_url", "api_base", "num_retries", "max_retries", "drop_params", "extra_body"}
    assert beside.isdisjoint(body)
    assert "sk-explicit" not in str(body)
    assert server.requests[0].headers["authorization"] == "Bearer sk-explicit"


def test_the_arguments_passed_by_the_caller_are_not_changed(server: SseServer) -> None:
    given: dict[str, Any] = {"api_base": server.base_url, "api_key": "sk-1", "stop": "END", "reasoning": {}}
    before = copy.deepcopy(given)
    agent = shop.forge_tau2.create_tau2_forge_agent([], "policy", llm="m", llm_args=given)
    agent.set_seed(1)
    assert asked(server, agent)["stop"] == ["END"]
    assert given == before
    assert not {"api_key", "base_url", "api_base"} & agent.llm_args.keys()


@pytest.mark.parametrize("name", ["messages", "tools", "model", "extra_headers"])
def test_arguments_that_conflict_with_those_of_the_agent_are_rejected(server: SseServer, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        shop.agent(server, llm_args={name: "x"})


def test_tool_schemas_are_sent_unchanged(server: SseServer) -> None:
    live = shop.environment()
    body = asked(server, shop.agent(server, live))
    assert body["tools"] == [tool.openai_schema for tool in shop.shop_tools(live)]
    assert "$defs" in str(body["tools"])


def test_without_tools_the_request_has_no_tools_field(server: SseServer) -> None:
    assert "tools" not in asked(server, shop.agent(server, tools=[]))


def test_a_non_streamed_answer_is_supported(server: SseServer) -> None:
    body = asked(server, agent := shop.agent(server, stream=True))
    assert body["stream"] is True
    agent.stop()
    from tests.support.sse_server import USAGE, json_reply

    choice = {"index": 0, "message": {"role": "assistant", "content": "Whole."}, "finish_reason": "stop"}
    server.add(json_reply({"id": "g", "model": "m", "choices": [choice], "usage": USAGE}))
    agent = shop.agent(server, llm_args={"stream": False})
    message, _ = agent.generate_next_message(shop.user(), agent.get_init_state())
    assert "stream" not in server.requests[-1].json
    assert (message.content, message.cost) == ("Whole.", pytest.approx(USAGE["cost"]))


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ('Reply {"a": {}} by\n{domain_policy}!', f'Reply {{"a": {{}}}} by\n{shop.POLICY}!'),
        (lambda policy: f"<{policy}>", f"<{shop.POLICY}>"),
        ({"shop": "for {domain_policy}", "default": "no"}, f"for {shop.POLICY}"),
        ({"airline": "no", "default": "d"}, "d"),
        ("", ""),
    ],
    ids=["braces", "function", "domain", "default", "empty"],
)
def test_a_custom_system_prompt_is_used(server: SseServer, prompt: Any, expected: str) -> None:
    body = asked(server, shop.agent(server, system_prompt=prompt, domain="shop"))
    assert body["messages"][0] == {"role": "system", "content": expected}


def test_the_default_prompt_contains_the_policy_once(server: SseServer) -> None:
    text = asked(server, shop.agent(server, system_prompt={"airline": "x"}))["messages"][0]["content"]
    assert text.count(shop.POLICY) == 1 and "{domain_policy}" not in text


def test_the_domain_is_derived_from_the_toolkit_module() -> None:
    from forge_core.integrations.tau2.system_prompt import domain_of

    tools = shop.shop_tools(shop.environment())
    assert domain_of(tools) is None
    type(tools[0]._func.__self__).__module__ = "tau2.domains.retail.tools"
    assert domain_of(tools) == "retail"


@pytest.mark.parametrize(
    ("url", "variable"),
    [
        ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
        ("https://api.openai.com/v1", "OPENAI_API_KEY"),
        (NEBIUS, "NEBIUS_API_KEY"),
    ],
)
def test_the_key_is_read_from_the_variable_of_the_host(
    monkeypatch: pytest.MonkeyPatch, url: str, variable: str
) -> None:
    from forge_core.integrations.tau2.llm_arguments import build_llm

    for name in KEYS:
        monkeypatch.setenv(name, f"sk-{name}")
    found = build_llm("m", {}, url, "  ").api_key
    assert found is not None and found.get_secret_value() == f"sk-{variable}"


@pytest.mark.parametrize("blank", [None, "", "  "])
@pytest.mark.parametrize(
    ("url", "variable"),
    [
        (NEBIUS, "NEBIUS_API_KEY"),
        (None, "OPENROUTER_API_KEY"),
        ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    ],
)
def test_a_missing_key_is_reported_at_construction(
    monkeypatch: pytest.MonkeyPatch, url: str | None, variable: str, blank: str | None
) -> None:
    for name in KEYS:
        monkeypatch.setenv(name, " ")
    if url == NEBIUS:
        monkeypatch.setenv("OPENROUTER_API_KEY", "sk-not-for-them")
    with pytest.raises(ValueError, match=variable):
        shop.forge_tau2.Tau2ForgeAgent([], "p", "m", {"api_key": blank}, base_url=url, api_key=blank)


def test_a_custom_server_needs_no_key(server: SseServer) -> None:
    agent = shop.forge_tau2.Tau2ForgeAgent([], "p", "m", {"base_url": server.base_url})
    assert asked(server, agent)["model"] == "m"
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize(
    ("llm", "url", "expected"),
    [
        ("openrouter/openai/gpt-5", "https://openrouter.ai/api/v1", "openai/gpt-5"),
        ("openrouter/auto", "https://openrouter.ai/api/v1", "openrouter/auto"),
        ("openai/gpt-5", "https://openrouter.ai/api/v1", "openai/gpt-5"),
        ("openai/gpt-5", "https://api.openai.com/v1", "gpt-5"),
        ("openai/gpt-oss-120b", NEBIUS, "openai/gpt-oss-120b"),
    ],
)
def test_a_service_prefix_is_removed_when_it_is_not_part_of_the_model_name(
    llm: str, url: str, expected: str
) -> None:
    from forge_core.integrations.tau2.llm_arguments import build_llm

    assert build_llm(llm, {}, url, "sk-1").model == expected


def test_a_price_in_the_arguments_is_used_and_not_sent(server: SseServer) -> None:
    prices = {"input_cost_per_token": 0.5, "output_cost_per_token": 2.0}
    server.add(answer("Yes."))
    agent = shop.agent(server, llm_args=prices)
    message, _ = agent.generate_next_message(shop.user(), agent.get_init_state())
    assert message.cost == pytest.approx(12 * 0.5 + 5 * 2.0)
    assert prices.keys().isdisjoint(server.requests[0].json)


def test_a_price_listed_only_by_litellm_is_used(server: SseServer, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = {"input_cost_per_token": 0.25, "output_cost_per_token": 1.0}
    monkeypatch.setitem(sys.modules, "litellm", SimpleNamespace(model_cost={"gpt-4.1": listed, "odd": {}}))
    for llm, expected in (("openai/gpt-4.1", (4.0, "litellm")), ("odd", (0.0, "unknown"))):
        server.add(answer("Yes.", usage={"prompt_tokens": 12, "completion_tokens": 1}))
        agent = shop.agent(server, llm=llm)
        message, _ = agent.generate_next_message(shop.user(), agent.get_init_state())
        assert (message.cost, message.raw_data["cost_source"]) == expected


def test_an_unknown_price_counts_as_zero_and_is_logged(
    server: SseServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.add(*[answer("Yes.", usage={"prompt_tokens": 3, "completion_tokens": 1})] * 2)
    agent = shop.agent(server)
    state = agent.get_init_state()
    for _ in range(2):
        message, state = agent.generate_next_message(shop.user(), state)
    assert (message.cost, message.raw_data["cost_source"]) == (0.0, "unknown")
    assert message.usage == {"prompt_tokens": 3, "completion_tokens": 1}
    assert sum("unknown" in record.message for record in caplog.records) == 1


def test_audio_settings_and_unknown_modes_are_refused(server: SseServer) -> None:
    with pytest.raises(ValueError, match="audio"):
        shop.agent(server, audio_native_config=object())
    with pytest.raises(ValueError, match="'fast'"):
        shop.agent(server, mode="fast")
