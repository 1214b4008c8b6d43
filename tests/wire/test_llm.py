"""The chat model over real HTTP, through LangChain's own entry points."""

from __future__ import annotations

import asyncio
import gc
import json
from typing import Any, Literal

import pytest
from langchain_core import exceptions as langchain
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler, UsageMetadataCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from pydantic import BaseModel, Field

from forge_core import errors
from forge_core.langchain.llm import OpenRouterLLM
from forge_core.langchain.messages import langchain_to_forge
from forge_core.llm.client import OpenRouterClient
from tests.support.lookup_tool import read_file
from tests.support.sse_server import (
    DONE,
    KEY,
    MODEL,
    USAGE,
    Gate,
    Reply,
    SseServer,
    Stall,
    answer,
    chunk,
    error_reply,
    event,
    json_reply,
    stream,
    tool_answer,
)


def whole(message: dict[str, Any], finish_reason: str = "stop", **more: Any) -> Reply:
    choice = {"message": {"role": "assistant", **message}, "finish_reason": finish_reason}
    return json_reply(
        {"id": "gen-2", "provider": "P", "model": MODEL, "choices": [choice], "usage": USAGE, **more}
    )


async def merged(llm: Any, question: str = "hi", **options: Any) -> AIMessageChunk:
    chunks = [found async for found in llm.astream(question, **options)]
    assert all(isinstance(found, AIMessageChunk) for found in chunks)
    total: AIMessageChunk = chunks[0]
    for found in chunks[1:]:
        total += found
    return total


class Recorder(BaseCallbackHandler):
    """Keeps the tokens, ends and errors of a run."""

    run_inline = True

    def __init__(self) -> None:
        self.tokens: list[Any] = []
        self.ends: list[Any] = []
        self.errors: list[BaseException] = []

    def on_llm_new_token(self, token: Any, **_: Any) -> None:
        self.tokens.append(token)

    def on_llm_end(self, response: Any, **_: Any) -> None:
        self.ends.append(response)

    def on_llm_error(self, error: BaseException, **_: Any) -> None:
        self.errors.append(error)


async def test_generate_response_asynchronously(server: SseServer, llm: OpenRouterLLM) -> None:
    """Scenario: Generate response asynchronously."""
    server.add(whole({"content": "Hello!"}))
    message = await llm.ainvoke([HumanMessage("Hello!")])
    assert isinstance(message, AIMessage)
    assert message.content == "Hello!"
    assert message.usage_metadata is not None
    assert message.usage_metadata["total_tokens"] == 17
    assert message.usage_metadata["input_token_details"]["cache_read"] == 4
    metadata = message.response_metadata
    assert (metadata["model_name"], metadata["finish_reason"], metadata["provider"]) == (MODEL, "stop", "P")
    assert (metadata["cost"], metadata["generation_id"]) == ("0.000123", "gen-2")


async def test_invoke_works_inside_a_running_loop(server: SseServer, llm: OpenRouterLLM) -> None:
    server.add(whole({"content": "Hello!"}), answer("a", "b"))
    assert llm.invoke("hi").content == "Hello!"
    assert "".join(str(found.content) for found in llm.stream("hi")) == "ab"
    llm.client.close()


async def test_stream_response(server: SseServer, llm: OpenRouterLLM) -> None:
    """Scenario: Stream response."""
    gate = Gate()
    server.add(Reply([event(chunk("Hel")), gate, event(chunk("lo", finish_reason="stop")), DONE]))
    chunks = llm.astream("hi")
    first = await anext(chunks)
    assert isinstance(first, AIMessageChunk)
    assert first.content == "Hel"
    gate.open()
    rest = [found async for found in chunks]
    assert [found.content for found in rest] == ["lo", ""]
    assert rest[-1].chunk_position == "last"


async def test_repeated_provider_metadata_is_emitted_once(server: SseServer, llm: OpenRouterLLM) -> None:
    noisy = [
        chunk(text, finish_reason="stop", usage={**USAGE, "completion_tokens": n, "cost": 0.1 * n})
        for n, text in enumerate(("a", "b", "c"), 1)
    ]
    server.add(stream(*noisy, {**chunk(None, usage=USAGE, finish_reason="stop"), "created": 5}))
    message = await merged(llm)
    assert message.content == "abc"
    assert message.response_metadata["finish_reason"] == "stop"
    assert message.response_metadata["model_name"] == MODEL
    assert message.response_metadata["cost"] == "0.000123"
    assert message.usage_metadata is not None
    assert message.usage_metadata["output_tokens"] == 5


