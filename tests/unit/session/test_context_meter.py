"""How full the window is: the provider's count, what came since, and what asking costs."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from forge_core.context.instructions import Instructions
from forge_core.context.ledger import Kind
from forge_core.context.system_prompt import SystemPrompt
from forge_core.events import LLMEnd
from forge_core.langchain.agent import ForgeAgent
from forge_core.langchain.memory import ConversationMemory
from forge_core.llm.models import Message, TokenUsage
from forge_core.llm.tokens import estimate_tokens
from forge_core.session.context_meter import ContextMeter
from forge_core.session.saved_state import restore_history
from forge_core.store.saved_session import SavedSession
from tests.support.agent_tools import Echo
from tests.support.figures import command_text
from tests.support.scripted_llm import Gate, ScriptedLLM
from tests.support.sessions import scripted_session


class Counting:
    """Estimates like the real one and counts the texts that it was asked about."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, text: str) -> int:
        self.asked += 1
        return estimate_tokens(text)


def meter_over(count: Counting, messages: int = 0) -> tuple[ContextMeter, ConversationMemory]:
    memory = ConversationMemory(token_counter=count)
    meter = ContextMeter(ForgeAgent(llm=ScriptedLLM(), tools=[Echo()], memory=memory))
    meter.use_prompt(SystemPrompt("You are a test."))
    for number in range(messages):
        memory.add_message(Message.user(f"question number {number}"))
    return meter, memory


def ended(prompt: int, completion: int = 0, reasoning: int = 0, *, estimated: bool = False) -> LLMEnd:
    usage = TokenUsage(prompt, completion, reasoning_tokens=reasoning, estimated=estimated)
    return LLMEnd(usage=usage, cost_usd=None, finish_reason="stop", duration_s=0.0, total_usage=usage)


def test_the_provider_count_replaces_the_estimate_and_scales_later_estimates() -> None:
    meter, memory = meter_over(Counting(), 10)
    estimate = meter.used
    assert meter.is_estimate
    meter.answered(ended(3 * estimate - 20, 20))
    assert (meter.used, meter.is_estimate) == (3 * estimate, False)
    message = Message.user("one more question, a little longer than the others")
    memory.add_message(message)
    assert meter.is_estimate
    assert meter.used == 3 * estimate + 3 * memory.count_tokens(message)


def test_a_local_estimate_is_never_treated_as_a_provider_count() -> None:
    meter, _ = meter_over(Counting(), 3)
    estimate = meter.used
    meter.answered(ended(9_999, estimated=True))
    assert (meter.used, meter.is_estimate) == (estimate, True)
    meter.answered(ended(0, 5))
    assert (meter.used, meter.is_estimate) == (estimate, True)


def test_hidden_reasoning_tokens_do_not_inflate_other_items() -> None:
    meter, _ = meter_over(Counting(), 3)
    estimate = meter.used
    meter.answered(ended(estimate - 10, 1_010, 1_000))
    assert meter.used == estimate + 1_000
    parts = meter.holding(3).composition("m", 10_000, 0).by_kind()
    assert parts[Kind.REASONING] == 1_000
    assert sum(parts.values()) == meter.used
    meter.reset()
    assert Kind.REASONING not in meter.holding(3).composition("m", 10_000, 0).by_kind()


def test_instruction_files_are_items_and_the_rest_is_the_system_prompt() -> None:
    meter, _ = meter_over(Counting())
    text = "Always write tests. " * 50
    meter.use_prompt(SystemPrompt(f"You are a test.\n{text}", (Instructions("AGENTS.md", text),)))
    items = {item.name: item for item in meter.holding(0).composition("m", 1000, 0).items}
    assert items["AGENTS.md"].kind is Kind.INSTRUCTIONS
    assert items["AGENTS.md"].tokens == estimate_tokens(text)
    assert items["system prompt"].tokens < 20
    assert items["echo"].kind is Kind.TOOLS


def test_repeated_queries_do_not_re_estimate_the_history() -> None:
    count = Counting()
    meter, memory = meter_over(count, 2_000)
    assert meter.used > 2_000
    before = count.asked
    for _ in range(50):
        assert meter.used and meter.is_estimate
    assert count.asked == before
    memory.add_message(Message.user("one more"))
    assert meter.used
    assert count.asked == before + 1
    assert len(meter.holding(0).composition("m", None, 0).items) == 2_001 + 2
    assert count.asked <= before + 2, "a composition reads what was counted; the system prompt alone again"


async def test_a_restored_history_is_counted_by_the_thread_that_restores_it(tmp_path: Path) -> None:
    session, count = scripted_session(tmp_path, []), Counting()
    memory = ConversationMemory(token_counter=count)
    saved = SavedSession(tmp_path / "s.jsonl", messages=[Message.user("one"), Message.assistant("two")])
    restore_history(memory, session.compaction, saved)
    assert count.asked == 2
    assert memory.token_count() > 0
    assert count.asked == 2
    await session.aclose()


def test_a_context_snapshot_is_consistent() -> None:
    meter, memory = meter_over(Counting(), 20)
    holding, used = meter.holding(20), meter.used
    memory.add_message(Message.user("one more"))
    assert meter.used > used
    assert holding.composition("m", None, 0).used == used


async def test_a_long_history_is_processed_in_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from forge_core.commands import context_command
    from forge_core.session import context_meter

    threads: list[threading.Thread] = []

    def watched(real: Any) -> Any:
        def work(*arguments: Any) -> Any:
            threads.append(threading.current_thread())
            return real(*arguments)

        return work

    monkeypatch.setattr(context_meter, "history_items", watched(context_meter.history_items))
    monkeypatch.setattr(context_command, "_turns", watched(context_command._turns))
    session = scripted_session(tmp_path, [["fine"]])
    async for _ in session.send("hello"):
        pass
    assert "hello" in await command_text("/context", session)
    assert len(threads) == 2
    assert threading.main_thread() not in threads


async def test_streamed_tokens_are_not_estimated_individually(tmp_path: Path) -> None:
    gate = Gate()
    session = scripted_session(tmp_path, [[*["word "] * 500, gate]])
    memory = session._agent.memory
    count = Counting()
    memory._token_counter = count
    pieces = 0
    async for event in session.send("go"):
        pieces += event.type == "llm_chunk"
        if pieces == 500:
            assert count.asked <= 3
            gate.open.set()
    assert pieces == 500
    await session.aclose()
