"""The person behind a session: asked off the clock, or away."""

from __future__ import annotations

import asyncio
from pathlib import Path

from forge_core.approval import (
    Answer,
    ApprovalReply,
    ApprovalRequest,
    QuestionReply,
    QuestionRequest,
)
from forge_core.events import AgentEnd, ToolEnd
from forge_core.llm.models import MessageRole
from forge_core.tools.builtin.ask_user import AskUserTool
from forge_core.tools.builtin.bash import BashTool
from tests.support.scripted_llm import Call
from tests.support.sessions import Answering, scripted_session

QUESTION = {
    "question": "Which port?",
    "header": "Port",
    "options": [{"label": "8080"}, {"label": "9090"}],
}


async def first_option(request: QuestionRequest) -> QuestionReply:
    return QuestionReply(tuple((question.options[0].label,) for question in request.questions))


async def test_a_question_reaches_the_user_and_its_answer_the_model(tmp_path: Path) -> None:
    replies = [[Call("ask_user", {"questions": [QUESTION]})], ["done"]]
    session = scripted_session(
        tmp_path, replies, tools=[AskUserTool()], approver=Answering(Answer.ONCE), questioner=first_option
    )
    ends = [event async for event in session.send("go") if isinstance(event, ToolEnd)]
    await session.aclose()
    assert [end.success for end in ends] == [True]
    assert "8080" in ends[0].result


async def test_while_the_user_is_away_nothing_asks_and_the_model_is_informed(tmp_path: Path) -> None:
    approver = Answering(Answer.ONCE)
    replies = [[Call("ask_user", {"questions": [QUESTION]}), Call("bash", {"command": "touch x"})], ["done"]]
    session = scripted_session(
        tmp_path, replies, tools=[AskUserTool(), BashTool()], approver=approver, questioner=first_option
    )
    session.is_away = True
    assert session.status.is_away
    ends = [event async for event in session.send("go") if isinstance(event, ToolEnd)]
    await session.aclose()
    assert [end.success for end in ends] == [False, False]
    assert approver.asked == []
    assert "no user is available" in ends[1].result
    assert not (tmp_path / "x").exists()


async def test_the_run_clock_is_paused_while_waiting_for_the_user(tmp_path: Path) -> None:
    elapsed: list[float] = []
    asked = asyncio.Event()

    async def slow(request: ApprovalRequest) -> ApprovalReply:
        clock = session._agent.clock
        assert clock is not None
        before = clock.elapsed()
        asked.set()
        await asyncio.sleep(0.05)
        elapsed.append(clock.elapsed() - before)
        return ApprovalReply(Answer.NO)

    replies = [[Call("bash", {"command": "touch x"})], ["done"]]
    session = scripted_session(tmp_path, replies, tools=[BashTool()], approver=slow)
    events = [event async for event in session.send("go")]
    await session.aclose()
    assert isinstance(events[-1], AgentEnd)
    assert asked.is_set()
    assert elapsed[0] < 0.025


async def test_out_of_band_notes_are_sent_once_with_the_next_message(
    tmp_path: Path,
) -> None:
    session = scripted_session(tmp_path, [["one"], ["two"]])
    session.inform_model("The user has undone the changes of a.py.")
    async for _ in session.send("first"):
        pass
    async for _ in session.send("second"):
        pass
    await session.aclose()
    said = [m.content for m in session._agent.memory.messages if m.role is MessageRole.USER]
    assert said == [
        "first\n\n<forge-note>\nThe user has undone the changes of a.py.\n</forge-note>",
        "second",
    ]