async def test_fragmented_tool_calls_are_merged(server: SseServer, llm: OpenRouterLLM) -> None:
    server.add(
        tool_answer(("c1", "read_file", {"path": "/tmp/ü"}), ("c2", "read_file", {"path": "b"}), text="ok")
    )
    message = await merged(llm.bind_tools([read_file]))
    assert message.content == "ok"
    assert [(call["id"], call["name"], call["args"]) for call in message.tool_calls] == [
        ("c1", "read_file", {"path": "/tmp/ü"}),
        ("c2", "read_file", {"path": "b"}),
    ]
    assert message.response_metadata["finish_reason"] == "tool_calls"


async def test_two_calls_under_one_index_stay_separate(server: SseServer, llm: OpenRouterLLM) -> None:
    calls = [
        chunk(None, tool_calls=[{"index": 0, "id": name, "function": {"name": "f", "arguments": '{"a":1}'}}])
        for name in ("x", "y")
    ]
    server.add(stream(*calls, chunk(None, finish_reason="tool_calls")))
    message = await merged(llm)
    assert [call["id"] for call in message.tool_calls] == ["x", "y"]


@pytest.mark.parametrize(
    "half",
    [
        '{"path": "/x", "content": "half of the fi',
        '{"path": "/x", "content": "ends in a backslash\\',
        '{"path": "/x"',
        '{"path": "/x",',
        '{"path": {"a": [1, 2',
        '{"path": "/x"} trailing',
        '{"a": 1, b}',
        '["a"',
    ],
)
async def test_truncated_arguments_never_become_a_runnable_call(
    server: SseServer, llm: OpenRouterLLM, half: str
) -> None:
    server.add(tool_answer(("c1", "write", half), ("c2", "read", {"a": 1})))
    message = await merged(llm)
    assert [call["name"] for call in message.tool_calls] == ["read"]
    assert [call["name"] for call in message.invalid_tool_calls] == ["write"]
    calls = langchain_to_forge(message).tool_calls
    assert calls is not None
    assert calls[0].arguments.startswith(half)


async def test_truncated_arguments_of_a_complete_answer_are_an_invalid_call(
    server: SseServer, llm: OpenRouterLLM
) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "write", "arguments": '{"a": "half'}}
    server.add(whole({"content": None, "tool_calls": [call]}, "length"))
    message = await llm.ainvoke("hi")
    assert message.tool_calls == []
    assert message.invalid_tool_calls[0]["args"] == '{"a": "half'


async def test_reasoning_survives_streaming_and_is_sent_back(server: SseServer, llm: OpenRouterLLM) -> None:
    detail = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}
    server.add(
        stream(
            chunk("", reasoning="Let me ", reasoning_details=[{**detail, "text": "Let me "}]),
            chunk("", reasoning="think.", reasoning_details=[{**detail, "text": "think."}]),
            chunk("", reasoning_details=[{**detail, "signature": "sig"}]),
            chunk("42", finish_reason="stop"),
        ),
        answer("ok"),
    )
    message = await merged(llm)
    merged_detail = {**detail, "text": "Let me think.", "signature": "sig"}
    assert message.additional_kwargs["reasoning_content"] == "Let me think."
    assert message.additional_kwargs["reasoning_details"] == [merged_detail]
    assert [block["type"] for block in message.content_blocks] == ["reasoning", "text"]
    await merged(llm, [HumanMessage("a"), message, HumanMessage("b")])  # type: ignore[arg-type]
    assert server.requests[1].json["messages"][1] == {
        "role": "assistant",
        "content": "42",
        "reasoning_details": [merged_detail],
    }


async def test_a_mid_stream_error_is_raised_with_the_partial_text(
    server: SseServer, llm: OpenRouterLLM
) -> None:
    server.add(Reply([event(chunk("so far")), event({"error": {"code": 502, "message": "died"}})]))
    recorder = Recorder()
    with pytest.raises(errors.ServerError, match="died") as caught:
        await merged(llm, config={"callbacks": [recorder]})
    assert caught.value.partial_text == "so far"
    assert isinstance(caught.value, langchain.ModelAPIError)
    assert recorder.errors == [caught.value]
    assert recorder.ends == []


