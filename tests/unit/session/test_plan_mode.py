"""Plan mode ends with a plan that the user approves, or has changed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import MAX_PLAN_CHARS, PlanAnswer, PlanReply, PlanRequest
from forge_core.config.permission_mode import PermissionMode
from forge_core.events import AgentEnd, AgentEvent, LLMStart, ToolEnd
from forge_core.session.session import ForgeSession
from forge_core.store.saved_session import load_session
from forge_core.tools.builtin.exit_plan_mode import ExitPlanModeTool
from tests.support.scripted_llm import Call, Piece
from tests.support.sessions import scripted_session

TEXT = "# Goal\n\n1. Read `a.py`\n2. Change it"
PROPOSAL: list[Piece] = [Call("exit_plan_mode", {"plan": TEXT})]


class Reviewer:
    """Gives the replies it was made with, in order."""

    def __init__(self, *replies: PlanReply) -> None:
        self._replies = list(replies)
        self.seen: list[PlanRequest] = []

    async def __call__(self, request: PlanRequest) -> PlanReply:
        self.seen.append(request)
        for _ in range(20):  # as long as a person thinks: other calls go on
            await asyncio.sleep(0)
        return self._replies.pop(0)


def planning(
    folder: Path, replies: list[list[Piece]], *answers: PlanReply, mode: PermissionMode = PermissionMode.PLAN
) -> tuple[ForgeSession, Reviewer]:
    reviewer = Reviewer(*answers)
    session = scripted_session(folder, replies, tools=[ExitPlanModeTool()], plan_reviewer=reviewer, mode=mode)
    return session, reviewer


async def events_of(session: ForgeSession, text: str = "go") -> list[AgentEvent]:
    return [event async for event in session.send(text)]


def end_of(events: list[AgentEvent]) -> ToolEnd:
    [end] = [event for event in events if isinstance(event, ToolEnd)]
    return end


def system_text(session: ForgeSession) -> str:
    return session._meter.prompt.text


def states_in(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "state" / "journal.jsonl").read_text().splitlines()
    return [record["data"] for record in map(json.loads, lines) if record["type"] == "state"]


@pytest.mark.parametrize("before", [PermissionMode.ASK, PermissionMode.AUTO, PermissionMode.ACCEPT_EDITS])
async def test_an_approved_plan_returns_to_the_mode_before(tmp_path: Path, before: PermissionMode) -> None:
    session, reviewer = planning(tmp_path, [PROPOSAL, ["done"]], PlanReply(PlanAnswer.APPROVE), mode=before)
    session.set_mode(PermissionMode.PLAN)
    session.set_mode(PermissionMode.PLAN)  # chosen twice
    events = await events_of(session)
    await session.aclose()
    [request] = reviewer.seen
    assert (request.plan, request.mode) == (TEXT, before)
    assert request.offers_edits is (before is PermissionMode.ASK)
    assert session.status.mode is before
    assert system_text(session) == f"You are in {before} mode."
    end = end_of(events)
    assert end.success and end.document == TEXT and f"mode is {before} now" in end.result
    assert len([event for event in events if isinstance(event, LLMStart)]) == 2
    assert (session.plan.text, session.plan.is_approved) == (TEXT, True)


async def test_a_mode_that_was_only_passed_is_not_the_one_before(tmp_path: Path) -> None:
    replies: list[list[Piece]] = [["first"], PROPOSAL, ["done"]]
    session, reviewer = planning(tmp_path, replies, PlanReply(PlanAnswer.APPROVE), mode=PermissionMode.AUTO)
    session.set_mode(PermissionMode.ASK)
    await events_of(session, "in mode ask")
    for mode in (PermissionMode.ACCEPT_EDITS, PermissionMode.PLAN):  # as Shift+Tab does
        session.set_mode(mode)
    assert not session.plan.is_open
    await events_of(session)
    await session.aclose()
    assert reviewer.seen[0].mode is PermissionMode.ASK and reviewer.seen[0].offers_edits
    assert session.status.mode is PermissionMode.ASK and not session.plan.is_open


async def test_a_session_that_began_in_plan_mode_asks_after_it(tmp_path: Path) -> None:
    session, _ = planning(tmp_path, [PROPOSAL, ["done"]], PlanReply(PlanAnswer.APPROVE))
    await events_of(session)
    await session.aclose()
    assert session.status.mode is PermissionMode.ASK


async def test_approving_with_edits_switches_to_accept_edits(tmp_path: Path) -> None:
    session, _ = planning(tmp_path, [PROPOSAL, ["done"]], PlanReply(PlanAnswer.ACCEPT_EDITS))
    await events_of(session)
    await session.aclose()
    assert session.status.mode is PermissionMode.ACCEPT_EDITS
    assert {"mode": "accept-edits", "plan": {"text": TEXT, "is_approved": True}}.items() <= dict(
        item for state in states_in(tmp_path) for item in state.items()
    ).items()


async def test_what_to_change_goes_back_to_the_model(tmp_path: Path) -> None:
    second: list[Piece] = [Call("exit_plan_mode", {"plan": "# Better"})]
    replies = PlanReply(PlanAnswer.KEEP_PLANNING, "Test first"), PlanReply(PlanAnswer.APPROVE)
    session, reviewer = planning(tmp_path, [PROPOSAL, second, ["done"]], *replies)
    events = await events_of(session)
    await session.aclose()
    assert [request.plan for request in reviewer.seen] == [TEXT, "# Better"]
    first, _ = [event for event in events if isinstance(event, ToolEnd)]
    assert "Test first" in first.result and first.document == TEXT
    assert first.success and first.outcome == "declined"
    assert session.plan.text == "# Better"


@pytest.mark.parametrize("answer", list(PlanAnswer))
@pytest.mark.parametrize("feedback", ["", "Test first"])
async def test_a_plan_that_the_user_has_edited_is_the_plan(
    tmp_path: Path, answer: PlanAnswer, feedback: str
) -> None:
    session, _ = planning(tmp_path, [PROPOSAL, ["done"]], PlanReply(answer, feedback, plan="# Mine\n"))
    end = end_of(await events_of(session))
    await session.aclose()
    assert end.document == session.plan.text == "# Mine"
    assert end.result.endswith("\n\n# Mine")


async def test_of_two_plans_at_once_only_one_is_decided_on(tmp_path: Path) -> None:
    both: list[Piece] = [*PROPOSAL, Call("exit_plan_mode", {"plan": "another"}, id="call_2")]
    session, reviewer = planning(tmp_path, [both, ["done"]], PlanReply(PlanAnswer.APPROVE))
    events = await events_of(session)
    await session.aclose()
    assert [request.plan for request in reviewer.seen] == [TEXT]
    second, first = (event for event in events if isinstance(event, ToolEnd))
    assert first.success and not second.success and "one plan at a time" in second.result
    assert (session.plan.text, session.plan.is_approved) == (TEXT, True)


async def test_planning_goes_on_with_the_next_message(tmp_path: Path) -> None:
    replies: list[list[Piece]] = [PROPOSAL, PROPOSAL, ["done"]]
    answers = PlanReply(PlanAnswer.KEEP_PLANNING), PlanReply(PlanAnswer.APPROVE)
    session, _ = planning(tmp_path, replies, *answers)
    events = await events_of(session)
    assert session.status.mode is PermissionMode.PLAN
    assert len([event for event in events if isinstance(event, LLMStart)]) == 1
    last = events[-1]
    assert isinstance(last, AgentEnd)
    assert (last.result.stopped_reason, last.result.output) == ("complete", TEXT)
    assert session.plan.is_open
    events = await events_of(session, "more tests, please")
    await session.aclose()
    assert end_of(events).success and session.plan.is_approved


async def test_without_a_user_the_plan_is_the_result(tmp_path: Path) -> None:
    session = scripted_session(
        tmp_path, [PROPOSAL, ["not asked for"]], tools=[ExitPlanModeTool()], mode=PermissionMode.PLAN
    )
    await events_of(session)
    await session.aclose()
    assert session.last_result is not None
    assert (session.last_result.output, session.last_result.stopped_reason) == (TEXT, "complete")
    assert session.status.mode is PermissionMode.PLAN and not session.plan.is_approved


async def test_while_the_user_is_away_no_plan_is_approved(tmp_path: Path) -> None:
    session, reviewer = planning(tmp_path, [PROPOSAL], PlanReply(PlanAnswer.APPROVE))
    session.is_away = True
    events = await events_of(session)
    await session.aclose()
    assert reviewer.seen == []
    assert "the user is away" in end_of(events).result


@pytest.mark.parametrize(
    ("mode", "plan", "problem"),
    [
        (PermissionMode.ASK, TEXT, "plan mode is off"),
        (PermissionMode.PLAN, " \n", "the plan is empty"),
        (PermissionMode.PLAN, "x" * (MAX_PLAN_CHARS + 1), "20,001 characters"),
    ],
)
async def test_a_plan_that_cannot_be_presented_asks_nobody(
    tmp_path: Path, mode: PermissionMode, plan: str, problem: str
) -> None:
    calls: list[Piece] = [Call("exit_plan_mode", {"plan": plan})]
    session, reviewer = planning(tmp_path, [calls, ["done"]], mode=mode)
    events = await events_of(session)
    await session.aclose()
    end = end_of(events)
    assert not end.success and problem in end.result and not end.document
    assert reviewer.seen == [] and session.plan.text == "" and session.status.mode is mode


async def test_the_plan_survives_in_the_journal_until_a_reset(tmp_path: Path) -> None:
    session, _ = planning(tmp_path, [PROPOSAL, ["done"]], PlanReply(PlanAnswer.KEEP_PLANNING))
    await events_of(session)
    saved = await session.recorded()
    assert saved.plan == {"text": TEXT, "is_approved": False}
    session.plan.approve()
    await events_of(session, "again")
    saved = await session.recorded()
    assert saved.plan == {"text": TEXT, "is_approved": True}
    await session.reset()
    assert session.plan.text == "" and (await session.recorded()).plan == {}
    await session.aclose()


async def test_a_continued_session_has_the_plan(tmp_path: Path) -> None:
    session, _ = planning(tmp_path, [PROPOSAL, ["done"]], PlanReply(PlanAnswer.APPROVE))
    await events_of(session)
    saved = await session.recorded()
    await session.aclose()
    (tmp_path / "again").mkdir()
    again, _ = planning(tmp_path / "again", [])
    again.restore(saved)
    assert (again.plan.text, again.plan.is_approved) == (TEXT, True)
    await again.aclose()


@pytest.mark.parametrize("plan", [None, [], "text", {"text": 5, "is_approved": "yes"}, {"is_approved": True}])
def test_a_damaged_or_missing_record_leaves_no_approval(tmp_path: Path, plan: object) -> None:
    records: list[dict[str, Any]] = [
        {"v": 2, "type": "session", "timestamp": 1.0, "data": {"id": "a"}},
        {"v": 2, "type": "state", "timestamp": 2.0, "data": {} if plan is None else {"plan": plan}},
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    session, _ = planning(tmp_path, [])
    session.restore(load_session(path))
    assert not session.plan.is_approved


async def test_the_plan_is_kept_over_a_compaction(tmp_path: Path) -> None:
    session, _ = planning(tmp_path, [PROPOSAL, ["done"], ["more"]], PlanReply(PlanAnswer.APPROVE))
    await events_of(session)
    await events_of(session, "next")
    history = session._agent.memory.get_history()
    facts = session.compaction._facts(history)
    await session.aclose()
    assert facts.plan == TEXT
    assert [fact.text for fact in facts.facts() if fact.kind == "plan"] == [TEXT]
