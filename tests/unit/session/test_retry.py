"""A turn whose model call failed is kept, and goes on from there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forge_core.commands.result import Failure, ResumeTurn
from forge_core.errors import ConnectionFailedError, ForgeError
from forge_core.events import AgentEnd, AgentEvent
from forge_core.session.session import ForgeSession
from forge_core.store.journal import read_journal
from tests.support.agent_tools import Echo
from tests.support.commands import run_command
from tests.support.scripted_llm import Call, Piece, ScriptedLLM
from tests.support.sessions import scripted_session

BROKEN = ConnectionFailedError("The connection broke.", retry_after_s=0.0)
CALL = Call("echo", {"text": "x"})


def session_for(root: Path, *replies: list[Piece], **options: Any) -> ForgeSession:
    return scripted_session(root, replies, tools=[Echo()], max_retries=0, **options)


async def turn(session: ForgeSession, text: str = "go") -> AgentEvent:
    return [event async for event in session.send(text)][-1]


async def retried(session: ForgeSession) -> AgentEvent:
    return [event async for event in session.retry()][-1]


def output_of(event: AgentEvent) -> str:
    assert isinstance(event, AgentEnd)
    return event.result.output


async def test_a_failed_turn_resumes_without_a_new_message_or_turn(tmp_path: Path) -> None:
    session = session_for(tmp_path, [CALL], ["ha", BROKEN], ["Whole."])
    assert not session.can_retry
    await turn(session, "do it")
    assert session.can_retry
    assert await run_command("/retry", session) == ResumeTurn()
    assert output_of(await retried(session)) == "Whole."
    assert not session.can_retry
    assert [entry.number for entry in session.spending().turns] == [1]
    llm = session._agent.llm
    assert isinstance(llm, ScriptedLLM)
    assert llm.seen[2] == llm.seen[1]
    await session.aclose()
    records = read_journal(tmp_path / "state" / "journal.jsonl").records
    kinds = [record["type"] for record in records]
    assert kinds.count("user") == kinds.count("retry") == 1
    assert kinds.count("llm_start") == kinds.count("llm_end") == 3
    roles = [record["data"]["role"] for record in records if record["type"] == "message"]
    assert roles == ["user", "assistant", "tool", "assistant"]


async def test_a_failed_turn_can_be_resumed_with_another_model(tmp_path: Path) -> None:
    session = session_for(tmp_path, ["ha", BROKEN])
    await turn(session)
    session.models.choose("other/one")
    assert output_of(await retried(session)) == "from other/one"
    await session.aclose()


async def test_there_is_nothing_to_retry_after_a_completed_turn_or_a_reset(tmp_path: Path) -> None:
    session = session_for(tmp_path, ["fine"], ["ha", BROKEN])
    for prepare in (None, turn):
        if prepare is not None:
            await prepare(session)
        found = await run_command("/retry", session)
        assert isinstance(found, Failure)
        assert "nothing to retry" in found.text
        with pytest.raises(ForgeError, match="nothing to retry"):
            await retried(session)
    await turn(session)
    await session.reset()
    assert not session.can_retry
    await session.aclose()


async def test_retry_takes_no_argument(tmp_path: Path) -> None:
    session = session_for(tmp_path, ["ha", BROKEN])
    await turn(session)
    assert isinstance(await run_command("/retry now", session), Failure)
    await session.aclose()