@pytest.mark.parametrize(
    ("status", "ours", "theirs", "retryable"),
    [
        (400, errors.InvalidRequestError, langchain.ModelInvalidRequestError, False),
        (401, errors.AuthenticationError, langchain.ModelAuthenticationError, False),
        (402, errors.PaymentRequiredError, langchain.ModelError, False),
        (403, errors.PermissionDeniedError, langchain.ModelPermissionDeniedError, False),
        (404, errors.ModelNotFoundError, langchain.ModelNotFoundError, False),
        (408, errors.ProviderTimeoutError, langchain.ModelTimeoutError, True),
        (429, errors.RateLimitError, langchain.ModelRateLimitError, True),
        (503, errors.ServerError, langchain.ModelAPIError, True),
    ],
)
async def test_errors_belong_to_both_exception_hierarchies(
    server: SseServer, status: int, ours: type[Exception], theirs: type[langchain.ModelError], retryable: bool
) -> None:
    server.add(*(error_reply(status, "the provider's words") for _ in range(2)))
    async with OpenRouterClient(KEY, server.base_url, max_retries=0) as client:
        llm = OpenRouterLLM(client=client, model=MODEL)
        for ask in (llm.ainvoke("hi"), merged(llm)):
            with pytest.raises(ours, match="the provider's words") as caught:
                await ask
            assert isinstance(caught.value, theirs)
            assert isinstance(caught.value, langchain.ModelError)
            assert caught.value.is_retryable is retryable
            assert KEY not in str(caught.value)


async def test_a_full_context_window_raises_the_langchain_overflow_error(
    server: SseServer, llm: OpenRouterLLM
) -> None:
    server.add(error_reply(400, "too long", metadata={"error_type": "context_length_exceeded"}))
    with pytest.raises(langchain.ContextOverflowError) as caught:
        await llm.ainvoke("hi")
    assert isinstance(caught.value, errors.ContextLengthError)


async def test_callbacks_receive_each_token_once_and_the_usage(server: SseServer, llm: OpenRouterLLM) -> None:
    server.add(answer("Hello", " ", "World"), answer("Hello", " ", "World"))
    recorder, usage = Recorder(), UsageMetadataCallbackHandler()
    await merged(llm, config={"callbacks": [recorder, usage]})
    assert recorder.tokens == ["Hello", " ", "World", ""]
    assert recorder.ends[0].generations[0][0].message.usage_metadata["total_tokens"] == 17
    assert usage.usage_metadata[MODEL]["total_tokens"] == 17
    recorder = Recorder()
    llm.client.close()
    for _ in llm.stream("hi", config={"callbacks": [recorder]}):
        pass
    assert recorder.tokens == ["Hello", " ", "World", ""]
    llm.client.close()


async def test_leaving_a_stream_closes_the_connection(server: SseServer, llm: OpenRouterLLM) -> None:
    server.add(Reply([event(chunk("a")), Stall()]))
    async for _ in llm.astream("hi"):
        break
    gc.collect()
    assert await asyncio.to_thread(server.requests[0].hung_up.wait, 2)


async def test_bind_tools(server: SseServer, llm: OpenRouterLLM) -> None:
    server.add(whole({"content": "x"}), whole({"content": "x"}))
    bound = llm.bind_tools([read_file], tool_choice="read_file", parallel_tool_calls=False)
    await bound.ainvoke("hi")
    sent = server.requests[0].json
    assert sent["tools"][0]["function"]["name"] == "read_file"
    assert sent["tools"][0]["function"]["parameters"]["required"] == ["path"]
    assert sent["tool_choice"] == {"type": "function", "function": {"name": "read_file"}}
    assert sent["parallel_tool_calls"] is False
    assert bound.model == MODEL  # type: ignore[attr-defined]
    await llm.ainvoke("hi")
    assert "tools" not in server.requests[1].json, "the model itself stays as it was"


async def test_bound_tools_return_tool_calls(server: SseServer, llm: OpenRouterLLM) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path":"/x"}'}}
    server.add(whole({"content": None, "tool_calls": [call]}, "tool_calls"))
    message = await llm.bind_tools([read_file]).ainvoke("hi")
    assert message.tool_calls == [
        {"id": "c1", "name": "read_file", "args": {"path": "/x"}, "type": "tool_call"}
    ]


