"""The ask_user tool: a decision that only the user can make."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from forge_core.approval import Effect, Question, QuestionOption, QuestionReply, QuestionRequest, ToolKind
from forge_core.errors import ToolError
from forge_core.tools.arguments import records_of
from forge_core.tools.base import (
    BaseTool,
    ExecutionContext,
    ToolCategory,
    ToolParameter,
    ToolResult,
    object_schema,
)

MAX_QUESTIONS = 4
MIN_OPTIONS = 2
MAX_OPTIONS = 4
MAX_HEADER_CHARS = 20
MAX_QUESTION_CHARS = 1_000
MAX_LABEL_CHARS = 100
MAX_DESCRIPTION_CHARS = 500

_SUMMARY_CHARS = 80
_DECIDE = "Decide yourself what fits best, say in your answer what you assumed, and continue"


def _text_schema(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


_OPTION = object_schema(
    {
        "label": _text_schema(f"The answer, at most {MAX_LABEL_CHARS} characters."),
        "description": _text_schema(f"What it means or costs, at most {MAX_DESCRIPTION_CHARS} characters."),
    },
    required=("label",),
)
_QUESTION = object_schema(
    {
        "question": _text_schema(f"The whole question, at most {MAX_QUESTION_CHARS} characters."),
        "header": _text_schema(f"A word or two for a tab, at most {MAX_HEADER_CHARS} characters."),
        "options": {
            "type": "array",
            "description": f"{MIN_OPTIONS} to {MAX_OPTIONS} different answers.",
            "items": _OPTION,
        },
        "multi_select": {
            "type": "boolean",
            "description": "Whether several answers may be chosen. Default false.",
        },
    },
    required=("question", "options"),
)


class AskUserTool(BaseTool):
    """Asks the user questions with prepared answers and waits as long as they take."""

    name = "ask_user"
    claude_names = ("AskUserQuestion",)
    description = (
        f"Asks the user 1 to {MAX_QUESTIONS} questions at once, each with {MIN_OPTIONS} to {MAX_OPTIONS} "
        "ready answers; they can always answer in their own words, so add no option for that. Use it when "
        "the answer changes what you do and neither the request nor the code answers it; put the answer that "
        "you recommend first. Not for permission to edit or run (that is asked by itself), not for what "
        "read or grep can find out, not to report. Without a user it fails: then decide yourself."
    )
    parameters = (
        ToolParameter(
            "questions",
            "array",
            f"1 to {MAX_QUESTIONS} questions that do not depend on each other.",
            items=_QUESTION,
        ),
    )
    advice = "Use ask_user for a question with ready answers."
    for_agents = False
    category = ToolCategory.PLANNING
    effect = Effect.READ
    kind = ToolKind.SESSION
    title = "Ask"
    preview_rows = 12
    may_repeat = True

    async def execute(self, params: dict[str, Any], context: ExecutionContext) -> ToolResult:
        questions = _questions(params["questions"])
        if context.ask is None:
            return ToolResult(False, error=f"no user is available to answer. {_DECIDE}.", summary="no user")
        started = time.monotonic()
        try:
            reply = await context.ask(QuestionRequest(context.call_id, questions))
        finally:
            context.waited_s += time.monotonic() - started
        if reply.declined:
            return _declined(reply)
        return _answered(questions, reply)

    def target(self, arguments: Mapping[str, Any]) -> str:
        texts = [str(record.get("question", "")) for record in records_of(arguments, "questions")]
        return f"{len(texts)} questions" if len(texts) > 1 else "".join(texts)


def _questions(raw: Sequence[Mapping[str, Any]]) -> tuple[Question, ...]:
    if not 1 <= len(raw) <= MAX_QUESTIONS:
        raise ToolError(f"{len(raw)} questions were sent; 1 to {MAX_QUESTIONS} can be asked at once.")
    return tuple(_question(one, position) for position, one in enumerate(raw, 1))


def _question(raw: Mapping[str, Any], position: int) -> Question:
    where = f"question {position}"
    options = tuple(_option(one, where) for one in raw.get("options") or ())
    if not MIN_OPTIONS <= len(options) <= MAX_OPTIONS:
        raise ToolError(
            f"{where} has {len(options)} options; it needs {MIN_OPTIONS} to {MAX_OPTIONS}. An answer in "
            "the user's own words is always possible and needs none."
        )
    if len({option.label.casefold() for option in options}) < len(options):
        raise ToolError(f"{where} offers the same answer twice. Give each option its own label.")
    text = _text(raw.get("question"), f"the text of {where}", MAX_QUESTION_CHARS)
    header = " ".join(str(raw.get("header") or f"Question {position}").split())
    return Question(text, header[:MAX_HEADER_CHARS].rstrip(), options, bool(raw.get("multi_select")))


def _option(raw: Mapping[str, Any], where: str) -> QuestionOption:
    label = " ".join(_text(raw.get("label"), f"a label of {where}", MAX_LABEL_CHARS).split())
    described = raw.get("description")
    if not described:
        return QuestionOption(label)
    return QuestionOption(label, _text(described, f"a description in {where}", MAX_DESCRIPTION_CHARS))


def _text(value: object, what: str, limit: int) -> str:
    text = str(value or "").strip()
    if not text:
        raise ToolError(f"{what} is empty.")
    if len(text) > limit:
        raise ToolError(f"{what} has {len(text)} characters; at most {limit} are shown. Shorten it.")
    return text


def _answered(questions: Sequence[Question], reply: QuestionReply) -> ToolResult:
    answers = [*reply.answers, *((),) * len(questions)][: len(questions)]
    lines = [
        f"{question.text}\n  → {'; '.join(answer) or 'no answer'}"
        for question, answer in zip(questions, answers, strict=True)
    ]
    if not all(answers):
        lines.append(f"Where there is no answer: {_DECIDE[0].lower()}{_DECIDE[1:]}.")
    given = ", ".join(text for answer in answers for text in answer)
    summary = given if len(given) <= _SUMMARY_CHARS else given[: _SUMMARY_CHARS - 1] + "…"
    aside = "The user answered:"
    answered = "\n".join(lines)
    return ToolResult(
        True,
        f"{aside}\n{answered}",
        summary=summary or "no answer",
        aside=aside,
        is_in_header=answered.count("\n") < 2,
    )


def _declined(reply: QuestionReply) -> ToolResult:
    said = f" ({reply.reason.strip()})" if reply.reason.strip() else ""
    error = f"the question was not answered{said}. {_DECIDE}. Do not ask the same again."
    return ToolResult(False, error=error, summary="not answered")
