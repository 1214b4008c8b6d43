"""Compaction in a session: when it happens, what the model is sent then, and what a continued session has."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from forge_core.errors import (
    AuthenticationError,
    BudgetExceededError,
    ContextLengthError,
    ForgeError,
    ProviderError,
    ProviderTimeoutError,
)
from forge_core.events import AgentEnd, AgentEvent, Compaction, LLMEnd, LLMStart, Notice
from forge_core.langchain.messages.conversion import langchain_to_forge
from forge_core.llm.models import Message, ToolCall
from forge_core.redact import Redactor
from forge_core.session.replay import replayed_turns
from forge_core.session.session import ForgeSession
from forge_core.store.forking import fork_session
from forge_core.store.journal import read_journal
from forge_core.store.saved_session import SavedSession, load_session
from forge_core.tools.builtin.todo import TodoItem
from tests.support.agent_tools import Echo
from tests.support.scripted_llm import Call, Gate, Piece, ScriptedLLM
from tests.support.sessions import scripted_session
from tests.unit.langchain.histories import assert_strictly_valid

LONG = "word " * 150
"""About 150 tokens; the window has 1000, and compaction begins at 850."""
OUTPUT = "line of output\n" * 60
"""About 150 tokens, in the arguments of a call and once more in its result."""


async def turn(session: ForgeSession, text: str = "go on") -> list[AgentEvent]:
    return [event async for event in session.send(text)]


async def compacting(session: ForgeSession, *args: Any, **options: Any) -> list[AgentEvent]:
    return [event async for event in session.compact(*args, **options)]


def model(session: ForgeSession) -> ScriptedLLM:
    llm = session._agent.llm
    assert isinstance(llm, ScriptedLLM)
    return llm


def sent(session: ForgeSession, at: int = -1) -> str:
    """Return the text of one request to the model."""
    return "\n".join(str(message.content) for message in model(session).seen[at])


def is_summary_request(messages: Sequence[BaseMessage]) -> bool:
    return str(messages[0].content).startswith("You compress the history")


def session_of(root: Path, replies: Sequence[Sequence[Piece]]) -> ForgeSession:
    session = scripted_session(root, replies, tools=[Echo()])
    model(session).usage = False  # estimates: the scripted counts have nothing to do with the text
    return session


def saved(session: ForgeSession) -> SavedSession:
    return load_session(session.config.state_dir / "journal.jsonl")


def one(events: Sequence[AgentEvent], kind: type[Any]) -> Any:
    [found] = [event for event in events if isinstance(event, kind)]
    return found


def tokens_of(session: ForgeSession) -> int:
    return session.status.context_used


async def filled(root: Path, *more: Sequence[Piece]) -> ForgeSession:
    """Return a session just below the threshold; its next message is over it."""
    session = session_of(root, [[LONG], [LONG], [LONG], [LONG], *more])
    for number in range(4):
        await turn(session, f"question {number}")
    assert 600 < tokens_of(session) < 850 == session.status.compacts_at
    return session


async def test_the_conversation_is_compacted_before_it_overflows(tmp_path: Path) -> None:
    session = await filled(tmp_path, ["SUMMARY"], ["fine"])
    events = await turn(session, "now " + 2 * LONG)
    done = one(events, Compaction)
    assert done.before > 850 > done.after
    assert done.method == "summarised"
    assert "the goal" in done.pinned
    assert events.index(done) < events.index(one(events, LLMStart))
    assert [is_summary_request(request) for request in model(session).seen[-2:]] == [True, False]
    assert "SUMMARY" in sent(session)
    assert "question 0" in sent(session), "the goal"
    assert LONG not in sent(session, -1).replace("now " + 2 * LONG, "")
    assert_strictly_valid([langchain_to_forge(message) for message in model(session).seen[-1]])
    await session.aclose()


async def test_long_output_is_left_out_first_without_a_model(tmp_path: Path) -> None:
    calls = [[Call("echo", {"text": OUTPUT}, id=f"c{n}")] for n in range(3)]
    session = session_of(tmp_path, [*calls, ["done"]])
    events = await turn(session)
    assert one(events, Compaction).method == "elided"
    assert not any(is_summary_request(request) for request in model(session).seen)
    await session.aclose()


async def test_it_is_compacted_between_two_model_calls_of_one_turn(tmp_path: Path) -> None:
    """The last user message stays, and every call keeps its result."""
    steps = [[Call("echo", {"text": LONG}, id=f"c{n}")] for n in range(12)]
    session = session_of(tmp_path, [*steps, ["done"]])
    events = await turn(session, "do all of it")
    assert isinstance(events[-1], AgentEnd)
    assert [event for event in events if isinstance(event, Compaction)]
    for request in model(session).seen:
        if not is_summary_request(request):
            assert_strictly_valid([langchain_to_forge(message) for message in request])
            assert "do all of it" in "".join(str(message.content) for message in request)
    await session.aclose()


async def test_a_refused_history_is_compacted_once_and_sent_again(tmp_path: Path) -> None:
    session = session_of(
        tmp_path,
        [[LONG], [LONG], [ContextLengthError("prompt is too long")], ["SUMMARY"], ["fine"]],
    )
    await turn(session, "question 0")
    await turn(session, "question 1")
    events = await turn(session, "question 2")
    assert one(events, AgentEnd).result.stopped_reason == "complete"
    assert one(events, AgentEnd).result.iterations == 1
    assert len([event for event in events if isinstance(event, LLMStart)]) == 2
    assert len([event for event in events if isinstance(event, LLMEnd)]) == 2
    assert one(events, Compaction).method == "summarised"
    await session.aclose()


async def test_a_history_that_is_refused_again_ends_the_turn(tmp_path: Path) -> None:
    too_long = ContextLengthError("prompt is too long")
    session = session_of(tmp_path, [[LONG], [LONG], [too_long], ["SUMMARY"], [too_long]])
    await turn(session, "question 0")
    await turn(session, "question 1")
    events = await turn(session, "question 2")
    assert one(events, AgentEnd).result.stopped_reason == "error"
    assert len(model(session).seen) == 5
    await session.aclose()


async def test_nothing_is_compacted_twice_without_a_new_message(tmp_path: Path) -> None:
    session = await filled(tmp_path, ["SUMMARY"], ["unused"])
    assert one(await compacting(session), Compaction)
    calls = len(model(session).seen)
    assert "Nothing has come" in one(await compacting(session), Notice).text
    assert "Nothing has come" in one(await compacting(session, is_fast=True), Notice).text
    assert len(model(session).seen) == calls
    await session.aclose()


async def test_a_short_conversation_is_left_alone(tmp_path: Path) -> None:
    session = session_of(tmp_path, [["hi"]])
    assert "nothing to compact" in one(await compacting(session), Notice).text
    await turn(session, "hello")
    assert "nothing to compact" in one(await compacting(session), Notice).text
    assert len(model(session).seen) == 1
    await session.aclose()


async def test_the_focus_reaches_the_model(tmp_path: Path) -> None:
    session = await filled(tmp_path, ["SUMMARY"])
    await compacting(session, "the parser's tests")
    assert "the parser's tests" in sent(session)
    await session.aclose()


async def test_the_summary_is_billed_and_recorded(tmp_path: Path) -> None:
    session = await filled(tmp_path, ["SUMMARY " * 50])
    before = session.spending().total.usage
    await compacting(session)
    after = session.spending().total.usage
    assert after.prompt_tokens - before.prompt_tokens > 300
    await session.aclose()
    records = read_journal(session.config.state_dir / "journal.jsonl").records
    [call] = [one for one in records if one["data"].get("purpose") == "summary"]
    assert call["type"] == "llm_end"
    total = sum(one.usage.prompt_tokens for one in saved(session).calls)
    assert total == after.prompt_tokens


def priced(session: ForgeSession) -> None:
    provider = replace(session._provider, price=lambda model, usage: Decimal(usage.prompt_tokens) / 1000)
    session.compaction._provider = provider


def unfinished(session: ForgeSession, *pieces: Piece) -> None:
    """Make the model answer no summary: it fails, or never ends."""
    session._agent.set_llm(ScriptedLLM(replies=[pieces]))


def about_cost(events: Sequence[AgentEvent]) -> list[str]:
    texts = [event.text for event in events if isinstance(event, Notice)]
    return [text for text in texts if "(estimated)" in text]


async def test_a_cancelled_summary_counts_with_an_estimate(tmp_path: Path) -> None:
    session = await filled(tmp_path)
    priced(session)
    before, gate = session.spending().total.usage, Gate()
    unfinished(session, gate)
    events = [event async for event in _interrupted_at(session, gate)]
    usage = session.spending().total.usage
    added = usage.prompt_tokens - before.prompt_tokens
    assert added > 300 and usage.estimated
    [text] = about_cost(events)
    assert f"{added:,} tokens, ${added / 1000:.4f}" in text
    assert isinstance(events[-1], AgentEnd) and events[-1].result.stopped_reason == "cancelled"
    await session.aclose()
    last = saved(session).calls[-1].usage
    assert (last.prompt_tokens, last.estimated) == (added, True)
    again = restored(tmp_path, session)
    assert again.spending().total.usage.prompt_tokens == usage.prompt_tokens
    await again.aclose()


async def test_a_summary_whose_reader_is_gone_counts_too(tmp_path: Path) -> None:
    session = await filled(tmp_path)
    before, gate = session.spending().total.usage, Gate()
    unfinished(session, gate)
    stream = session.compact()
    reading = asyncio.ensure_future(anext(stream))
    await gate.reached.wait()
    reading.cancel()
    await asyncio.wait([reading])
    await stream.aclose()
    assert session.spending().total.usage.prompt_tokens - before.prompt_tokens > 300
    await session.aclose()


@pytest.mark.parametrize(
    ("failure", "calls"),
    [
        (ProviderTimeoutError("no answer"), 2),
        (ProviderError("the connection broke"), 1),
        (AuthenticationError("the key is wrong", status=401), 0),
        (ProviderError("not reached", error_type="connect_failed"), 0),
        (BudgetExceededError("the limit is reached"), 0),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_a_failed_summary_counts_where_the_model_was_at_work(
    tmp_path: Path, failure: Exception, calls: int
) -> None:
    session = await filled(tmp_path)
    before = session.spending().total.usage
    unfinished(session, failure)
    events = await compacting(session)
    usage = session.spending().total.usage
    assert len(about_cost(events)) == calls
    assert (usage.prompt_tokens > before.prompt_tokens) == bool(calls)
    await session.aclose()
    assert sum(one.usage.prompt_tokens for one in saved(session).calls) == usage.prompt_tokens


async def test_an_interrupt_of_the_summary_changes_nothing(tmp_path: Path) -> None:
    session = await filled(tmp_path)
    gate = Gate()

    async def waits(*args: Any, **options: Any) -> str:
        gate.reached.set()
        await gate.open.wait()
        return ""

    session.compaction._summary = waits  # type: ignore[method-assign]
    before = session._agent.memory.get_history()
    events: list[AgentEvent] = []
    async for event in _interrupted_at(session, gate):
        events.append(event)
    assert one(events, AgentEnd).result.stopped_reason == "cancelled"
    assert session._agent.memory.get_history() == before
    assert not session.status.is_running
    await session.aclose()


async def _interrupted_at(session: ForgeSession, gate: Gate) -> Any:
    stream = session.compact()
    reading = asyncio.ensure_future(anext(stream))
    await gate.reached.wait()
    session.interrupt()
    yield await reading
    async for event in stream:
        yield event


async def test_a_turn_and_a_compaction_exclude_each_other(tmp_path: Path) -> None:
    gate = Gate()
    session = session_of(tmp_path, [[LONG], [gate, "x"]])
    await turn(session)
    stream = session.send("wait")
    await anext(stream)
    with pytest.raises(ForgeError, match="running already"):
        await compacting(session)
    await stream.aclose()
    await session.aclose()


async def test_without_a_summary_the_oldest_messages_go_with_a_notice(tmp_path: Path) -> None:
    session = await filled(tmp_path, [AuthenticationError("the key is wrong")], ["fine"])
    events = await turn(session, "now " + 2 * LONG)
    assert one(events, Compaction).method == "removed"
    [notice] = [event for event in events if isinstance(event, Notice) and event.level == "warning"]
    assert "could not be summarised: the key is wrong" in notice.text
    assert one(events, AgentEnd).result.stopped_reason == "complete"
    assert "question 0" in sent(session), "the goal"
    assert tokens_of(session) < 850
    await session.aclose()


async def test_a_failure_on_request_changes_nothing(tmp_path: Path) -> None:
    session = await filled(tmp_path, [AuthenticationError("the key is wrong")])
    before = session._agent.memory.get_history()
    notice = one(await compacting(session), Notice)
    assert notice.level == "warning"
    assert "the key is wrong Nothing was changed." in notice.text
    assert session._agent.memory.get_history() == before
    await session.aclose()


# Undo


async def test_undo_brings_the_history_back_with_what_has_come_since(tmp_path: Path) -> None:
    session = await filled(tmp_path, ["SUMMARY"], ["an answer"])
    before = session._agent.memory.get_history()
    await compacting(session)
    await turn(session, "more")
    small, whole = session.compaction.undo()
    assert small < whole
    history = session._agent.memory.get_history()
    assert history[: len(before)] == before
    assert [message.text for message in history[len(before) :]] == ["more", "an answer"]
    with pytest.raises(ForgeError, match="no compaction to undo"):
        session.compaction.undo()
    await session.aclose()


async def test_after_a_reset_there_is_nothing_to_undo(tmp_path: Path) -> None:
    session = await filled(tmp_path, ["SUMMARY"])
    await compacting(session)
    await session.reset()
    with pytest.raises(ForgeError, match="no compaction to undo"):
        session.compaction.undo()
    await session.aclose()


# Continuing


def restored(root: Path, before: ForgeSession, replies: Sequence[Sequence[Piece]] = ()) -> ForgeSession:
    session = session_of(root, [*replies, ["unused"]])
    session.restore(saved(before))
    return session


async def test_a_continued_session_sends_the_shorter_history(tmp_path: Path) -> None:
    session = await filled(tmp_path, ["SUMMARY"], ["an answer"])
    await compacting(session)
    await turn(session, "more")
    history = session._agent.memory.get_history()
    await session.aclose()
    again = restored(tmp_path, session)
    assert again._agent.memory.get_history() == history
    assert len(saved(session).turns) == 5, "the screen shows all of it"
    again.compaction.undo()
    assert "question 1" in "".join(one.text for one in again._agent.memory.get_history())
    await again.aclose()
    assert len(saved(session).messages) == 10


async def test_an_undone_compaction_stays_undone(tmp_path: Path) -> None:
    session = await filled(tmp_path, ["SUMMARY"], ["an answer"])
    await compacting(session)
    session.compaction.undo()
    await turn(session, "more")
    history = session._agent.memory.get_history()
    await session.aclose()
    assert saved(session).messages == history


async def test_a_fork_carries_the_compaction(tmp_path: Path) -> None:
    session = await filled(tmp_path, ["SUMMARY"])
    await compacting(session)
    await session.aclose()
    whole = saved(session)
    copy = tmp_path / "20261121-000000-abcdef.jsonl"
    fork_session(whole, copy, Redactor())
    assert load_session(copy).messages == whole.messages
    at = next(at for at, record in enumerate(whole.records) if record["type"] == "window")
    earlier = tmp_path / "20261122-000000-abcdef.jsonl"
    fork_session(whole, earlier, Redactor(), records=at)
    assert load_session(earlier).messages == whole.uncompacted


async def test_a_rewind_past_a_compaction_brings_the_whole_history_back(tmp_path: Path) -> None:
    session = await filled(tmp_path, ["SUMMARY"], ["fine"], ["more"])
    await turn(session, "now " + 2 * LONG)
    await turn(session, "later")
    session._journal.record("rewind", {"turn": 6})
    session._journal.flush()
    assert saved(session).uncompacted, "the compaction belongs to turn 5"
    session._journal.record("rewind", {"turn": 5})
    await session.aclose()
    assert [message.text for message in saved(session).messages[::2]] == [f"question {n}" for n in range(4)]
    again = restored(tmp_path, session)
    with pytest.raises(ForgeError, match="no compaction to undo"):
        again.compaction.undo()
    await again.aclose()


async def test_a_compaction_before_a_rewind_can_still_be_undone(tmp_path: Path) -> None:
    session = await filled(tmp_path, ["SUMMARY"], ["more"], ["still more"])
    await compacting(session)
    await turn(session, "later")
    await turn(session, "much later")
    await session.rewinder.rewind(6)
    session.compaction.undo()
    whole = [message.text for message in session._agent.memory.get_history()]
    assert whole[::2] == [*(f"question {n}" for n in range(4)), "later"]
    await session.aclose()
    assert [message.text for message in saved(session).messages] == whole


@pytest.mark.parametrize(
    "damage",
    [
        {},
        {"messages": 5},
        {"messages": [7, {"role": "no"}, {"role": "user", "content": "x"}]},
        {"undo": True},
    ],
)
async def test_a_damaged_window_record_loads(tmp_path: Path, damage: dict[str, Any]) -> None:
    session = session_of(tmp_path, [["hi"]])
    await turn(session, "hello")
    session._journal.record("window", damage)
    await session.aclose()
    texts = [message.text for message in saved(session).messages]
    assert texts == (["x"] if isinstance(damage.get("messages"), list) else ["hello", "hi"])


async def test_a_journal_that_was_cut_in_a_compaction_loads(tmp_path: Path) -> None:
    """Before the line of the `window` record is whole, the history is the one before it."""
    session = await filled(tmp_path, ["SUMMARY"])
    await compacting(session)
    await session.aclose()
    whole = saved(session)
    path = whole.path
    lines = path.read_bytes().splitlines(keepends=True)
    at = next(at for at, record in enumerate(whole.records) if record["type"] == "window")
    for size in (0, 1, len(lines[at]) // 2, len(lines[at]) - 2, len(lines[at])):
        path.write_bytes(b"".join(lines[:at]) + lines[at][:size])
        expected = whole.messages if size == len(lines[at]) else whole.uncompacted
        assert load_session(path).messages == expected


# What survives


class Forgetful(ScriptedLLM):
    """Summarises to nothing of use, and answers only with what its request still holds."""

    def _next(self, messages: list[BaseMessage]) -> Sequence[Piece]:
        super()._next(messages)
        if is_summary_request(messages):
            return ["Some work was done."]
        if messages[-1].content != "What do you know?":
            return [LONG]
        text = "\n".join(str(message.content) for message in messages)
        found = [
            word for word in ("GOALWORD", "FILEWORD", "STEPWORD", "SAIDWORD", "OUTPUTWORD") if word in text
        ]
        return [" ".join(found)]


async def test_what_survives_three_compactions(tmp_path: Path) -> None:
    """The goal, the plan, the names of files and what the user wrote survive any summariser; what only a tool
    has printed survives only if the summary has it."""
    session = session_of(tmp_path, [])
    session._agent.set_llm(Forgetful(replies=[[""]], usage=False))
    session._environment.files[str(tmp_path / "FILEWORD.py")] = "0" * 64
    await turn(session, "Make it say GOALWORD")
    session.todos.replace([TodoItem("Then do STEPWORD")])
    await turn(session, "And remember SAIDWORD")
    memory = session._agent.memory
    memory.add_message(Message.assistant("", [ToolCall("z", {"name": "echo", "arguments": "{}"})]))
    memory.add_message(Message.tool_result("z", "OUTPUTWORD " + LONG))
    compactions = 0
    while compactions < 3:
        events = await turn(session, "go on")
        compactions += sum(isinstance(e, Compaction) and e.method == "summarised" for e in events)
    answer = one(await turn(session, "What do you know?"), AgentEnd).result.output
    assert answer == "GOALWORD FILEWORD STEPWORD SAIDWORD"
    await session.aclose()


async def test_what_a_compaction_costs_in_the_prompt_cache_is_said_before_the_next_request(
    tmp_path: Path,
) -> None:
    session = scripted_session(tmp_path, [["answer"]])
    async for _ in session.send("question"):
        pass
    session.compaction.cache_warning = lambda: "That costs $1."
    notices = [event.text async for event in session.compact(is_fast=True) if isinstance(event, Notice)]
    assert notices[-1] == "That costs $1."
    await session.aclose()


async def test_a_turn_is_not_shown_as_interrupted_after_a_compaction_by_the_user(tmp_path: Path) -> None:
    session = await filled(tmp_path, ["SUMMARY"])
    await compacting(session)
    await session.aclose()
    [*_, last] = replayed_turns(saved(session))
    assert [type(event) for event in last.events][-3:] == [AgentEnd, LLMEnd, Compaction]
    assert one(last.events, AgentEnd).result.stopped_reason == "complete"
