"""Permission and questions as numbered answers from lines."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import (
    Answer,
    AnswerRule,
    ApprovalReply,
    ApprovalRequest,
    Effect,
    PlanAnswer,
    PlanReply,
    PlanRequest,
    Question,
    QuestionOption,
    QuestionReply,
    QuestionRequest,
    UserRequest,
)
from forge_core.config.permission_mode import PermissionMode
from forge_core.redact import Redactor
from forge_core.result import FileDiff
from forge_tui.plain.input_lines import InputLines
from forge_tui.plain.labelled_output import LabelledOutput
from forge_tui.plain.line_prompts import SHOWN_LINES, LinePrompts
from tests.support.asking import DRAFT

COMMAND = ApprovalRequest(
    call_id="1",
    tool="bash",
    effect=Effect.RUN,
    arguments={},
    target="make test",
    action="run a command",
    reason="it is not known to only read",
    session_rule="bash(make test)",
    always_rule="bash(make:*)",
)
OPTIONS = (QuestionOption("red", "warm"), QuestionOption("blue"))
ONE = QuestionRequest("1", (Question("Which colour?", "Colour", OPTIONS),))


class Asked:
    """Prompts that read from a pipe."""

    def __init__(self, workspace: Path) -> None:
        self._read, self._write = os.pipe()
        self._out = io.StringIO()
        out = LabelledOutput(self._out, Redactor())
        self._prompts = LinePrompts(out, InputLines(out, self._read), workspace, self._problem)

    def reply(self, request: UserRequest[Any], lines: str) -> Any:
        """The reply of a user who types these lines, and no more."""
        os.write(self._write, lines.encode())
        os.close(self._write)
        self._write = -1
        return asyncio.run(self._prompts.ask(request))

    @property
    def text(self) -> str:
        return self._out.getvalue()

    def close(self) -> None:
        for descriptor in (self._read, self._write):
            if descriptor >= 0:
                os.close(descriptor)

    @staticmethod
    def _problem(rule: str, answer: Answer) -> str | None:
        return "That rule is too wide." if answer is Answer.ALWAYS else None


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Asked]:
    made = Asked(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("lines", "reply"),
    [
        ("1\n", ApprovalReply(Answer.ONCE)),
        ("\n", ApprovalReply(Answer.ONCE)),
        ("2\n", ApprovalReply(Answer.SESSION)),
        ("4\n", ApprovalReply(Answer.NO)),
        ("5\nuse uv\n", ApprovalReply(Answer.NO, "use uv")),
        ("yes\n11\n4\n", ApprovalReply(Answer.NO)),
        ("3\n4\n", ApprovalReply(Answer.NO)),
        ("", ApprovalReply(Answer.NO, "no user is available", is_unattended=True)),
    ],
)
def test_a_number_answers(asked: Asked, lines: str, reply: ApprovalReply) -> None:
    assert asked.reply(COMMAND, lines) == reply
    assert asked.text.startswith("Permission: Forge wants to run a command.\n$ make test\n")
    assert "\n1 Yes, once\n" in asked.text and "Answer (1, 2, 3, 4, 5; empty: 1): " in asked.text


def test_a_rule_that_cannot_be_granted_is_not(asked: Asked) -> None:
    asked.reply(COMMAND, "3\n4\n")
    assert "Warning: That rule is too wide.\n" in asked.text


@pytest.mark.parametrize("target", ["rm -r build", "make te\u0455t"])
def test_an_empty_line_allows_nothing_that_is_destructive_or_deceptive(asked: Asked, target: str) -> None:
    request = replace(COMMAND, target=target, is_destructive=target.startswith("rm"))
    assert asked.reply(request, "\n\n").answer is Answer.NO
    assert "no default" in asked.text and asked.text.count("Nothing was decided.") == 2


def test_what_would_be_done_is_shown_exactly(asked: Asked) -> None:
    asked.reply(replace(COMMAND, target="ls\u202e\x1b[2J\nPermission: all"), "")
    assert "$ ls‹U+202E›␛[2J\n  Permission: all\n" in asked.text


def test_a_long_change_is_allowed_only_after_all_of_it_was_shown(asked: Asked) -> None:
    lines = "".join(f"+line {number}\n" for number in range(200))
    request = replace(
        COMMAND,
        effect=Effect.WRITE,
        tool="edit",
        target="a.py",
        diffs=(FileDiff("a.py", f"@@\n{lines}", 200, 0),),
    )
    assert asked.reply(request, "\n1\ns\n1\n").answer is Answer.ONCE
    first, rest = asked.text.split("Not all of it was shown yet", 1)
    assert "+ line 60" in first and f"+ line {SHOWN_LINES + 10}" not in first and "+ line 199" in rest


@pytest.mark.parametrize(
    ("lines", "reply"),
    [
        ("2\n", QuestionReply((("blue",),))),
        ("neither\n", QuestionReply((("neither",),))),
        ("3\n", QuestionReply((("3",),))),
        ("\n", QuestionReply(declined=True, reason="the user gave no answer")),
        ("", QuestionReply(declined=True, reason="no user is available", cancelled=True)),
    ],
)
def test_a_question_takes_a_number_or_words(asked: Asked, lines: str, reply: QuestionReply) -> None:
    assert asked.reply(ONE, lines) == reply
    assert asked.text.startswith("Question: Which colour?\n1 red: warm\n2 blue\n")


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        ("1\n", "Commit"),
        ("My words\n", "My words"),
        ("2\nMine\n", "Mine"),
        ('2\n"""\nMine\n\nWhy."""\n', "Mine\n\nWhy."),
        ("2\n\n", "Add x\n\nNew."),
    ],
)
def test_a_text_is_edited_by_typing_it_again(asked: Asked, lines: str, answer: str) -> None:
    assert asked.reply(DRAFT, lines) == QuestionReply(((answer,),))
    assert asked.text.startswith("Question: Commit 1 file\nQuestion: Add x\n")


def test_several_answers_to_one_question(asked: Asked) -> None:
    several = QuestionRequest("1", (replace(ONE.questions[0], multi_select=True), ONE.questions[0]))
    assert asked.reply(several, "2, 1\n\n") == QuestionReply((("red", "blue"), ()))


@pytest.mark.parametrize(
    ("lines", "reply"),
    [
        ("9\n2\n\n\n1\n", QuestionReply((("2",), ("No",), ()))),
        ("2\n1\nred\n1\n", QuestionReply((("2",), ("Yes",), ("red",)))),
        ("2\n\n\n2\n", QuestionReply(declined=True)),
        ("2\n\n\n\n", QuestionReply(declined=True, cancelled=True)),
        ("\n", QuestionReply(declined=True, cancelled=True)),
        ("", QuestionReply(declined=True, cancelled=True, reason="no user is available")),
    ],
)
def test_a_form_of_a_server_is_asked_line_by_line(asked: Asked, lines: str, reply: QuestionReply) -> None:
    whole = AnswerRule(kind="integer", least=1, most=5)
    yes_no = (QuestionOption("Yes"), QuestionOption("No"))
    fields = (
        Question("Count\x1b[2J", "Count", (), words=whole, is_required=True),
        Question("Force", "Force", yes_no, words=None, default=("No",)),
        Question("Colour", "Colour", ()),
    )
    assert asked.reply(QuestionRequest("1", fields, "bench", is_form=True), lines) == reply
    assert asked.text.startswith("Question: The MCP server bench asks.\nQuestion: Count␛[2J\n")
    assert ("'9' is not a whole number from 1 to 5." in asked.text) == lines.startswith("9")


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        ("1\n", PlanReply(PlanAnswer.APPROVE)),
        ("2\n", PlanReply(PlanAnswer.ACCEPT_EDITS)),
        ("3\ntest first\n", PlanReply(PlanAnswer.KEEP_PLANNING, "test first")),
        ("\n\n", PlanReply(PlanAnswer.KEEP_PLANNING)),
        ("test first\n", PlanReply(PlanAnswer.KEEP_PLANNING, "test first")),
        ("", PlanReply(PlanAnswer.KEEP_PLANNING, "no user is available", is_unattended=True)),
    ],
)
def test_a_plan_is_answered_by_a_number_or_by_what_to_change(
    asked: Asked, lines: str, wanted: PlanReply
) -> None:
    plan = PlanRequest("1", "# Goal\n\x1b[2J1. Read", PermissionMode.ASK)
    assert asked.reply(plan, lines) == wanted
    assert "# Goal" in asked.text and "\x1b" not in asked.text
    assert "1 Approve, mode ask" in asked.text and "2 Approve, and accept edits" in asked.text


def test_a_plan_offers_to_accept_edits_only_where_edits_would_ask(asked: Asked) -> None:
    plan = PlanRequest("1", "1. Read", PermissionMode.ACCEPT_EDITS)
    assert asked.reply(plan, "2\n") == PlanReply(PlanAnswer.KEEP_PLANNING, "2")
    assert "accept edits" not in asked.text
