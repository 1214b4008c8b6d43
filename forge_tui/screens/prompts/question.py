"""The prompt for the questions of the model: options to choose from, or free text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.widgets import Static

from forge_core.approval import QuestionReply, QuestionRequest
from forge_core.sanitize import safe_line, safe_text
from forge_tui.keymap import KeyContext, bindings
from forge_tui.screens.prompts.prompt import (
    BESIDE_ROWS,
    FRAME_ROWS,
    LONGEST_LINE,
    TYPING_HINT,
    Draft,
    Prompt,
    place,
)
from forge_tui.screens.prompts.question_text import AnswerSheet, option_rows, review_rows, tabs
from forge_tui.widgets.choices import Choice, ChoiceList
from forge_tui.widgets.edges import FRAMED_TEXT, TEXT_INSET

DETAIL_ROWS = 4
"""The most rows for the description of the selected option."""
LEAST_TEXT_ROWS = 4
"""Rows that a server's options leave for its question."""
LEAST_OPTION_ROWS, MOST_OPTION_ROWS = 2, 8
NO_ROOM_HINT = "Enlarge the window to answer"
WRITING_HINT = "Enter keep this answer · Esc back, keep the text"
INSTEAD_HINT = "Enter send this and no answers · Esc back, keep the text"
DIGIT_HINTS = ("Enter answer now · Esc cancel · more text: your own answer", "Enter answer now · Esc cancel")
OWN_LABEL = "Your answer:"
EDIT_LABEL = "Edit:"
FILE_NAME = "answer.md"
INSTEAD_LABEL = "No answers, because:"
NO_WORDS_LABEL = "One of the answers:"
NO_REASON = "A reason is not sent. Esc, then choose what to send."
PAGE_GRACE_S = 0.25
"""Time without a key after a question was answered, until keys answer the next one."""


