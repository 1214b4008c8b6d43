"""Background jobs, the plan, questions and a rename over all files, asked for in plain words."""

from __future__ import annotations

import sys

from forge_core.approval import PlanAnswer, PlanReply, PlanRequest, QuestionReply, QuestionRequest
from forge_core.config.permission_mode import PermissionMode
from forge_core.tools.builtin.todo import TodoStatus
from tests.unit.offline.driver import Talk

SERVER = f"{sys.executable} -uc \"import time; print('listening'); time.sleep(60)\""


async def test_a_background_command_can_be_started_inspected_and_stopped(talk: Talk) -> None:
    try:
        started = await talk(f"run `{SERVER}` in the background")
        assert talk.calls[0][1]["run_in_background"] is True
        assert "as job 1" in started
        shown = started
        while "listening" not in shown:
            shown = await talk("show the output of job 1")
            assert talk.names() == ["job_output"]
        assert "Job 1 running" in await talk("how is the job doing?")
        assert "Job 1 stopped" in await talk("stop job 1")
        assert "could not be" in await talk("stop job 7")
    finally:
        await talk.jobs.aclose()


async def test_a_background_command_that_ends_at_once_is_reported_as_ended(talk: Talk) -> None:
    try:
        assert "has ended already" in await talk("run `echo hi` in the background")
        assert "could not be started" in await talk("run `exit 3` in the background")
    finally:
        await talk.jobs.aclose()


async def test_a_plan_becomes_the_todo_list(talk: Talk) -> None:
    answer = await talk("plan: read the code, fix the bug, then run the tests")
    assert talk.names() == ["todo"]
    assert [item.content for item in talk.todos.items] == ["read the code", "fix the bug", "run the tests"]
    assert [item.status for item in talk.todos.items][:2] == [TodoStatus.IN_PROGRESS, TodoStatus.PENDING]
    assert "3 steps" in answer and "/todo" in answer


async def test_in_plan_mode_the_plan_is_presented_first(talk: Talk) -> None:
    asked: list[PlanRequest] = []

    async def approve(request: PlanRequest) -> PlanReply:
        asked.append(request)
        talk.messages[0]["content"] = PermissionMode.ASK.instruction  # as the session does
        return PlanReply(PlanAnswer.APPROVE)

    talk.review_plan = approve
    talk.plan.mode_changed(PermissionMode.PLAN)
    talk.messages.append({"role": "system", "content": f"Permissions: {PermissionMode.PLAN.instruction}"})
    answer = await talk("plan: read the code, fix the bug")
    assert asked[0].plan == "# Plan\n\n1. read the code\n2. fix the bug"
    assert talk.names() == ["exit_plan_mode", "todo"]
    assert "2 steps" in answer


async def test_a_plan_that_is_approved_later_becomes_the_todo_list(talk: Talk) -> None:
    async def later(request: PlanRequest) -> PlanReply:
        return PlanReply(PlanAnswer.KEEP_PLANNING)

    talk.review_plan = later
    talk.plan.mode_changed(PermissionMode.PLAN)
    talk.messages.append({"role": "system", "content": f"Permissions: {PermissionMode.PLAN.instruction}"})
    await talk("plan: read the code, fix the bug")
    assert talk.names() == ["exit_plan_mode"] and talk.todos.items == ()
    talk.messages[0]["content"] = PermissionMode.ASK.instruction
    await talk("The plan is approved. Carry it out.")
    assert [item.content for item in talk.todos.items] == ["read the code", "fix the bug"]


async def test_lines_of_a_plan_keep_their_commas(talk: Talk) -> None:
    await talk("plan:\n1. read a, b and c\n2. fix it")
    assert [item.content for item in talk.todos.items] == ["read a, b and c", "fix it"]


async def test_a_question_is_asked_of_the_user(talk: Talk) -> None:
    asked: list[QuestionRequest] = []

    async def person(request: QuestionRequest) -> QuestionReply:
        asked.append(request)
        return QuestionReply((("spaces",),))

    talk.ask = person
    answer = await talk("ask me whether to use tabs or spaces")
    assert "You chose `spaces`" in answer
    assert asked[0].questions[0].text == "To use tabs or spaces?"
    assert [option.label for option in asked[0].questions[0].options] == ["tabs", "spaces"]
    await talk("ask me which database: Postgres, SQLite or MySQL")
    assert asked[1].questions[0].text == "Which database?"
    assert [option.label for option in asked[1].questions[0].options] == ["Postgres", "SQLite", "MySQL"]
    await talk("ask me if we should go on")
    assert [option.label for option in asked[2].questions[0].options] == ["Yes", "No"]


async def test_without_a_user_a_question_stays_open(talk: Talk) -> None:
    assert "No one answered" in await talk("ask me whether to go on")


async def test_a_rename_in_all_files_is_one_step(talk: Talk) -> None:
    answer = await talk("rename pour_tea to pour in all files")
    assert talk.names() == ["grep", "multi_edit"]
    assert "in 2 files" in answer and "/undo" in answer
    texts = [path.read_text() for path in talk.folder.rglob("*.py")]
    assert not any("pour_tea" in text for text in texts)
    assert sum(text.count("pour(") for text in texts) == 2


async def test_a_name_inside_longer_words_is_not_replaced_but_reported(talk: Talk) -> None:
    before = {path: path.read_bytes() for path in talk.folder.rglob("*.py")}
    answer = await talk("rename pour to brew in all files")
    assert talk.names() == ["grep"]
    assert "inside longer words" in answer and "pour_tea" in answer
    assert {path: path.read_bytes() for path in talk.folder.rglob("*.py")} == before


async def test_replacing_a_text_not_found_changes_nothing(talk: Talk) -> None:
    assert "No file here contains" in await talk("replace 'zzz' by 'y' in all files")
    assert talk.names() == ["grep"]
