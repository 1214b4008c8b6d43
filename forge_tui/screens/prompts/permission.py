"""The prompt for permission: what would be done, why, and the answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.geometry import Size
from textual.widgets import Static

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest
from forge_core.sanitize import safe_line, safe_text
from forge_core.text_width import cell_len, clip_start
from forge_tui.keymap import KeyContext, bindings
from forge_tui.screens.prompts.exact_view import ExactView
from forge_tui.screens.prompts.full_view import FullView
from forge_tui.screens.prompts.prompt import (
    BESIDE_ROWS,
    FRAME_ROWS,
    TYPING_HINT,
    Draft,
    Prompt,
    place,
)
from forge_tui.screens.prompts.request_text import (
    EXACTLY,
    Option,
    all_facts,
    body_of,
    counts_of,
    cut_facts,
    extent_of,
    facts_of,
    is_disguised,
    options_of,
    rule_lines,
    rules_note,
    title_of,
    unconfined_of,
    warning_of,
)
from forge_tui.widgets.choices import Choice, ChoiceList
from forge_tui.widgets.diff.exact_diff import exact_diff
from forge_tui.widgets.edges import TEXT_INSET
from forge_tui.widgets.exact_text import ExactLine, exact_line, exact_rows

TITLE_CELLS = 6
"""Cells beside a title in the border."""
CHANGED_ROWS = 2
"""Rows of a diff that show whenever there is room."""
NOTE_ROWS = 2
"""The most rows for the facts, the warning and the problem of a rule: a model can make them long."""
ROOMY = 24
"""Rows of a terminal from which the conversation keeps four, instead of two."""
ROW_FROM = 100
"""Columns of a terminal from which the answers are in one row."""
WRAP_CELLS = 12
"""Cells that wrapping between words may leave empty."""
KEYS_HINT = "Enter answer · Esc no"
TEXT_HINT = "Enter answer · Esc no · or type why not"
RULE_HINT = "Enter answer · Tab edit the rule · Esc no · or type why not"
DIGIT_HINT = "Enter answer now · Esc cancel · more text: say why not"
WHY_HINT = "Enter no, for this reason · Esc back, keep the text"
SHORT_WHY_HINT = "Enter no · Esc back"
GRANT_HINT = "Enter grant this rule · Esc back"
WHY_LABEL = "No, because:"
NO_ROOM_HINT = "Enlarge the window to answer · Esc no"
READ_HINT = "PageDown or Ctrl+E shows the rest first · Esc no"
UNREAD = "Not all of it was shown yet: PageDown or Ctrl+E."
YES_WORDS = frozenset({"y", "yes", "ok"})
"""What users of other programs type at such a prompt. None of it is a reason for *No*."""
USE_DIGITS = "Text is a reason for no, and never allows. 1 allows it once, Esc says no."
NOT_TYPABLE = "This rule cannot be edited in one line. Grant it as it is, or not at all."

CheckRule = Callable[[str, Answer], str | None]
"""Returns why the answer cannot grant a rule, or None."""


class PermissionPrompt(Prompt[ApprovalReply]):
    """Resolves with an answer, and with the rule as the user has edited it."""

    DEFAULT_CSS = """
    PermissionPrompt {
        &.-danger { border: round $warning; border-title-color: $warning; }
        & > #facts { color: $forge-muted; margin-top: 1; }
        & > #oddities { color: $warning; }
        & > ChoiceList { margin-top: 1; }
    }
    PermissionPrompt.-small > #facts, PermissionPrompt.-small > ChoiceList { margin-top: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyContext.PROMPT)]

    def __init__(
        self,
        request: ApprovalRequest,
        *,
        workspace: Path,
        clock: Callable[[], float],
        draft: Draft,
        check_rule: CheckRule,
    ) -> None:
        self._request = request
        self._shown_rows = self._request_rows = 0
        """Rows of the body, without the rules below: those on the screen, and all."""
        self._options = options_of(request)
        self._content = body_of(request, exact_diff)
        self._body = ExactView(self._content)
        rows = [
            Choice(f"{one.digit} {one.label}", one.hint, short=f"{one.digit} {one.short}")
            for one in self._options
        ]
        choices = ChoiceList(rows)
        super().__init__(
            self._body,
            choices,
            id="permission",
            heading=title_of(request),
            counts=counts_of(request),
            clock=clock,
            draft=draft,
        )
        self._is_suspect = request.is_destructive or (not request.is_undoable and is_disguised(request))
        """Whether *No* is selected at first even if all of the request shows."""
        self._is_untouched = True
        """Whether the user has not selected an answer yet."""
        self._workspace = workspace
        self._cut: list[ExactLine] = []
        """Facts that are cut off in a window of `_cut_size`: they are rows of the body then."""
        self._cut_size = Size()
        self._check_rule = check_rule
        self._writing: Option | None = None
        """The answer whose rule or reason is being typed."""
        self._problem_text = ""
        self._warning = safe_text(warning_of(request))
        self._note = Static(id="oddities", markup=False)
        self._facts = Static(id="facts", markup=False)
        self._problem = Static(id="problem", markup=False)

    def compose(self) -> ComposeResult:
        self.set_class(self._request.is_destructive, "-danger")
        self.border_subtitle = Content(KEYS_HINT)
        yield self._body
        yield self._note
        yield self._facts
        yield self._choices
        yield self._line
        yield self._problem

    def on_mount(self) -> None:
        self.watch(self._body, "scroll_y", self._follow_reading, init=False)

    @property
    def _chosen(self) -> Option:
        return self._options[self._choices.chosen]

    def _may_give(self, option: Option) -> bool:
        """Return whether all that the answer would allow has been on the screen, or can be undone."""
        if option.answer is Answer.NO or self._request.is_undoable:
            return True
        has_rule = bool(option.rule) and option.hint != EXACTLY
        return self._body.has_shown(self._body.row_count if has_rule else self._request_rows)

    def _select_no_unless(self, is_whole: bool) -> None:
        """Select *No*, until the user selects an answer, if the request is suspect or not all of it shows."""
        is_safe = not self._is_suspect and (is_whole or self._request.is_undoable)
        if self._is_untouched and not is_safe and self._chosen.answer is not Answer.NO:
            self._choices.choose(next(i for i, one in enumerate(self._options) if one.answer is Answer.NO))

    # What shows

    def fit(self) -> None:
        """Distribute the rows of the screen among the parts.

        In this order: the answers; two rows of the body; the warning and the facts; as many rows of a diff as
        show a change, at the cost of the conversation. The body and the conversation share the rest.
        """
        width, rows, blank = self.measure()
        conversation = 4 if rows >= ROOMY else 2
        # First, what is always shown: frame, answers and the line.
        is_in_row = self.screen.size.width >= ROW_FROM
        self._choices.lay_out(is_in_row=is_in_row, note=rules_note(self._options) if is_in_row else "")
        left = rows - BESIDE_ROWS - FRAME_ROWS - 2 * blank - self._choices.shown_rows - self.is_writing
        left -= place(self._problem, self._problem_text, width, min(NOTE_ROWS, max(left - 1, 0)))
        wanted = self._fill_body(width)
        least = min(wanted, 2)
        left -= place(self._note, self._warning, width, min(left - least, NOTE_ROWS))
        # Then the facts, which depend on whether the whole body will show.
        is_whole = wanted <= min(left - NOTE_ROWS - blank - conversation, rows // 2)
        spare = min(left - least - blank, NOTE_ROWS)
        room = max(width * spare - WRAP_CELLS, 0)
        facts = facts_of(self._request, self._workspace, room=room, is_whole=is_whole)
        unconfined = len(unconfined_of(self._request))
        taken = place(self._facts, Content(facts).stylize("$warning", 0, unconfined), width, spare)
        if self._is_fact_cut(facts, taken, width):
            self.fit()
            return
        left -= taken + blank if taken else 0
        # At last the body, up to half of the screen.
        least = max(least, self._body.rows_to_change(width - 1, CHANGED_ROWS))
        # Where there are blank lines, so is the activity line: the conversation's row is not in `left` yet.
        height = max(min(left - conversation, rows // 2), min(left - blank, least), 0)
        self._body.styles.max_height = height
        self._select_no_unless(self._request_rows <= height)
        self._show_extent(height)
        self.call_after_refresh(self._follow_reading)

    def _is_fact_cut(self, facts: str, taken: int, width: int) -> bool:
        """Add what the facts and the title leave out to the body; return whether that has changed it."""
        size = self.screen.size
        is_title_cut = cell_len(self.title) > size.width - TITLE_CELLS
        needed = self._facts.get_content_height(size, size, width) if taken else 1
        is_shown = needed <= taken
        cut = cut_facts(self._request, self._workspace, facts if is_shown else "", is_title_cut=is_title_cut)
        known = self._cut if self._cut_size == size else []
        if len(cut) <= len(known) and self._cut_size == size:
            return False
        changes = cut != self._cut
        self._cut, self._cut_size = cut, size
        return changes

    def _follow_reading(self) -> None:
        """Take note of what is on the screen now, and show how much that is."""
        if self.is_attached and self.is_answerable:
            self._body.note_shown()
            self._select_no_unless(self._body.has_shown(self._request_rows))
            self._show_extent(self._body.size.height)
            if self._problem_text == UNREAD and self._may_give(self._chosen):
                self._complain("")
        self.show_hint()

    def _show_extent(self, height: int) -> None:
        self._shown_rows = height
        self.show_title()

    def show_title(self) -> None:
        """Show the title, and at its end how much of the request is on the screen, if not all of it."""
        title = self.title
        if self._shown_rows < self._request_rows:
            room = self.screen.size.width - TITLE_CELLS
            extent = extent_of(self._shown_rows, self._request_rows, room - cell_len(title))
            title = clip_start(title, room - cell_len(extent)) + extent
        self.border_title = Content(title)

    def _fill_body(self, width: int) -> int:
        """Fill the body, with the rules below if their answers cannot show them; return its rows."""
        are_cut = any(
            not self._choices.fits(index, width + TEXT_INSET) for index in range(len(self._options))
        )
        rules = rule_lines(self._request) if are_cut else []
        self._body.show([*self._content, *self._cut, *rules])
        count = len(self._body.rows_for(width - 1))
        self._request_rows = count - len(exact_rows(rules, width - 1))
        return count

    def hints(self) -> list[str]:
        """Return what the keys do now, and how much of the body is still below."""
        if self.is_writing and self._writing is not None:
            return [WHY_HINT, SHORT_WHY_HINT] if self._writing.asks_why else [GRANT_HINT]
        if not self.is_answerable:
            return [NO_ROOM_HINT]
        if self.is_holding:
            return [DIGIT_HINT, KEYS_HINT]
        if self.is_typed_on:
            return [f"{TYPING_HINT} · Esc no", KEYS_HINT]
        keys = RULE_HINT if self._chosen.rule else TEXT_HINT
        more = self._body.row_count - round(self._body.scroll_y) - self._body.size.height
        if more <= 0:
            return [keys, KEYS_HINT] if self._may_give(self._chosen) else [READ_HINT]
        rows = f"{more:,} more row{'s'[: more != 1]}"
        scrolling = f"{rows}: PageDown, Ctrl+E"
        if not self._may_give(self._chosen):
            return [f"{scrolling} · Esc no", rows]
        return [f"{keys} · {scrolling}", f"{KEYS_HINT} · {scrolling}", f"{scrolling} · Esc no", rows]

    def _complain(self, problem: str) -> None:
        if problem != self._problem_text:
            self._problem_text = problem
            self.fit()

    # What the keys do

    def takes(self, key: str) -> bool:
        """Return whether the key is the digit of an answer: all others are text."""
        return any(str(option.digit) == key for option in self._options)

    def select_free_text(self) -> None:
        self._choices.choose(next(i for i, option in enumerate(self._options) if option.asks_why))

    def open_free_text(self) -> None:
        self._write(self._chosen)

    def action_choose(self, by: int) -> None:
        self._is_untouched = False
        self._choices.move(by)
        self._complain("")
        self.show_hint()

    def action_step(self, by: int) -> None:
        """Select the answer to the left or right where all are in one row; otherwise → edits the rule."""
        if self._choices.is_in_row:
            if not self.is_typed_on:  # there, the key may be meant for the text
                self.action_choose(by)
        elif by > 0:
            self.action_edit_rule()

    def action_digit(self, digit: int) -> None:
        """Select an answer, which is given unless text follows."""
        for index, option in enumerate(self._options):
            if option.digit == digit and self.is_answerable:
                self._chosen_before = self._choices.chosen
                self._is_untouched = False
                self._choices.choose(index)
                self._complain("")
                self.hold(str(digit))

    def pick(self) -> None:
        self.action_answer()

    def action_answer(self) -> None:
        if self.is_answerable and self._chosen.asks_why:
            self._write(self._chosen)
        elif self.is_answerable and not self._may_give(self._chosen):
            self._is_untouched = False
            self._complain(UNREAD)
            self.show_hint()
        elif self.is_answerable:
            self.resolve(ApprovalReply(self._chosen.answer))

    def action_edit_rule(self) -> None:
        option = self._chosen
        if not option.rule or not self.is_answerable:
            return
        if exact_line(option.rule) != option.rule or not option.rule.isprintable():
            self._complain(NOT_TYPABLE)
        else:
            self._write(option)

    def action_read_all(self) -> None:
        """Show the whole request on a screen on which no key answers."""
        lines = [*self._content]
        for more in ([ExactLine(self._warning)], all_facts(self._request, self._workspace)):
            lines += [ExactLine(""), *more] if any(line.text for line in more) else []
        lines += rule_lines(self._request)
        self.app.push_screen(FullView(self.heading, lines, self._note_all_read))

    def _note_all_read(self) -> None:
        self._body.note_all_shown()
        self._follow_reading()

    def action_deny(self) -> None:
        self.resolve(ApprovalReply(Answer.NO))

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
        if option.asks_why and text.lower() in YES_WORDS:
            self._writing = None
            self.end_line()
            self._complain(USE_DIGITS)
        elif option.asks_why:
            self.resolve(ApprovalReply(Answer.NO, text))
        elif problem := self._problem_of_rule(text, option):
            self._complain(safe_line(problem))
        elif not self._may_give(option):
            self._complain(UNREAD)
        elif self.is_answerable:
            self.resolve(ApprovalReply(option.answer, rule="" if text == option.rule else text))

    def _problem_of_rule(self, text: str, option: Option) -> str | None:
        """Return why `text` cannot be granted. The offered rule can be, as an answer grants it unedited."""
        if not text:
            return "The rule is empty. Esc goes back."
        return None if text == option.rule else self._check_rule(text, option.answer)