async def test_request_parameters_do_not_change_the_model(server: SseServer) -> None:
    server.add(*(whole({"content": "x"}) for _ in range(4)))
    async with OpenRouterClient(KEY, server.base_url) as client:
        llm = OpenRouterLLM(client=client, model=MODEL, temperature=1.0, max_tokens=1000, stop=["END"])
        await llm.ainvoke("hi", temperature=0.5, stop=["STOP", "END"])
        await llm.ainvoke("hi")
        await llm.ainvoke("hi", max_tokens=None, model="other/model", seed=7)
        await OpenRouterLLM(client=client, model=MODEL).ainvoke("hi")
    first, second, third, bare = (seen.json for seen in server.requests)
    assert (first["temperature"], first["max_tokens"], first["stop"]) == (0.5, 1000, ["END", "STOP"])
    assert (second["temperature"], second["stop"]) == (1.0, ["END"])
    assert "max_tokens" not in third
    assert (third["model"], third["seed"]) == ("other/model", 7)
    assert llm.temperature == 1.0
    assert "temperature" not in bare, "only sent when it was set"


async def test_routing_and_reasoning_are_sent_in_the_body(server: SseServer) -> None:
    server.add(whole({"content": "x"}))
    async with OpenRouterClient(KEY, server.base_url) as client:
        llm = OpenRouterLLM(
            client=client,
            model=MODEL,
            models=["a/b"],
            provider={"sort": "price"},
            reasoning={"effort": "high"},
            session_id="s-1",
            cache_control={"type": "ephemeral"},
            model_kwargs={"top_k": 5},
        )
        await llm.ainvoke("hi", user="u")
    sent = server.requests[0].json
    assert sent["models"] == ["a/b"]
    assert sent["provider"] == {"sort": "price"}
    assert sent["reasoning"] == {"effort": "high"}
    assert (sent["session_id"], sent["top_k"], sent["user"]) == ("s-1", 5, "u")
    assert sent["cache_control"] == {"type": "ephemeral"}


async def test_more_than_four_stop_sequences_are_refused_before_sending(
    server: SseServer, llm: OpenRouterLLM
) -> None:
    with pytest.raises(errors.InvalidRequestError, match="stop sequences"):
        await llm.ainvoke("hi", stop=list("abcde"))
    assert server.requests == []


class Joke(BaseModel):
    """A joke."""

    setup: str
    rating: int | None = Field(default=None, description="1 to 10")


@pytest.mark.parametrize("method", ["function_calling", "json_schema", "json_mode"])
async def test_structured_output_gives_instances(
    server: SseServer, llm: OpenRouterLLM, method: Literal["function_calling", "json_schema", "json_mode"]
) -> None:
    given = json.dumps({"setup": "why", "rating": 7})
    call = {"id": "c1", "type": "function", "function": {"name": "Joke", "arguments": given}}
    message = {"content": None, "tool_calls": [call]} if method == "function_calling" else {"content": given}
    server.add(whole(message), whole(message))
    assert await llm.with_structured_output(Joke, method=method).ainvoke("hi") == Joke(setup="why", rating=7)
    raw = await llm.with_structured_output(Joke, method=method, include_raw=True).ainvoke("hi")
    assert raw["parsed"] == Joke(setup="why", rating=7)
    assert raw["parsing_error"] is None
    sent = server.requests[0].json
    assert "ls_structured_output_format" not in sent
    if method == "json_schema":
        schema = sent["response_format"]["json_schema"]
        assert (schema["name"], schema["strict"]) == ("Joke", True)
        assert schema["schema"]["required"] == ["setup", "rating"]
        assert schema["schema"]["additionalProperties"] is False
    elif method == "json_mode":
        assert sent["response_format"] == {"type": "json_object"}
    else:
        assert sent["tool_choice"]["function"]["name"] == "Joke"


@pytest.mark.filterwarnings("ignore:Core Pydantic V1")
async def test_structured_output_accepts_pydantic_v1_classes(server: SseServer, llm: OpenRouterLLM) -> None:
    from pydantic.v1 import BaseModel as OldBaseModel

    class Old(OldBaseModel):
        """Old."""

        setup: str

    call = {"id": "c1", "type": "function", "function": {"name": "Old", "arguments": '{"setup": "why"}'}}
    server.add(whole({"content": None, "tool_calls": [call]}))
    assert await llm.with_structured_output(Old).ainvoke("hi") == Old(setup="why")


