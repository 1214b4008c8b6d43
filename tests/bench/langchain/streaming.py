"""What a streamed chunk costs, and how late it is.

In bursts, many chunks come with one read of the socket, and what is measured is the work on the chunks. One
by one, each wakes the process anew, which alone costs more than all that work and is the same for everybody:
there the bar is on what a chunk costs more than with bare reading.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig

from forge_core.events import LLMChunk
from forge_core.langchain import (
    ForgeAgent,
    LoggingCallback,
    StreamingCallback,
    TokenTrackingCallback,
)
from tests.bench.langchain import peers
from tests.bench.langchain.figures import Figure, at_most, middle, percentile
from tests.bench.langchain.server import ModelProcess, order

CHUNK_BAR_US = 100.0
LATENCY_BAR_MS = 5.0
IN_BURSTS, ONE_BY_ONE = "in bursts", "one by one"


@dataclass
class Contestant:
    """Somebody who reads a stream of so many chunks, and what that cost each time."""

    name: str
    read: Callable[[str], Awaitable[int]]
    costs_us: list[float] = field(default_factory=list)


class Listeners:
    """The three callbacks; they must have heard the answer."""

    def __init__(self) -> None:
        self._streaming = StreamingCallback()
        self.all: list[BaseCallbackHandler] = [TokenTrackingCallback(), LoggingCallback(), self._streaming]

    def check(self) -> None:
        assert self._streaming.get_buffer(), "the callbacks heard nothing"


def figures(server: ModelProcess, is_quick: bool) -> Iterator[Figure]:
    yield from asyncio.run(_chunk_costs(server, is_quick))
    yield from asyncio.run(_latency(server, is_quick))


def _silent_reader(llm: BaseChatModel) -> Callable[[str], Awaitable[int]]:
    async def read(text: str) -> int:
        return sum([bool(chunk.content) async for chunk in llm.astream(text)])

    return read


def _reader(llm: BaseChatModel) -> Callable[[str], Awaitable[int]]:
    async def read(text: str) -> int:
        listeners = Listeners()
        config = RunnableConfig(callbacks=listeners.all)
        count = sum([bool(chunk.content) async for chunk in llm.astream(text, config)])
        listeners.check()
        return count

    return read


def _sync_reader(llm: BaseChatModel) -> Callable[[str], Awaitable[int]]:
    async def read(text: str) -> int:
        listeners = Listeners()
        config = RunnableConfig(callbacks=listeners.all)
        count = sum(bool(chunk.content) for chunk in llm.stream(text, config))
        listeners.check()
        return count

    return read


def _agent_reader(llm: BaseChatModel) -> Callable[[str], Awaitable[int]]:
    async def read(text: str) -> int:
        listeners = Listeners()
        agent = ForgeAgent(llm=llm, callbacks=listeners.all)
        count = sum([isinstance(event, LLMChunk) async for event in agent.stream(text)])
        listeners.check()
        return count

    return read


async def _chunk_costs(server: ModelProcess, is_quick: bool) -> list[Figure]:
    bare = peers.BareReader(server.base_url)
    ours = peers.ours(server.base_url)

    async def bare_sync(text: str) -> int:
        return bare.read(text)

    contestants = [
        Contestant("bare httpx + json.loads", bare.aread),
        Contestant("OpenRouterLLM, no callback", _silent_reader(ours)),
        Contestant("OpenRouterLLM, 3 callbacks", _reader(ours)),
        Contestant("ForgeAgent's events, 3 callbacks", _agent_reader(ours)),
        Contestant("bare httpx + json.loads, sync", bare_sync),
        Contestant("OpenRouterLLM, 3 callbacks, sync", _sync_reader(ours)),
    ]
    absent = []
    for name, (module, make) in peers.OPTIONAL.items():
        if peers.importable(module):
            contestants.append(Contestant(f"{name}, 3 callbacks", _reader(make(server.base_url))))
        else:
            absent.append(Figure(f"CPU per chunk: {name}", f"no {module} here"))
    for count, every_s, how in ((2_000, 0.0, IN_BURSTS), (1_000, 0.001, ONE_BY_ONE)):
        await _race(contestants, order(count, every_s), count, rounds=2 if is_quick else 7)
        for figure in _race_figures(contestants, how):
            absent.append(figure)
    await bare.aclose()
    await ours.aclose()  # type: ignore[attr-defined]
    return absent


async def _race(contestants: list[Contestant], text: str, count: int, rounds: int) -> None:
    """Everybody in turn, so that a busy moment of the machine hits all alike; the first round is for warmth."""
    for contestant in contestants:
        contestant.costs_us.clear()
    for number in range(rounds + 1):
        for contestant in contestants:
            gc.collect()
            before = time.process_time()
            seen = await contestant.read(text)
            cost_us = (time.process_time() - before) / count * 1e6
            assert seen == count, f"{contestant.name} saw {seen} chunks of {count}"
            if number:
                contestant.costs_us.append(cost_us)


def _race_figures(contestants: list[Contestant], how: str) -> Iterator[Figure]:
    bare = middle(contestants[0].costs_us)
    for contestant in contestants:
        value = middle(contestant.costs_us)
        name = f"CPU per chunk, {how}: {contestant.name}"
        note = f" ({value / bare:.1f} x bare)"
        if contestant.name == "OpenRouterLLM, 3 callbacks":
            yield at_most(name, value, CHUNK_BAR_US + (bare if how == ONE_BY_ONE else 0), "µs", note)
        else:
            yield Figure(name, f"{value:.3g} µs{note}")


async def _latency(server: ModelProcess, is_quick: bool) -> list[Figure]:
    """From the moment the server writes a chunk to the agent's event, beside bare reading."""
    bare, ours = peers.BareReader(server.base_url), peers.ours(server.base_url)
    count = 200 if is_quick else 1_000
    found: list[Figure] = []
    for rate in (50, 200):
        text = order(count if rate > 50 else count // 2, 1 / rate)
        late_bare: list[float] = []

        def note(arrived: str, late: list[float] = late_bare) -> None:
            late.append((time.monotonic() - float(arrived.split()[1])) * 1e3)

        await bare.aread(text, note)
        late: list[float] = []
        async for event in ForgeAgent(llm=ours, callbacks=Listeners().all).stream(text):
            if isinstance(event, LLMChunk):
                late.append((time.monotonic() - float(event.text.split()[1])) * 1e3)
        found += _latency_figures(rate, late_bare, late)
    await bare.aclose()
    await ours.aclose()  # type: ignore[attr-defined]
    return found


def _latency_figures(rate: int, bare: list[float], ours: list[float]) -> Iterator[Figure]:
    def both(values: list[float]) -> str:
        return f"{percentile(values, 50):.2f} / {percentile(values, 95):.2f} ms"

    yield Figure(f"server → bare reader at {rate}/s, p50 / p95", both(bare))
    is_met = percentile(ours, 95) <= LATENCY_BAR_MS
    yield Figure(
        f"server → agent's event at {rate}/s, p50 / p95", both(ours), f"p95 ≤ {LATENCY_BAR_MS:g} ms", is_met
    )
