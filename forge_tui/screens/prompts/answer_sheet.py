"""The answers to a few questions while they are being given; knows no screen."""

from __future__ import annotations

from dataclasses import dataclass, field

from forge_core.approval import QuestionReply, QuestionRequest


@dataclass(slots=True)
class _Given:
    marked: list[int] = field(default_factory=list)
    """Indexes of options, in the order of the options."""
    words: str = ""
    """The person's own."""


class AnswerSheet:
    """One line per question. A question that takes one answer keeps the last one given."""

    def __init__(self, request: QuestionRequest) -> None:
        self.questions = request.questions
        self._given = [_Given() for _ in request.questions]

    def mark(self, question: int, option: int) -> None:
        """Mark an option, or take the mark away where several may be marked."""
        given, several = self._given[question], self.questions[question].multi_select
        if not several:
            given.marked, given.words = [option], ""
        elif option in given.marked:
            given.marked.remove(option)
        else:
            given.marked = sorted([*given.marked, option])

    def write(self, question: int, words: str) -> None:
        """Answer in own words; empty ones take them back."""
        given = self._given[question]
        given.words = words
        if words and not self.questions[question].multi_select:
            given.marked = []

    def is_marked(self, question: int, option: int) -> bool:
        return option in self._given[question].marked

    def words(self, question: int) -> str:
        return self._given[question].words

    def answer(self, question: int) -> tuple[str, ...]:
        """Labels and own words; empty while there is no answer."""
        given, options = self._given[question], self.questions[question].options
        labels = tuple(options[index].label for index in given.marked)
        return (*labels, given.words) if given.words else labels

    @property
    def next_open(self) -> int | None:
        """The first question without an answer."""
        return next((i for i in range(len(self.questions)) if not self.answer(i)), None)

    def reply(self) -> QuestionReply:
        return QuestionReply(tuple(self.answer(i) for i in range(len(self.questions))))
