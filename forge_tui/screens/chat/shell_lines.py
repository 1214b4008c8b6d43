"""Lines that begin with `!`: they run in the user's own shell, beside the turn, and show as cards."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from forge_core.errors import ForgeError
from forge_tui import workers

if TYPE_CHECKING:
    from forge_core.session.user_commands import UserShell
    from forge_tui.screens.chat.screen import ChatScreen
    from forge_tui.submitted_line import ShellLine

EXPLANATION = (
    "! and a command, such as !git status, runs it in a shell of your own: unasked, without a sandbox, and "
    "with its folder and variables kept. The model reads the output with your next message. !! runs the last "
    "one again. A space before the ! makes it a message."
)
NOTE_S = 8.0
PASTED = "Pasted: Enter again runs it in your shell, a space before the ! makes it a message"
EARLY = "Typed before Forge could read keys: Enter again runs it in your shell"
SHELL_ENDED = "Your shell has ended; the next line with ! starts a new one."


class ShellLines:
    """Owns the shell, which stays when another session is opened."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._shell: UserShell | None = None
        self._last = ""
        self._count = 0
        """Lines that run or wait."""
        self._has_key = False
        """Whether a key has arrived. What came before the app could read keys may be a paste: the terminal
        marks none before it is asked to."""

    def key_arrived(self) -> None:
        """Take note of a key that the user pressed while the app could read it."""
        self._has_key = True

    def may_run(self, line: ShellLine, typed: str) -> bool:
        """Return whether a line may run; give it back to the composer if it was pasted, or may have been."""
        note = PASTED if line.has_paste else "" if self._has_key else EARLY
        if note and line.command:
            self._screen.composer.replace_text(typed)
            self._screen.activity.note(note, NOTE_S)
            return False
        return True

    def run(self, line: ShellLine) -> None:
        """Run a line; explain what it can be if it is empty."""
        command = self._last if line.command == "!" else line.command
        if not command:
            self._screen.say("Nothing has been run with ! yet." if line.command else EXPLANATION)
            return
        self._last = command
        self._count += 1
        workers.start(self._screen, partial(self._run, command), "shell")

    def interrupt(self) -> bool:
        """Interrupt the running line; return False if there is none."""
        if self._shell is None or not self._count:
            return False
        self._shell.interrupt()
        return True

    async def aclose(self) -> None:
        if self._shell is not None:
            await self._shell.aclose()

    async def _run(self, command: str) -> None:
        screen, session = self._screen, self._screen.session
        try:
            if session is None:
                return
            if self._shell is None:
                from forge_core.session.user_commands import UserShell  # after the first frame

                self._shell = UserShell(screen.sessions.folder)
            screen.welcome.display = False
            screen.transcript.scroll_to_end()
            if await session.user_commands.run(self._shell, command, screen.transcript.apply):
                screen.say(SHELL_ENDED)
        except ForgeError as error:
            screen.complain(str(error))
        finally:
            self._count -= 1