class QuestionPrompt(Prompt[QuestionReply]):
    """Resolves with the answers, or declined. Several questions are tabs, followed by a review."""

    DEFAULT_CSS = f"""
    QuestionPrompt {{
        & > #tabs {{ height: 1; color: $forge-muted; margin-bottom: 1; display: none; }}
        & > #text {{ height: auto; scrollbar-size-vertical: 1; }}
        & > ChoiceList {{ margin-top: 1; }}
        & > #detail {{ color: $forge-muted; padding-left: {FRAMED_TEXT + TEXT_INSET}; }}
    }}
    QuestionPrompt.-several > #tabs {{ display: block; }}
    QuestionPrompt.-small > #tabs {{ margin-bottom: 0; }}
    QuestionPrompt.-small > ChoiceList {{ margin-top: 0; }}
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyContext.QUESTIONS)]

    def __init__(
        self, request: QuestionRequest, *, workspace: Path, clock: Callable[[], float], draft: Draft
    ) -> None:
        self._text = Static(markup=False)
        self._scroll = VerticalScroll(self._text, id="text", can_focus=False)
        heading = "Forge has questions" if len(request.questions) > 1 else "Forge has a question"
        if request.server:
            heading = f"The MCP server {request.server} asks"
        heading = safe_line(request.heading) or heading
        choices = ChoiceList(counts=True)
        super().__init__(self._scroll, choices, id="questions", heading=heading, clock=clock, draft=draft)
        self._sheet = AnswerSheet(request)
        self._workspace = workspace
        self._is_of_server = bool(request.server)
        self._problem = Static(id="problem", markup=False)
        self._problem_text = ""
        self._at = 0
        """The index of the question that shows; the number of questions for the review."""
        self._tabs = Static(id="tabs", markup=False)
        self._detail = Static(id="detail", markup=False)

    @property
    def _has_review(self) -> bool:
        """Whether the answers are reviewed before they are sent; a single one is only if it is of a form."""
        return len(self._sheet.questions) > 1 or self._sheet.is_form

    @property
    def _is_review(self) -> bool:
        return self._at == len(self._sheet.questions)

    @property
    def _takes_several(self) -> bool:
        return not self._is_review and self._sheet.questions[self._at].multi_select

    def compose(self) -> ComposeResult:
        self.set_class(self._has_review, "-several")
        yield self._tabs
        yield self._scroll
        yield self._choices
        yield self._problem
        yield self._line
        yield self._detail

    def on_mount(self) -> None:
        self._show_question(0)

    # What shows

    def _show_question(self, at: int, problem: str = "") -> None:
        """Show a question, or the review, with what is wrong with its answer."""
        self._at, self._problem_text = at, problem
        self._show(0 if self._is_review else self._sheet.marked(at))

    def _show(self, chosen: int) -> None:
        self._choices.show(review_rows(self._sheet) if self._is_review else self._rows(), chosen)
        self._scroll.scroll_home(animate=False)
        self.fit()

    def _refresh_rows(self) -> None:
        self._choices.show(self._rows(), self._choices.chosen)
        self.fit()

    def _rows(self) -> list[Choice]:
        return option_rows(self._sheet, self._at)

    def fit(self) -> None:
        """Distribute the rows: options first, then the question, then the description of an option."""
        width, rows, blank = self.measure()
        left = rows - BESIDE_ROWS - FRAME_ROWS - blank - self.is_writing
        if self._has_review:
            self._tabs.update(tabs(self._sheet, self._at, width))
            left -= 1 + blank
        left -= place(self._problem, safe_line(self._problem_text), width, 2)
        if self._is_of_server:  # the model offers a few options, a server may offer hundreds
            self._choices.limit_rows(min(max(left - LEAST_TEXT_ROWS, LEAST_OPTION_ROWS), MOST_OPTION_ROWS))
        left -= self._choices.rows_taken
        self._text.update(Content(self._question_text()))
        wanted = self._text.get_content_height(Size(width, rows), Size(width, rows), width - 1)
        spare = max(left - min(wanted, 2) - (4 if blank else 1), 0)
        left -= self._place_detail(width, min(spare, DETAIL_ROWS))
        self._scroll.styles.max_height = max(min(left - (4 if blank else 1), wanted), min(left, 2), 0)
        self.call_after_refresh(self.show_hint)

    def _question_text(self) -> str:
        if self._is_review:
            return self._sheet.review_text
        return safe_text(self._sheet.questions[self._at].text).replace("\t", "    ")

    def _place_detail(self, width: int, rows: int) -> int:
        """Show the description of the selected option; return its height.

        It is as high as the highest description of the question, so that nothing moves between options.
        """
        texts = [self._detail_of(index, width) for index in range(len(self._choices.rows))]
        height = max(place(self._detail, text, width - TEXT_INSET, rows) for text in texts)
        self._detail.update(Content(texts[self._choices.chosen]))
        self._detail.display = height > 0
        self._detail.styles.height = height
        return height

    def _detail_of(self, index: int, width: int) -> str:
        """Return the text of an option, if its row truncates it; else ""."""
        if self._is_review or self._is_other(index):
            return ""
        option = self._sheet.questions[self._at].options[index]
        row_cells = width + TEXT_INSET
        is_label_cut = not self._choices.fits(index, row_cells)
        if not is_label_cut and self._choices.detail_fits(index, row_cells):
            return ""
        shown = (option.label if is_label_cut else "", option.description)
        return ": ".join(filter(None, map(safe_line, shown)))

    def hints(self) -> list[str]:
        if self.is_writing:
            return [INSTEAD_HINT if self._is_review else WRITING_HINT, "Enter keep · Esc back"]
        leave = "Esc cancel" if self._is_of_server or self._has_draft else "Esc decline"
        if not self.is_answerable:
            return [f"{NO_ROOM_HINT} · {leave}"]
        if self.is_holding and not self._takes_several:
            return [*DIGIT_HINTS]
        if self.is_typed_on:
            return [f"{TYPING_HINT} · {leave}", leave]
        if self._is_review:
            why = "" if self._sheet.is_form else " · or type why not"
            return [f"Enter send, or go back to one · {leave}{why}", f"Enter send · {leave}"]
        keys = "Space mark · Enter go on" if self._takes_several else "Enter answer"
        more = " · Tab next question" if self._has_review else ""
        hint = f"{keys}{more} · {leave}"
        if self._has_draft:
            return [f"{keys} · Ctrl+G your editor · {leave}", f"{keys} · {leave}"]
        return [*([f"{hint} · or type your answer"] if self._takes_words else []), hint, f"{keys} · {leave}"]

    # What the keys do

    def takes(self, key: str) -> bool:
        """Return whether the key is the digit of an option, or Space if several may be marked."""
        if key == "space":
            return self._takes_several
        return key in self._digits

    def joins(self, key: str) -> bool:
        """Return whether the key marks another option."""
        return self._takes_several and key in self._digits

    @property
    def _digits(self) -> list[str]:
        has_options = self._is_review or self._sheet.questions[self._at].options
        return (
            [str(number) for number in range(1, min(len(self._choices.rows), 9) + 1)] if has_options else []
        )

    @property
    def _has_draft(self) -> bool:
        return not self._is_review and bool(self._sheet.questions[self._at].draft)

    @property
    def _takes_words(self) -> bool:
        return not self._is_review and self._sheet.questions[self._at].words is not None

    def select_free_text(self) -> None:
        if self._is_review or self._takes_words:
            self._choices.choose(1 if self._is_review else len(self._choices.rows) - 1)

    def open_free_text(self) -> None:
        if self._has_draft:
            self._write()
            return
        own = OWN_LABEL if self._takes_words else NO_WORDS_LABEL
        self.open_line(INSTEAD_LABEL if self._is_review else own)

    def action_choose(self, by: int) -> None:
        self._choices.move(by)
        self.fit()

    def action_digit(self, digit: int) -> None:
        """Select an option, or mark it if several may be, unless text follows."""
        index = digit - 1
        if index >= len(self._choices.rows) or not self.is_answerable:
            return
        if not self.is_holding:
            self._chosen_before = self._choices.chosen
        self._choices.choose(index)
        if self._takes_several and not self._is_other(index):
            self.action_mark()
        self.fit()
        self.hold(str(digit))

    def submit_digits(self) -> None:
        """Take the selected option; marked options are marked already."""
        if not self._takes_several:
            self.action_take()
        elif self._is_other(self._choices.chosen):
            self._write()

    def undo_digits(self) -> None:
        if self._takes_several:
            for digit in self.held:
                if not self._is_other(int(digit) - 1):
                    self._sheet.mark(self._at, int(digit) - 1)
            self._refresh_rows()
        super().undo_digits()
        self.fit()

    def action_mark(self) -> None:
        """Mark the selected option without continuing."""
        if not self.is_answerable or self._is_review:
            return
        if self._is_other(self._choices.chosen):
            self._write()
        else:
            self._sheet.mark(self._at, self._choices.chosen)
            self._refresh_rows()

    def action_take(self) -> None:
        """Take the marked options, else the selected one, and continue."""
        if not self.is_answerable:
            return
        chosen = self._choices.chosen
        if self._is_review:
            self._leave_review(chosen)
        elif self._takes_several and (self._sheet.answer(self._at) or self._sheet.is_form):
            self._next_question()
        elif self._is_other(chosen):
            self._write()
        else:
            self._sheet.mark(self._at, chosen)
            self._next_question()

    def action_turn(self, by: int) -> None:
        if self._has_review:
            self._show_question((self._at + by) % (len(self._sheet.questions) + 1))

    def action_decline(self) -> None:
        self.resolve(QuestionReply(declined=True, cancelled=self._is_of_server))

    def _is_other(self, index: int) -> bool:
        return self._takes_words and index == len(self._sheet.questions[self._at].options)

    def pick(self) -> None:
        """Mark the selected option if several may be, else take it."""
        if self._takes_several:
            self.action_mark()
        else:
            self.action_take()

    def _next_question(self) -> None:
        """Show the next question without an answer, then those before it, then the review. Of a form, whose
        fields may be left out, those before it are not shown again, and a wrong answer is not left."""
        if not self._has_review:
            self.resolve(self._sheet.reply())
            return
        if problem := self._sheet.problem(self._at):
            self._complain(problem)
            return
        count = len(self._sheet.questions)
        order = [*range(self._at + 1, count), *(() if self._sheet.is_form else range(self._at))]
        self._show_question(next((at for at in order if not self._sheet.answer(at)), count))
        self.rearm(PAGE_GRACE_S)  # a key that is held down must not answer an unseen question

    def _complain(self, problem: str) -> None:
        self._problem_text = problem
        self.fit()

    def _leave_review(self, chosen: int) -> None:
        sheet = self._sheet
        first = 2 if sheet.is_form else 1
        if chosen >= first:
            self._show_question(chosen - first)
        elif chosen == 1:
            self.resolve(QuestionReply(declined=True))
            return
        else:
            wrong = ((at, sheet.problem(at)) for at in range(len(sheet.questions)))
            found = next(((at, problem) for at, problem in wrong if problem), None)
            if found is None:
                self.resolve(sheet.reply())
                return
            self._show_question(*found)
        self.rearm(PAGE_GRACE_S)

    def _write(self) -> None:
        question = self._sheet.questions[self._at]
        text = self._sheet.words(self._at) or safe_line(question.draft, keep_invisible=True)
        if len(text) > LONGEST_LINE:
            self.action_edit()
        else:
            self.open_line(EDIT_LABEL if question.draft else OWN_LABEL, text)

    def action_edit(self) -> None:
        """Open the answer in the user's editor, and give what that leaves; an empty text gives none."""
        from forge_tui.terminal.editor import EditorError, edit_text

        if not self._takes_words or self.is_writing or not self.is_answerable:
            return
        text = self._sheet.words(self._at) or self._sheet.questions[self._at].draft
        try:
            written = edit_text(self.app, text, FILE_NAME, self._workspace).strip()
        except (EditorError, OSError) as error:
            self._draft.say(f"No editor was opened: {safe_line(str(error))}")
            return
        finally:
            self.rearm()
        if written and written != text.strip():
            self.submit_line(written)

    def close_line(self) -> None:
        self._problem_text = ""
        super().close_line()
        if not self._is_review:
            self._refresh_rows()

    def submit_line(self, text: str) -> None:
        sheet = self._sheet
        if self._is_review:
            if text and sheet.is_form:
                self._complain(NO_REASON)
            elif text:
                self.resolve(QuestionReply(declined=True, reason=text))
            return
        question = sheet.questions[self._at]
        if question.words is None:
            labels = [option.label.casefold() for option in question.options]
            if text.casefold() not in labels:
                self._complain(question.problem([text]))
                return
            sheet.mark(self._at, labels.index(text.casefold()))
        elif sheet.is_form and text and not question.words.accepts(text):
            self._complain(question.problem([text]))
            return
        else:
            sheet.write(self._at, text)
        self._problem_text = ""
        self.end_line()
        self._refresh_rows()
        if (text or sheet.is_form) and not self._takes_several:
            self._next_question()
