"""The state behind keys of the conversation: Ctrl+C pressed twice or on selected text, Shift+Tab through the
modes, and what the welcome offers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from forge_core.config.permission_mode import PermissionMode
from forge_tui.terminal.first_paint.type_ahead import TWICE_S
from forge_tui.widgets.status_text import SANDBOX_ON

if TYPE_CHECKING:
    from forge_core.session.session import ForgeSession
    from forge_tui.screens.chat.screen import ChatScreen

MODE_CYCLE = (PermissionMode.ASK, PermissionMode.ACCEPT_EDITS, PermissionMode.PLAN, PermissionMode.AUTO)
"""What Shift+Tab goes through; yolo is for the command line alone."""
INTERRUPT_KEYS = frozenset({"ctrl+c", "super+c"})


class NoteLine(Protocol):
    """A line that shows a note for a moment."""

    def note(self, text: str, duration_s: float) -> None: ...

    def end_note(self, text: str) -> None: ...


class DoublePress:
    """Recognizes the second of two presses, between which nothing else was typed, and announces it.

    The announcement and the time limit end together: what the line says is what the key does.
    """

    def __init__(self, clock: Callable[[], float], line: NoteLine, announcement: str) -> None:
        """`announcement` says what the second press does."""
        self._clock = clock
        self._line = line
        self._announcement = announcement
        self._pressed_at = float("-inf")
        self._note = ""

    @property
    def is_second_press(self) -> bool:
        """Whether a press now is the second one."""
        return self._clock() - self._pressed_at <= TWICE_S

    def press(self, addition: str = "") -> None:
        """Record the first press and announce what the second does."""
        self.reset()
        self._pressed_at = self._clock()
        self._note = f"{self._announcement}{addition}"
        self._line.note(self._note, TWICE_S)

    def reset(self) -> None:
        """Make the next press the first of two, and withdraw the announcement."""
        self._pressed_at = float("-inf")
        if self._note:
            self._line.end_note(self._note)
            self._note = ""


class ModeCycle:
    """The permission mode, also before there is a session that has it."""

    def __init__(self, mode: PermissionMode) -> None:
        self._mode = mode
        self._is_chosen = False
        """Whether the user has chosen it before there was a session."""
        self._has_explained_auto = False

    def apply(self, session: ForgeSession) -> None:
        """Give a new session the mode that was chosen before it was ready."""
        if self._is_chosen and session.status.mode != self._mode:
            session.set_mode(self._mode)
        self._is_chosen = False

    def advance(self, session: ForgeSession | None) -> PermissionMode:
        """Switch to the next mode, in the session too if there is one, and return it."""
        mode = self._mode if session is None else session.status.mode  # /mode may have changed it
        index = MODE_CYCLE.index(mode) if mode in MODE_CYCLE else -1
        self._mode = MODE_CYCLE[(index + 1) % len(MODE_CYCLE)]
        if session is not None:
            session.set_mode(self._mode)
        self._is_chosen = session is None
        return self._mode

    def must_explain_auto(self, session: ForgeSession) -> bool:
        """Whether mode auto still asks for want of a full sandbox; true once."""
        is_sandboxed = session.status.sandbox == SANDBOX_ON
        if self._mode is not PermissionMode.AUTO or is_sandboxed or self._has_explained_auto:
            return False
        self._has_explained_auto = True
        return True


class OfferKeys:
    """The keys of the welcome: they select and take what it offers, while nothing is typed."""

    ACTIONS = frozenset({"move_offer", "take_offer"})

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen

    def may_run(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Return whether a key has its meaning of the welcome: Tab and Down begin, the others need a
        selected offer."""
        screen = self._screen
        if not (screen.welcome.display and screen.composer.is_blank and screen.composer.has_focus):
            return False
        begins = action == "move_offer" and parameters == (1,)
        return not (screen.popup.is_open or screen.has_turn) and (begins or screen.welcome.has_choice)

    def take(self) -> None:
        """Send the selected offer as if it had been typed, or run its command."""
        line = self._screen.welcome.take()
        if line.startswith("/"):
            self._screen.run_by_name(line[1:])
        elif line:
            self._screen.sending.submit(self._screen.composer.Submitted(line, has_paste=False))


class SelectedText:
    """Copies the selected text, and ends the selection in the conversation."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen

    def copy(self) -> bool:
        """Copy the selected text and end the selection in the conversation; return False if there is none."""
        screen = self._screen
        if selected := screen.composer.selected_text:
            screen.app.copy_to_clipboard(selected)
        elif selected := screen.transcript.selected_text():
            screen.app.copy_to_clipboard(selected)
            screen.transcript.select(None)
        return bool(selected)

    def end(self) -> bool:
        """End the selection in the conversation; return False if there was none."""
        transcript = self._screen.transcript
        was_selected = transcript.selected is not None
        transcript.select(None)
        return was_selected
