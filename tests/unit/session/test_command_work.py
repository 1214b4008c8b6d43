"""The work of commands: it runs like a turn, ends with AGENT_END however it ends, and can be interrupted."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from forge_core.errors import ForgeError
from forge_core.events import AgentEnd, AgentEvent, Error, Notice
from forge_core.langchain.agent.event_queue import EventSink
from forge_core.session.command_work import Job
from forge_core.session.session import ForgeSession
from tests.support.scripted_llm import Gate
from tests.support.sessions import scripted_session


async def read(session: ForgeSession, job: Job) -> list[AgentEvent]:
    return [event async for event in session.work.run(job)]


async def succeed(events: EventSink) -> None:
    events.emit(Notice(level="info", text="done"))


async def fail(events: EventSink) -> None:
    raise ForgeError("git is missing")


async def break_down(events: EventSink) -> None:
    raise KeyError("a bug")


@pytest.mark.parametrize(
    ("job", "stopped", "kind"),
    [(succeed, "complete", Notice), (fail, "error", Notice), (break_down, "error", Error)],
)
async def test_work_ends_with_how_it_ended(
    tmp_path: Path, job: Job, stopped: str, kind: type[AgentEvent]
) -> None:
    session = scripted_session(tmp_path, [])
    *events, end = await read(session, job)
    assert isinstance(end, AgentEnd) and end.result.stopped_reason == stopped
    assert [type(event) for event in events] == [kind]
    assert not session.status.is_running


async def test_an_interrupt_ends_the_model_call_that_work_waits_for(tmp_path: Path) -> None:
    gate = Gate()
    session = scripted_session(tmp_path, [["Add", gate, " a file"]])
    answers: list[str] = []

    async def ask(events: EventSink) -> None:
        answers.append(await session.work.model.ask("Be brief.", "What?", "commit"))

    async def interrupt() -> None:
        await gate.reached.wait()
        session.interrupt()

    events, _ = await asyncio.gather(read(session, ask), interrupt())
    end = events[-1]
    assert isinstance(end, AgentEnd) and end.result.stopped_reason == "cancelled" and not answers
    assert session.status.usage.estimated  # what was written counts, with an estimate
    gate.open.set()
    [again] = await read(session, ask)  # the script is over: its last reply again
    assert isinstance(again, AgentEnd) and answers == ["Add a file"]
