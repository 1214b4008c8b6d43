"""The chat model's construction, identity and counting; no network."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.load import dumpd, dumps, load
from langchain_core.messages import HumanMessage
from pydantic import BaseModel

from forge_core.langchain.llm import OpenRouterLLM
from forge_core.langchain.model.structured import strict_schema
from forge_core.llm.client import OpenRouterClient

KEY = "sk-or-v1-0123456789abcdef"


def test_initialize_llm_with_client() -> None:
    """Scenario: Initialize LLM with client."""
    client = OpenRouterClient(api_key="sk-or-xxx")
    llm = OpenRouterLLM(client=client, model="anthropic/claude-3-opus")
    assert llm.client is client
    assert llm.model == "anthropic/claude-3-opus"
    assert llm.temperature == 1.0


def test_without_a_client_the_llm_builds_one_from_its_arguments() -> None:
    llm = OpenRouterLLM(
        model="a/b", api_key=KEY, base_url="http://127.0.0.1:9/v1", timeout=7, max_retries=0, stop=["x"]  # type: ignore[arg-type]
    )  # fmt: skip
    assert llm.client.base_url == "http://127.0.0.1:9/v1"
    assert llm.client.max_retries == 0
    assert llm.stop == ["x"]


def test_without_a_client_the_llm_reads_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    llm = OpenRouterLLM(model="a/b")
    assert llm.api_key is not None
    assert llm.api_key.get_secret_value() == KEY
    assert KEY not in repr(llm)


def test_an_endpoint_from_the_environment_gets_only_its_own_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-for-openrouter-alone")
    monkeypatch.setenv("OPENROUTER_BASE_URL", "https://proxy.example.com/v1")
    llm = OpenRouterLLM(model="a/b")
    assert (llm.client.base_url, llm.api_key) == ("https://proxy.example.com/v1", None)
    monkeypatch.setenv("FORGE_API_KEY", KEY)
    llm = OpenRouterLLM(model="a/b")
    assert llm.api_key is not None
    assert llm.api_key.get_secret_value() == KEY
    assert llm.client.key_variable == "FORGE_API_KEY"


@pytest.mark.filterwarnings("ignore:The function `load` is in beta")
def test_a_deserialized_model_does_not_send_its_key_to_another_endpoint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    stored = dumpd(OpenRouterLLM(model="a/b"))
    monkeypatch.setenv("OPENROUTER_BASE_URL", "https://proxy.example.com/v1")
    loaded = load(
        stored, valid_namespaces=["forge_core"], allowed_objects=[OpenRouterLLM], secrets_from_env=True
    )
    assert (loaded.client.base_url, loaded.api_key) == ("https://proxy.example.com/v1", None)


@pytest.mark.parametrize(
    ("url", "variable"),
    [
        ("https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("https://llm.example.com/v1", "FORGE_API_KEY"),
        (None, "OPENROUTER_API_KEY"),
    ],
)
def test_a_deserialized_model_reads_the_key_variable_of_its_endpoint(url: str | None, variable: str) -> None:
    stored = dumpd(OpenRouterLLM(model="a/b", base_url=url, api_key=KEY))  # type: ignore[arg-type]
    assert stored["kwargs"]["api_key"]["id"] == [variable]


def test_the_key_of_one_service_is_not_sent_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    assert OpenRouterLLM(model="gpt-5", base_url="https://api.openai.com/v1").api_key is None


def test_langchain_parameter_aliases_work() -> None:
    llm = OpenRouterLLM(model_name="a/b", stop_sequences=["x"], api_key=KEY)  # type: ignore[call-arg,arg-type]
    assert (llm.model, llm.stop) == ("a/b", ["x"])


@pytest.mark.filterwarnings("ignore:The function `load` is in beta")
def test_the_llm_is_serialised_without_its_key() -> None:
    llm = OpenRouterLLM(model="a/b", api_key=KEY, max_tokens=5)  # type: ignore[arg-type]
    text = dumps(llm)
    assert KEY not in text
    assert '"OPENROUTER_API_KEY"' in text
    again = load(
        dumpd(llm),
        secrets_map={"OPENROUTER_API_KEY": KEY},
        valid_namespaces=["forge_core"],
        allowed_objects=[OpenRouterLLM],
    )
    assert (again.model, again.max_tokens, again.api_key.get_secret_value()) == ("a/b", 5, KEY)


def test_equal_models_have_equal_cache_keys_whatever_their_client() -> None:
    keys = {OpenRouterLLM(client=OpenRouterClient(KEY), model="a/b")._get_llm_string() for _ in range(2)}
    assert len(keys) == 1
    other = OpenRouterLLM(client=OpenRouterClient(KEY), model="a/b", temperature=0.1)._get_llm_string()
    assert other not in keys


def test_tracing_receives_provider_model_and_set_parameters() -> None:
    llm = OpenRouterLLM(client=OpenRouterClient(KEY), model="a/b", max_tokens=9, stop=["x"])
    assert llm._get_ls_params(stop=["y"], model="c/d", temperature=0.0) == {
        "ls_provider": "openrouter",
        "ls_model_type": "chat",
        "ls_model_name": "c/d",
        "ls_temperature": 0.0,
        "ls_max_tokens": 9,
        "ls_stop": ["x", "y"],
    }


def test_only_known_models_have_a_profile() -> None:
    known = OpenRouterLLM(client=OpenRouterClient(KEY), model="openai/gpt-5").profile
    assert known is not None
    assert known["max_input_tokens"] == 400_000
    assert known["tool_calling"] is True
    assert OpenRouterLLM(client=OpenRouterClient(KEY), model="nobody/nothing").profile is None


def test_tokens_are_counted_without_network() -> None:
    llm = OpenRouterLLM(client=OpenRouterClient(KEY), model="a/b")
    assert llm.get_num_tokens("Hello, world!") == 4
    assert len(llm.get_token_ids("Hello, world!")) == llm.get_num_tokens("Hello, world!")
    assert llm.get_num_tokens_from_messages([HumanMessage("Hello, world!")]) >= 3


@pytest.mark.parametrize("choice", ["any", "required", True])
def test_forced_tool_choices_are_sent_as_required(choice: Any) -> None:
    llm = OpenRouterLLM(client=OpenRouterClient(KEY), model="a/b")
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    assert llm.bind_tools([tool], tool_choice=choice).kwargs["tool_choice"] == "required"  # type: ignore[attr-defined]


def test_a_tool_choice_that_is_not_bound_is_refused() -> None:
    llm = OpenRouterLLM(client=OpenRouterClient(KEY), model="a/b")
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    with pytest.raises(ValueError, match="none of the bound tools: f"):
        llm.bind_tools([tool], tool_choice="g")


def test_structured_output_rejects_unsupported_options() -> None:
    llm = OpenRouterLLM(client=OpenRouterClient(KEY), model="a/b")
    with pytest.raises(ValueError, match="Unknown method"):
        llm.with_structured_output({"title": "x"}, method="magic")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="needs a schema"):
        llm.with_structured_output(None)


def test_a_json_schema_requires_openrouter_providers_that_support_it() -> None:
    llm = OpenRouterLLM(client=OpenRouterClient(KEY), model="a/b", provider={"sort": "price"})
    schema = {
        "title": "Answer Of It",
        "type": "object",
        "properties": {"x": {"type": "integer"}},
        "description": "d",
    }
    bound = llm.with_structured_output(schema, method="json_schema").first.kwargs  # type: ignore[attr-defined]
    assert bound["provider"] == {"require_parameters": True, "sort": "price"}
    body = bound["response_format"]["json_schema"]
    assert (body["name"], body["description"]) == ("Answer_Of_It", "d")
    assert body["schema"]["required"] == ["x"]
    loose = llm.with_structured_output(schema, method="json_schema", strict=False)
    assert loose.first.kwargs["response_format"]["json_schema"]["strict"] is False  # type: ignore[attr-defined]


class Inner(BaseModel):
    value: int = 3


class Outer(BaseModel):
    name: str
    inner: Inner | None = None
    items: list[Inner] = []
    kind: str = "a"


def test_a_strict_schema_closes_every_object_and_requires_every_property() -> None:
    made = strict_schema(Outer.model_json_schema())
    assert made["required"] == ["name", "inner", "items", "kind"]
    assert made["additionalProperties"] is False
    assert made["properties"]["kind"]["type"] == ["string", "null"]
    assert made["properties"]["inner"]["anyOf"][-1] == {"type": "null"}
    assert made["properties"]["items"]["type"] == ["array", "null"]
    inner = made["$defs"]["Inner"]
    assert (inner["required"], inner["additionalProperties"]) == (["value"], False)
    assert "default" not in str(made)


def test_a_strict_schema_keeps_properties_named_like_keywords() -> None:
    schema = {"type": "object", "properties": {"default": {"type": "string"}}, "required": ["default"]}
    assert strict_schema(schema)["properties"] == {"default": {"type": "string"}}


def test_a_strict_schema_does_not_change_the_given_one() -> None:
    schema = Outer.model_json_schema()
    before = repr(schema)
    strict_schema(schema)
    assert repr(schema) == before
