"""The prompt for a change to an instruction file: the change, and the files to choose from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from forge_tui.keymap import KeyContext, bindings
from forge_tui.screens.prompts.exact_view import ExactView
from forge_tui.screens.prompts.prompt import BESIDE_ROWS, FRAME_ROWS, TYPING_HINT, Draft, Prompt
from forge_tui.widgets.choices import Choice, ChoiceList
from forge_tui.widgets.diff.exact_diff import exact_diff
from forge_tui.widgets.exact_text import ExactLine

if TYPE_CHECKING:
    from forge_core.session.instruction_notes import InstructionChange

MORE_LABEL = "Continues your message:"
MAX_FILES = 8


@dataclass(frozen=True, slots=True)
class NoteReply:
    """What the user decided."""

    change: InstructionChange | None
    """None: no file is written."""
    more: str = ""
    """What the user typed instead of an answer."""


class NotePrompt(Prompt[NoteReply]):
    """Resolves with the file to write, or with none."""

    DEFAULT_CSS = """
    NotePrompt > ChoiceList { margin-top: 1; }
    NotePrompt.-small > ChoiceList { margin-top: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyContext.NOTE)]

    def __init__(
        self,
        changes: Sequence[InstructionChange],
        *,
        heading: str,
        is_message: bool,
        clock: Callable[[], float],
        draft: Draft,
    ) -> None:
        """`is_message`: whether the line is sent to the model if no file is written."""
        self._changes = tuple(changes[:MAX_FILES])
        self._none = "Send it as a message" if is_message else "Write nothing"
        self._body = ExactView(self._lines(0))
        self._is_cut = False
        """Whether the change has more rows than are visible."""
        last = Choice(f"{len(self._changes) + 1} {self._none}")
        rows = [self._row(number, change) for number, change in enumerate(self._changes, 1)]
        super().__init__(
            self._body,
            ChoiceList([*rows, last]),
            id="note",
            heading=heading,
            clock=clock,
            draft=draft,
        )

    def compose(self) -> ComposeResult:
        yield self._body
        yield self._choices
        yield self._line

    @staticmethod
    def _row(number: int, change: InstructionChange) -> Choice:
        return Choice(
            f"{number} {change.name}", f"{change.scope}, new file" if change.before is None else change.scope
        )

    def _lines(self, index: int) -> list[ExactLine]:
        """Return the change of a file; for the last answer, that there is none."""
        if index >= len(self._changes):
            return [ExactLine(self._none + ": no file is changed.", "heading")]
        change = self._changes[index]
        return [ExactLine(change.name, is_code=True), *exact_diff(change.diff)]

    # What `Prompt` asks for

    def select_free_text(self) -> None:
        self._choices.choose(len(self._changes))
        self.fit()

    def open_free_text(self) -> None:
        self.open_line(MORE_LABEL)

    def submit_line(self, text: str) -> None:
        self.resolve(NoteReply(None, text))

    def pick(self) -> None:
        self.action_take()

    def fit(self) -> None:
        """Distribute the rows: answers first, then the change."""
        width, rows, blank = self.measure()
        self._body.show(self._lines(self._choices.chosen))
        left = rows - BESIDE_ROWS - FRAME_ROWS - blank - len(self._choices.rows) - self.is_writing
        wanted = len(self._body.rows_for(width - 1))
        height = max(min(wanted, left - (4 if blank else 1)), min(left, 2), 0)
        self._body.styles.max_height = height
        self._is_cut = wanted > height
        self.show_hint()

    def hints(self) -> list[str]:
        if self.is_writing:
            return ["Enter send · Esc back, keep the text"]
        if self.is_typed_on:
            return [TYPING_HINT]
        esc = self._none[0].lower() + self._none[1:]
        if self._is_cut:
            return [f"Enter write · PageDown for more · Esc {esc}", f"Enter write · Esc {esc}"]
        return [f"Enter write · Up, Down select the file · Esc {esc}", f"Enter write · Esc {esc}"]

    # Keys

    def action_choose(self, by: int) -> None:
        self._choices.move(by)
        self.fit()

    def action_digit(self, digit: int) -> None:
        """Select an answer, which is given unless text follows."""
        if digit <= len(self._choices.rows) and self.is_answerable:
            self._chosen_before = self._choices.chosen
            self._choices.choose(digit - 1)
            self.fit()
            self.hold(str(digit))

    def action_take(self) -> None:
        if self.is_answerable:
            chosen = self._choices.chosen
            self.resolve(NoteReply(self._changes[chosen] if chosen < len(self._changes) else None))

    def action_decline(self) -> None:
        self.resolve(NoteReply(None))
