"""Memory with a summary: when it is made, what it replaces, and what a failure leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import FakeListLLM, GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import PrivateAttr

from forge_core.errors import ConfigError
from forge_core.langchain.callbacks import TokenTrackingCallback
from forge_core.langchain.memory import SummaryMemory
from forge_core.langchain.memory.summary import ENTRY_CHARS, PIECE_CHARS, summarize
from forge_core.llm.models import Message, MessageRole
from tests.unit.langchain.histories import assert_strictly_valid, call, conversation


class Summarizer(GenericFakeChatModel):
    """Answers the scripted texts and keeps what it was asked; may wait for a gate, or fail."""

    _asked: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    _gate: asyncio.Event | None = PrivateAttr(default=None)
    _reached: asyncio.Event = PrivateAttr(default_factory=asyncio.Event)

    @classmethod
    def saying(cls, *texts: str) -> Summarizer:
        return cls(messages=iter([AIMessage(text) for text in texts]))

    @property
    def questions(self) -> list[str]:
        return [str(messages[-1].content) for messages in self._asked]

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self._asked.append(messages)
        return ChatResult(generations=[ChatGeneration(message=next(self.messages))])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        if self._gate is not None:
            self._reached.set()
            await self._gate.wait()
        for chunk in self._stream(messages):
            yield chunk


def filled(memory: SummaryMemory, count: int = 10) -> SummaryMemory:
    for number in range(count // 2):
        memory.add_message(Message.user(f"question {number}"))
        memory.add_message(Message.assistant(f"answer {number}"))
    return memory


def texts(messages: list[Message]) -> list[str]:
    return [message.text for message in messages]


async def test_old_messages_are_summarized_above_the_threshold() -> None:
    """Scenario: Summarize when threshold exceeded."""
    llm = Summarizer.saying("key points: 0 to 3")
    memory = filled(SummaryMemory(summary_threshold=5, summarizer=llm))
    assert await memory.maybe_summarize()
    assert memory.summary == "key points: 0 to 3"
    assert texts(memory.get_history()) == ["question 4", "answer 4"]
    assert "question 0" in llm.questions[0]
    assert "answer 3" in llm.questions[0]
    assert "question 4" not in llm.questions[0]


async def test_the_summary_follows_the_system_message() -> None:
    """Scenario: Include summary in messages."""
    memory = SummaryMemory(system_message=Message.system("Be helpful"))
    memory.summary = "they met"
    memory.add_message(Message.user("u"))
    messages = memory.get_messages()
    assert [message.role for message in messages] == [
        MessageRole.SYSTEM,
        MessageRole.SYSTEM,
        MessageRole.USER,
    ]
    assert messages[0].text == "Be helpful"
    assert "they met" in messages[1].text
    assert isinstance(memory.to_langchain_messages()[1], SystemMessage)
    assert texts(memory.get_history()) == ["u"]


async def test_nothing_happens_up_to_the_threshold() -> None:
    memory = filled(SummaryMemory(summary_threshold=10, summarizer=Summarizer.saying("no")))
    assert not await memory.maybe_summarize()
    assert len(memory) == 10


async def test_nothing_happens_without_a_summarizer() -> None:
    memory = filled(SummaryMemory(summary_threshold=2))
    assert not await memory.maybe_summarize()
    assert len(memory) == 10


async def test_a_later_summary_includes_the_earlier_one() -> None:
    llm = Summarizer.saying("first summary", "second summary")
    memory = filled(SummaryMemory(summary_threshold=4, summarizer=llm))
    await memory.maybe_summarize()
    filled(memory)
    await memory.maybe_summarize()
    assert "first summary" in llm.questions[1]
    assert memory.summary == "second summary"


async def test_a_plain_completion_model_can_summarize() -> None:
    memory = filled(SummaryMemory(summary_threshold=2, summarizer=FakeListLLM(responses=[" in short "])))
    assert await memory.maybe_summarize()
    assert memory.summary == "in short"


@pytest.mark.parametrize("seed", range(30))
async def test_the_remaining_history_is_strictly_valid(seed: int) -> None:
    memory = SummaryMemory(summary_threshold=6, keep_recent=1 + seed % 6, summarizer=Summarizer.saying("s"))
    memory.add_messages(conversation(seed))
    last_user = [m.text for m in memory.get_history() if m.role is MessageRole.USER][-1]
    assert await memory.maybe_summarize()
    assert_strictly_valid(memory.get_messages())
    assert last_user in texts(memory.get_history())


async def test_an_unanswered_call_is_not_summarized() -> None:
    memory = SummaryMemory(summary_threshold=1, keep_recent=1, summarizer=Summarizer.saying("s"))
    memory.add_messages([Message.user("old"), Message.assistant("answer"), Message.user("q")])
    memory.add_message(Message.assistant("", [call("a"), call("b")]))
    memory.add_message(Message.tool_result("a", "r"))
    assert await memory.maybe_summarize()
    memory.add_message(Message.tool_result("b", "r"))
    assert_strictly_valid(memory.get_messages())
    assert texts(memory.get_history())[0] == "q"


async def test_a_single_long_turn_has_nothing_old_to_summarize() -> None:
    memory = SummaryMemory(summary_threshold=2, keep_recent=1, summarizer=Summarizer.saying("no"))
    memory.add_messages([Message.user("q"), Message.assistant("", [call("a"), call("b")])])
    memory.add_messages([Message.tool_result("a", "r"), Message.tool_result("b", "r")])
    assert not await memory.maybe_summarize()
    assert len(memory) == 4


async def test_an_empty_answer_changes_nothing() -> None:
    memory = filled(SummaryMemory(summary_threshold=5, summarizer=Summarizer.saying("  ")))
    assert not await memory.maybe_summarize()
    assert len(memory) == 10
    assert memory.summary is None


async def test_a_failure_is_raised_and_changes_nothing() -> None:
    memory = filled(SummaryMemory(summary_threshold=5, summarizer=Summarizer.saying()))
    with pytest.raises(Exception, match="StopIteration"):  # the script is empty
        await memory.maybe_summarize()
    assert len(memory) == 10
    memory.summarizer = Summarizer.saying("works again")
    assert await memory.maybe_summarize()


async def test_messages_added_while_summarizing_are_kept() -> None:
    llm = Summarizer.saying("s")
    llm._gate = asyncio.Event()
    memory = filled(SummaryMemory(summary_threshold=5, keep_recent=2, summarizer=llm))
    task = asyncio.create_task(memory.maybe_summarize())
    await llm._reached.wait()
    memory.add_message(Message.user("meanwhile"))
    assert not await memory.maybe_summarize()  # one at a time
    llm._gate.set()
    assert await task
    assert texts(memory.get_history()) == ["question 4", "answer 4", "meanwhile"]


async def test_a_history_cleared_while_summarizing_stays_cleared() -> None:
    llm = Summarizer.saying("about what was forgotten")
    llm._gate = asyncio.Event()
    memory = filled(SummaryMemory(summary_threshold=5, summarizer=llm))
    task = asyncio.create_task(memory.maybe_summarize())
    await llm._reached.wait()
    memory.clear_history()
    llm._gate.set()
    assert not await task
    assert memory.summary is None
    assert memory.get_messages() == []


async def test_a_cancelled_summary_changes_nothing_and_can_be_asked_again() -> None:
    llm = Summarizer.saying("s")
    llm._gate = asyncio.Event()
    memory = filled(SummaryMemory(summary_threshold=5, summarizer=llm))
    task = asyncio.create_task(memory.maybe_summarize())
    await llm._reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(memory) == 10
    llm._gate.set()
    assert await memory.maybe_summarize()


async def test_clearing_the_history_drops_the_summary() -> None:
    memory = SummaryMemory(system_message=Message.system("s"))
    memory.summary = "old"
    memory.clear_history()
    assert texts(memory.get_messages()) == ["s"]


async def test_the_summary_counts_against_the_budget() -> None:
    memory = SummaryMemory(max_tokens=20, token_counter=lambda text: len(text.split()))
    memory.add_messages([Message.user("five words are in here") for _ in range(4)])
    assert len(memory) == 4
    memory.summary = "word " * 10
    memory.add_message(Message.user("one"))
    assert len(memory) == 1


async def test_tokens_of_the_summarizer_are_counted_by_its_callbacks() -> None:
    tracker = TokenTrackingCallback()
    llm = Summarizer(messages=iter([AIMessage("s")]), callbacks=[tracker])
    await filled(SummaryMemory(summary_threshold=5, summarizer=llm)).maybe_summarize()
    assert tracker.call_count == 1


async def test_a_long_conversation_is_summarized_in_pieces() -> None:
    llm = Summarizer.saying("one", "two", "three")
    messages = [Message.user(f"m{number} " + "x" * (ENTRY_CHARS - 10)) for number in range(40)]
    assert await summarize(llm, messages) == "three"
    assert all(len(question) < PIECE_CHARS + 3 * ENTRY_CHARS for question in llm.questions)
    assert "one" in llm.questions[1]
    assert "two" in llm.questions[2]


async def test_the_summarizer_input_names_calls_and_parts_and_truncates_long_text() -> None:
    llm = Summarizer.saying("s")
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 50_000}}
    await summarize(
        llm,
        [
            Message.user([{"type": "text", "text": "see"}, picture]),
            Message.assistant("", [call("a", "read_file")]),
            Message.tool_result("a", "head" + "x" * 100_000 + "the error"),
        ],
    )
    question = llm.questions[0]
    assert "(a picture or file)" in question
    assert "(calls read_file with" in question
    assert "the error" in question
    assert len(question) < 10_000


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"summary_threshold": 0}, "summary_threshold is 0"),
        ({"keep_recent": 0}, "keep_recent is 0"),
        ({"summary_threshold": 4, "keep_recent": 5}, "keep_recent is 5"),
    ],
)
def test_invalid_summary_limits_are_rejected(options: dict[str, int], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        SummaryMemory(**options)
