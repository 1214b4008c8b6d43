"""Requests for permission, and questions, as numbered answers that are read from a line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from forge_core.approval import (
    Answer,
    ApprovalReply,
    ApprovalRequest,
    PlanAnswer,
    PlanReply,
    PlanRequest,
    Question,
    QuestionReply,
    QuestionRequest,
    UserRequest,
)
from forge_core.sanitize import safe_line
from forge_tui.plain.input_lines import InputLines
from forge_tui.plain.labelled_output import ANSWER, PERMISSION, QUESTION, WARNING, LabelledOutput
from forge_tui.plain.line_forms import NO_USER, ServerForm, answer_of, number_of, show_question
from forge_tui.screens.prompts.request_text import (
    Option,
    body_of,
    counts_of,
    facts_of,
    is_disguised,
    options_of,
    title_of,
    warning_of,
)
from forge_tui.widgets.exact_text import ExactLine, spans

SHOWN_LINES = 80
"""Lines of a request that are written at once; the rest on demand, before it can be allowed."""
FACTS_CELLS = 2000
REST = "s"

CheckRule = Callable[[str, Answer], str | None]
"""Returns why the answer cannot grant a rule, or None."""


class LinePrompts:
    """Asks one thing at a time."""

    def __init__(
        self, out: LabelledOutput, lines: InputLines, workspace: Path, check_rule: CheckRule
    ) -> None:
        self._out = out
        self._lines = lines
        self._workspace = workspace
        self._check_rule = check_rule
        self._turn = asyncio.Lock()

    async def ask(self, request: UserRequest[Any], /) -> Any:
        """Reply to a request as the user decides; as without a user when the input has ended."""
        async with self._turn:
            match request:
                case ApprovalRequest():
                    return await self._permission(request)
                case QuestionRequest():
                    return await self._questions(request)
                case PlanRequest():
                    return await self._plan(request)
                case _:
                    raise TypeError(f"There is no prompt for a {type(request).__name__}.")

    async def choose(self, heading: str, rows: Sequence[str], *, none: str) -> int | None:
        """Ask for one of some rows by its number; None for none of them."""
        async with self._turn:
            self._out.say(QUESTION, heading)
            for number, row in enumerate(rows, 1):
                self._out.line(f"{number} {row}")
            while True:
                typed = await self._lines.answer(f"{ANSWER} (1 to {len(rows)}, empty: {none}): ")
                if typed is None or not typed.strip():
                    return None
                if (chosen := number_of(typed, len(rows))) is not None:
                    return chosen - 1
                self._out.say(WARNING, f"{safe_line(typed[:60])!r} is not a number from 1 to {len(rows)}.")

    async def line(self, prompt: str) -> str | None:
        """Ask for a line of text."""
        async with self._turn:
            return await self._lines.answer(prompt)

    async def secret(self, prompt: str) -> str | None:
        """Ask for a line that is not shown."""
        async with self._turn:
            return await self._lines.secret(prompt)

    # Permission

    async def _permission(self, request: ApprovalRequest) -> ApprovalReply:
        body = body_of(request)
        heading = ", ".join(filter(None, (title_of(request), counts_of(request))))
        self._out.say(PERMISSION, f"{heading}.")
        self._write(body[:SHOWN_LINES])
        rest = body[SHOWN_LINES:]
        if facts := facts_of(request, self._workspace, room=FACTS_CELLS):
            self._out.line(facts)
        if warning := warning_of(request):
            self._out.say(WARNING, warning)
        options = options_of(request)
        for option in options:
            self._out.line(_row(option))
        is_suspect = request.is_destructive or (not request.is_undoable and is_disguised(request))
        while True:
            if rest:
                self._out.line(f"… {len(rest):,} more lines: {REST} shows them.")
            default = None if is_suspect or (rest and not request.is_undoable) else options[0]
            typed = await self._lines.answer(_prompt(options, default))
            if typed is None:
                return request.unanswered(NO_USER)
            word = typed.strip().lower()
            if word == REST and rest:
                self._write(rest)
                rest = []
                continue
            chosen = default if not word else next((o for o in options if word == str(o.digit)), None)
            if chosen is None:
                known = ", ".join(str(one.digit) for one in options)
                self._out.say(WARNING, f"Nothing was decided. Type one of {known}, and Enter.")
            elif chosen.answer is not Answer.NO and rest and not request.is_undoable:
                self._out.say(WARNING, f"Not all of it was shown yet: {REST} shows the rest.")
            elif (reply := await self._reply(chosen)) is not None:
                return reply

    async def _reply(self, option: Option) -> ApprovalReply | None:
        """Return the reply of an option; None if it was not given after all."""
        if option.asks_why:
            why = await self._lines.answer("No, because: ")
            return ApprovalReply(Answer.NO, (why or "").strip())
        if option.rule and (problem := self._check_rule(option.rule, option.answer)):
            self._out.say(WARNING, problem)
            return None
        return ApprovalReply(option.answer)

    def _write(self, lines: Sequence[ExactLine]) -> None:
        for line in lines:
            text = "".join(shown for _, shown in spans(line))
            self._out.lines(f"{line.gutter}{text}")

    # Plans

    async def _plan(self, request: PlanRequest) -> PlanReply:
        self._out.say(QUESTION, "Forge has a plan:")
        self._out.lines(request.plan)
        rows = {"1": f"Approve, mode {request.mode}"}
        if request.offers_edits:
            rows["2"] = "Approve, and accept edits"
        rows["3"] = "Keep planning"
        for digit, row in rows.items():
            self._out.line(f"{digit} {row}")
        typed = await self._lines.answer(f"{ANSWER} ({', '.join(rows)}, or what to change; empty: 3): ")
        match (typed or "").strip():
            case "1":
                return PlanReply(PlanAnswer.APPROVE)
            case "2" if request.offers_edits:
                return PlanReply(PlanAnswer.ACCEPT_EDITS)
            case "" if typed is None:
                return request.unanswered(NO_USER)
            case "" | "3":
                change = await self._lines.answer("To change (empty: your next message says it): ")
                return PlanReply(PlanAnswer.KEEP_PLANNING, (change or "").strip())
            case change:
                return PlanReply(PlanAnswer.KEEP_PLANNING, change)

    # Questions

    async def _questions(self, request: QuestionRequest) -> QuestionReply:
        if request.server:
            return await ServerForm(self._out, self._lines).ask(request)
        if request.heading:
            self._out.say(QUESTION, safe_line(request.heading))
        answers: list[tuple[str, ...]] = []
        for question in request.questions:
            given = await self._question(question)
            if given is None:
                return request.unanswered(NO_USER)
            answers.append(given)
        if not any(answers):
            return QuestionReply(declined=True, reason="the user gave no answer")
        return QuestionReply(tuple(answers))

    async def _question(self, question: Question) -> tuple[str, ...] | None:
        show_question(self._out, question)
        if question.draft:
            return await self._draft(question)
        how = "numbers" if question.multi_select else "a number"
        own = ", or your own words" if question.words is not None else ""
        typed = await self._lines.answer(f"{ANSWER} ({how}{own}; empty: no answer): ")
        return None if typed is None else answer_of(question, typed)

    async def _draft(self, question: Question) -> tuple[str, ...] | None:
        """Ask about a text that can be edited: a short one in the line, another by typing it again."""
        edit = len(question.options) + 1
        self._out.line(f'{edit} Edit: type it again, several lines between """')
        typed = await self._lines.answer(f"{ANSWER} (1 to {edit}; empty: no answer): ")
        if typed is None or number_of(typed, edit) != edit:
            return None if typed is None else answer_of(question, typed)
        text = await self._lines.message("" if "\n" in question.draft else question.draft)
        return None if text is None else (text.strip() or question.draft,)


def _row(option: Option) -> str:
    return f"{option.digit} {option.label} {option.hint}".rstrip()


def _prompt(options: Sequence[Option], default: Option | None) -> str:
    digits = ", ".join(str(option.digit) for option in options)
    empty = f"empty: {default.digit}" if default else "no default"
    return f"{ANSWER} ({digits}; {empty}): "
