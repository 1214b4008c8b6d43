"""The conversation in plain text: reads lines, runs turns and commands, one after the other."""

from __future__ import annotations

import asyncio
import contextlib
import io
import signal
import sys
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING, TypeAlias

from forge_core.approval import Answer, Responder
from forge_core.commands.command_spec import Tier
from forge_core.commands.command_table import CommandTable
from forge_core.commands.prompt_commands import follow_prompts
from forge_core.errors import ForgeError
from forge_core.events import AgentEnd, AgentEvent
from forge_core.runtime import build_session, harden_process, make_redactor
from forge_core.runtime.resuming import continued_settings
from forge_core.sanitize import safe_text
from forge_core.session.prompt_history import PromptHistory
from forge_core.session.replay import replayed_turns
from forge_core.session.saved_sessions import SavedSessions
from forge_core.session.user_commands import UserShell
from forge_core.workspace.trust import trust_question
from forge_tui.pastes.folded_text import BEGIN, plain_text, with_labels
from forge_tui.plain.event_text import EventText
from forge_tui.plain.input_lines import InputLines
from forge_tui.plain.labelled_output import COMMAND, ERROR, NOTICE, STATUS, WARNING, YOU, LabelledOutput
from forge_tui.plain.line_prompts import LinePrompts
from forge_tui.plain.plain_commands import SHOW, PlainCommands
from forge_tui.submitted_line import Command, InvalidCommand, ShellLine, UserText, parse_line

if TYPE_CHECKING:
    from forge_core.config.forge_config import ForgeConfig
    from forge_core.session.command_messages import TypedUse
    from forge_core.session.session import ForgeSession, SavedSession

RECALLED = 1000
"""Messages of earlier sessions that Up brings back."""
TWICE_S = 2.0
"""Within this time, a second Ctrl+C ends Forge."""
MakeSession: TypeAlias = "Callable[[ForgeConfig, str | None, Responder], ForgeSession]"
"""Builds a new session, or the saved one of an id."""


