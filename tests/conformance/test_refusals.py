"""A refusal ends structured output as LangChain's own integrations end it (langchain-core 1.7.5 and later)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pytest

pytest.importorskip("langchain.agents", reason="langchain is not installed (extra 'conformance')")

from langchain_core import exceptions
from langchain_core.exceptions import OutputParserException
from langchain_core.messages import AIMessage
from pydantic import BaseModel

from forge_core.langchain import OpenRouterLLM
from tests.support.sse_server import SseServer, chunk, json_reply, stream

REFUSED: Any = getattr(exceptions, "ModelRefusalError", None)
needs_refusals = pytest.mark.skipif(REFUSED is None, reason="this langchain-core knows no ModelRefusalError")
WHOLE = {
    "id": "gen-1",
    "model": "m",
    "choices": [
        {"message": {"role": "assistant", "content": None, "refusal": "I cannot"}, "finish_reason": "stop"}
    ],
}
Method = Literal["function_calling", "json_schema", "json_mode"]


class Joke(BaseModel):
    """A joke."""

    text: str


@pytest.fixture
def refusing() -> Iterator[SseServer]:
    with SseServer() as made:
        yield made


@pytest.fixture
def llm(refusing: SseServer) -> Iterator[OpenRouterLLM]:
    model = OpenRouterLLM(model="m", base_url=refusing.base_url)
    yield model
    model.client.close()


@needs_refusals
@pytest.mark.parametrize("schema", [Joke, Joke.model_json_schema()])
@pytest.mark.parametrize("method", ["function_calling", "json_schema", "json_mode"])
def test_structured_output_raises_the_refusal(
    refusing: SseServer, llm: OpenRouterLLM, method: Method, schema: Any
) -> None:
    refusing.add(json_reply(WHOLE), json_reply(WHOLE))
    with pytest.raises(REFUSED, match="I cannot"):
        llm.with_structured_output(schema, method=method).invoke("a joke")
    kept = llm.with_structured_output(schema, method=method, include_raw=True).invoke("a joke")
    assert isinstance(kept["parsing_error"], REFUSED)
    assert kept["raw"].additional_kwargs["refusal"] == "I cannot"


@needs_refusals
def test_a_streamed_refusal_is_a_block_of_the_message(refusing: SseServer, llm: OpenRouterLLM) -> None:
    refusing.add(
        stream(chunk(None, refusal="I "), chunk(None, refusal="cannot"), chunk("", finish_reason="stop"))
    )
    chunks = list(llm.stream("a joke"))
    message: AIMessage = sum(chunks[1:], start=chunks[0])  # type: ignore[assignment]
    assert message.content_blocks == [{"type": "refusal", "refusal": "I cannot"}]


def test_blocks_of_answers_without_a_refusal_are_cores_own(refusing: SseServer, llm: OpenRouterLLM) -> None:
    plain = {
        "message": {"role": "assistant", "content": "a joke", "reasoning": "hm"},
        "finish_reason": "stop",
    }
    refusing.add(json_reply(WHOLE), json_reply({**WHOLE, "choices": [plain]}))
    llm.invoke("a joke")
    assert [block["type"] for block in llm.invoke("a joke").content_blocks] == ["reasoning", "text"]


def test_a_refusal_is_never_taken_for_an_instance(refusing: SseServer, llm: OpenRouterLLM) -> None:
    refusing.add(json_reply(WHOLE))
    with pytest.raises((OutputParserException, *([REFUSED] if REFUSED else []))):
        llm.with_structured_output(Joke, method="json_schema").invoke("a joke")
