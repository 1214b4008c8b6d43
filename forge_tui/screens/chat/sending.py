"""What the user sends: a message starts a turn, a command runs; either may have to wait in the queue."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING

from forge_core.commands.command_spec import Scope, Tier
from forge_tui import workers
from forge_tui.pastes.folded_text import plain_text, with_labels
from forge_tui.screens.chat.command_runner import CommandRunner
from forge_tui.screens.chat.command_uses import CommandUses
from forge_tui.screens.chat.earlier_prompts import EarlierPrompts
from forge_tui.screens.chat.first_message import FirstMessage
from forge_tui.screens.chat.image_pastes import ImagePastes
from forge_tui.screens.chat.queued.message_queue import MessageQueue, QueuedLine
from forge_tui.screens.chat.queued.queue_rows import QueueRows
from forge_tui.screens.chat.shell_lines import ShellLines
from forge_tui.screens.panels.overlay import Overlay
from forge_tui.submitted_line import Command, InvalidCommand, ShellLine, UserText, parse_line
from forge_tui.widgets.welcome.welcome_text import PLACEHOLDER

if TYPE_CHECKING:
    from forge_core.events import Steered
    from forge_core.session.session import ForgeSession
    from forge_tui.screens.chat.queued.queue_list import QueueList
    from forge_tui.screens.chat.screen import ChatScreen
    from forge_tui.widgets.composer import Composer

QUEUES = "Queue a message for after this turn"
STEERS = "Enter lets the model read the queue at its next step"
SENDS_QUEUE = "Enter sends what is queued"
RESUMES = "Enter resumes the turn that failed"
PLANS = "Say what to change in the plan, or /plan approve"


class Sending:
    """Starts what is sent, or queues it while a turn or a command runs or there is no session yet."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self.queue = MessageQueue()
        self.queue_rows = QueueRows()
        self.commands = CommandRunner(screen)
        self.uses = CommandUses(screen)
        self.shell = ShellLines(screen)
        self.images = ImagePastes(screen)
        self.earlier = EarlierPrompts(screen)
        self._list: QueueList | None = None
        """The list of what is queued, while it is open."""
        self.failure = ""
        """Why there will be no session."""
        self.first_message = FirstMessage(screen)

    @property
    def placeholder(self) -> str:
        """What Enter does now, for the empty composer."""
        session = self._screen.session
        if self._screen.has_turn:
            return STEERS if session is not None and self.queue.next_to_give() else QUEUES
        if self.queue and self.queue.is_paused:
            return SENDS_QUEUE
        if session is not None and session.can_retry:
            return RESUMES
        return PLANS if session is not None and session.plan.is_open else PLACEHOLDER

    def begin_with(self, text: str, *, skips: int) -> None:
        """Begin with a message from the command line: see `FirstMessage`. Before anything is mounted."""
        self.first_message = FirstMessage(self._screen, text, skips=skips)
        self.first_message.show(with_labels(text))

    def session_opened(self, session: ForgeSession) -> None:
        """Take the session's commands, and send what has waited for it."""
        self.commands.follow(session)
        self.first_message.session_opened()
        self.start_next()
        for line in self.queue.take_shell_lines():
            self.shell.run(line)
        self.show_queue()

    def submit(self, message: Composer.Submitted) -> None:
        """Send a line of the composer; an empty one sends what waits, into the running turn if there is one,
        or resumes a failed turn."""
        screen = self._screen
        if (line := parse_line(message.text, self.commands.table, has_paste=message.has_paste)) is None:
            self.queue.is_paused = False
            if screen.has_turn:
                self.steer()
            elif self.queue or screen.session is None or not screen.session.can_retry:
                self.start_next()
            else:
                screen.resume_turn()
            return
        if isinstance(line, ShellLine) and not self.shell.may_run(line, message.text):
            return
        if isinstance(line, UserText) and not self.images.may_send(line, message.text):
            return
        # A line for the shell that was pasted has been confirmed.
        has_paste = message.has_paste and not isinstance(line, ShellLine)
        screen.composer.remember(message.text, has_paste=has_paste)
        self.earlier.add(message.text)
        match line:
            case InvalidCommand(complaint):
                with self.commands.showing(plain_text(message.text)):
                    screen.complain(complaint)
            case Command():
                self.uses.add(line.spec)
                self._submit_command(line)
            case ShellLine():
                self._send_to_shell(line)
            case UserText():
                self.send(line)

    def run_by_name(self, name: str | None) -> None:
        """Run a command as if it had been typed; do nothing without a name."""
        line = None if name is None else parse_line(f"/{name}", self.commands.table)
        if isinstance(line, Command):
            self._submit_command(line)

    def open_palette(self) -> None:
        """Show the list of commands; run the one that is chosen."""
        from forge_tui.screens.panels.command_palette import CommandPalette

        self._screen.app.push_screen(CommandPalette(self.commands.table, self.uses.score), self._run_chosen)

    def _run_chosen(self, name: str | None) -> None:
        """Run a command that was chosen from the palette; do nothing without a name."""
        if name is not None and (spec := self.commands.table.find(name)) is not None:
            self.uses.add(spec)
        self.run_by_name(name)

    def send(self, line: UserText | Command) -> None:
        """Start a turn with a message, or with a command that becomes one; or queue it."""
        if self.failure:
            self._screen.complain(self.failure)
        elif self._screen.has_turn or self._screen.session is None or self.queue.is_next:
            self.queue.add(line)
            self.show_queue()
        else:
            self._start(line)

    def _start(self, line: UserText | Command, *, is_queued: bool = False) -> None:
        if isinstance(line, UserText):
            self._screen.start_turn(line.text, line.typed)
        elif line.spec.scope is not Scope.PROMPT:
            self._start_command(line, is_queued=is_queued)
        elif self.commands.table.is_complete and self.commands.table.find(line.spec.name) is not None:
            if not self.commands.start_prompt(line):
                self.start_next()
        else:  # it may be one that is being loaded
            workers.start(self._screen, partial(self._start_loaded, line, self._hold()), "command")

    def _hold(self) -> contextlib.ExitStack:
        """Let a message that is sent next start after what is to start now."""
        hold = contextlib.ExitStack()
        hold.enter_context(self.queue.held())
        return hold

    async def _start_loaded(self, line: Command, hold: contextlib.ExitStack) -> None:
        with hold:
            if (session := self._screen.session) is not None:
                from forge_core.commands.prompt_commands import prompts_loaded  # after the first frame

                await prompts_loaded(line.spec.name, session)
                self.commands.start_prompt(line)
        self.start_next()

    def _send_to_shell(self, line: ShellLine) -> None:
        """Run a line beside the turn, or queue it until there is a session."""
        if self._screen.session is not None:
            self.shell.run(line)
        elif self.failure:
            self._screen.complain(self.failure)
        else:
            self.queue.add(line)
            self.show_queue()

    def start_next(self) -> None:
        """Start the next queued line if nothing runs."""
        if not self._screen.has_turn and self._screen.session is not None:
            while isinstance(line := self.queue.next(), ShellLine):
                self.shell.run(line)
            if line is not None:
                self._start(line, is_queued=True)
        self.show_queue()

    def steer(self, entry: QueuedLine | None = None) -> None:
        """Give a queued message, by default the oldest, to the running turn, which takes it at its next step.

        A turn that ends first leaves it in the queue.
        """
        entry, session = entry or self.queue.next_to_give(), self._screen.session
        if entry is not None and session is not None and self._screen.has_turn and entry.may_be_given:
            entry.give(session.steering)
        self.show_queue()

    def delete(self, entry: QueuedLine) -> None:
        """Remove a line from the queue; Up brings it back."""
        if (text := self.queue.remove(entry)) is not None:
            self._screen.composer.remember(text, has_paste=True)
        self.show_queue()

    def delivered(self, event: Steered) -> None:
        """Show a message that the running turn has taken."""
        line = self.queue.delivered(event.text)
        self._screen.transcript.add_steered(event, with_labels(line.typed) if line is not None else "")
        self.show_queue()

    def turn_ended(self, stopped: str) -> None:
        """Take back what the turn has not taken; after an interrupt or a failure, wait for the user."""
        self.queue.turn_ended()
        if stopped in ("cancelled", "error"):
            self.queue.pause()

    def open_queue(self) -> None:
        """Show the list of what is queued."""
        from forge_tui.screens.chat.queued.queue_list import QueueList

        if not self.queue:
            self._screen.activity.note("Nothing is queued")
            return
        self._list = QueueList(self)
        self._screen.app.push_screen(self._list, self._edit)

    def _edit(self, text: str | None) -> None:
        """Put a line that was taken from the queue into the composer, and keep what was there for Up."""
        self._list = None
        if text is not None:
            self._screen.composer.clear_into_history()
            self._screen.composer.replace_text(text)

    def recall(self) -> str | None:
        """Take the newest line from the queue and return it as typed."""
        text = self.queue.recall()
        self.show_queue()
        return text

    def _submit_command(self, line: Command) -> None:
        if line.spec.scope is Scope.PROMPT:
            self.send(line)
            return
        if line.spec.tier is Tier.INTERRUPTS:
            # At once: what is sent after it belongs to the new conversation.
            self._screen.sessions.leave_queue()
        if self._screen.session is not None or line.spec.scope is Scope.SCREEN:
            self._start_command(line)
        elif self.failure:
            self._screen.complain(self.failure)
        else:
            self.queue.add(line)
            self.show_queue()

    def _start_command(self, line: Command, *, is_queued: bool = False) -> None:
        hold = contextlib.ExitStack() if line.spec.tier is Tier.ALWAYS else self._hold()
        workers.start(self._screen, partial(self._run_command, line, hold, is_queued), "command")

    async def _run_command(self, line: Command, hold: contextlib.ExitStack, is_queued: bool) -> None:
        app = self._screen.app
        before = app.screen
        with hold:
            await self.commands.run(line)
        if is_queued and app.screen is not before and isinstance(app.screen, Overlay):
            app.screen.guard(self._screen.environment.clock, self._screen.prompts.last_key)
        self.start_next()

    def show_queue(self) -> None:
        """Show and save what is queued."""
        early = "Forge is starting · " if self.queue and self._screen.session is None else ""
        self._screen.activity.show_queue(early + self.queue.text)
        self.queue_rows.show(self.queue.entries)
        self._screen.composer.placeholder = self.placeholder
        if self._list is not None:
            self._list.refresh_rows()
        self._screen.unsent.save()
