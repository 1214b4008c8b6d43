"""The prompt for a plan: the plan as Markdown, and whether it is carried out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from forge_core.approval import MAX_PLAN_CHARS, PlanAnswer, PlanReply, PlanRequest
from forge_core.config.permission_mode import PermissionMode
from forge_core.sanitize import safe_line
from forge_tui.keymap import KeyContext, bindings
from forge_tui.screens.prompts.plan_view import PlanView
from forge_tui.screens.prompts.prompt import BESIDE_ROWS, FRAME_ROWS, TYPING_HINT, Draft, Prompt
from forge_tui.widgets.choices import Choice, ChoiceList

FILE_NAME = "plan.md"
HEADING, EDITED_HEADING = "Forge has a plan", "Forge has a plan · edited by you"
CHANGE_LABEL = "To change:"
NO_ROOM_HINT = "Enlarge the window to answer · Esc keep planning"
ANSWER_HINT = "Enter answer · Ctrl+G edit · Esc keep planning · or type what to change"
TEXT_HINT = "Enter answer · Esc keep planning · or type what to change"
SHORT_HINT = "Enter answer · Esc keep planning"
DIGIT_HINTS = ("Enter answer now · Esc cancel · more text: what to change", "Enter answer now · Esc cancel")
WRITING_HINTS = ("Enter send · Esc back, keep the text", "Enter send · Esc back")
_DIGITS = {PlanAnswer.APPROVE: 1, PlanAnswer.ACCEPT_EDITS: 2, PlanAnswer.KEEP_PLANNING: 3}


class PlanPrompt(Prompt[PlanReply]):
    """Resolves with the answer, and with what is to be changed."""

    DEFAULT_CSS = """
    PlanPrompt > ChoiceList { margin-top: 1; }
    PlanPrompt.-small > ChoiceList { margin-top: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyContext.PLAN)]

    def __init__(
        self, request: PlanRequest, *, workspace: Path, clock: Callable[[], float], draft: Draft
    ) -> None:
        self._plan = request.plan
        """The plan, as the user has edited it."""
        self._edited = ""
        """The same if the user has edited it, else empty."""
        self._workspace = workspace
        self._answers = [
            PlanAnswer.APPROVE,
            *([PlanAnswer.ACCEPT_EDITS] if request.offers_edits else []),
            PlanAnswer.KEEP_PLANNING,
        ]
        self._body = PlanView(request.plan)
        choices = ChoiceList([_row(answer, request) for answer in self._answers])
        super().__init__(
            self._body,
            choices,
            id="plan",
            heading=HEADING,
            clock=clock,
            draft=draft,
        )

    def compose(self) -> ComposeResult:
        yield self._body
        yield self._choices
        yield self._line

    @property
    def _chosen(self) -> PlanAnswer:
        return self._answers[self._choices.chosen]

    # What shows

    def on_mount(self) -> None:
        self.watch(self._body, "scroll_y", self.show_hint, init=False)

    def fit(self) -> None:
        """Distribute the rows: answers first, then the plan, at the cost of the conversation."""
        width, rows, blank = self.measure()
        left = rows - BESIDE_ROWS - FRAME_ROWS - blank - len(self._answers) - self.is_writing
        wanted = self._body.row_count(width - 1)
        self._body.styles.max_height = max(min(wanted, left - 2), min(left, 2), 0)
        self.call_after_refresh(self.show_hint)

    def hints(self) -> list[str]:
        """Return what the keys do now, and how much of the plan is still below."""
        if self.is_writing:
            return [*WRITING_HINTS]
        if not self.is_answerable:
            return [NO_ROOM_HINT]
        if self.is_holding:
            return [*DIGIT_HINTS]
        if self.is_typed_on:
            return [f"{TYPING_HINT} · Esc keep planning", SHORT_HINT]
        below = self._body.rows_below
        if below <= 0:
            return [ANSWER_HINT, TEXT_HINT, SHORT_HINT]
        more = f"{below:,} more row{'s'[: below != 1]}: PageDown"
        return [f"{ANSWER_HINT} · {more}", f"{SHORT_HINT} · {more}", more]

    # What the keys do

    def takes(self, key: str) -> bool:
        """Return whether the key is the digit of an answer: all others are text."""
        return any(str(_DIGITS[answer]) == key for answer in self._answers)

    def select_free_text(self) -> None:
        self._choices.choose(self._answers.index(PlanAnswer.KEEP_PLANNING))

    def open_free_text(self) -> None:
        self.open_line(CHANGE_LABEL, placeholder="What should the plan do instead?")

    def action_choose(self, by: int) -> None:
        self._choices.move(by)
        self.show_hint()

    def action_digit(self, digit: int) -> None:
        """Select an answer, which is given unless text follows."""
        for index, answer in enumerate(self._answers):
            if _DIGITS[answer] == digit and self.is_answerable:
                self._chosen_before = self._choices.chosen
                self._choices.choose(index)
                self.hold(str(digit))

    def pick(self) -> None:
        self.action_answer()

    def action_answer(self) -> None:
        if not self.is_answerable:
            return
        if self._chosen is PlanAnswer.KEEP_PLANNING:
            self.open_free_text()
        else:
            self.resolve(PlanReply(self._chosen, plan=self._edited))

    def action_keep_planning(self) -> None:
        self.resolve(PlanReply(PlanAnswer.KEEP_PLANNING, plan=self._edited))

    def submit_line(self, text: str) -> None:
        self.resolve(PlanReply(PlanAnswer.KEEP_PLANNING, text, plan=self._edited))

    def action_edit_plan(self) -> None:
        """Open the plan in the user's editor, and show what that leaves; an empty text changes nothing."""
        from forge_tui.terminal.editor import EditorError, edit_text

        try:
            text = edit_text(self.app, self._plan, FILE_NAME, self._workspace).strip()
        except (EditorError, OSError) as error:
            self._draft.say(f"The plan was not edited: {safe_line(str(error))}")
            return
        finally:
            self.rearm()
        if len(text) > MAX_PLAN_CHARS:
            self._draft.say(f"The plan is as before: {len(text):,} characters, at most {MAX_PLAN_CHARS:,}")
        elif text and text != self._plan.strip():
            self._plan = self._edited = text
            self.heading = EDITED_HEADING
            self._body.show(text)
            self.show_title()
            self.fit()


def _row(answer: PlanAnswer, request: PlanRequest) -> Choice:
    match answer:
        case PlanAnswer.APPROVE:
            label, hint = "Approve", f"mode {request.mode}"
        case PlanAnswer.ACCEPT_EDITS:
            label, hint = "Approve, and accept edits", f"mode {PermissionMode.ACCEPT_EDITS}"
        case PlanAnswer.KEEP_PLANNING:
            label, hint = "Keep planning", "say what to change"
    return Choice(f"{_DIGITS[answer]} {label}", f"· {hint}")
