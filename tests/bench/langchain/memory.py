"""What remembering costs: adding must not depend on how much is remembered, reading may grow with it."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator

from forge_core.langchain import ConversationMemory
from forge_core.llm.models import Message
from tests.bench.langchain.figures import Figure, middle

SIZES = (10, 100, 1_000, 10_000)
TEXT = "What does the function in the third file give back when its list is empty? " * 3


def figures(is_quick: bool) -> Iterator[Figure]:
    rounds = 3 if is_quick else 9
    kinds: dict[str, Callable[[int], ConversationMemory]] = {
        "no limit": lambda size: ConversationMemory(system_message=Message.system("Be brief.")),
        "full window": lambda size: ConversationMemory(max_messages=size),
        "full token budget": lambda size: ConversationMemory(max_tokens=size * 60),
    }
    for kind, make in kinds.items():
        values = {size: _add_us(make, size, rounds) for size in SIZES}
        is_met = values[SIZES[-1]] <= max(3 * values[SIZES[0]], 20.0)
        yield Figure(f"memory, add, {kind}: µs at 10 … 10,000", _shown(values), "O(1)", is_met)
    reads: dict[str, Callable[[ConversationMemory], object]] = {
        "get_messages": ConversationMemory.get_messages,
        "to_langchain_messages": ConversationMemory.to_langchain_messages,
    }
    for name, read in reads.items():
        values = {size: _read_us(read, size, rounds) for size in SIZES}
        # From 100 on: below that the fixed part of a call is most of it.
        is_met = values[10_000] / 10_000 <= max(3 * values[100] / 100, 0.05)
        yield Figure(f"memory, {name}: µs at 10 … 10,000", _shown(values), "O(n)", is_met)
    values = {size: _read_us(ConversationMemory.token_count, size, rounds) for size in SIZES}
    is_met = values[10_000] <= max(3 * values[10], 20.0)
    yield Figure("memory, token_count: µs at 10 … 10,000", _shown(values), "O(1)", is_met)


def _shown(values: dict[int, float]) -> str:
    return " / ".join(f"{value:.3g}" for value in values.values())


def _filled(memory: ConversationMemory, size: int) -> ConversationMemory:
    for number in range(size // 2):
        memory.add_message(Message.user(f"{number} {TEXT}"))
        memory.add_message(Message.assistant(f"{number} {TEXT}"))
    return memory


def _add_us(make: Callable[[int], ConversationMemory], size: int, rounds: int) -> float:
    """Per message, while the memory holds `size`: 40 more are few beside all sizes but the first."""
    costs = []
    more = [Message.user(TEXT) if number % 2 == 0 else Message.assistant(TEXT) for number in range(40)]
    for _ in range(rounds):
        memory = _filled(make(size), size)
        gc.collect()
        before = time.process_time_ns()
        for message in more:
            memory.add_message(message)
        costs.append((time.process_time_ns() - before) / len(more) / 1e3)
    return middle(costs)


def _read_us(read: Callable[[ConversationMemory], object], size: int, rounds: int) -> float:
    memory = _filled(ConversationMemory(), size)
    read(memory)  # conversions are made once and kept
    costs = []
    times = max(1, 10_000 // size)
    for _ in range(rounds):
        before = time.process_time_ns()
        for _ in range(times):
            read(memory)
        costs.append((time.process_time_ns() - before) / times / 1e3)
    return middle(costs)