class PlainChat:
    """One run of the plain chat, over one or more sessions."""

    def __init__(self, config: ForgeConfig, make_session: MakeSession, out: LabelledOutput):
        self.draft = ""
        """The text that the next message begins with."""
        self._piped = ""
        """Text from standard input that goes with the next message."""
        self.config = config
        """The settings of the next session."""
        self.commands = CommandTable()
        """The slash commands that can be typed here."""
        self._make_session = make_session
        self._redact = make_redactor(config)
        self._out = out
        self._lines = InputLines(out)
        self.events = EventText(out, self._redact, config.thinking, speaks_diffs=config.spoken_diffs)
        self.prompts = LinePrompts(out, self._lines, config.working_dir, self._check_rule)
        self._commands = PlainCommands(self, out)
        self._session: ForgeSession | None = None
        self._shell: UserShell | None = None
        self._last_shell_line = ""
        self._is_shell_running = False
        self._history: PromptHistory | None = None
        if config.history and self._lines.is_terminal:
            self._history = PromptHistory(config.state_dir, self._redact)
        self._queue: list[str] = []
        """Lines that were typed while something ran."""
        self._is_leaving = False
        self._has_turn = False
        self._interrupted_at = float("-inf")
        self._notices: asyncio.Task[None] | None = None
        self._asides: set[asyncio.Task[None]] = set()
        """Commands that run beside the turn."""

    @property
    def session(self) -> ForgeSession:
        assert self._session is not None, "the session is opened first"
        return self._session

    def saved(self) -> SavedSessions:
        """Return the saved sessions of all folders."""
        return SavedSessions(self.config.state_dir, self._redact)

    def leave(self) -> None:
        """End the chat after what runs now."""
        self._is_leaving = True

    async def run(self, resume: str | None, *, picks_session: bool = False, first_message: str = "") -> None:
        """Send the first message, if there is one, or keep piped text for it; then read and run lines until
        the user leaves.

        Raises:
            ForgeError: the session cannot be opened.
        """
        try:
            await self._recall_earlier()
            await self._open(resume, None)
            if picks_session:
                await self.run_by_name("resume")
            if first_message.startswith(BEGIN):
                self._piped = plain_text(first_message).rstrip()
                shown = with_labels(first_message).strip()
                self._out.say(NOTICE, f"{shown} from standard input goes with your next message.")
            elif first_message:
                self._out.say(YOU, with_labels(first_message))
                await self.submit(first_message)
            while not self._is_leaving and (line := await self._next_line()) is not None:
                if self._history is not None:
                    await asyncio.to_thread(self._history.add, line, self.config.working_dir)
                await self.submit(line)
        finally:
            await self._close()
            if self._shell is not None:
                await self._shell.aclose()
            self._lines.restore()

    async def change_session(self, session_id: str | None) -> None:
        """Continue another session, or begin a new one."""
        before = self._session
        if session_id is not None and before is not None and session_id == before.id:
            self._out.say(NOTICE, "This session is open already.")
            return
        await self._open(session_id, before)

    # Lines

    async def _recall_earlier(self) -> None:
        """Make what was sent from the folder in earlier sessions reachable with Up, as the app does."""
        if self._history is None:
            return
        folder = str(self.config.working_dir)
        kept = [one.text for one in await asyncio.to_thread(self._history.read) if one.folder == folder]
        newest = [*dict.fromkeys(reversed(kept))][:RECALLED]
        self._lines.remember(plain_text(safe_text(text)) for text in reversed(newest))

    async def _next_line(self) -> str | None:
        if self._queue:
            line = self._queue.pop(0)
            self._out.say(YOU, line)
            return line
        draft, self.draft = self.draft, ""
        return await self._lines.message(draft)

    async def submit(self, typed: str) -> None:
        """Run a line to its end."""
        name, _, argument = typed.strip().partition(" ")
        if name == f"/{SHOW}":
            self._commands.show_long(argument.strip())
            return
        match parse_line(typed, self.commands, has_paste=False):
            case None:
                pass
            case UserText(text):
                piped, self._piped = self._piped, ""
                await self.send(f"{text}\n\n{piped}" if piped else text)
            case ShellLine(command):
                await self._run_shell(command)
            case InvalidCommand(complaint):
                self._out.say(ERROR, complaint)
            case Command() as command:
                await self._run(command)

    def learn_secret(self, secret: str) -> None:
        """Show this value nowhere from now on."""
        self._redact.learn(secret)
        self._out.learn_secret(secret)

    async def run_by_name(self, name: str) -> None:
        """Run a command as if it had been typed."""
        self._out.say(COMMAND, f"/{name}")
        await self.submit(f"/{name}")

    async def _run(self, command: Command) -> None:
        try:
            await self._commands.run(command)
        except ForgeError as error:
            self._out.say(ERROR, str(error))

    def _typed(self, line: str | None) -> None:
        """Take a line that was typed while something runs."""
        if line is None:
            self.leave()
            return
        parsed = parse_line(line, self.commands, has_paste=False)
        if isinstance(parsed, Command) and parsed.spec.tier is Tier.ALWAYS:
            self._out.say(COMMAND, parsed.line)  # what runs has written over what was typed
            task = asyncio.create_task(self._run(parsed))
            self._asides.add(task)
            task.add_done_callback(self._asides.discard)
        elif isinstance(parsed, Command) and parsed.spec.tier is Tier.INTERRUPTS:
            self._queue = [line]
            self.session.interrupt()
        elif parsed is not None:
            self._queue.append(line)
            self._out.say(STATUS, f"Queued, {len(self._queue)} waiting.")

    # Turns

    async def send(self, text: str, command: TypedUse | None = None) -> None:
        """Run a turn with a message, or with what a command makes of its line."""
        await self.read_turn(self.session.send(text, command=command))

    async def read_turn(self, events: AsyncGenerator[AgentEvent, None]) -> None:
        """Write the events of a turn."""
        self._has_turn = True
        self._interrupted_at = float("-inf")
        try:
            with self._lines.typed_lines(self._typed):
                async with aclosing(events) as stream:
                    async for event in stream:
                        self.events.apply(event)
                        if isinstance(event, AgentEnd):  # before its last work: Ctrl+C is for Forge now
                            self._end_turn()
                if self._asides:
                    await asyncio.wait(self._asides)
        except ForgeError as error:
            self._out.say(ERROR, str(error))
        finally:
            self._end_turn()

    def _end_turn(self) -> None:
        if self._has_turn:
            self._has_turn = False
            self._interrupted_at = float("-inf")

    async def _run_shell(self, command: str) -> None:
        command = self._last_shell_line if command == "!" else command
        if not command:
            self._out.say(NOTICE, "! and a command runs it in your own shell. The model reads the output.")
            return
        self._last_shell_line = command
        self._shell = self._shell or UserShell(self.config.working_dir)
        self._is_shell_running = True
        try:
            with self._lines.typed_lines(self._typed):
                if await self.session.user_commands.run(self._shell, command, self.events.apply):
                    self._out.say(NOTICE, "Your shell has ended; the next line with ! starts a new one.")
        except ForgeError as error:
            self._out.say(ERROR, str(error))
        finally:
            self._is_shell_running = False
            self._interrupted_at = float("-inf")

    def interrupt(self) -> bool:
        """Take a Ctrl+C; return whether it ends Forge."""
        now = time.monotonic()
        is_second = now - self._interrupted_at < (float("inf") if self._has_turn else TWICE_S)
        self._interrupted_at = now
        if is_second:
            return True
        if self._has_turn:
            self.session.interrupt()
            self._out.say(STATUS, "Interrupting. Ctrl+C again ends Forge.")
        elif self._is_shell_running and self._shell is not None:
            self._shell.interrupt()
        else:
            self._out.say(STATUS, "Ctrl+C again, or Ctrl+D, ends Forge.")
        return False

    def _check_rule(self, rule: str, answer: Answer) -> str | None:
        policy = self.session.policy
        try:
            (policy.check_grant if answer is Answer.ALWAYS else policy.check_session_grant)(rule)
        except ForgeError as error:
            return str(error)
        return None

    # Sessions

    async def _open(self, resume: str | None, before: ForgeSession | None) -> None:
        """Open a session, then close the one `before`; it stays if that fails."""
        config = self.config
        if before is not None:
            config = continued_settings(config, before, is_new=resume is None)
        opened = await asyncio.to_thread(self._make_session, config, resume, self.prompts.ask)
        if before is not None:
            await self._close()
        self._session = opened
        follow_prompts(self.commands, opened)
        await opened.extensions.ready()
        self._greet(opened)
        if opened.restored is not None:
            self._show_saved(opened.restored)
        self._notices = asyncio.create_task(self._read_notices(opened))
        beginning = asyncio.create_task(opened.hooks.begin(), name="forge-plain-hooks")
        self._asides.add(beginning)
        beginning.add_done_callback(self._asides.discard)

    async def _close(self) -> None:
        if self._notices is not None:
            self._notices.cancel()
            await asyncio.wait([self._notices])
        if self._session is not None:
            self._session.save_input(queue=self._queue)
            await self._session.aclose()
            self._session = None

    def _greet(self, session: ForgeSession) -> None:
        status, config = session.status, self.config
        self._out.say(
            STATUS,
            f"Forge, plain text. Folder {config.working_dir}, model {status.model}, mode {status.mode}.",
        )
        for folder in status.added_folders:
            self._out.say(STATUS, f"Works in {folder} too.")
        self._out.say(STATUS, "/help lists the commands, Ctrl+C interrupts, Ctrl+D ends Forge.")
        for notice in config.notices:
            self._out.say(NOTICE, notice)
        with contextlib.suppress(ForgeError):
            if (question := trust_question(config)) is not None:
                self._out.say(
                    WARNING,
                    f"Ignored unless you trust this folder: {'; '.join(question.findings)}. "
                    "/trust yes applies it, /trust no keeps it ignored.",
                )

    def _show_saved(self, saved: SavedSession) -> None:
        """Write the last turn of a saved session, and make all messages reachable."""
        turns = replayed_turns(saved)
        self._lines.remember(turn.text for turn in turns)
        count = f"{len(turns)} message{'s'[: len(turns) != 1]}"
        self._out.say(
            NOTICE, f"This session is continued; it has {count}{'. The last one:' if turns else '.'}"
        )
        for turn in turns[-1:]:
            self._out.say(YOU, turn.text)
            for event in turn.events:
                self.events.apply(event)
        self._queue += map(plain_text, saved.queue)
        self.draft = plain_text(saved.draft)

    async def _read_notices(self, session: ForgeSession) -> None:
        async with aclosing(session.notices()) as notices:
            async for notice in notices:
                self.events.apply(notice)


