"""The prompt for programs that files declare: each with its command line, and a tick of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from forge_core.extensions.approvals import OUTSIDE_SANDBOX
from forge_core.sanitize import safe_line
from forge_tui.keymap import KeyContext, bindings
from forge_tui.screens.prompts.exact_view import ExactView
from forge_tui.screens.prompts.prompt import BESIDE_ROWS, FRAME_ROWS, TYPING_HINT, Draft, Prompt
from forge_tui.widgets.choices import Choice, ChoiceList
from forge_tui.widgets.exact_text import ExactLine, command_lines

if TYPE_CHECKING:
    from forge_core.extensions.approvals import WaitingProgram

TICKED, NOT_TICKED = "[x]", "[ ]"
NOT_TICKED_TEXT = "What is not ticked does not run. If it changes, you are asked again."
LATER_LABEL = "Not now, and your message:"


@dataclass(frozen=True, slots=True)
class ProgramsReply:
    """What the user decided."""

    approved: frozenset[int] | None
    """The indexes of the approved programs; None: nothing was decided."""
    more: str = ""
    """What the user typed instead of an answer."""


class ProgramsPrompt(Prompt[ProgramsReply]):
    """Resolves with the ticked programs. Nothing is ticked at first."""

    DEFAULT_CSS = """
    ProgramsPrompt > ChoiceList { margin-top: 1; }
    ProgramsPrompt.-small > ChoiceList { margin-top: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyContext.PROGRAMS)]

    def __init__(
        self, programs: Sequence[WaitingProgram], *, clock: Callable[[], float], draft: Draft
    ) -> None:
        self._programs = tuple(programs)
        self._ticked: set[int] = set()
        self._body = ExactView(self._lines(0))
        self._is_cut = False
        """Whether the selected program has more rows than are visible."""
        super().__init__(
            self._body,
            ChoiceList(self._rows()),
            id="programs",
            heading="Programs that want to run as hooks",
            counts=f"{len(self._programs)}",
            clock=clock,
            draft=draft,
        )

    def compose(self) -> ComposeResult:
        yield self._body
        yield self._choices
        yield self._line

    def _rows(self) -> list[Choice]:
        rows = [
            Choice(
                f"{TICKED if at in self._ticked else NOT_TICKED} {safe_line(one.name)}",
                detail=safe_line(one.command_line),
            )
            for at, one in enumerate(self._programs)
        ]
        count = len(self._ticked)
        return [*rows, Choice(f"Approve {count} of {len(self._programs)}" if count else "Approve none")]

    def _lines(self, index: int) -> list[ExactLine]:
        """Return all of a program; for the last answer, what it means."""
        if index >= len(self._programs):
            return [ExactLine(NOT_TICKED_TEXT, "heading")]
        first, *rest = self._programs[index].lines
        lines = self._programs[index].command_line.splitlines()
        shown = command_lines("\n".join(lines) or first)
        about = [ExactLine(line, is_code=True) for line in rest[max(len(lines) - 1, 0) :]]
        return [*shown, *about, ExactLine(OUTSIDE_SANDBOX, "heading")]

    # What `Prompt` asks for

    def select_free_text(self) -> None:
        """Select the first program: a key on it gives no answer."""
        self._choices.choose(0)
        self.fit()

    def open_free_text(self) -> None:
        self.open_line(LATER_LABEL)

    def submit_line(self, text: str) -> None:
        self.resolve(ProgramsReply(None, text))

    def pick(self) -> None:
        self.action_take()

    def takes(self, key: str) -> bool:
        return key == "space"

    def fit(self) -> None:
        """Distribute the rows: answers first, then the selected program."""
        width, rows, blank = self.measure()
        self._body.show(self._lines(self._choices.chosen))
        shown = self._choices.shown_rows
        left = rows - BESIDE_ROWS - FRAME_ROWS - blank - shown - self.is_writing
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
        if self._choices.chosen == len(self._programs):
            return ["Enter decide · Up, Down select a program · Esc not now", "Enter decide · Esc not now"]
        more = " · PageDown for more" if self._is_cut else ""
        return [f"Space or Enter tick{more} · Down to decide · Esc not now", "Space tick · Esc not now"]

    # Keys

    def action_choose(self, by: int) -> None:
        self._choices.move(by)
        self.fit()

    def action_tick(self) -> None:
        """Tick the selected program, or take the tick away."""
        at = self._choices.chosen
        if self.is_answerable and at < len(self._programs):
            self._ticked ^= {at}
            self._choices.show(self._rows(), at)
            self.fit()

    def action_take(self) -> None:
        """Tick the selected program; on the last row, decide."""
        if not self.is_answerable:
            return
        if self._choices.chosen < len(self._programs):
            self.action_tick()
        else:
            self.resolve(ProgramsReply(frozenset(self._ticked)))

    def action_decline(self) -> None:
        self.resolve(ProgramsReply(None))
