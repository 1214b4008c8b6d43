"""The answers to the questions of a prompt, and their texts on the screen, which are safe to show."""

from __future__ import annotations

from dataclasses import dataclass, field

from textual.content import Content

from forge_core.approval import Question, QuestionReply, QuestionRequest
from forge_core.sanitize import safe_line
from forge_core.text_width import clip
from forge_tui.widgets.choices import Choice

OTHER = "Other…"
EDIT = "Edit…"
WRITE = "Type an answer…"
SEND = "Send these answers"
DECLINE = "Decline: send nothing"
NO_ANSWER = "no answer"
REVIEW = "Send"
READY = "These are your answers."
NOT_ALL = "These are your answers. The model decides the questions without one."
FORM = "This is sent to the server."


@dataclass(slots=True)
class _Given:
    marked: list[int] = field(default_factory=list)
    """Indexes of options, in the order of the options."""
    words: str = ""
    """The user's own answer."""


class AnswerSheet:
    """One entry per question. A question with a single answer keeps the last one given."""

    def __init__(self, request: QuestionRequest) -> None:
        self.questions = request.questions
        self.is_form = request.is_form
        self._given = [_given(question) for question in request.questions]

    @property
    def review_text(self) -> str:
        """What the review says above the answers."""
        if self.is_form:
            return FORM
        return READY if self.next_open is None else NOT_ALL

    def mark(self, question: int, option: int) -> None:
        """Mark an option; if several may be marked, a second time unmarks it."""
        given, several = self._given[question], self.questions[question].multi_select
        if not several:
            given.marked, given.words = [option], ""
        elif option in given.marked:
            given.marked.remove(option)
        else:
            given.marked = sorted([*given.marked, option])

    def write(self, question: int, words: str) -> None:
        """Answer in free text; an empty text removes that answer."""
        given = self._given[question]
        given.words = words
        if words and not self.questions[question].multi_select:
            given.marked = []

    def problem(self, question: int) -> str:
        """Return what is wrong with the answer to a field of a form; empty for other questions."""
        return self.questions[question].problem(self.answer(question)) if self.is_form else ""

    def marked(self, question: int) -> int:
        """Return the first option that is marked; 0 if none is."""
        return next(iter(self._given[question].marked), 0)

    def is_marked(self, question: int, option: int) -> bool:
        return option in self._given[question].marked

    def words(self, question: int) -> str:
        return self._given[question].words

    def answer(self, question: int) -> tuple[str, ...]:
        """Return the labels and the free text; empty while there is no answer."""
        given, options = self._given[question], self.questions[question].options
        labels = tuple(options[index].label for index in given.marked)
        return (*labels, given.words) if given.words else labels

    @property
    def next_open(self) -> int | None:
        """The first question without an answer."""
        return next((i for i in range(len(self.questions)) if not self.answer(i)), None)

    def reply(self) -> QuestionReply:
        return QuestionReply(tuple(self.answer(i) for i in range(len(self.questions))))


def _given(question: Question) -> _Given:
    """Return the answer that a question begins with."""
    labels = [option.label for option in question.options]
    marked = [at for at, label in enumerate(labels) if label in question.default]
    words = next((text for text in question.default if text not in labels), "")
    return _Given(marked, words)


def option_rows(sheet: AnswerSheet, at: int) -> list[Choice]:
    """Return the options of a question, and the row for free text if it takes any."""
    question, words = sheet.questions[at], safe_line(sheet.words(at))
    rows = [
        (safe_line(option.label), safe_line(option.description), sheet.is_marked(at, index))
        for index, option in enumerate(question.options)
    ]
    if question.draft:
        rows.append((EDIT, "", bool(words)))
    elif question.words is not None and question.options:
        rows.append((f"Other: {words}" if words else OTHER, "", bool(words)))
    elif question.words is not None:
        rows.append((words or WRITE, "", bool(words)))
    marks = ("[ ] ", "[x] ") if question.multi_select else ("", "")
    return [
        Choice(
            f"{marks[is_marked]}{number} {label}" if question.options else label,
            "✓" if is_marked and not question.multi_select else "",
            description,
        )
        for number, (label, description, is_marked) in enumerate(rows, 1)
    ]


def review_rows(sheet: AnswerSheet) -> list[Choice]:
    """Return the row that sends the answers, for a form the one that declines, and one for each question with
    its answer."""
    rows = [Choice(f"1 {SEND}"), *([Choice(f"2 {DECLINE}")] if sheet.is_form else [])]
    for at, question in enumerate(sheet.questions):
        answer = ", ".join(safe_line(text) for text in sheet.answer(at)) or NO_ANSWER
        rows.append(Choice(f"{len(rows) + 1} {safe_line(question.header)}", detail=answer))
    return rows


def tabs(sheet: AnswerSheet, at: int, width: int) -> Content:
    """Return the headers of the questions and the review, with the current one highlighted; only that one if
    there is no room for all."""
    count = len(sheet.questions)
    if 7 * (count + 1) > width:
        where = REVIEW if at == count else f"{at + 1} of {count}: {safe_line(sheet.questions[at].header)}"
        return Content.styled(where, "bold $accent")
    room = max((width - 3 * count - 4) // (count + 1) - 2, 4)
    parts: list[Content] = []
    for index in range(count + 1):
        is_review = index == count
        name = REVIEW if is_review else clip(safe_line(sheet.questions[index].header), room)
        sign = "→" if is_review else "✓" if sheet.answer(index) else "○"
        text = f"{sign} {name}"
        parts.append(Content.styled(text, "bold $accent") if index == at else Content(text))
    return Content("   ").join(parts)
