"""What the model wants to know: a few questions with ready answers, or own words."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.dom import NoScreen
from textual.errors import NoWidget
from textual.geometry import Size
from textual.widgets import Input, Static

from forge_core.approval import QuestionReply, QuestionRequest
from forge_core.sanitize import safe_text
from forge_tui.keymap import Where, bindings
from forge_tui.screens.answer_sheet import AnswerSheet
from forge_tui.screens.prompt import (
    BESIDE_ROWS,
    FRAME_CELLS,
    FRAME_ROWS,
    SMALL,
    Prompt,
    StrayKeys,
    first_fitting,
    place,
)
from forge_tui.screens.question_text import (
    NOT_ALL,
    READY,
    option_detail,
    option_rows,
    review_rows,
    tabs,
)
from forge_tui.widgets.choices import Choice, ChoiceList
from forge_tui.widgets.line_input import LineInput

DETAIL_ROWS = 4
"""The most that the description of the chosen option may take."""
NO_ROOM_HINT = "Enlarge the window to answer · Esc decline"
WRITING_HINT = "Enter keep · Esc back"


class Questionnaire(Prompt[QuestionReply]):
    """Resolves with the answers, or declined. Several questions are tabs, the last of them a review."""

    DEFAULT_CSS = """
    Questionnaire {
        & > #tabs { height: 1; color: $forge-muted; margin-bottom: 1; display: none; }
        & > #text { height: auto; scrollbar-size-vertical: 1; }
        & > ChoiceList { margin-top: 1; }
        & > #detail { color: $forge-muted; margin-left: 4; }
    }
    Questionnaire.-several > #tabs { display: block; }
    Questionnaire.-small > #tabs { margin-bottom: 0; }
    Questionnaire.-small > ChoiceList { margin-top: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.QUESTIONS)]

    def __init__(self, request: QuestionRequest, *, clock: Callable[[], float], on_stray: StrayKeys) -> None:
        super().__init__(id="questions", clock=clock, on_stray=on_stray)
        self._sheet = AnswerSheet(request)
        self._at = 0
        """The question that shows; their number: the review."""
        self._tabs = Static(id="tabs", markup=False)
        self._text = Static(markup=False)
        self._scroll = VerticalScroll(self._text, id="text", can_focus=False)
        self._choices = ChoiceList()
        self._detail = Static(id="detail", markup=False)
        self._line = LineInput()

    @property
    def heading(self) -> str:
        return "Forge has questions" if self._has_review else "Forge has a question"

    @property
    def _has_review(self) -> bool:
        """Whether the answers are looked over before they are sent; a single one need not be."""
        return len(self._sheet.questions) > 1

    @property
    def _is_review(self) -> bool:
        return self._at == len(self._sheet.questions)

    @property
    def _takes_several(self) -> bool:
        return not self._is_review and self._sheet.questions[self._at].multi_select

    def compose(self) -> ComposeResult:
        self.set_class(self._has_review, "-several")
        self.border_title = Content(self.heading)
        yield self._tabs
        yield self._scroll
        yield self._choices
        yield self._line
        yield self._detail

    def on_mount(self) -> None:
        self._show()
        self.focus()

    # What shows

    def _show(self, chosen: int = 0) -> None:
        """The question, or the review, that is its turn."""
        self._choices.show(review_rows(self._sheet) if self._is_review else self._rows(), chosen)
        self._scroll.scroll_home(animate=False)
        self._fit()

    def _refresh_rows(self) -> None:
        self._choices.show(self._rows(), self._choices.chosen)
        self._fit()

    def _rows(self) -> list[Choice]:
        return option_rows(self._sheet, self._at)

    def _fit(self) -> None:
        """Give each part its rows: the options first, then the question, then what the chosen one means."""
        width, rows = max(self.screen.size.width - FRAME_CELLS, 2), self.screen.size.height
        blank = int(rows >= SMALL)
        self.set_class(not blank, "-small")
        left = rows - BESIDE_ROWS - FRAME_ROWS - blank - len(self._choices.rows) - self.is_writing
        if self._has_review:
            self._tabs.update(tabs(self._sheet, self._at, width))
            left -= 1 + blank
        self._text.update(Content(self._question_text()))
        wanted = self._text.get_content_height(Size(width, rows), Size(width, rows), width - 1)
        spare = max(left - min(wanted, 2) - (4 if blank else 1), 0)
        left -= self._place_detail(width, min(spare, DETAIL_ROWS))
        self._scroll.styles.max_height = max(min(left - (4 if blank else 1), wanted), min(left, 2), 0)
        self.call_after_refresh(self._say_hint)

    def _question_text(self) -> str:
        if self._is_review:
            return READY if self._sheet.next_open is None else NOT_ALL
        return safe_text(self._sheet.questions[self._at].text).replace("\t", "    ")

    def _place_detail(self, width: int, rows: int) -> int:
        """Show what the chosen option means; its place is as high as any option of the question needs, so
        that nothing moves on the way through them."""
        texts = [self._detail_of(index, width) for index in range(len(self._choices.rows))]
        height = max(place(self._detail, text, width - 4, rows) for text in texts)
        self._detail.update(Content(texts[self._choices.chosen]))
        self._detail.display = height > 0
        self._detail.styles.height = height
        return height

    def _detail_of(self, index: int, width: int) -> str:
        if self._is_review:
            return ""
        return option_detail(
            self._sheet.questions[self._at],
            index,
            is_label_cut=not self._choices.fits(index, width),
            is_description_cut=not self._choices.detail_fits(index, width),
        )

    @property
    def _is_answerable(self) -> bool:
        """Whether all options, and something of the question, are on the screen."""
        try:
            choices, text = (self.screen.find_widget(part) for part in (self._choices, self._scroll))
        except (NoWidget, NoScreen):
            return False
        return choices.visible_region.height >= self._choices.shown_rows and text.visible_region.height > 0

    def _say_hint(self) -> None:
        """Say below what the keys do now."""
        if not self.is_attached:
            return
        if self.is_writing:
            variants = [WRITING_HINT]
        elif not self._is_answerable:
            variants = [NO_ROOM_HINT]
        else:
            keys = "Space mark · Enter go on" if self._takes_several else "Enter answer"
            if self._is_review:
                keys = "Enter send, or go back to one"
            more = " · Tab next question" if self._has_review and not self._is_review else ""
            variants = [f"{keys}{more} · Esc decline", f"{keys} · Esc decline"]
        self.border_subtitle = Content(first_fitting(variants, self.size.width))

    def on_resize(self) -> None:
        self._fit()

    # What the keys do

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While own words are being written, the keys belong to them."""
        return action == "decline" if self.is_writing else True

    def action_choose(self, by: int) -> None:
        self._choices.move(by)
        self._fit()

    def action_digit(self, digit: int) -> None:
        if digit <= len(self._choices.rows):
            self._pick(digit - 1)

    def action_mark(self) -> None:
        """Mark without going on."""
        if not self._is_answerable or self._is_review:
            return
        if self._is_other(self._choices.chosen):
            self._write()
        else:
            self._sheet.mark(self._at, self._choices.chosen)
            self._refresh_rows()

    def action_take(self) -> None:
        """Take the marked options, else the chosen one, and go on."""
        if not self._is_answerable:
            return
        chosen = self._choices.chosen
        if self._is_review:
            self._leave_review(chosen)
        elif self._takes_several and self._sheet.answer(self._at):
            self._go_on()
        elif self._is_other(chosen):
            self._write()
        else:
            self._sheet.mark(self._at, chosen)
            self._go_on()

    def action_turn(self, by: int) -> None:
        if self._has_review:
            self._at = (self._at + by) % (len(self._sheet.questions) + 1)
            self._show()

    def action_decline(self) -> None:
        if self.is_writing:
            self._stop_writing()
        else:
            self.resolve(QuestionReply(declined=True))

    def action_scroll_text(self, pages: int) -> None:
        self._scroll.scroll_relative(y=pages * max(self._scroll.size.height - 1, 1), animate=False)

    def _is_other(self, index: int) -> bool:
        return index == len(self._sheet.questions[self._at].options)

    def _pick(self, index: int) -> None:
        """A digit or a click: mark where several may be, else take at once."""
        if not self._is_answerable:
            return
        self._choices.choose(index)
        if self._takes_several:
            self.action_mark()
        else:
            self.action_take()

    def _go_on(self) -> None:
        """To the next question without an answer, then to those before it, then to the review."""
        if not self._has_review:
            self.resolve(self._sheet.reply())
            return
        count = len(self._sheet.questions)
        order = [*range(self._at + 1, count), *range(self._at)]
        self._at = next((at for at in order if not self._sheet.answer(at)), count)
        self._show()

    def _leave_review(self, chosen: int) -> None:
        if chosen == 0:
            self.resolve(self._sheet.reply())
        else:
            self._at = chosen - 1
            self._show()

    def _write(self) -> None:
        self.add_class("-writing")
        self._line.begin(self._sheet.words(self._at), "Your answer")
        self._fit()

    def _stop_writing(self) -> None:
        self.remove_class("-writing")
        self._refresh_rows()
        self.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        words = event.value.strip()
        self._sheet.write(self._at, words)
        self._stop_writing()
        if words and not self._takes_several:
            self._go_on()

    def on_choice_list_clicked(self, event: ChoiceList.Clicked) -> None:
        event.stop()
        if self.is_armed and not self.is_writing:
            self._pick(event.index)
