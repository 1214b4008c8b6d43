"""Answers in which streaming and invoking could differ, and what LangChain does with a model afterwards."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackManager, BaseCallbackHandler, CallbackManager
from langchain_core.load import dumpd, load
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.runnables import ConfigurableField

from forge_core.errors import MalformedResponseError
from forge_core.langchain.llm import OpenRouterLLM
from forge_core.llm.client import OpenRouterClient
from tests.support.lookup_tool import read_file
from tests.support.sse_server import (
    DONE,
    KEY,
    MODEL,
    USAGE,
    Reply,
    SseServer,
    answer,
    chunk,
    event,
    json_reply,
    stream,
    tool_answer,
)

MESSAGES = [HumanMessage("hi")]


async def streamed(llm: Any) -> AIMessageChunk:
    chunks: list[AIMessageChunk] = [found async for found in llm.astream("hi")]
    return sum(chunks[1:], start=chunks[0])


def calling(arguments: str | None) -> Reply:
    function = {"name": "f", "arguments": arguments}
    call = {"id": "c1", "index": 0, "type": "function", "function": function}
    choice = {"message": {"role": "assistant", "tool_calls": [call]}, "finish_reason": "tool_calls"}
    return json_reply({"id": "g", "model": MODEL, "choices": [choice], "usage": USAGE})


def seen_calls(message: AIMessage) -> tuple[list[Any], list[Any]]:
    return (
        [(call["name"], call["args"]) for call in message.tool_calls],
        [call["name"] for call in message.invalid_tool_calls],
    )


@pytest.mark.parametrize("piece", [1, 2, 100])
@pytest.mark.parametrize(
    "arguments",
    [
        "null",
        " null\n",
        "",
        "  ",
        "{}",
        "nul",
        "nu ll",
        "nullx",
        "nullnull",
        '{"a": null}',
        "[]",
        "1",
        '"null"',
    ],
)
async def test_streamed_and_invoked_calls_have_the_same_validity(
    server: SseServer, llm: OpenRouterLLM, arguments: str, piece: int
) -> None:
    server.add(tool_answer(("c1", "f", arguments), ("c2", "g", "null"), piece=piece), calling(arguments))
    valid, invalid = seen_calls(await streamed(llm))
    assert valid.pop() == ("g", {})
    assert (valid, invalid) == seen_calls(await llm.ainvoke("hi"))


async def test_null_arguments_give_an_empty_dict(server: SseServer, llm: OpenRouterLLM) -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": None}}
    server.add(stream(chunk(None, tool_calls=[call]), chunk("", finish_reason="tool_calls")), calling(None))
    assert seen_calls(await streamed(llm)) == seen_calls(await llm.ainvoke("hi")) == ([("f", {})], [])


def sent(server: SseServer) -> dict[str, Any]:
    found = server.requests[-1].json
    assert isinstance(found, dict)
    return found


@pytest.mark.filterwarnings("ignore:The function `load` is in beta")
async def test_an_unset_temperature_is_never_sent(server: SseServer) -> None:
    async with OpenRouterClient(KEY, server.base_url) as client:
        llm = OpenRouterLLM(client=client, model=MODEL)
        stored = dumpd(OpenRouterLLM(model=MODEL, base_url=server.base_url))
        loaded = load(stored, valid_namespaces=["forge_core"], allowed_objects=[OpenRouterLLM])
        fields: Any = llm.configurable_fields(max_tokens=ConfigurableField(id="longest"))
        copies: list[Any] = [
            loaded,
            load(dumpd(loaded), valid_namespaces=["forge_core"], allowed_objects=[OpenRouterLLM]),
            fields.with_config(configurable={"longest": 7}),
            llm.model_copy(update={"max_tokens": 7}),
            OpenRouterLLM(**{**llm.model_dump(), "client": client}),
        ]
        for copy in copies:
            server.add(answer("a"))
            await streamed(copy)
            assert "temperature" not in sent(server)
        await loaded.aclose()
    assert llm.temperature == loaded.temperature == 1.0


@pytest.mark.filterwarnings("ignore:The function `load` is in beta")
async def test_an_explicit_temperature_of_one_is_sent_by_every_copy(server: SseServer) -> None:
    llm = OpenRouterLLM(model=MODEL, base_url=server.base_url, temperature=1.0)
    loaded = load(dumpd(llm), valid_namespaces=["forge_core"], allowed_objects=[OpenRouterLLM])
    unset = OpenRouterLLM(client=llm.client, model=MODEL)
    fields: Any = unset.configurable_fields(temperature=ConfigurableField(id="heat"))
    for copy in (llm, loaded, fields.with_config(configurable={"heat": 1.0})):
        server.add(answer("a"))
        await streamed(copy)
        assert sent(server)["temperature"] == 1.0
    assert llm._get_llm_string() != unset._get_llm_string()
    await loaded.aclose()
    await llm.aclose()


@pytest.mark.parametrize("url", [None, "http://localhost:11434/v1", "https://llm.example.com/v1"])
def test_tracing_and_messages_name_the_same_provider(url: str | None) -> None:
    llm = OpenRouterLLM(model=MODEL, base_url=url, api_key=KEY)  # type: ignore[arg-type]
    assert llm._get_ls_params()["ls_provider"] == "openrouter"


async def test_messages_name_the_provider_that_tracing_names(server: SseServer, llm: OpenRouterLLM) -> None:
    server.add(answer("a"), calling("{}"))
    for message in (await streamed(llm), await llm.ainvoke("hi")):
        assert message.response_metadata["model_provider"] == llm._get_ls_params()["ls_provider"]


WITHOUT_CHOICE = {"id": "gen-1", "model": MODEL, "choices": [], "usage": USAGE}


@pytest.mark.parametrize(
    "reply",
    [
        stream(WITHOUT_CHOICE),
        stream(),
        stream({"id": "gen-1", "choices": None}),
        stream({**chunk("another"), "choices": [{"index": 1, "delta": {"content": "another"}}]}),
    ],
)
async def test_a_stream_without_a_choice_fails_like_a_complete_answer(
    server: SseServer, llm: OpenRouterLLM, reply: Reply
) -> None:
    server.add(reply, json_reply(WITHOUT_CHOICE), reply)
    for ask in (lambda: streamed(llm), lambda: llm.ainvoke("hi")):
        with pytest.raises(MalformedResponseError, match="an answer without a choice"):
            await ask()
    with pytest.raises(MalformedResponseError, match="an answer without a choice"):
        list(llm.stream("hi"))
    assert len(server.requests) == 3


async def test_only_the_first_choice_is_the_answer(server: SseServer, llm: OpenRouterLLM) -> None:
    def of(index: int, **delta: Any) -> dict[str, Any]:
        return {"index": index, "delta": delta}

    call = {"index": 0, "id": "c9", "function": {"name": "f", "arguments": "{}"}}
    payloads: list[dict[str, Any]] = [
        {**chunk(), "choices": [of(1, content="B")]},
        {**chunk(), "choices": [of(1, content="B"), of(0, content="A")]},
        {**chunk(), "choices": [of(1, content="B", tool_calls=[call], finish_reason="tool_calls")]},
        {**chunk(), "choices": [{"index": 1, "delta": {}, "finish_reason": "length"}]},
        {**chunk(), "choices": [{"delta": {"content": "a"}}]},
        chunk("", finish_reason="stop"),
    ]
    whole = {
        "id": "g",
        "model": MODEL,
        "choices": [
            {"index": 1, "message": {"content": "BBB"}, "finish_reason": "length"},
            {"index": 0, "message": {"content": "Aa"}, "finish_reason": "stop"},
        ],
    }
    server.add(stream(*payloads), json_reply(whole))
    for message in (await streamed(llm), await llm.ainvoke("hi")):
        assert (message.content, message.tool_calls) == ("Aa", [])
        assert message.response_metadata["finish_reason"] == "stop"


class Tokens(BaseCallbackHandler):
    run_inline = True

    def __init__(self) -> None:
        self.tokens: list[str] = []

    def on_llm_new_token(self, token: Any, **_: Any) -> None:
        self.tokens.append(token)


async def test_token_callbacks_receive_held_back_text(server: SseServer, llm: OpenRouterLLM) -> None:
    text = '{"name": "read_file", "arguments": {"path": "/x"}} is how it is called.'
    tools = llm.bind_tools([read_file]).kwargs["tools"]  # type: ignore[attr-defined]
    server.add(answer(text), answer(text))
    blocking, running = Tokens(), Tokens()
    [sync_run] = CallbackManager([blocking]).on_chat_model_start({}, [MESSAGES])
    list(llm._stream(MESSAGES, run_manager=sync_run, tools=tools))
    [async_run] = await AsyncCallbackManager([running]).on_chat_model_start({}, [MESSAGES])
    async for _ in llm._astream(MESSAGES, run_manager=async_run, tools=tools):
        pass
    assert "".join(running.tokens) == "".join(blocking.tokens) == text


PAGE = b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>data: none</body></html>"


@pytest.mark.parametrize(
    ("body", "content_type", "words"),
    [
        (PAGE, "text/html", r"a web page \('Sign in'\) instead of an answer. Check the base URL"),
        (PAGE, "text/event-stream", r"a web page \('Sign in'\)"),
        (b"\n<p>hi", "text/html", "a web page instead of an answer"),
        (b"upstream is asleep", "text/plain", "text instead of an answer: 'upstream is asleep'"),
        (b'["nobody"]', "application/json", "instead of an answer|not an object"),
        (b'{"choices": [{"mess', "application/json", "text instead of an answer"),
    ],
)
async def test_an_invalid_body_is_reported_and_not_retried(
    server: SseServer, llm: OpenRouterLLM, body: bytes, content_type: str, words: str
) -> None:
    reply = Reply([body], headers={"Content-Type": content_type})
    server.add(reply, reply, reply, reply)
    for ask in (lambda: streamed(llm), lambda: llm.ainvoke("hi")):
        with pytest.raises(MalformedResponseError, match=words):
            await ask()
    for blocking in (lambda: list(llm.stream("hi")), lambda: llm.invoke("hi")):
        with pytest.raises(MalformedResponseError, match=words):
            blocking()
    assert len(server.requests) == 4


async def test_a_non_json_event_is_quoted(server: SseServer, llm: OpenRouterLLM) -> None:
    server.add(Reply([event(chunk("a")), b"data: {oops\n\n", DONE]))
    with pytest.raises(MalformedResponseError, match=r"an event that is not JSON: '\{oops'"):
        await streamed(llm)
