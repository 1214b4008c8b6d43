"""One message out of whatever chunks a chat model gave, and the model's small promises around it."""

from __future__ import annotations

import pickle
from typing import Any

import langchain_core.exceptions
import pytest
from langchain_core.callbacks import AsyncCallbackManager
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from forge_core.errors import ForgeError, ProviderError, RateLimitError
from forge_core.events import LLMChunk
from forge_core.langchain import ForgeAgent, OpenRouterLLM, langchain_to_forge
from forge_core.langchain.agent.event_queue import EventQueue
from forge_core.langchain.agent.model_call import ModelCall, settle
from forge_core.langchain.agent.run_control import StopSignal
from forge_core.langchain.model.chat_model import as_model_error, to_profile
from forge_core.langchain.model.structured import strict_schema
from forge_core.llm.account.catalog import ModelInfo
from forge_core.llm.client import OpenRouterClient
from tests.support.agent_tools import Echo
from tests.support.scripted_llm import ScriptedLLM
from tests.support.sse_server import MODEL, SseServer, answer


class Whole(BaseChatModel):
    """A model that cannot stream; its answer is a list of parts."""

    calls: list[dict[str, Any]] = []  # noqa: RUF012

    @property
    def _llm_type(self) -> str:
        return "whole"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        has_result = messages[-1].type == "tool"
        content: list[str | dict[str, Any]] = [
            {"type": "reasoning", "reasoning": "hm"},
            {"type": "text", "text": "one "},
            "two",
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        ]
        calls = [] if has_result else self.calls
        return ChatResult(
            generations=[ChatGeneration(message=AIMessage(content=content, tool_calls=list(calls)))]
        )


def test_merging_no_chunks_gives_an_empty_message() -> None:
    assert settle([], set()) == AIMessage("")


def test_a_complete_message_is_kept_and_each_call_gets_a_unique_id() -> None:
    taken = {"used"}
    call = {"name": "f", "args": {}, "id": "used"}
    message = settle([AIMessage("x", tool_calls=[call])], taken)
    assert message.content == "x"
    assert message.tool_calls[0]["id"] not in (None, "used")
    assert message.tool_calls[0]["id"] in taken


def test_calls_received_without_fragments_are_kept() -> None:
    chunk = AIMessageChunk(content="x")
    chunk.tool_calls = [{"name": "f", "args": {"a": 1}, "id": "c1", "type": "tool_call"}]
    assert [call["args"] for call in settle([chunk], set()).tool_calls] == [{"a": 1}]


async def test_a_model_that_cannot_stream_still_runs_tools_and_shows_its_text() -> None:
    llm = Whole(calls=[{"name": "echo", "args": {"text": "hello"}, "id": "c1"}])
    result = await ForgeAgent(llm=llm, tools=[Echo()]).run("go")
    assert (result.output, result.iterations) == ("one two", 2)
    assert result.tool_calls[0].result == "hello"


async def test_content_parts_are_emitted_by_kind() -> None:
    call = ModelCall(Whole(), [HumanMessage("go")], AsyncCallbackManager([]), StopSignal())
    queue = EventQueue()
    await call.stream(queue)
    reasoning, text = await queue.get(), await queue.get()
    assert isinstance(reasoning, LLMChunk) and (reasoning.kind, reasoning.text) == ("reasoning", "hm")
    assert isinstance(text, LLMChunk) and (text.kind, text.text) == ("answer", "one two")
    assert (call.text, call.reasoning) == ("one two", "hm")
    assert call.duration_s >= 0


def test_an_agent_needs_at_least_one_model_call() -> None:
    with pytest.raises(ForgeError, match="max_iterations is 0"):
        ForgeAgent(llm=ScriptedLLM(replies=[["x"]]), max_iterations=0)


def test_an_already_converted_error_is_returned_unchanged() -> None:
    made = as_model_error(RateLimitError("slow down"))
    assert as_model_error(made) is made


def test_an_error_of_both_trees_survives_a_pickle() -> None:
    made = as_model_error(RateLimitError("slow down", status=429, retry_after_s=2.0))
    copy = pickle.loads(pickle.dumps(made))
    assert type(copy) is type(made)
    assert vars(copy) == vars(made)
    assert (str(copy), copy.status, copy.retry_after_s) == ("slow down", 429, 2.0)


def test_each_of_our_errors_is_also_one_of_langchains() -> None:
    for kind in ProviderError.__subclasses__():
        if kind.__module__ == "forge_core.errors":
            made = as_model_error(kind("no"))
            assert isinstance(made, kind)
            assert isinstance(made, langchain_core.exceptions.ModelError)
            assert type(made).__name__ == kind.__name__


def test_a_profile_omits_unknown_fields() -> None:
    profile = to_profile(ModelInfo("a/b", "B", None))
    assert profile["name"] == "B"
    assert not {"max_input_tokens", "max_output_tokens", "structured_output"} & profile.keys()


def test_a_strict_schema_makes_optional_properties_nullable_once() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": ["string", "null"]},
            "b": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "c": {"enum": ["x", "y"]},
            "d": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
    }
    made = strict_schema(schema)["properties"]
    assert made["a"] == {"type": ["string", "null"]}
    assert made["b"] == {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}
    assert made["c"] == {"anyOf": [{"enum": ["x", "y"]}, {"type": "null"}]}
    assert made["d"] == schema["properties"]["d"]  # type: ignore[index]


def test_a_tool_choice_of_false_is_omitted() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    llm = OpenRouterLLM(client=OpenRouterClient("sk-or-test"), model=MODEL)
    assert "tool_choice" not in llm.bind_tools([tool], tool_choice=False).kwargs  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (
            {"type": "video", "base64": "AAAA", "mime_type": "video/webm"},
            {"type": "video_url", "video_url": {"url": "data:video/webm;base64,AAAA"}},
        ),
        (
            {"type": "video", "url": "https://example.com/a.mp4"},
            {"type": "video_url", "video_url": {"url": "https://example.com/a.mp4"}},
        ),
        (
            {"type": "audio", "url": "https://example.com/a.wav", "mime_type": "audio/wav"},
            {"type": "input_audio", "input_audio": {"data": "https://example.com/a.wav", "format": "wav"}},
        ),
    ],
)
def test_media_given_by_url_or_data_are_sent_in_the_api_format(
    part: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert langchain_to_forge(HumanMessage(content=[part])).content == [expected]


@pytest.mark.filterwarnings("ignore::langchain_core._api.beta_decorator.LangChainBetaWarning")
async def test_the_asynchronous_protocol_of_typed_events_gets_every_token() -> None:
    with SseServer(answer("Hel", "lo")) as server:
        async with OpenRouterLLM(client=OpenRouterClient("sk-or-test", server.base_url), model=MODEL) as llm:
            events = await llm.astream_events("hi", version="v3")
            assert await events.text == "Hello"
