"""Forge's parts where LangChain and LangGraph put theirs: chains, graphs, checkpointers, caches, event streams."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from typing import Annotated, Any

import pytest

pytest.importorskip("langchain.agents", reason="langchain is not installed (extra 'conformance')")
pytest.importorskip("langgraph.checkpoint.sqlite", reason="langgraph is not installed (extra 'conformance')")

from langchain.agents import create_agent
from langchain.agents.middleware import ModelRetryMiddleware
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import UsageMetadataCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.rate_limiters import InMemoryRateLimiter
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnablePassthrough
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import BaseModel
from typing_extensions import TypedDict

from forge_core.langchain import (
    CompositeCallback,
    ConversationMemory,
    ForgeAgent,
    LangChainToolAdapter,
    OpenRouterLLM,
    StreamingCallback,
    TokenTrackingCallback,
    adapt_tools_for_langchain,
)
from forge_core.llm.models import Message
from forge_core.tools.base import BaseTool, ExecutionContext, ToolParameter, ToolResult
from tests.conformance.model_server import MODEL, reply_to
from tests.support.sse_server import Reply, Seen, SseServer, error_reply

ANSWER = "Here you are: this is what you asked for."


class Weather(BaseTool):
    """Remembers where it was asked about; one place fails."""

    name = "weather"
    description = "Tells the weather."
    parameters = (ToolParameter("city", "string", "Where"),)

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        self.asked.append(params["city"])
        if params["city"] == "Atlantis":
            return ToolResult(False, error="no such place")
        return ToolResult(True, output=f"sunny in {params['city']}")


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


@pytest.fixture
def weather() -> Weather:
    return Weather()


@pytest.fixture
def llm() -> Iterator[OpenRouterLLM]:
    model = OpenRouterLLM(model=MODEL)
    yield model
    model.client.close()


def graph_of(llm: OpenRouterLLM, weather: Weather, **options: Any) -> Any:
    tools = adapt_tools_for_langchain([weather])
    bound = llm.bind_tools(tools)

    def ask(state: State) -> dict[str, list[AIMessage]]:
        return {"messages": [bound.invoke(state["messages"])]}

    graph = StateGraph(State)
    graph.add_node("ask", ask)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "ask")
    graph.add_conditional_edges("ask", tools_condition)
    graph.add_edge("tools", "ask")
    return graph.compile(**options)


def kinds(messages: list[AnyMessage]) -> list[str]:
    return [message.type for message in messages]


class TestChains:
    def test_prompt_model_parser(self, llm: OpenRouterLLM) -> None:
        chain = ChatPromptTemplate.from_messages([("human", "{input}")]) | llm | StrOutputParser()
        assert chain.invoke({"input": "Hello"}) == ANSWER
        assert "".join(chain.stream({"input": "Hello"})) == ANSWER
        assert chain.batch([{"input": "a"}, {"input": "b"}]) == [ANSWER, ANSWER]

    def test_retrieval_with_tools(self, llm: OpenRouterLLM, weather: Weather, server: SseServer) -> None:
        class Shelf(BaseRetriever):
            def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
                return [Document("the weather tool knows 'Paris'")]

        prompt = ChatPromptTemplate.from_messages([("system", "{context}"), ("human", "{question}")])
        question = {
            "context": Shelf() | (lambda documents: documents[0].page_content),
            "question": RunnablePassthrough(),
        }
        chain = question | prompt | llm.bind_tools(adapt_tools_for_langchain([weather]))
        message = chain.invoke("weather in 'Paris'?")
        assert message.tool_calls[0]["args"] == {"city": "Paris"}
        assert server.requests[-1].json["messages"][0]["content"] == "the weather tool knows 'Paris'"

    async def test_event_stream_of_a_chain(self, llm: OpenRouterLLM) -> None:
        chain = ChatPromptTemplate.from_messages([("human", "{input}")]) | llm | StrOutputParser()
        events = [event async for event in chain.astream_events({"input": "Hello"}, version="v2")]
        names = [event["event"] for event in events]
        assert names.count("on_chat_model_start") == names.count("on_chat_model_end") == 1
        streamed = [e["data"]["chunk"].text for e in events if e["event"] == "on_chat_model_stream"]
        assert "".join(streamed) == ANSWER
        await llm.aclose()

    async def test_fallbacks_take_over_after_an_error(self, llm: OpenRouterLLM) -> None:
        with SseServer(routes={"POST /chat/completions": error_reply(401, "no key")}) as refusing:
            broken = OpenRouterLLM(model=MODEL, base_url=refusing.base_url, max_retries=0)
            message = await broken.with_fallbacks([llm]).ainvoke("Hello")
            await broken.aclose()
        assert message.text == ANSWER
        await llm.aclose()

    def test_structured_output_in_a_chain(self, llm: OpenRouterLLM) -> None:
        class City(BaseModel):
            name: str
            size: int

        for method in ("function_calling", "json_schema"):
            chain = ChatPromptTemplate.from_messages([("human", "{q}")]) | llm.with_structured_output(
                City, method=method
            )
            assert chain.invoke({"q": "'Paris' has 2 million"}) == City(name="Paris", size=2)
            raw = llm.with_structured_output(City, method=method, include_raw=True).invoke("'Rome' 3")
            assert raw["parsed"] == City(name="Rome", size=3)
            assert raw["parsing_error"] is None


class TestGraphs:
    def test_tool_node_runs_adapted_tools(self, llm: OpenRouterLLM, weather: Weather) -> None:
        state = graph_of(llm, weather).invoke({"messages": [HumanMessage("weather in 'Paris'?")]})
        assert kinds(state["messages"]) == ["human", "ai", "tool", "ai"]
        assert state["messages"][2].content == "sunny in Paris"
        assert weather.asked == ["Paris"]

    def test_a_failing_tool_tells_the_model_and_the_graph_goes_on(
        self, llm: OpenRouterLLM, weather: Weather
    ) -> None:
        state = graph_of(llm, weather).invoke({"messages": [HumanMessage("weather in 'Atlantis'?")]})
        result = state["messages"][2]
        assert isinstance(result, ToolMessage)
        assert (result.status, result.content) == ("error", "Error: no such place")
        assert state["messages"][-1].text == ANSWER

    async def test_tool_node_runs_adapted_tools_asynchronously(
        self, llm: OpenRouterLLM, weather: Weather
    ) -> None:
        state = await graph_of(llm, weather).ainvoke({"messages": [HumanMessage("weather in 'Oslo'?")]})
        assert state["messages"][2].content == "sunny in Oslo"
        await llm.aclose()

    def test_a_conversation_goes_on_from_a_checkpoint(self, llm: OpenRouterLLM, weather: Weather) -> None:
        graph = graph_of(llm, weather, checkpointer=InMemorySaver())
        config: Any = {"configurable": {"thread_id": "t"}}
        graph.invoke({"messages": [HumanMessage("weather in 'Paris'?")]}, config)
        state = graph.invoke({"messages": [HumanMessage("and in 'Rome'?")]}, config)
        assert kinds(state["messages"]) == ["human", "ai", "tool", "ai"] * 2
        assert weather.asked == ["Paris", "Rome"]

    def test_reasoning_survives_a_checkpoint_in_sqlite(self, weather: Weather, server: SseServer) -> None:
        llm = OpenRouterLLM(model=MODEL, reasoning={"effort": "high"})
        config: Any = {"configurable": {"thread_id": "t"}}
        connection = sqlite3.connect(":memory:", check_same_thread=False)
        try:
            graph = graph_of(llm, weather, checkpointer=SqliteSaver(connection))
            graph.invoke({"messages": [HumanMessage("weather in 'Paris'?")]}, config)
            again = graph_of(llm, weather, checkpointer=SqliteSaver(connection))
            again.invoke({"messages": [HumanMessage("and in 'Rome'?")]}, config)
        finally:
            connection.close()
            llm.client.close()
        sent = server.requests[-1].json["messages"]
        assistants = [message for message in sent if message["role"] == "assistant"]
        assert len(assistants) == 3
        for message in assistants:
            assert message["reasoning_details"] == [
                {"type": "reasoning.text", "text": "Let me think.", "signature": "sig", "index": 0}
            ]

    def test_streamed_messages_of_a_graph(self, llm: OpenRouterLLM, weather: Weather) -> None:
        stream = graph_of(llm, weather).stream(
            {"messages": [HumanMessage("weather in 'Paris'?")]}, stream_mode="messages"
        )
        texts = [chunk.text for chunk, _ in stream if isinstance(chunk, AIMessageChunk)]
        assert "".join(texts) == ANSWER
        assert len([text for text in texts if text]) > 3


class TestCreateAgent:
    def test_it_runs_forge_tools_with_our_model(self, llm: OpenRouterLLM, weather: Weather) -> None:
        agent = create_agent(llm, adapt_tools_for_langchain([weather]), system_prompt="Be brief.")
        state = agent.invoke({"messages": [HumanMessage("weather in 'Paris'?")]})
        assert kinds(state["messages"]) == ["human", "ai", "tool", "ai"]
        assert weather.asked == ["Paris"]

    async def test_it_streams_messages_and_updates(self, llm: OpenRouterLLM, weather: Weather) -> None:
        agent = create_agent(llm, adapt_tools_for_langchain([weather]))
        seen: list[str] = []
        texts = ""
        async for mode, data in agent.astream(
            {"messages": [HumanMessage("weather in 'Paris'?")]}, stream_mode=["messages", "updates"]
        ):
            seen.append(mode)
            if mode == "messages" and isinstance(data[0], AIMessageChunk):
                texts += data[0].text
        assert seen.count("updates") == 3
        assert texts == ANSWER
        await llm.aclose()

    @pytest.mark.parametrize("strategy", [ToolStrategy, ProviderStrategy])
    def test_it_answers_in_a_shape(self, llm: OpenRouterLLM, strategy: Any) -> None:
        class City(BaseModel):
            """A city."""

            name: str

        agent = create_agent(llm, [], response_format=strategy(City))
        state = agent.invoke({"messages": [HumanMessage("'Paris'")]})
        assert state["structured_response"] == City(name="Paris")

    @pytest.mark.parametrize(("status", "calls"), [(503, 3), (401, 1)])
    def test_retry_middleware_retries_what_may_succeed(self, status: int, calls: int) -> None:
        seen: list[int] = []

        def flaky(request: Seen) -> Reply:
            seen.append(1)
            return error_reply(status, "try later") if len(seen) < 3 else reply_to(request)

        with SseServer(routes={"POST /chat/completions": flaky}) as flaking:
            llm = OpenRouterLLM(model=MODEL, base_url=flaking.base_url, max_retries=0)
            retry = ModelRetryMiddleware(max_retries=3, initial_delay=0.0, on_failure="error")
            agent = create_agent(llm, [], middleware=[retry])
            if calls == 3:
                assert agent.invoke({"messages": [HumanMessage("hi")]})["messages"][-1].text == ANSWER
            else:
                with pytest.raises(Exception, match="try later"):
                    agent.invoke({"messages": [HumanMessage("hi")]})
            llm.client.close()
        assert len(seen) == calls


class TestAround:
    def test_a_cache_answers_the_second_time(self, llm: OpenRouterLLM, server: SseServer) -> None:
        cache = InMemoryCache()
        before = len(server.requests)
        for _ in range(2):
            cached = OpenRouterLLM(model=MODEL, cache=cache)
            assert cached.invoke("cached?").text == ANSWER
            cached.client.close()
        assert len(server.requests) == before + 1
        other = OpenRouterLLM(model=MODEL, cache=cache, temperature=0.3)
        other.invoke("cached?")
        other.client.close()
        assert len(server.requests) == before + 2

    def test_a_rate_limiter_is_asked(self) -> None:
        class Counting(InMemoryRateLimiter):
            asked = 0

            def acquire(self, *, blocking: bool = True) -> bool:
                type(self).asked += 1
                return super().acquire(blocking=blocking)

        limiter = Counting(requests_per_second=1000, check_every_n_seconds=0.001)
        llm = OpenRouterLLM(model=MODEL, rate_limiter=limiter)
        llm.invoke("hi")
        list(llm.stream("hi"))
        llm.client.close()
        assert Counting.asked == 2

    async def test_usage_handlers_agree(self, llm: OpenRouterLLM) -> None:
        theirs, ours = UsageMetadataCallbackHandler(), TokenTrackingCallback()
        for _ in range(2):
            await llm.ainvoke("hi", config={"callbacks": [theirs, ours]})
            async for _chunk in llm.astream("hi", config={"callbacks": [theirs, ours]}):
                pass
        await llm.aclose()
        usage = theirs.usage_metadata[MODEL]
        assert usage["input_tokens"] == ours.total_prompt_tokens == 120
        assert usage["output_tokens"] == ours.total_completion_tokens == 80
        assert str(ours.get_usage().cost_usd) == "0.00168"
        assert not ours.get_usage().estimated

    async def test_three_handlers_hear_every_token_once(self, llm: OpenRouterLLM) -> None:
        heard: list[str] = []
        streaming, tracker = StreamingCallback(on_token=heard.append), TokenTrackingCallback()
        config: Any = {"callbacks": [CompositeCallback([streaming, tracker])]}
        async for _ in llm.astream("hi", config=config):
            pass
        await llm.aclose()
        assert "".join(heard) == streaming.get_buffer() == ANSWER
        assert tracker.call_count == 1

    def test_one_model_works_in_several_loops(self, llm: OpenRouterLLM) -> None:
        async def ask() -> str:
            try:
                return str((await llm.ainvoke("hi")).text)
            finally:
                await llm.aclose()

        assert [asyncio.run(ask()) for _ in range(2)] == [ANSWER, ANSWER]
        assert llm.invoke("hi").text == ANSWER

    def test_forge_agent_runs_langchain_tools_and_keeps_reasoning(self, server: SseServer) -> None:
        @tool
        def lookup(city: str) -> str:
            """Looks a city up."""
            return f"{city} is large"

        llm = OpenRouterLLM(model=MODEL, reasoning={"effort": "low"})
        memory = ConversationMemory(system_message=Message.system("Be brief."))

        async def run() -> Any:
            try:
                return await ForgeAgent(llm=llm, tools=[lookup], memory=memory).run("what of 'Paris'?")
            finally:
                await llm.aclose()

        result = asyncio.run(run())
        assert result.stopped_reason == "complete"
        assert result.tool_calls[0].result == "Paris is large"
        assert server.requests[-1].json["messages"][2]["reasoning_details"][0]["signature"] == "sig"

    def test_an_adapter_inside_a_running_loop(self, weather: Weather) -> None:
        adapter = LangChainToolAdapter(forge_tool=weather)

        async def inside() -> str:
            return str(adapter.invoke({"city": "Rome"}))

        assert asyncio.run(inside()) == "sunny in Rome"
