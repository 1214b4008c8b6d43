"""The question before something is done: exactly what, why, and the answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.dom import NoScreen
from textual.errors import NoWidget
from textual.widgets import Static

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest
from forge_core.sanitize import safe_line, safe_text
from forge_tui.keymap import Where, bindings
from forge_tui.screens.prompts.full_view import FullView
from forge_tui.screens.prompts.prompt import (
    BESIDE_ROWS,
    FRAME_CELLS,
    FRAME_ROWS,
    SMALL,
    TYPING_HINT,
    Draft,
    Prompt,
    first_fitting,
    place,
)
from forge_tui.screens.prompts.request_text import (
    Option,
    all_facts,
    body_of,
    counts_of,
    facts_of,
    options_of,
    rule_lines,
    title_of,
    warning_of,
)
from forge_tui.widgets.choices import Choice, ChoiceList
from forge_tui.widgets.exact_text import ExactView, Line, exact_line

CHANGED_ROWS = 2
"""Of a diff, that show wherever there is room for them."""
NOTE_ROWS = 2
"""The most that the facts, the warning, and what is wrong with a rule may take: a model words them."""
ROOMY = 24
"""Rows of a terminal from which on four are the conversation's; two below."""
WRAP_CELLS = 12
"""What wrapping between words may leave empty."""
KEYS_HINT = "Enter answer · Esc no"
TEXT_HINT = "Enter answer · Esc no · or type why not"
RULE_HINT = "Enter answer · Tab change the rule · Esc no · or type why not"
DIGIT_HINT = "Enter answer now · Esc wait · more text: say why not"
WHY_HINT = "Enter no, for this reason · Esc back, keep the text"
SHORT_WHY_HINT = "Enter no · Esc back"
GRANT_HINT = "Enter grant this rule · Esc back"
WHY_LABEL = "No, because:"
NO_ROOM_HINT = "Enlarge the window to answer · Esc no"
NOT_TYPABLE = "This rule holds what cannot be typed in one line. It can be granted as it is, or not at all."

CheckRule = Callable[[str], str | None]
"""What is wrong with a rule, or None."""


