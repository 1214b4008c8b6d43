"""Questions with options as lines, and the forms of MCP servers."""

from __future__ import annotations

from forge_core.approval import Question, QuestionReply, QuestionRequest
from forge_core.sanitize import safe_line
from forge_tui.plain.input_lines import InputLines
from forge_tui.plain.labelled_output import ANSWER, QUESTION, WARNING, LabelledOutput

NO_USER = "no user is available"
_SEND, _DECLINE = "1", "2"


class ServerForm:
    """Asks what a server wants to know: a form, or a single question. What is empty cancels, unless a field
    may be left out or has a default."""

    def __init__(self, out: LabelledOutput, lines: InputLines) -> None:
        self._out = out
        self._lines = lines

    async def ask(self, request: QuestionRequest) -> QuestionReply:
        self._out.say(QUESTION, f"The MCP server {request.server} asks.")
        answers: list[tuple[str, ...]] = []
        for question in request.questions:
            given = await self._field(question, is_required=question.is_required or not request.is_form)
            if isinstance(given, QuestionReply):
                return given
            answers.append(given)
        if not request.is_form:
            return QuestionReply(tuple(answers))
        for question, answer in zip(request.questions, answers, strict=True):
            shown = ", ".join(map(safe_line, answer)) or "no answer"
            self._out.line(f"{safe_line(question.header)}: {shown}")
        typed = await self._lines.answer(f"{ANSWER} ({_SEND} send this, {_DECLINE} decline; empty: cancel): ")
        if typed is not None and typed.strip() == _SEND:
            return QuestionReply(tuple(answers))
        is_declined = typed is not None and typed.strip() == _DECLINE
        return QuestionReply(declined=True, cancelled=not is_declined)

    async def _field(self, question: Question, *, is_required: bool) -> tuple[str, ...] | QuestionReply:
        """Return the answer to a question, or the reply to all of them if it was cancelled."""
        show_question(self._out, question)
        default = ", ".join(map(safe_line, question.default))
        empty = default or ("cancel" if is_required else "no answer")
        how = "numbers" if question.multi_select else "a number" if question.options else "your answer"
        while True:
            typed = await self._lines.answer(f"{ANSWER} ({how}; empty: {empty}): ")
            if typed is None or (not typed.strip() and is_required and not default):
                return QuestionReply(declined=True, cancelled=True, reason=NO_USER if typed is None else "")
            answer = answer_of(question, typed) if typed.strip() else question.default
            problem = question.problem(answer)
            if not problem:
                return answer
            self._out.say(WARNING, safe_line(problem))


def show_question(out: LabelledOutput, question: Question) -> None:
    """Write a question and its options."""
    out.say(QUESTION, question.text)
    for number, option in enumerate(question.options, 1):
        detail = f": {safe_line(option.description)}" if option.description else ""
        out.line(f"{number} {safe_line(option.label)}{detail}")


def answer_of(question: Question, typed: str) -> tuple[str, ...]:
    """Return the answer that a line is: the numbers of options, or the user's own words."""
    count = len(question.options)
    numbers = [number_of(word, count) for word in typed.replace(",", " ").split()]
    if numbers and None not in numbers and (question.multi_select or len(numbers) == 1):
        chosen = sorted({number for number in numbers if number is not None})
        return tuple(question.options[number - 1].label for number in chosen)
    return (typed.strip(),) if typed.strip() else ()


def number_of(word: str, most: int) -> int | None:
    """Return the number from 1 to `most` that a word is, if it is one."""
    word = word.strip()
    is_number = word.isascii() and word.isdecimal() and len(word) < 6
    return int(word) if is_number and 1 <= int(word) <= most else None
