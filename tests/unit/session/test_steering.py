"""Messages that enter a running turn of a session: what they mention, the journal, and the session that continues."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest
from forge_core.events import AgentEvent, Steered, ToolEnd, ToolStart
from forge_core.langchain.agent.steering import SteeringMessage
from forge_core.redact import Redactor
from forge_core.session.replay import replayed_turns
from forge_core.session.session import ForgeSession
from forge_core.store.saved_session import load_session
from forge_core.store.transcript_parts import TextPart, parts_of
from tests.support.agent_tools import Echo
from tests.support.scripted_llm import Call, ScriptedLLM
from tests.support.sessions import Answering, scripted_session


def steered_session(root: Path) -> ForgeSession:
    replies = [[Call("echo", {"text": "x"})], ["done"]]
    return scripted_session(root, replies, tools=[Echo()], approver=Answering(Answer.ONCE))


async def steer(session: ForgeSession, text: str) -> list[AgentEvent]:
    """Run a turn, and send a message while its tool runs."""
    events = []
    async for event in session.send("go"):
        if isinstance(event, ToolStart) and event.name == "echo":
            session.steering.add(text)
        events.append(event)
    return events


def last_request(session: ForgeSession) -> str:
    llm = session._agent.llm
    assert isinstance(llm, ScriptedLLM)
    return str(llm.seen[-1][-1].content)


async def test_mentioned_files_and_news_are_attached(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("the notes\n")
    session = steered_session(tmp_path)
    events = []
    async for event in session.send("go"):
        if isinstance(event, ToolEnd):
            session.inform_model("The user has done something.")
            session.steering.add("read @notes.txt")
        events.append(event)
    assert [event.text for event in events if isinstance(event, Steered)] == ["read @notes.txt"]
    sent = last_request(session)
    assert sent.startswith("read @notes.txt\n") and "the notes" in sent
    assert "The user has done something." in sent
    await session.aclose()


async def test_the_journal_has_the_message_in_its_turn(tmp_path: Path) -> None:
    session = steered_session(tmp_path)
    await steer(session, "only x")
    await session.aclose()
    saved = load_session(tmp_path / "state" / "journal.jsonl")
    assert [message.text for message in saved.messages] == ["go", "", "x", "only x", "done"]
    assert [turn.text for turn in saved.turns] == ["go"]
    assert (saved.messages_sent, saved.last_text) == (2, "only x")
    [turn] = replayed_turns(saved)
    shown = [event.text for event in turn.events if isinstance(event, Steered)]
    assert shown == ["only x"]
    texts = [(part.kind, part.text) for part in parts_of(saved, Redactor()) if isinstance(part, TextPart)]
    assert texts == [("user", "go"), ("user", "only x"), ("answer", "done")]


async def test_a_kill_right_after_the_delivery_offers_the_message_no_more(tmp_path: Path) -> None:
    session = steered_session(tmp_path)
    async for event in session.send("go"):
        if isinstance(event, ToolStart) and event.name == "echo":
            session.save_input(queue=[" /not a command", "only x", "only x"])
            session.steering.add("/not a command", queued=" /not a command")
            session.steering.add("only x", queued="only x")
    await session.aclose()
    journal = tmp_path / "state" / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    left = [["only x"], ["only x", "only x"], [" /not a command", "only x", "only x"]]
    delivered = [at for at, line in enumerate(lines) if b'"steered":true' in line.replace(b" ", b"")]
    for end in reversed(delivered):  # the message is the last record
        journal.write_bytes(b"".join(lines[: end + 1]))
        saved = load_session(journal)
        assert saved.messages[-1].text in ("only x", "/not a command")
        assert saved.queue == left.pop(0)
    journal.write_bytes(b"".join(lines[: delivered[0]]))
    assert load_session(journal).queue == left.pop(0)


async def test_a_continued_session_sends_the_message_again_in_its_place(tmp_path: Path) -> None:
    session = steered_session(tmp_path)
    await steer(session, "only x")
    await session.aclose()
    saved = load_session(tmp_path / "state" / "journal.jsonl")
    again = scripted_session(tmp_path / "again", [["fine"]])
    again.restore(saved)
    [_ async for _ in again.send("next")]
    llm = again._agent.llm
    assert isinstance(llm, ScriptedLLM)
    assert [message.type for message in llm.seen[0]][-6:] == ["human", "ai", "tool", "human", "ai", "human"]
    await again.aclose()


async def test_a_message_for_a_turn_that_calls_no_model_is_left_to_the_caller(tmp_path: Path) -> None:
    session = steered_session(tmp_path)
    await steer(session, "only x")
    message = None
    async for _ in session.compact(is_fast=True):
        message = message or session.steering.add("too early")
    assert message is not None and session.steering.withdraw(message)
    [_ async for _ in session.send("next")]
    assert "too early" not in last_request(session)
    await session.aclose()


class Unanswered:
    """An approver that allows all but reading, for which it gives no answer."""

    def __init__(self) -> None:
        self.is_asked = asyncio.Event()

    async def __call__(self, request: ApprovalRequest) -> ApprovalReply:
        if request.tool != "read":
            return ApprovalReply(Answer.ONCE)
        self.is_asked.set()
        await asyncio.Event().wait()
        raise AssertionError


async def reading_session(root: Path) -> tuple[ForgeSession, SteeringMessage, asyncio.Task[None]]:
    """A session whose turn reads the files of a message that was sent while it ran, and asks about one."""
    (root / "notes.txt").write_text("the notes\n")
    (root / ".env").write_text("KEY=1\n")
    approver = Unanswered()
    replies = [[Call("echo", {"text": "x"})], ["done"], ["done"]]
    session = scripted_session(root, replies, tools=[Echo()], approver=approver)
    session.inform_model("The user has done something.")
    messages: list[SteeringMessage] = []

    async def run() -> None:
        async for event in session.send("go"):
            if isinstance(event, ToolStart) and event.name == "echo":
                session.inform_model("And something else.")
                messages.append(session.steering.add("read @notes.txt and @.env"))

    task = asyncio.create_task(run())
    await asyncio.wait_for(approver.is_asked.wait(), 10)
    return session, messages[0], task


@pytest.mark.parametrize("is_hard", [False, True])
async def test_an_interrupt_while_its_files_are_read_leaves_it_to_the_caller(
    tmp_path: Path, is_hard: bool
) -> None:
    session, message, task = await reading_session(tmp_path)
    if is_hard:
        task.cancel()
    else:
        session.interrupt()
    await asyncio.wait([task])
    assert session.steering.withdraw(message)
    assert [one.text for one in session._agent.memory.get_history()][2:] == ["x"]
    assert session._environment.files == {}
    assert session.last_result is not None and session.last_result.stopped_reason == "cancelled"
    [_ async for _ in session.send("next")]
    assert "And something else." in last_request(session)
    await session.aclose()
    saved = load_session(tmp_path / "state" / "journal.jsonl")
    assert [one.text.partition("\n")[0] for one in saved.messages] == ["go", "", "x", "next", "done"]


async def test_taking_it_back_while_its_files_are_read_ends_that(tmp_path: Path) -> None:
    session, message, task = await reading_session(tmp_path)
    assert session.steering.withdraw(message)
    await asyncio.wait_for(task, 10)
    assert session._environment.files == {}
    assert [one.text for one in session._agent.memory.get_history()][2:] == ["x", "done"]
    [_ async for _ in session.send("next")]
    assert "And something else." in last_request(session)
    await session.aclose()
