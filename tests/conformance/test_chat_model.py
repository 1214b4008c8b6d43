"""LangChain's standard suites for chat models, unchanged, with every feature that the API has switched on."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip(
    "langchain_tests",
    reason="langchain-tests is not installed: it needs an environment of its own (extra 'conformance')",
)

from langchain_core.language_models import BaseChatModel
from langchain_core.load import dumpd, load
from langchain_core.load.load import ALL_SERIALIZABLE_MAPPINGS
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_tests.integration_tests import ChatModelIntegrationTests
from langchain_tests.unit_tests import ChatModelUnitTests

from forge_core.langchain import OpenRouterLLM
from tests.conformance.model_server import MODEL

_DETAILS = ["audio_input", "audio_output", "reasoning_output", "cache_read_input", "cache_creation_input"]


class Features:
    """What OpenRouter's API can do, as the suites ask for it."""

    has_tool_calling = True
    has_tool_choice = True
    has_structured_output = True
    supports_json_mode = True
    supports_image_inputs = True
    supports_image_urls = True
    supports_pdf_inputs = True
    supports_audio_inputs = True
    supports_video_inputs = True
    supports_anthropic_inputs = True
    supports_image_tool_message = True
    supports_pdf_tool_message = True
    returns_usage_metadata = True
    supports_model_override = True
    model_override_value = "test/another-model"
    supported_usage_metadata_details = {"invoke": _DETAILS, "stream": _DETAILS}  # noqa: RUF012

    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return OpenRouterLLM

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"model": MODEL, "temperature": 0}


class TestUnit(Features, ChatModelUnitTests):
    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"model": MODEL}

    @pytest.fixture(autouse=True)
    def _openrouter_itself(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """These suites ask nobody; OpenRouter's variable is read for OpenRouter's own host only."""
        monkeypatch.delenv("OPENROUTER_BASE_URL")

    @property
    def init_from_env_params(self) -> tuple[dict[str, str], dict[str, Any], dict[str, Any]]:
        environment = {"OPENROUTER_API_KEY": "sk-or-from-environment"}
        return environment, {"model": MODEL}, {"api_key": "sk-or-from-environment"}

    @pytest.fixture(autouse=True)
    def _listed_by_core(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
        """The suite's `test_serdes` loads "all" classes: the partners that langchain-core lists itself. No third
        party can join that list, so ours stands in it for that one test; the test below loads it without."""
        if request.function.__name__ == "test_serdes":
            path = tuple(OpenRouterLLM.lc_id())
            monkeypatch.setitem(ALL_SERIALIZABLE_MAPPINGS, path, path)

    @pytest.mark.filterwarnings("ignore:The function `load` is in beta")
    def test_a_stored_model_loads_where_its_class_is_allowed(
        self, model: BaseChatModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-test")
        stored = dumpd(model)
        assert "sk-or-test" not in str(stored)
        loaded = load(
            stored, valid_namespaces=["forge_core"], allowed_objects=[OpenRouterLLM], secrets_from_env=True
        )
        assert loaded.asdict() == model.asdict()


class Asked(Features, ChatModelIntegrationTests):
    """How to get each kind of token out of the model."""

    def _ask(self, question: object, stream: bool, **options: Any) -> AIMessage:
        model = self.chat_model_class(**{**self.chat_model_params, **options})
        messages = [HumanMessage(question)]
        if not stream:
            return model.invoke(messages)
        full: AIMessageChunk | None = None
        for chunk in model.stream(messages):
            full = chunk if full is None else full + chunk
        assert full is not None
        return full

    def invoke_with_audio_input(self, *, stream: bool = False) -> AIMessage:
        return self._ask([{"type": "audio", "mime_type": "audio/wav", "base64": "AAAA"}], stream)

    def invoke_with_audio_output(self, *, stream: bool = False) -> AIMessage:
        return self._ask("speak", stream, model_kwargs={"modalities": ["text", "audio"]})

    def invoke_with_reasoning_output(self, *, stream: bool = False) -> AIMessage:
        return self._ask("think", stream, reasoning={"effort": "high"})

    def invoke_with_cache_read_input(self, *, stream: bool = False) -> AIMessage:
        part = {"type": "text", "text": "long", "cache_control": {"type": "ephemeral"}}
        return self._ask([part], stream)

    def invoke_with_cache_creation_input(self, *, stream: bool = False) -> AIMessage:
        return self.invoke_with_cache_read_input(stream=stream)


class TestIntegration(Asked):
    """Structured output by a forced tool call."""

    structured_output_kwargs = {"method": "function_calling"}  # noqa: RUF012


class TestIntegrationBySchema(Asked):
    """Structured output by the API's JSON schema, strict."""

    structured_output_kwargs = {"method": "json_schema"}  # noqa: RUF012