async def test_structured_output_streams(server: SseServer, llm: OpenRouterLLM) -> None:
    server.add(tool_answer(("c1", "Joke", {"setup": "why", "rating": 7})))
    found = [part async for part in llm.with_structured_output(Joke).astream("hi")]
    assert found[-1] == Joke(setup="why", rating=7)


async def test_a_parsing_error_is_kept_beside_the_raw_answer(server: SseServer, llm: OpenRouterLLM) -> None:
    server.add(whole({"content": "no json"}))
    raw = await llm.with_structured_output(Joke, method="json_mode", include_raw=True).ainvoke("hi")
    assert raw["raw"].content == "no json"
    assert raw["parsed"] is None
    assert raw["parsing_error"] is not None


async def test_the_llm_works_in_a_chain(server: SseServer, llm: OpenRouterLLM) -> None:
    server.add(answer("Bon", "jour"), whole({"content": "Bonjour"}))
    chain = ChatPromptTemplate.from_messages([("system", "Translate."), ("human", "{input}")]) | llm
    parsed = chain | StrOutputParser()
    assert [part async for part in parsed.astream({"input": "Hello"})] == ["Bon", "jour", "", ""][:3]
    assert await parsed.ainvoke({"input": "Hello"}) == "Bonjour"
    assert [message["role"] for message in server.requests[0].json["messages"]] == ["system", "user"]


async def test_equal_models_share_a_cache_and_others_do_not(server: SseServer) -> None:
    server.add(whole({"content": "1"}), whole({"content": "2"}))
    cache = InMemoryCache()
    async with OpenRouterClient(KEY, server.base_url) as a, OpenRouterClient(KEY, server.base_url) as b:
        first = await OpenRouterLLM(client=a, model=MODEL, cache=cache).ainvoke("hi")
        again = await OpenRouterLLM(client=b, model=MODEL, cache=cache).ainvoke("hi")
        other = await OpenRouterLLM(client=b, model=MODEL, cache=cache, temperature=0.0).ainvoke("hi")
    assert (first.content, again.content, other.content) == ("1", "1", "2")
    assert len(server.requests) == 2


async def test_a_batch_sums_its_usage(server: SseServer, llm: OpenRouterLLM) -> None:
    server.add(whole({"content": "1"}), whole({"content": "2"}))
    result = await llm.agenerate([[HumanMessage("a")], [HumanMessage("b")]])
    assert result.llm_output is not None
    assert result.llm_output["token_usage"]["total_tokens"] == 34


async def test_use_llm_as_context_manager(server: SseServer) -> None:
    """Scenario: Use LLM as context manager."""
    server.add(whole({"content": "x"}))
    llm = OpenRouterLLM(client=OpenRouterClient(KEY, server.base_url), model=MODEL)
    async with llm:
        assert (await llm.ainvoke("hi")).content == "x"
    for _ in range(3000):
        if not server.open_connections:
            break
        await asyncio.sleep(0.01)
    assert server.open_connections == 0


async def test_runnable_interface_events_contain_the_chunks(server: SseServer, llm: OpenRouterLLM) -> None:
    server.add(answer("a", "b"))
    events = [found async for found in llm.astream_events("hi", version="v2")]
    texts = [found["data"]["chunk"].content for found in events if found["event"] == "on_chat_model_stream"]
    assert "".join(texts) == "ab"
    assert events[-1]["data"]["output"].response_metadata["finish_reason"] == "stop"


async def test_a_refusal_is_kept(server: SseServer, llm: OpenRouterLLM) -> None:
    server.add(
        whole({"content": None, "refusal": "I cannot"}),
        stream(chunk(None, refusal="I cannot"), chunk("", finish_reason="stop")),
    )
    assert (await llm.ainvoke("hi")).additional_kwargs["refusal"] == "I cannot"
    assert (await merged(llm)).additional_kwargs["refusal"] == "I cannot"


async def test_images_are_sent(server: SseServer, llm: OpenRouterLLM) -> None:
    server.add(whole({"content": "a cat"}))
    message: BaseMessage = HumanMessage(
        [{"type": "text", "text": "what?"}, {"type": "image", "base64": "AA", "mime_type": "image/png"}]
    )
    await llm.ainvoke([message])
    assert server.requests[0].json["messages"][0]["content"][1] == {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64,AA"},
    }


