"""The prompt for programs that files declare: each with its command line, and a tick of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from forge_core.extensions.approvals import how_they_run
from forge_core.sanitize import safe_line
from forge_tui.keymap import KeyContext, bindings
from forge_tui.screens.prompts.exact_view import ExactView
from forge_tui.screens.prompts.prompt import BESIDE_ROWS, FRAME_ROWS, TYPING_HINT, Draft, Prompt
from forge_tui.widgets.choices import NOT_TICKED, TICKED, Choice, ChoiceList
from forge_tui.widgets.exact_text import ExactLine, command_lines, fold_blank_lines

if TYPE_CHECKING:
    from forge_core.extensions.approvals import WaitingProgram

NOT_TICKED_TEXT = "What is not ticked does not run. If it changes, you are asked again."
UNREAD_HINT = "PageDown shows the rest first"
LATER_LABEL = "Not now, and your message:"


@dataclass(frozen=True, slots=True)
class ProgramsReply:
    """What the user decided."""

    approved: frozenset[int] | None
    """The indexes of the approved programs; None: nothing was decided."""
    more: str = ""
    """What the user typed instead of an answer."""


class ProgramsPrompt(Prompt[ProgramsReply]):
    """Resolves with the ticked programs. At first none is, and each only once all of it was on the screen."""

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
        self._at = 0
        """The program that is shown."""
        self._read: set[int] = set()
        """The programs of which everything has been on the screen."""
        super().__init__(
            self._body,
            ChoiceList(self._rows()),
            id="programs",
            heading="Programs that files want to run",
            counts=f"{len(self._programs)}",
            clock=clock,
            draft=draft,
        )

    def compose(self) -> ComposeResult:
        yield self._body
        yield self._choices
        yield self._line

    def on_mount(self) -> None:
        self.watch(self._body, "scroll_y", self._follow_reading, init=False)

    def _follow_reading(self) -> None:
        """Take note of what is on the screen now."""
        if self.is_attached and self.is_answerable and self._at == self._choices.chosen:
            self._body.note_shown()
            if self._body.has_shown(self._body.row_count):
                self._read.add(self._at)
            self.show_hint()

    @property
    def _is_unread(self) -> bool:
        """Whether not all of the selected program was on the screen yet."""
        return self._is_cut and self._at not in self._read

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
        program = self._programs[index]
        command = command_lines(program.command_line, sign="" if program.is_remote else "$ ")
        about = [ExactLine(line, is_code=True) for line in program.lines[len(command) :]]
        return fold_blank_lines([*command, *about, ExactLine(how_they_run([program]), "heading")])

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
        if self._at != self._choices.chosen:
            self._at = self._choices.chosen
            self._body.start_over()
        self._body.show(self._lines(self._at))
        shown = self._choices.shown_rows
        left = rows - BESIDE_ROWS - FRAME_ROWS - blank - shown - self.is_writing
        wanted = len(self._body.rows_for(width - 1))
        height = max(min(wanted, left - (4 if blank else 1)), min(left, 2), 0)
        self._body.styles.max_height = height
        self._is_cut = wanted > height
        self.show_hint()
        self.call_after_refresh(self._follow_reading)

    def hints(self) -> list[str]:
        if self.is_writing:
            return ["Enter send · Esc back, keep the text"]
        if self.is_typed_on:
            return [TYPING_HINT]
        if self._choices.chosen == len(self._programs):
            return ["Enter decide · Up, Down select a program · Esc not now", "Enter decide · Esc not now"]
        if self._is_unread:
            return [f"{UNREAD_HINT} · Down to decide · Esc not now", f"{UNREAD_HINT} · Esc not now"]
        more = " · PageDown for more" if self._is_cut else ""
        return [f"Space or Enter tick{more} · Down to decide · Esc not now", "Space tick · Esc not now"]

    # Keys

    def action_choose(self, by: int) -> None:
        self._choices.move(by)
        self.fit()

    def action_tick(self) -> None:
        """Tick the selected program, or take the tick away."""
        at = self._choices.chosen
        is_locked = self._is_unread and at not in self._ticked
        if self.is_answerable and at < len(self._programs) and not is_locked:
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
