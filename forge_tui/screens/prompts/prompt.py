"""The base of the prompts, and the rules by which no key answers by accident.

A prompt replaces the composer, so the conversation above stays visible. It keeps the focus and handles its
keys one by one, also those of the line that it opens: keys that arrive in one burst keep their order. Rules:

- Text is never an answer. It opens a line for the user's own words, with everything typed just before.
- A digit selects an answer, which is given by Enter, or if no other key follows within `DIGIT_S`. If text
  follows, the digit is text too.
- Other keys answer after `GRACE_S` without a key since the prompt opened or Ctrl+C was pressed, and only
  while the line is closed. The last key before the prompt opened, which may still be held down, answers after
  `HELD_S` if no other key comes first.
- A click of the main button answers if it was pressed after `GRACE_S` without a click or a key, on an answer
  that has not moved for that long.
- Over a half-typed message, digits, Enter and Backspace also belong to that message, for `TYPING_S`.
- Once there is text, or if the prompt interrupted an unsent message or a search, no answer that allows
  anything is selected unless the user selects it.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from textual import events
from textual.containers import Vertical
from textual.content import Content
from textual.dom import NoScreen
from textual.errors import NoWidget
from textual.geometry import Size
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from forge_core.sanitize import safe_line
from forge_tui.keys.grace import GRACE_S, Grace
from forge_tui.terminal import internals
from forge_tui.widgets.choices import ChoiceList
from forge_tui.widgets.edges import BORDER, FRAMED_TEXT, TEXT_INSET
from forge_tui.widgets.key_input import is_newline, run_binding, typed_text
from forge_tui.widgets.line_input import NEWLINE, LabelledLine

Reply = TypeVar("Reply")

DIGIT_S = 0.5
"""Time without another key, until a digit is an answer."""
TYPING_S = 3.0
"""How long keys continue a message that was being typed when the prompt opened."""
ENTER_S = 0.3
"""An Enter that follows a message begun in the composer sooner than this was meant for the composer."""
LONGEST_LINE = 10_000
"""Characters that the line accepts; a longer paste goes to the composer."""
TICK_S = 0.05
STALL_S = 0.25
"""If a tick is this late, keys may be waiting in the terminal."""
FRAME_CELLS = 2 * BORDER + FRAMED_TEXT + 1
"""Cells of a row of text for the border and the padding."""
FRAME_ROWS = 2
LEAST_CELLS = 8
"""Cells of a row below which its text would be cut off."""
BESIDE_ROWS = 2
"""The activity line and the status bar."""
SMALL = 20
"""Rows of a terminal below which a prompt has no blank lines."""

TYPING_HINT = "Keys continue your message · Up, Down select an answer"


class Draft(Protocol):
    """The message in the composer, which a prompt hides."""

    @property
    def is_interrupted(self) -> bool:
        """Whether the prompt opened while the user was doing something else."""

    @property
    def is_half_typed(self) -> bool:
        """Whether it was being typed when the prompt opened."""

    @property
    def last_key(self) -> tuple[str, float]:
        """The last key that the app has received, and when."""

    def take(self) -> tuple[str, int]:
        """Remove the text from the composer; return it and the index of the cursor."""

    def restore_draft(self, text: str, cursor: int) -> None:
        """Append text to the composer."""

    def say(self, text: str) -> None:
        """Show a note for a moment."""


class Prompt(Vertical, Generic[Reply], can_focus=True):
    """Asks the user and resolves `reply`."""

    DEFAULT_CSS = f"""
    Prompt {{
        height: auto; max-height: 100%;
        padding: 0 1 0 0;
        background: $background;
        border: round $accent;
        border-title-color: $accent; border-title-style: bold;
        border-subtitle-color: $forge-muted;
        & > * {{ padding-left: {FRAMED_TEXT}; }}
        & > #problem {{ color: $warning; display: none; }}
        & > ChoiceList, & > LabelledLine {{ padding-left: 0; }}
        & > LabelledLine {{ display: none; }}
        &.-writing > LabelledLine {{ display: block; }}
    }}
    """

    def __init__(
        self,
        about: Widget,
        choices: ChoiceList,
        *,
        id: str,  # noqa: A002
        heading: str,
        counts: str = "",
        clock: Callable[[], float],
        draft: Draft,
    ) -> None:
        super().__init__(id=id)
        self.heading = heading
        self._counts = f" · {counts}" if counts else ""
        self.show_waiting(0)
        self._about = about
        """Shows what is asked about; scrolls."""
        self._choices = choices
        self._chosen_before = 0
        """The answer that was selected before a digit selected another."""
        self._clock = clock
        self._draft = draft
        self._line = LabelledLine()
        self._offered = ""
        """The initial text of the line, if the user did not type it."""
        self._is_continued = False
        """Whether the line began with the composer's half-typed message."""
        self._grace = Grace(clock)
        self._typing_until = clock() + TYPING_S
        self._last_key_at = float("-inf")
        self.held = ""
        """Digits that will become an answer or text."""
        self._held_until = 0.0
        self._is_held_early = False
        """Whether they came before keys answer."""
        self._ticked_at = 0.0
        self._ticking: Timer | None = None
        self.reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

    # What each prompt defines

    @abstractmethod
    def select_free_text(self) -> None:
        """Select the answer in free text, or one that allows nothing."""

    @abstractmethod
    def open_free_text(self) -> None:
        """Open an empty line for free text."""

    @abstractmethod
    def submit_line(self, text: str) -> None:
        """Handle the text of the line; never called while keys may be meant for something else."""

    @abstractmethod
    def pick(self) -> None:
        """Give the selected answer, as a click does."""

    def submit_digits(self) -> None:
        """Give the answer that the held digits have selected."""
        self.pick()

    def undo_digits(self) -> None:
        """Undo what the held digits have selected."""
        self._choices.choose(self._chosen_before)

    @abstractmethod
    def fit(self) -> None:
        """Distribute the rows of the screen among the parts."""

    @abstractmethod
    def hints(self) -> list[str]:
        """Return what the keys do now, in several lengths, the longest first."""

    def takes(self, key: str) -> bool:
        """Return whether a printable key is not text here while the line is closed."""
        return bool(internals.bound(self, key))

    def joins(self, key: str) -> bool:
        """Return whether the key is not text after a held digit."""
        return False

    # State

    @property
    def is_writing(self) -> bool:
        """Whether the line is open."""
        return self.has_class("-writing")

    @property
    def is_holding(self) -> bool:
        """Whether a digit has been typed that may become text."""
        return bool(self.held) and not self._is_held_early

    @property
    def is_typed_on(self) -> bool:
        """Whether the user is still typing the message that the prompt hides."""
        return self._clock() < self._typing_until and self._draft.is_half_typed

    @property
    def is_answerable(self) -> bool:
        """Whether all answers, and something of what they are about, are on the screen."""
        try:
            choices, about = (self.screen.find_widget(part) for part in (self._choices, self._about))
        except (NoWidget, NoScreen):
            return False
        has_answers = choices.visible_region.height >= self._choices.shown_rows
        shown = about.visible_region
        return has_answers and shown.height > 0 and shown.width - TEXT_INSET >= LEAST_CELLS

    def show_waiting(self, count: int) -> None:
        """Show how many more prompts wait."""
        self._waiting = f" ({count} more waiting)" if count else ""
        self.show_title()

    def show_title(self) -> None:
        self.border_title = Content(self.title)

    @property
    def title(self) -> str:
        return self.heading + self._waiting + self._counts

    def rearm(self, grace_s: float = GRACE_S) -> None:
        """Let keys and clicks answer only after another grace period."""
        self._grace.restart(grace_s)

    def button_pressed(self, pressed_at: float) -> None:
        """Take note of when a mouse button was pressed: `time.monotonic()`."""
        self._grace.button_pressed(pressed_at)

    def resolve(self, reply: Reply) -> None:
        if not self.reply.done():
            self.reply.set_result(reply)

    def on_mount(self) -> None:
        self.fit()
        self.screen.set_focus(self)  # `focus()` would take effect after the next key
        self.screen.screen_layout_refresh_signal.subscribe(self, self._note_layout, immediate=True)
        self.call_after_refresh(self._appeared)

    def _appeared(self) -> None:
        """Start the grace period: what was typed before this was not meant for the prompt."""
        self._grace.prompt_appeared(self._draft.last_key)
        self._typing_until = self._clock() + TYPING_S
        if self._draft.is_interrupted:
            self.select_free_text()
        if self._draft.is_half_typed:
            self.set_timer(TYPING_S, self.show_hint)
        self.show_hint()

    def _note_layout(self, _: Screen[object]) -> None:
        self._grace.answers_placed(self._choices.region)

    def on_resize(self) -> None:
        self.fit()

    def measure(self) -> tuple[int, int, int]:
        """Return the cells of a row of text, the rows of the terminal, and the blank lines between parts."""
        width, rows = max(self.screen.size.width - FRAME_CELLS, 2), self.screen.size.height
        self.set_class(rows < SMALL, "-small")
        return width, rows, int(rows >= SMALL)

    def show_hint(self) -> None:
        """Show the longest hint that fits."""
        if self.is_attached:
            hints = self.hints()
            fitting = (hint for hint in hints if len(hint) <= self.size.width)
            self.border_subtitle = Content(next(fitting, hints[-1]))

    # Keys and clicks

    def on_choice_list_clicked(self, event: ChoiceList.Clicked) -> None:
        event.stop()
        if self._grace.admits_click() and not self.is_writing and self.is_answerable:
            self.release_digits()
            self._choices.choose(event.index)
            self.pick()

    def action_scroll(self, pages: int) -> None:
        about = self._about
        about.scroll_relative(y=pages * max(about.size.height - 1, 1), animate=False)

    async def on_event(self, event: events.Event) -> None:
        """Handle keys and pastes in order: through bindings and the focus, they would overtake each other."""
        if isinstance(event, events.Paste):
            event.stop()
            self._take_paste(event.text)
        elif isinstance(event, events.Key) and await self._take_key(event):
            event.stop()
        else:
            await super().on_event(event)

    async def _take_key(self, event: events.Key) -> bool:
        """Handle a key; return False if it should continue to other widgets."""
        now = self._grace.time_of(event.time)
        is_armed, quiet_s = self._grace.admits_key(now, event.key), now - self._last_key_at
        self._last_key_at = now
        text = NEWLINE if is_newline(event.key) else safe_line(typed_text(event), keep_invisible=True)
        if self.reply.done():  # answered by an earlier key of the same burst
            return self._pass_on(text)
        if is_armed and self._is_held_early:
            self.release_digits()
        if self.is_writing:
            return await self._take_line_key(event.key, text, quiet_s)
        if self._continues(event.key, text):
            self._begin_words(text, is_erasing=event.key == "backspace")
        elif is_armed:
            return await self._take_answer_key(event.key, text)
        elif text:
            self.hold(text if text.isdigit() else "", is_early=True)
        else:
            return bool(internals.bound(self, event.key)) or event.key == "backspace"
        return True

    def _pass_on(self, text: str) -> bool:
        """Type what comes after the answer into the composer; return True, as the key ends here."""
        if text:
            draft, cursor = self._draft.take()
            text = text.replace(NEWLINE, "\n")
            self._draft.restore_draft(draft[:cursor] + text + draft[cursor:], cursor + len(text))
        return True

    def _continues(self, key: str, text: str) -> bool:
        """Return whether the key is text: of the hidden message, after a digit, or as no answer."""
        if self.is_typed_on:
            return bool(text) or key in ("enter", "backspace")
        if self.held and text and not self.joins(key):
            # An early digit that is typed again is an answer, as the note asks for.
            is_repeated = self._is_held_early and self.held[-1] == text
            return not is_repeated
        return bool(text) and not self.takes(key)

    async def _take_answer_key(self, key: str, text: str) -> bool:
        if self.held and key == "escape":
            self.release_digits(is_undone=True)
            return True
        if not text and self.held:
            if not internals.bound(self, key) and key != "backspace":  # Shift, as some terminals report it
                self._held_until = self._clock() + DIGIT_S
                return False
            self.release_digits(is_undone=key == "backspace")
        if key in ("up", "down"):
            self._typing_until = float("-inf")
        return await run_binding(self, key) or bool(internals.bound(self, key)) or key == "backspace"

    async def _take_line_key(self, key: str, text: str, quiet_s: float) -> bool:
        line = self._line.input
        if key == "escape":
            self.close_line()
        elif key == "enter":
            self._take_line_enter(quiet_s)
        elif text:
            line.write(text)
        elif key in ("up", "down") and not line.value and self._grace.is_over:
            self.close_line()
            await run_binding(self, key)
        elif key in ("pageup", "pagedown"):
            await run_binding(self, key)
        elif not await run_binding(line, key):
            return bool(internals.bound(self, key))
        return True

    def _take_line_enter(self, quiet_s: float) -> None:
        if self._is_continued:
            is_meant = quiet_s >= ENTER_S
        elif self._offered:
            is_meant = self._grace.is_over  # it may grant a permission
        else:
            is_meant = bool(self._line.input.value) or self._grace.is_over
        if is_meant:
            self.submit_line(self._line.input.value.replace(NEWLINE, "\n").strip())

    def _take_paste(self, text: str) -> None:
        self._last_key_at = self._clock()
        if self.reply.done():
            self._pass_on(text)
        elif len(text) + len(self._line.input.value) > LONGEST_LINE:
            self.select_free_text()
            self._draft.restore_draft(text, len(text))
            self._draft.say("Too long for this line: kept for your next message")
        elif self.is_writing:
            self._line.input.write(safe_line(text.strip("\n"), keep_invisible=True))
        else:
            self._begin_words(safe_line(text.strip("\n"), keep_invisible=True))
        self._grace.paste_arrived()

    # The line

    def _begin_words(self, text: str, *, is_erasing: bool = False) -> None:
        """Open the line with the half-typed message, the held digits and this text."""
        before, cursor = self._draft.take() if self.is_typed_on else ("", 0)
        text = self.held + text
        self.release_digits(is_undone=True)
        self.select_free_text()
        self.open_free_text()
        self._is_continued = bool(before)
        if before or not self._offered:  # else the initial text is continued
            self._line.input.begin(safe_line(before, keep_invisible=True), cursor)
        self._line.input.write(text)
        if is_erasing:
            self._line.input.action_delete_left()

    def open_line(self, label: str, text: str = "", placeholder: str = "") -> None:
        """Open the line with this initial text, which must be safe to show."""
        self._offered, self._is_continued = text, False
        self._typing_until = float("-inf")
        self.add_class("-writing")
        self._line.label = label
        self._line.input.placeholder = placeholder
        self._line.input.begin(text, len(text))
        self.fit()

    def close_line(self) -> None:
        """Close the line; the typed text goes to the composer."""
        self.return_text()
        self.end_line()

    def end_line(self) -> None:
        """Close the line and discard its text."""
        self._line.input.value = ""
        self._line.input.end()
        self.remove_class("-writing")
        self.fit()

    def return_text(self) -> None:
        """Append what was typed here to the composer."""
        line = self._line.input
        if self.is_writing and not self._offered:
            typed, cursor = line.value.replace(NEWLINE, "\n"), line.cursor_position
        else:
            typed, cursor = self.held, len(self.held)
        if typed.strip():
            self._draft.restore_draft(typed, cursor)
        line.value = ""

    # Digits

    def hold(self, digits: str, *, is_early: bool = False) -> None:
        """Wait to see whether text follows these digits."""
        if not digits:
            return
        self.held += digits
        self._is_held_early = is_early
        self._ticked_at = self._clock()
        self._held_until = self._ticked_at + DIGIT_S
        if self._ticking is None:
            self._ticking = self.set_interval(TICK_S, self._tick)
        self.show_hint()

    def release_digits(self, *, is_undone: bool = False) -> None:
        """Stop holding digits; `is_undone` also undoes what they have selected."""
        if is_undone and self.is_holding:
            self.undo_digits()
        self.held, self._is_held_early = "", False
        if self._ticking is not None:
            self._ticking.stop()
            self._ticking = None
        self.show_hint()

    def _tick(self) -> None:
        now = self._clock()
        is_late, self._ticked_at = now - self._ticked_at > STALL_S, now
        if is_late:  # a key may have been pressed meanwhile
            self._held_until = max(self._held_until, now + STALL_S)
        elif self.held and now >= self._held_until:
            # After the keys that the app has received, then after those that it has passed to this prompt.
            self.app.call_later(self.call_later, self._expire, self._held_until)

    def _expire(self, held_until: float) -> None:
        if not self.held or held_until != self._held_until:
            return
        if self._is_held_early:
            self._draft.say(f"Press {self.held[0]} again to answer")
            self.release_digits()
        else:
            self.release_digits()
            self.submit_digits()


def place(part: Static, text: str | Content, width: int, rows: int) -> int:
    """Show the text in at most `rows` rows; return how many it takes."""
    part.display = bool(text) and rows > 0
    if not part.display:
        return 0
    part.update(Content(text) if isinstance(text, str) else text)
    part.styles.max_height = rows
    return min(part.get_content_height(Size(width, rows), Size(width, rows), width), rows)
