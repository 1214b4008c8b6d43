"""The session: turns, interrupts, hard cancels, reset, figures and what its journal holds."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import Answer
from forge_core.config.permission_mode import PermissionMode
from forge_core.errors import ForgeError, ServerError
from forge_core.events import AgentEnd, AgentEvent, LLMChunk, Notice, ToolEnd, ToolProgress
from forge_core.llm.models import MessageRole
from forge_core.session.session import ForgeSession
from forge_core.store.journal import read_journal
from forge_core.tools import BashTool, EditTool, ReadTool
from tests.support.agent_tools import Echo, Slow
from tests.support.scripted_llm import Call, Finish, Gate, ScriptedLLM
from tests.support.sessions import Answering, scripted_session


async def turn(session: ForgeSession, text: str = "go") -> list[AgentEvent]:
    return [event async for event in session.send(text)]


def journal_of(session: ForgeSession) -> list[dict[str, Any]]:
    content = read_journal(session.config.state_dir / "journal.jsonl")
    assert content.damaged == 0
    return content.records


def assert_closed(records: list[dict[str, Any]]) -> None:
    """Every start in the journal has its end, and every turn its AGENT_END."""
    kinds = [record["type"] for record in records]
    assert kinds.count("llm_start") == kinds.count("llm_end")
    started = [r["data"]["call_id"] for r in records if r["type"] == "tool_start"]
    ended = [r["data"]["call_id"] for r in records if r["type"] == "tool_end"]
    assert sorted(started) == sorted(ended)
    assert kinds.count("user") == kinds.count("agent_end")
    asked = [c["id"] for r in records if r["type"] == "message" for c in r["data"].get("tool_calls", ())]
    answered = [r["data"]["tool_call_id"] for r in records if r["data"].get("role") == "tool"]
    assert asked == answered


async def test_a_turn_ends_with_agent_end_and_is_recorded_in_the_journal(tmp_path: Path) -> None:
    session = scripted_session(tmp_path, [[Call("echo", {"text": "x"})], ["It is ", "x."]], tools=[Echo()])
    events = await turn(session, "what is it?")
    assert isinstance(events[-1], AgentEnd)
    await session.aclose()
    records = journal_of(session)
    assert [r["type"] for r in records[:2]] == ["session", "user"]
    assert records[1]["data"]["text"] == "what is it?"
    assert_closed(records)
    roles = [r["data"]["role"] for r in records if r["type"] == "message"]
    assert roles == ["user", "assistant", "tool", "assistant"]


async def test_the_status_carries_model_mode_usage_and_context(tmp_path: Path) -> None:
    session = scripted_session(tmp_path, [["one ", "two"]])
    assert session.status.is_context_estimate
    await turn(session)
    status = session.status
    assert (status.model, status.mode, status.is_running) == ("scripted/model", PermissionMode.ASK, False)
    assert (status.usage.prompt_tokens, status.usage.completion_tokens) == (10, 2)
    assert str(status.usage.cost_usd) == "0.001"
    assert status.context_used == 12
    await session.aclose()


async def test_the_next_message_follows_the_partial_answer(tmp_path: Path) -> None:
    session = scripted_session(tmp_path, [["The first half", Gate()], ["The second half"]])
    events = []
    async for event in session.send("tell me"):
        events.append(event)
        if isinstance(event, LLMChunk):
            session.interrupt()
    last = events[-1]
    assert isinstance(last, AgentEnd)
    assert last.result.stopped_reason == "cancelled"
    await turn(session, "go on")
    llm = session._agent.llm
    assert isinstance(llm, ScriptedLLM)
    assert [str(m.content) for m in llm.seen[1][1:]] == ["tell me", "The first half", "go on"]
    await session.aclose()
    assert_closed(journal_of(session))


async def test_an_interrupt_right_after_the_start_is_not_lost(tmp_path: Path) -> None:
    session = scripted_session(tmp_path, [[Gate()]])
    stream = session.send("go")
    first = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    session.interrupt()
    events = [await first, *[event async for event in stream]]
    last = events[-1]
    assert isinstance(last, AgentEnd)
    assert last.result.stopped_reason == "cancelled"
    await session.aclose()


async def test_closing_the_stream_at_any_event_leaves_journal_and_session_valid(tmp_path: Path) -> None:
    script = [["Look ", Call("echo", {"text": "a"}), Call("echo", {"text": "b"})], ["done"]]
    total = len(await turn(scripted_session(tmp_path / "whole", script, tools=[Echo()])))
    for cut in range(1, total + 1):
        session = scripted_session(tmp_path / str(cut), script, tools=[Echo()])
        stream = session.send("go")
        for _ in range(cut):
            await anext(stream)
        await stream.aclose()
        assert session.last_result is not None
        assert not session.status.is_running
        assert isinstance((await turn(session, "again"))[-1], AgentEnd)
        await session.aclose()
        assert_closed(journal_of(session))


async def test_a_hard_cancel_during_a_tool_closes_the_turn_in_the_journal(tmp_path: Path) -> None:
    slow = Slow()
    session = scripted_session(
        tmp_path, [[Call("slow", {"kind": "deaf"})]], tools=[slow], approver=Answering(Answer.ONCE)
    )
    stream = session.send("go")
    async for event in stream:
        if isinstance(event, ToolProgress):
            break
    await stream.aclose()
    assert slow.was_cancelled
    await session.aclose()
    records = journal_of(session)
    assert_closed(records)
    assert records[-1]["data"]["result"]["stopped_reason"] == "cancelled"


async def test_a_provider_failure_ends_the_turn_but_not_the_session(tmp_path: Path) -> None:
    replies = [["half", ServerError("502: upstream fell over")], ["fine again"]]
    session = scripted_session(tmp_path, replies, max_retries=0)
    kinds = [str(event.type) for event in await turn(session)]
    assert kinds[-2:] == ["error", "agent_end"]
    events = await turn(session)
    last = events[-1]
    assert isinstance(last, AgentEnd)
    assert last.result.output == "fine again"
    await session.aclose()


async def test_a_concurrent_second_turn_is_rejected(tmp_path: Path) -> None:
    gate = Gate()
    session = scripted_session(tmp_path, [[gate]])
    running = asyncio.create_task(turn(session))
    await gate.reached.wait()
    with pytest.raises(ForgeError, match="running already"):
        await turn(session)
    session.interrupt()
    await running
    await session.aclose()


async def test_reset_interrupts_clears_the_conversation_and_keeps_the_spending(tmp_path: Path) -> None:
    gate = Gate()
    session = scripted_session(tmp_path, [["first"], [gate], ["fresh"]])
    await turn(session, "one")
    running = asyncio.create_task(turn(session, "two"))
    await gate.reached.wait()
    await session.reset()
    await running
    spent = session.status.usage
    assert spent.prompt_tokens >= 10
    composition = await session.context.composition()
    assert composition.by_turn() == {}
    assert session.status.context_used == composition.used
    assert [turn.number for turn in session.spending().turns] == [0]
    await turn(session, "three")
    llm = session._agent.llm
    assert isinstance(llm, ScriptedLLM)
    assert [m.type for m in llm.seen[-1]] == ["system", "human"]
    await session.aclose()
    assert "reset" in [record["type"] for record in journal_of(session)]


async def test_a_new_model_answers_the_next_turn(tmp_path: Path) -> None:
    session = scripted_session(tmp_path, [["old"]])
    await turn(session)
    session.models.choose("other/model")
    events = await turn(session)
    last = events[-1]
    assert isinstance(last, AgentEnd)
    assert last.result.output == "from other/model"
    assert session.status.model == "other/model"
    assert set(session.spending().by_model) == {"scripted/model", "other/model"}
    await session.aclose()


async def test_a_new_mode_applies_to_the_next_call_and_the_model_is_informed(tmp_path: Path) -> None:
    session = scripted_session(tmp_path, [["ok"]])
    session.set_mode(PermissionMode.PLAN)
    await turn(session)
    llm = session._agent.llm
    assert isinstance(llm, ScriptedLLM)
    assert "plan" in str(llm.seen[0][0].content)
    assert llm.seen[0][0].type == MessageRole.SYSTEM
    await session.aclose()


async def test_notices_arrive_within_a_turn_or_separately(tmp_path: Path) -> None:
    session = scripted_session(tmp_path, [["a", "b"]])
    session.notify(Notice(level="info", text="outside"))
    beside = await anext(session.notices())
    assert beside.text == "outside"
    seen: list[AgentEvent] = []
    async for event in session.send("go"):
        if isinstance(event, LLMChunk) and event.text == "a":
            session.notify(Notice(level="warning", text="inside"))
        seen.append(event)
    assert [event.text for event in seen if isinstance(event, Notice)] == ["inside"]
    await session.aclose()


async def test_a_denied_call_ends_the_run_as_denied(tmp_path: Path) -> None:
    session = scripted_session(
        tmp_path,
        [[Call("slow", {"kind": "deaf"})], ["I won't."]],
        tools=[Slow()],
        approver=Answering(Answer.NO),
    )
    events = await turn(session)
    last = events[-1]
    assert isinstance(last, AgentEnd)
    assert last.result.stopped_reason == "denied"
    await session.aclose()


async def test_an_answer_cut_by_its_length_after_a_denied_call_ends_the_run_as_cut(tmp_path: Path) -> None:
    session = scripted_session(
        tmp_path,
        [[Call("slow", {"kind": "deaf"})], ["I won", Finish("length")]],
        tools=[Slow()],
        approver=Answering(Answer.NO),
    )
    last = (await turn(session))[-1]
    assert isinstance(last, AgentEnd)
    assert last.result.stopped_reason == "length"
    await session.aclose()


async def test_after_a_reset_an_edit_is_not_compared_with_an_earlier_read(tmp_path: Path) -> None:
    """What the model has read is no longer in its context."""
    (tmp_path / "a.txt").write_text("one\n")
    change = {"file_path": "a.txt", "old_string": "two", "new_string": "three"}
    session = scripted_session(
        tmp_path,
        [[Call("read", {"file_path": "a.txt"})], ["read"], [Call("edit", change)], ["changed"]],
        tools=[ReadTool(), EditTool()],
        approver=Answering(Answer.ONCE),
    )
    await turn(session)
    await session.reset()
    (tmp_path / "a.txt").write_text("two\n")
    await turn(session)
    assert (tmp_path / "a.txt").read_text() == "three\n"
    await session.aclose()


async def test_one_denied_call_among_several_does_not_end_the_run_as_denied(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text\n")
    session = scripted_session(
        tmp_path,
        [[Call("slow", {"kind": "deaf"}), Call("read", {"file_path": "a.txt"})], ["done"]],
        tools=[Slow(), ReadTool()],
        approver=Answering(Answer.NO),
    )
    events = await turn(session)
    last = events[-1]
    assert isinstance(last, AgentEnd)
    assert [record.success for record in last.result.tool_calls] == [False, True]
    assert last.result.stopped_reason == "complete"
    await session.aclose()


async def test_a_slow_reader_receives_all_events(tmp_path: Path) -> None:
    session = scripted_session(tmp_path, [[str(number) + " " for number in range(1000)]])
    text = ""
    async for event in session.send("count"):
        if isinstance(event, LLMChunk):
            text += event.text
            await asyncio.sleep(0)
    assert text.split() == [str(number) for number in range(1000)]
    await session.aclose()


async def test_closing_the_session_stops_processes_left_by_its_commands(tmp_path: Path) -> None:
    call = Call("bash", {"command": "sleep 300 & echo $!"})
    session = scripted_session(
        tmp_path, [[call], ["started"]], tools=[BashTool()], approver=Answering(Answer.ONCE)
    )
    events = await turn(session)
    pid = int(next(e.result for e in events if isinstance(e, ToolEnd)).split()[0])
    os.kill(pid, 0)
    await session.aclose()
    for _ in range(1500):
        if not is_alive(pid):
            break
        await asyncio.sleep(0.02)
    assert not is_alive(pid)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_closing_the_session_ends_the_event_stream_of_a_turn(tmp_path: Path) -> None:
    gate = Gate()
    session = scripted_session(tmp_path, [["some text", gate]])
    reading = asyncio.create_task(turn(session))
    await gate.reached.wait()
    await session.aclose()
    events = await asyncio.wait_for(reading, 60)
    assert not any(isinstance(event, AgentEnd) for event in events)
    assert session.last_result is not None
    assert_closed(journal_of(session))


class Stubborn(Echo):
    async def aclose(self) -> None:
        raise RuntimeError("a bug")


async def test_an_error_while_closing_leaves_nothing_else_open(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    session = scripted_session(tmp_path, [["Hello."]], tools=[Stubborn()])
    await turn(session)
    writers = [
        thread for thread in threading.enumerate() if thread not in before and "journal" in thread.name
    ]
    assert writers
    with pytest.raises(RuntimeError, match="a bug"):
        await session.aclose()
    assert not [thread for thread in writers if thread.is_alive()]
    assert_closed(journal_of(session))
