"""What the agent's loop adds to each iteration, with a model and a tool that take no time themselves."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Iterator
from importlib import import_module
from typing import Any

from langchain_core.messages import HumanMessage

from forge_core.langchain import ForgeAgent, adapt_tools_for_langchain
from tests.bench.langchain.figures import Figure, at_most, middle
from tests.bench.langchain.peers import importable
from tests.support.agent_tools import Echo
from tests.support.scripted_llm import Call, ScriptedLLM

BAR_MS = 5.0


def figures(is_quick: bool) -> Iterator[Figure]:
    rounds = 3 if is_quick else 7
    for iterations in (10, 100) if is_quick else (10, 100, 500):
        bare = _measured(_bare, iterations, rounds)
        yield Figure(f"the scripted model alone, per call, {iterations} calls", f"{bare:.3g} ms CPU")
        name = f"ForgeAgent, per iteration, {iterations} iterations"
        yield at_most(name, _measured(_forge, iterations, rounds), BAR_MS, "ms CPU")
    if importable("langchain"):
        value = _measured(_create_agent, 100, rounds)
        yield Figure("langchain.agents.create_agent, per iteration, 100 iterations", f"{value:.3g} ms CPU")
    else:
        yield Figure("langchain.agents.create_agent", "no langchain here")


def _measured(run: Callable[[int], Awaitable[None]], iterations: int, rounds: int) -> float:
    """Milliseconds of CPU per iteration; the first round is for warmth."""
    costs = []
    for _ in range(rounds + 1):
        gc.collect()
        before = time.process_time()
        asyncio.run(_awaited(run, iterations))
        costs.append((time.process_time() - before) / iterations * 1e3)
    return middle(costs[1:])


async def _awaited(run: Callable[[int], Awaitable[None]], iterations: int) -> None:
    await run(iterations)


def _model(iterations: int) -> ScriptedLLM:
    calls = [[Call("echo", {"text": "x"}, id=f"call_{number}")] for number in range(iterations - 1)]
    return ScriptedLLM(replies=[*calls, ["done"]])


async def _bare(iterations: int) -> None:
    llm = _model(iterations).bind_tools([Echo().to_openai_schema()])
    for _ in range(iterations):
        async for _chunk in llm.astream("go"):
            pass


async def _forge(iterations: int) -> None:
    agent = ForgeAgent(llm=_model(iterations), tools=[Echo()], max_iterations=iterations)
    result = await agent.run("go")
    assert (result.stopped_reason, result.iterations) == ("complete", iterations)


async def _create_agent(iterations: int) -> None:
    tools = adapt_tools_for_langchain([Echo()])
    agent: Any = import_module("langchain.agents").create_agent(_model(iterations), tools)
    state = await agent.ainvoke(
        {"messages": [HumanMessage("go")]}, config={"recursion_limit": 3 * iterations + 10}
    )
    assert len(state["messages"]) == 2 * iterations