def run_plain(
    config: ForgeConfig, *, resume: str | None = None, picks_session: bool = False, first_message: str = ""
) -> int:
    """Run the plain chat, with a new session or the one with the id `resume`; return the exit code.

    With `picks_session` the user is asked for the session to continue. `first_message` is sent to it.
    """
    if sys.stdout is None:
        raise ForgeError("Standard output is closed, so there is nowhere to write the conversation.")
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal may not know all characters
        sys.stdout.reconfigure(errors="backslashreplace")
    out = LabelledOutput(sys.stdout, make_redactor(config))
    out.say(STATUS, "Forge is starting.")
    chat = PlainChat(config, _new_session, out)
    run = chat.run(resume, picks_session=picks_session, first_message=first_message)
    return asyncio.run(_until_signal(chat, run))


async def _until_signal(chat: PlainChat, run: Coroutine[None, None, None]) -> int:
    """Await `run` of the chat until it ends, or until a signal ends it; return the exit code."""
    task = asyncio.current_task()
    assert task is not None
    ending: list[signal.Signals] = []

    def end(number: signal.Signals) -> None:
        if number is signal.SIGINT and not chat.interrupt():
            return
        ending.append(number)
        task.cancel()

    with _handled(end, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        try:
            await run
        except asyncio.CancelledError:
            if not ending:
                raise
            return 0 if ending[0] is signal.SIGINT else 128 + ending[0]
    return 0


@contextlib.contextmanager
def _handled(handle: Callable[[signal.Signals], None], *numbers: signal.Signals) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    for number in numbers:
        loop.add_signal_handler(number, handle, number)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


def _new_session(config: ForgeConfig, resume: str | None, responder: Responder) -> ForgeSession:
    harden_process()
    return build_session(config, responder, responder, responder, resume=resume)