PRINTED = '{"name": "read_file", "arguments": {"path": "/x"}}'


async def test_a_call_printed_in_an_answer_cut_by_its_length_is_not_recovered(
    server: SseServer, llm: OpenRouterLLM
) -> None:
    """The call is complete JSON, but what the model meant to add to it was cut off."""
    cut = whole({"content": PRINTED}, "length")
    server.add(stream(chunk(PRINTED), chunk("", finish_reason="length")), cut)
    bound = llm.bind_tools([read_file])
    for message in (await merged(bound), await bound.ainvoke("hi")):
        assert message.tool_calls == []
        assert message.content == PRINTED


async def test_a_call_printed_as_text_is_recovered_and_marked(server: SseServer, llm: OpenRouterLLM) -> None:
    markup = f"I read it.\n<tool_call>\n{PRINTED}\n</tool_call>"
    pieces = [chunk(markup[start : start + 5]) for start in range(0, len(markup), 5)]
    server.add(stream(*pieces, chunk("", finish_reason="stop")), whole({"content": PRINTED}))
    bound = llm.bind_tools([read_file])
    streamed, at_once = await merged(bound), await bound.ainvoke("hi")
    assert str(streamed.content).strip() == "I read it."
    assert at_once.content == ""
    for message in (streamed, at_once):
        assert [(call["name"], call["args"]) for call in message.tool_calls] == [
            ("read_file", {"path": "/x"})
        ]
        assert message.response_metadata["recovered_tool_calls"] == [message.tool_calls[0]["id"]]


async def test_text_that_only_quotes_a_call_stays_text(server: SseServer, llm: OpenRouterLLM) -> None:
    quoted = f"{PRINTED}\nis how it is called."
    server.add(answer(*quoted), answer(*PRINTED[:-3], finish_reason="length"), answer(*PRINTED))
    bound = llm.bind_tools([read_file])
    assert (await merged(bound)).content == quoted
    cut = await merged(bound)
    assert (cut.content, cut.tool_calls) == (PRINTED[:-3], [])
    untouched = await merged(
        OpenRouterLLM(client=llm.client, recover_tool_calls=False).bind_tools([read_file])
    )
    assert (untouched.content, untouched.tool_calls) == (PRINTED, [])


async def test_held_back_text_is_shown_when_a_real_call_arrives(
    server: SseServer, llm: OpenRouterLLM
) -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "read_file", "arguments": '{"path": "/y"}'}}
    server.add(
        stream(chunk('{"name": '), chunk(None, tool_calls=[call]), chunk("x", finish_reason="tool_calls"))
    )
    message = await merged(llm.bind_tools([read_file]))
    assert message.content == '{"name": x'
    assert [found["args"] for found in message.tool_calls] == [{"path": "/y"}]


def test_the_synchronous_paths_raise_the_same_errors(server: SseServer) -> None:
    server.add(
        error_reply(402, "no credits"), Reply([event(chunk("so far")), event({"error": {"code": 502}})])
    )
    llm = OpenRouterLLM(client=OpenRouterClient(KEY, server.base_url), model=MODEL)
    with pytest.raises(errors.PaymentRequiredError) as refused:
        llm.invoke("hi")
    assert isinstance(refused.value, langchain.ModelError)
    with pytest.raises(errors.ServerError) as broken:
        list(llm.stream("hi"))
    assert broken.value.partial_text == "so far"
    llm.client.close()


@pytest.mark.filterwarnings("ignore::langchain_core._api.beta_decorator.LangChainBetaWarning")
def test_the_protocol_of_typed_events_gets_every_token(server: SseServer) -> None:
    server.add(answer("Hel", "lo"))
    llm = OpenRouterLLM(client=OpenRouterClient(KEY, server.base_url), model=MODEL)
    recorder = Recorder()
    events = llm.stream_events("hi", version="v3", config={"callbacks": [recorder]})
    assert "".join(events.text) == "Hello"
    assert len(recorder.ends) == 1
    llm.client.close()


def test_the_llm_is_a_chat_model() -> None:
    assert issubclass(OpenRouterLLM, BaseChatModel)
