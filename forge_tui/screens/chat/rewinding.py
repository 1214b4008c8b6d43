"""`/rewind` on the screen: Esc pressed twice, the choice of a message, and the conversation afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from forge_tui import workers
from forge_tui.screens.chat.keys import DoublePress
from forge_tui.submitted_line import sent_line

if TYPE_CHECKING:
    from forge_core.commands.result import ForkSession, ShowRewound
    from forge_core.session.rewinder import RewindPoint
    from forge_tui.screens.chat.screen import ChatScreen
    from forge_tui.screens.chat.turn import TurnReader

PAUSE_S = 1.0
"""After a turn's end, Esc counts only when this time has passed: it may have been meant to interrupt."""


class Rewinding:
    """Shows what the commands of a rewind return."""

    def __init__(self, screen: ChatScreen, turn: TurnReader, clock: Callable[[], float]) -> None:
        self._screen = screen
        self._turn = turn
        self._clock = clock
        self._escape = DoublePress(clock, screen.activity, "Esc again rewinds")
        self._clearing = DoublePress(
            clock, screen.activity, "Esc again clears the message; Up brings it back"
        )

    def escape(self) -> None:
        """Take an Esc that has nothing else to do; the second one clears the message, or opens the picker."""
        composer = self._screen.composer
        if self._clock() - self._turn.ended_at < PAUSE_S:
            return
        if not composer.is_blank:
            if composer.key_mode is not None:
                return  # with the keys of Vim, Esc is typed by habit
            if self._clearing.is_second_press:
                self._clearing.reset()
                composer.clear_into_history()
            else:
                self._clearing.press()
        elif self._screen.session is None:
            return
        elif self._escape.is_second_press:
            self._escape.reset()
            self._screen.run_by_name("rewind")
        else:
            self._escape.press()

    def other_key(self) -> None:
        """Make the next Esc the first of two."""
        self._escape.reset()
        self._clearing.reset()

    def choose(self, points: Sequence[RewindPoint]) -> None:
        """Ask which message to go back to, and with what."""
        from forge_tui.screens.panels.rewind_picker import RewindPicker

        def use(argument: str | None) -> None:
            if argument is not None:
                self._screen.run_by_name(f"rewind {argument}")

        self._screen.app.push_screen(RewindPicker(points, key_clock=self._clock), use)

    def show(self, result: ShowRewound) -> None:
        """Show the conversation as it is now, and the message that comes back for editing."""
        screen, rewound = self._screen, result.rewound
        if rewound.is_conversation:
            screen.start_over()
            work = partial(screen.sessions.show_earlier, rewound.saved)
            workers.start(screen, work, "earlier turns", is_replacing=True)
        screen.show_text(result.body, "Rewind")
        if result.prompt and screen.composer.is_blank:
            screen.composer.replace_edited(sent_line(result.prompt, self._screen.sending.commands.table))

    def fork(self, result: ForkSession) -> None:
        """Continue in a copy of the session that ends before the chosen message."""
        self._screen.sessions.start_fork(
            self._screen.session_id,
            result.records,
            sent_line(result.prompt, self._screen.sending.commands.table),
        )
