"""The chat model's acceptance scenarios, word for word, over real HTTP on loopback."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

from forge_core.langchain import OpenRouterLLM
from forge_core.llm.client import OpenRouterClient
from tests.support.lookup_tool import read_file
from tests.support.sse_server import KEY, MODEL, USAGE, Reply, SseServer, answer, json_reply, tool_answer


def whole(content: str | None, **message: Any) -> Reply:
    finish = "tool_calls" if "tool_calls" in message else "stop"
    choice = {"message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
    return json_reply({"id": "gen-2", "model": MODEL, "choices": [choice], "usage": USAGE})


def tool_call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def model(server: SseServer, **options: Any) -> OpenRouterLLM:
    return OpenRouterLLM(client=OpenRouterClient(KEY, server.base_url), model=MODEL, **options)


def test_generate_response_synchronously(server: SseServer) -> None:
    """Scenario: Generate response synchronously."""
    server.add(whole("Hi there!"))
    llm = model(server)
    message = llm.invoke([HumanMessage("Hello!")])
    llm.client.close()
    assert isinstance(message, AIMessage)
    assert message.content == "Hi there!"
    assert server.requests[0].json["messages"] == [{"role": "user", "content": "Hello!"}]
    assert not server.requests[0].json.get("stream")


async def test_bind_tools_to_llm(server: SseServer) -> None:
    """Scenario: Bind tools to LLM. The bound model is a new runnable around this one, as everywhere in
    LangChain; in whole and in streamed requests the tools are in the payload."""
    server.add(whole("ok"), answer("ok"), whole("ok"))
    async with model(server) as llm:
        bound = llm.bind_tools([read_file])
        assert bound is not llm
        assert bound.model == MODEL  # type: ignore[attr-defined]
        await bound.ainvoke("hi")
        assert [chunk async for chunk in bound.astream("hi")]
        await llm.ainvoke("hi")
    whole_one, streamed, without = (seen.json for seen in server.requests)
    for body in (whole_one, streamed):
        (wire,) = body["tools"]
        assert wire["function"]["name"] == "read_file"
        assert wire["function"]["parameters"]["required"] == ["path"]
    assert "tools" not in without


def test_llm_with_bound_tools_returns_tool_calls(server: SseServer) -> None:
    """Scenario: LLM with bound tools returns tool calls."""
    calls = [
        tool_call("call_1", "read_file", '{"path": "a.py"}'),
        tool_call("call_2", "read_file", '{"path": "b.py"}'),
    ]
    server.add(whole(None, tool_calls=calls))
    llm = model(server)
    message = llm.bind_tools([read_file]).invoke("Read a.py and b.py")
    llm.client.close()
    assert isinstance(message, AIMessage)
    assert [(call["id"], call["name"], call["args"]) for call in message.tool_calls] == [
        ("call_1", "read_file", {"path": "a.py"}),
        ("call_2", "read_file", {"path": "b.py"}),
    ]
    assert message.invalid_tool_calls == []
    assert message.response_metadata["finish_reason"] == "tool_calls"


def test_pass_custom_parameters(server: SseServer) -> None:
    """Scenario: Pass custom parameters. A default nobody set is the provider's to choose: it is not sent."""
    server.add(whole("ok"), whole("ok"))
    llm = model(server)
    assert llm.temperature == 1.0
    llm.invoke("hi", temperature=0.5, top_p=0.9, seed=7)
    llm.invoke("hi")
    llm.client.close()
    custom, plain = (seen.json for seen in server.requests)
    assert (custom["temperature"], custom["top_p"], custom["seed"]) == (0.5, 0.9, 7)
    assert not {"temperature", "top_p", "seed"} & plain.keys()
    assert llm.temperature == 1.0


async def test_override_temperature_per_request(server: SseServer) -> None:
    """Scenario: Override temperature per request."""
    server.add(whole("ok"), answer("ok"), whole("ok"))
    async with model(server, temperature=1.0) as llm:
        await llm.ainvoke("hi", temperature=0.5)
        assert [chunk async for chunk in llm.astream("hi", temperature=0.0)]
        await llm.ainvoke("hi")
        assert llm.temperature == 1.0
    assert [seen.json["temperature"] for seen in server.requests] == [0.5, 0.0, 1.0]


def test_set_max_tokens(server: SseServer) -> None:
    """Scenario: Set max tokens."""
    server.add(whole("ok"), whole("ok"))
    llm = model(server, max_tokens=1000)
    llm.invoke("hi")
    llm.invoke("hi", max_tokens=10)
    llm.client.close()
    assert [seen.json["max_tokens"] for seen in server.requests] == [1000, 10]


def test_add_stop_sequences(server: SseServer) -> None:
    """Scenario: Add stop sequences. The model's own come first, each only once."""
    server.add(whole("ok"), whole("ok"))
    llm = model(server, stop=["END"])
    llm.invoke("hi", stop=["STOP", "END"])
    llm.invoke("hi")
    llm.client.close()
    assert [seen.json["stop"] for seen in server.requests] == [["END", "STOP"], ["END"]]
    assert llm.stop == ["END"]


async def test_use_openrouterllm_in_lcel_chain(server: SseServer) -> None:
    """Scenario: Use OpenRouterLLM in LCEL chain. Called, streamed and in a batch."""
    server.add(answer("Bon", "jour"), whole("Salut"), whole("1"), whole("2"))
    prompt = ChatPromptTemplate.from_messages([("system", "Translate."), ("human", "{input}")])
    async with model(server) as llm:
        chain = prompt | llm | StrOutputParser()
        assert "".join([part async for part in chain.astream({"input": "Hello"})]) == "Bonjour"
        assert chain.invoke({"input": "Hi"}) == "Salut"
        assert sorted(await chain.abatch([{"input": "a"}, {"input": "b"}])) == ["1", "2"]
    sent = server.requests[1].json["messages"]
    assert [(message["role"], message["content"]) for message in sent] == [
        ("system", "Translate."),
        ("user", "Hi"),
    ]


class Shelf(BaseRetriever):
    """Finds the documents that hold a word of the question."""

    documents: list[str]

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        words = query.lower().split()
        return [Document(text) for text in self.documents if any(word in text.lower() for word in words)]


def joined(documents: list[Document]) -> str:
    return " ".join(document.page_content for document in documents)


async def test_use_with_langchain_retrieval_chain(server: SseServer) -> None:
    """Scenario: Use with LangChain retrieval chain. What was found reaches the model, and its tool call
    comes out at the end."""
    server.add(whole("It is 42."), tool_answer(("call_1", "read_file", {"path": "answer.txt"})))
    shelf = Shelf(documents=["The answer lies in answer.txt.", "Cats sleep."])
    prompt = ChatPromptTemplate.from_messages([("system", "Context: {context}"), ("human", "{question}")])
    question: Any = {"context": shelf | RunnableLambda(joined), "question": RunnablePassthrough()}
    async with model(server) as llm:
        assert (await (question | prompt | llm).ainvoke("the answer?")).content == "It is 42."
        chain = question | prompt | llm.bind_tools([read_file])
        parts = [part async for part in chain.astream("the answer?")]
    total: Any = parts[0]
    for part in parts[1:]:
        total += part
    assert [(call["name"], call["args"]) for call in total.tool_calls] == [
        ("read_file", {"path": "answer.txt"})
    ]
    assert server.requests[1].json["messages"][0] == {
        "role": "system",
        "content": "Context: The answer lies in answer.txt.",
    }