class PermissionPrompt(Prompt[ApprovalReply]):
    """Resolves with an answer; on a yes for longer, with the rule as the person left it."""

    DEFAULT_CSS = """
    PermissionPrompt {
        &.-danger { border: round $warning; border-title-color: $warning; }
        & > #facts { color: $forge-muted; margin-top: 1; }
        & > #oddities { color: $warning; }
        & > ChoiceList { margin-top: 1; }
    }
    PermissionPrompt.-small > #facts, PermissionPrompt.-small > ChoiceList { margin-top: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.PROMPT)]

    def __init__(
        self,
        request: ApprovalRequest,
        *,
        workspace: Path,
        clock: Callable[[], float],
        draft: Draft,
        check_rule: CheckRule,
    ) -> None:
        super().__init__(id="permission", clock=clock, draft=draft)
        self._request = request
        self._workspace = workspace
        self._check_rule = check_rule
        self._options = options_of(request)
        self._writing: Option | None = None
        """The answer whose rule, or whose reason, is being written."""
        self._problem_text = ""
        self._chosen_before = 0
        """Before a digit selected another answer."""
        self._body = ExactView(body_of(request))
        self._warning = safe_text(warning_of(request))
        self._note = Static(id="oddities", markup=False)
        self._facts = Static(id="facts", markup=False)
        self._problem = Static(id="problem", markup=False)
        rows = [Choice(f"{option.digit} {option.label}", option.hint) for option in self._options]
        self._choices = ChoiceList(rows, chosen=self._default_index())

    @property
    def heading(self) -> str:
        return title_of(self._request)

    @property
    def counts(self) -> str:
        return counts_of(self._request)

    def compose(self) -> ComposeResult:
        self.set_class(self._request.is_destructive, "-danger")
        self.show_waiting(0)
        self.border_subtitle = Content(KEYS_HINT)
        yield self._body
        yield self._note
        yield self._facts
        yield self._choices
        yield self._line
        yield self._problem

    def on_mount(self) -> None:
        self.watch(self._body, "scroll_y", self.say_hint, init=False)

    def _default_index(self) -> int:
        wanted = Answer.NO if self._request.is_destructive else Answer.ONCE
        return next(i for i, option in enumerate(self._options) if option.answer is wanted)

    @property
    def _chosen(self) -> Option:
        return self._options[self._choices.chosen]

    # What shows

    def fit(self) -> None:
        """Give each part its rows. The answers come first, then two rows of what it is about, the warning
        and the facts; then what of an edit shows that there is a change, at the conversation's cost; the
        body and the conversation share what is left."""
        width, rows = max(self.screen.size.width - FRAME_CELLS, 2), self.screen.size.height
        blank = int(rows >= SMALL)
        conversation = 4 if rows >= ROOMY else 2
        self.set_class(not blank, "-small")
        left = rows - BESIDE_ROWS - FRAME_ROWS - 2 * blank - len(self._options) - self.is_writing
        left -= place(self._problem, self._problem_text, width, min(NOTE_ROWS, max(left - 1, 0)))
        wanted = self._fill_body(width)
        least = min(wanted, 2)
        left -= place(self._note, self._warning, width, min(left - least, NOTE_ROWS))
        is_whole = wanted <= min(left - NOTE_ROWS - blank - conversation, rows // 2)
        spare = min(left - least - blank, NOTE_ROWS)
        room = max(width * spare - WRAP_CELLS, 0)
        facts = facts_of(self._request, self._workspace, room=room, is_whole=is_whole)
        taken = place(self._facts, facts, width, spare)
        left -= taken + blank if taken else 0
        least = max(least, self._body.rows_to_change(width - 1, CHANGED_ROWS))
        self._body.styles.max_height = max(min(left - conversation, rows // 2), min(left, least), 0)
        self.call_after_refresh(self.say_hint)

    def _fill_body(self, width: int) -> int:
        """Put the rules below what is asked about when their own rows cannot hold them; gives its rows."""
        lines = body_of(self._request)
        if any(not self._choices.fits(index, width) for index in range(len(self._options))):
            lines += rule_lines(self._request)
        self._body.show(lines)
        return len(self._body.rows_for(width - 1))

    @property
    def _is_answerable(self) -> bool:
        """Whether all answers, and something of what they are about, are on the screen."""
        try:
            choices, body = (self.screen.find_widget(part) for part in (self._choices, self._body))
        except (NoWidget, NoScreen):
            return False
        return choices.visible_region.height >= len(self._options) and body.visible_region.height > 0

    def say_hint(self) -> None:
        """Say below what the keys do now, and how much of the body is still below."""
        if not self.is_attached:
            return
        if self.is_writing and self._writing is not None:
            variants = [WHY_HINT, SHORT_WHY_HINT] if self._writing.asks_why else [GRANT_HINT]
        elif not self._is_answerable:
            variants = [NO_ROOM_HINT]
        elif self.is_holding:
            variants = [DIGIT_HINT, KEYS_HINT]
        elif self.is_typed_on:
            variants = [f"{TYPING_HINT} · Esc no", KEYS_HINT]
        else:
            keys = RULE_HINT if self._chosen.rule else TEXT_HINT
            variants = [keys, KEYS_HINT]
            shown = round(self._body.scroll_y) + self._body.size.height
            if (more := self._body.row_count - shown) > 0:
                rows = f"{more:,} more row{'s'[: more != 1]}"
                told = f"{rows}: PageDown, Ctrl+E"
                variants = [f"{keys} · {told}", f"{KEYS_HINT} · {told}", f"{told} · Esc no", rows]
        self.border_subtitle = Content(first_fitting(variants, self.size.width))

    def _complain(self, problem: str) -> None:
        if problem != self._problem_text:
            self._problem_text = problem
            self.fit()

    # What the keys do

    def takes(self, key: str) -> bool:
        """Only the digits of answers on offer are no text."""
        return any(str(option.digit) == key for option in self._options)

    def select_own_words(self) -> None:
        self._choices.choose(next(i for i, option in enumerate(self._options) if option.asks_why))

    def open_own_words(self) -> None:
        self._write(self._chosen)

    def action_choose(self, by: int) -> None:
        self._choices.move(by)
        self._complain("")
        self.say_hint()

    def action_digit(self, digit: int) -> None:
        """Select an answer. It is given unless text follows."""
        for index, option in enumerate(self._options):
            if option.digit == digit and self._is_answerable:
                self._chosen_before = self._choices.chosen
                self._choices.choose(index)
                self._complain("")
                self.hold(str(digit))

    def give_digits(self) -> None:
        self.action_answer()

    def take_back_digits(self) -> None:
        self._choices.choose(self._chosen_before)

    def action_answer(self) -> None:
        self._answer(self._choices.chosen)

    def action_edit_rule(self) -> None:
        option = self._chosen
        if not option.rule or not self._is_answerable:
            return
        if exact_line(option.rule) != option.rule or not option.rule.isprintable():
            self._complain(NOT_TYPABLE)
        else:
            self._write(option)

    def action_read_all(self) -> None:
        """All of it on the whole screen, where no key answers."""
        lines = body_of(self._request)
        for more in ([Line(self._warning)], all_facts(self._request, self._workspace)):
            lines += [Line(""), *more] if any(line.text for line in more) else []
        self.app.push_screen(FullView(self.heading, [*lines, *rule_lines(self._request)]))

    def action_deny(self) -> None:
        self.resolve(ApprovalReply(Answer.NO))

    def action_scroll_body(self, pages: int) -> None:
        body = self._body
        body.scroll_relative(y=pages * max(body.size.height - 1, 1), animate=False)

    def _answer(self, index: int) -> None:
        if not self._is_answerable:
            return
        self._choices.choose(index)
        option = self._options[index]
        if option.asks_why:
            self._write(option)
        else:
            self.resolve(ApprovalReply(option.answer))

    def _write(self, option: Option) -> None:
        self._writing, self._problem_text = option, ""
        if option.asks_why:
            self.open_line(WHY_LABEL, placeholder="What should it know or do instead?")
        else:
            self.open_line("Allow:", option.rule)

    def close_line(self) -> None:
        self._writing, self._problem_text = None, ""
        super().close_line()

    def submit_line(self, text: str) -> None:
        option = self._writing
        if option is None:
            return
        if option.asks_why:
            self.resolve(ApprovalReply(Answer.NO, text))
        elif problem := self._check_rule(text) if text else "There is no rule here. Esc goes back.":
            self._complain(safe_line(problem))
        elif self._is_answerable:
            self.resolve(ApprovalReply(option.answer, rule="" if text == option.rule else text))

    def on_choice_list_clicked(self, event: ChoiceList.Clicked) -> None:
        event.stop()
        if self.is_armed and not self.is_writing:
            self.release_digits()
            self._answer(event.index)
