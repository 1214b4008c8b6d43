"""The ask_user tool: questions to the person, and what happens when nobody answers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import Question, Questioner, QuestionOption, QuestionReply, QuestionRequest
from forge_core.tools.base import ExecutionContext, ToolResult
from forge_core.tools.builtin import ask_user as module
from forge_core.tools.builtin.ask_user import AskUserTool
from forge_core.tools.executor import ToolExecutor


class Person:
    """Answers what it was made with; `asked` holds the requests."""

    def __init__(self, reply: QuestionReply) -> None:
        self.reply = reply
        self.asked: list[QuestionRequest] = []

    async def __call__(self, request: QuestionRequest) -> QuestionReply:
        self.asked.append(request)
        return self.reply


async def call(ask: Questioner | None, *questions: dict[str, Any]) -> ToolResult:
    context = ExecutionContext(Path("/"), call_id="c1", ask=ask)
    return await ToolExecutor().execute(AskUserTool(), {"questions": list(questions)}, context)


def question(*labels: str, **more: Any) -> dict[str, Any]:
    options = [{"label": label} for label in labels or ("Postgres", "SQLite")]
    return {"question": "Which database?", "options": options, **more}


async def test_questions_reach_the_user_and_answers_reach_the_model() -> None:
    person = Person(QuestionReply((("SQLite",), ("red", "my own blue"))))
    result = await call(
        person,
        {
            "question": "Which database?",
            "header": "Database",
            "options": [{"label": "Postgres", "description": "needs a server"}, {"label": "SQLite"}],
        },
        {
            "question": "Which colours?",
            "options": [{"label": "red"}, {"label": "green"}],
            "multi_select": True,
        },
    )
    assert result.success
    assert result.output.startswith(f"{result.aside}\nWhich database?\n  → SQLite")
    assert "Which colours?\n  → red; my own blue" in result.output
    assert result.summary == "SQLite, red, my own blue"
    assert person.asked == [
        QuestionRequest(
            "c1",
            (
                Question(
                    "Which database?",
                    "Database",
                    (QuestionOption("Postgres", "needs a server"), QuestionOption("SQLite")),
                ),
                Question(
                    "Which colours?", "Question 2", (QuestionOption("red"), QuestionOption("green")), True
                ),
            ),
        )
    ]


async def test_without_a_user_the_model_is_asked_to_decide_and_state_its_assumptions() -> None:
    result = await call(None, question())
    assert not result.success
    assert "no user is available" in (result.error or "")
    assert "Decide yourself" in (result.error or "") and "assumed" in (result.error or "")


async def test_a_declined_question_gives_the_reason_and_is_not_to_be_repeated() -> None:
    result = await call(Person(QuestionReply(declined=True, reason="just pick one")), question())
    assert not result.success
    assert "just pick one" in (result.error or "")
    assert "Do not ask the same again" in (result.error or "")


async def test_a_missing_answer_is_reported_as_missing() -> None:
    result = await call(Person(QuestionReply((("Postgres",),))), question(), question("a", "b"))
    assert "→ Postgres" in result.output
    assert "→ no answer" in result.output
    assert "decide yourself" in result.output


@pytest.mark.parametrize(
    ("questions", "words"),
    [
        ([], "0 questions"),
        ([question()] * 5, "5 questions"),
        ([question("one")], "1 options"),
        ([question("a", "b", "c", "d", "e")], "5 options"),
        ([question("a", "A")], "the same answer twice"),
        ([question("a", " ")], "a label of question 1 is empty"),
        ([question("a", "b" * 101)], "101 characters"),
        ([question(question=" ")], "the text of question 1 is empty"),
        ([{"question": "x"}], "lacks 'options'"),
    ],
)
async def test_unusable_questions_are_never_shown(questions: list[dict[str, Any]], words: str) -> None:
    person = Person(QuestionReply((("a",),)))
    result = await call(person, *questions)
    assert not result.success
    assert words in (result.error or "")
    assert person.asked == []


async def test_the_time_spent_waiting_for_the_user_is_not_counted() -> None:
    async def slow(request: QuestionRequest) -> QuestionReply:
        await asyncio.sleep(0.05)
        return QuestionReply((("a",),))

    context = ExecutionContext(Path("/"), ask=slow)
    await ToolExecutor().execute(AskUserTool(), {"questions": [question("a", "b")]}, context)
    assert context.waited_s >= 0.05
    assert AskUserTool.timeout_s is None


async def test_an_interrupt_closes_the_question() -> None:
    was_asked, was_taken_back, interrupted = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def silent(request: QuestionRequest) -> QuestionReply:
        was_asked.set()
        try:
            return await asyncio.Event().wait() or QuestionReply()
        finally:
            was_taken_back.set()

    context = ExecutionContext(Path("/"), ask=silent, interrupted=interrupted)
    running = asyncio.create_task(ToolExecutor().execute(AskUserTool(), {"questions": [question()]}, context))
    await was_asked.wait()
    interrupted.set()
    result = await running
    assert not result.success
    assert "interrupted" in (result.error or "")
    assert was_taken_back.is_set()


def test_the_schema_states_the_limits() -> None:
    schema = str(AskUserTool().json_schema())
    for figure in (
        module.MAX_QUESTIONS,
        module.MIN_OPTIONS,
        module.MAX_OPTIONS,
        module.MAX_HEADER_CHARS,
        module.MAX_QUESTION_CHARS,
        module.MAX_LABEL_CHARS,
        module.MAX_DESCRIPTION_CHARS,
    ):
        assert str(figure) in AskUserTool.description + schema
    assert len(AskUserTool.description) < 800
