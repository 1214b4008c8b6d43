"""The conversation: transcript above, composer below, one turn at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from forge_core.commands.specs import ArgumentValue, Scope, Tier, find, load
from forge_core.config.models import ForgeConfig
from forge_core.config.settings import PermissionMode
from forge_core.errors import ForgeError
from forge_tui import collecting, workers
from forge_tui.commands import Command, Slip, UserText, read_line
from forge_tui.screens.chat.attention import TurnEnded
from forge_tui.screens.chat.chat_keys import ChatKeys
from forge_tui.screens.chat.environment import Environment
from forge_tui.screens.chat.live_figures import LiveFigures, as_todos
from forge_tui.screens.chat.message_queue import MessageQueue
from forge_tui.widgets.activity import ActivityLine, Working
from forge_tui.widgets.choices import ChoiceList
from forge_tui.widgets.completion import CompletionPopup
from forge_tui.widgets.composer import Composer
from forge_tui.widgets.status_bar import StatusBar
from forge_tui.widgets.status_text import SANDBOX_ON
from forge_tui.widgets.todo_panel import TodoPanel
from forge_tui.widgets.welcome import Welcome

if TYPE_CHECKING:
    from forge_core.commands.result import CommandResult
    from forge_core.session.session import ForgeSession
    from forge_tui.widgets.transcript import Transcript

SaveSetting: TypeAlias = Callable[[str, str], None]

MODE_CYCLE = (PermissionMode.ASK, PermissionMode.ACCEPT_EDITS, PermissionMode.PLAN, PermissionMode.AUTO)
"""What Shift+Tab goes through; yolo is for the command line alone."""


class ChatScreen(workers.FaultsEndTheApp, ChatKeys):
    """Wires the widgets to the session. Works before there is a session: what is sent then waits."""

    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-tall")]  # noqa: RUF012 - Textual declares it so

    class Ready(Message):
        """The composer has the focus: keys may come."""

    def __init__(
        self,
        config: ForgeConfig,
        environment: Environment,
        theme_names: Callable[[], Sequence[str]],
        save_setting: SaveSetting | None = None,
    ) -> None:
        super().__init__(environment.clock, config.working_dir)
        self._config = config
        self._environment = environment
        self.theme_names = theme_names
        self._save_setting = save_setting
        self._session: ForgeSession | None = None
        self._failure = ""
        """Why there will be no session."""
        self._waiting = MessageQueue()
        self._idle = asyncio.Event()
        self._idle.set()
        self._live = LiveFigures(config, environment.home)
        self._mode = config.permission_mode
        self._knows_auto = False
        self._transcript: Transcript | None = None
        self.activity = ActivityLine(environment.clock, self._show_figures, self._live.progress)
        self.todos = TodoPanel()
        self.popup = CompletionPopup(self._argument_values)
        self.composer = Composer(self.popup, self._recall, self.prompts.may_send)
        self.status_bar = StatusBar(self._live.current())
        self.welcome = Welcome(self._live.facts(environment.version))

    def compose(self) -> ComposeResult:
        with Vertical(id="stage"):  # whatever stands in it, the composer below keeps its place
            yield self.welcome
        yield self.todos
        yield self.activity
        yield self.composer
        yield self.status_bar
        yield self.popup

    def on_mount(self) -> None:
        self.set_focus(self.composer)
        self.post_message(self.Ready())

    @property
    def transcript(self) -> Transcript:
        """The conversation; the first frame does without it."""
        return self._transcript or self.show_transcript()

    def show_transcript(self) -> Transcript:
        """Put the conversation below the welcome, with what the settings have to say."""
        from forge_tui.widgets.transcript import Transcript

        self._transcript = transcript = self._transcript or Transcript(self._config.thinking)
        if not transcript.is_attached:
            self.query_one("#stage").mount(transcript)
            self.watch(transcript, "new_below", self.activity.show_new_below)
            for notice in self._config.notices:
                transcript.add_notice(notice, "warning")
            if about_key := self._config.endpoint.key_notice:
                transcript.add_notice(about_key, "info")
        return transcript

    # The session comes and goes

    @property
    def session(self) -> ForgeSession | None:
        return self._session

    def session_ready(self, session: ForgeSession) -> None:
        """Use this session from now on, beginning with what waits."""
        self._session, session.on_figures = session, self.refresh_status
        if session.status.mode != self._mode:
            session.set_mode(self._mode)
        self.refresh_status()
        workers.start(self, partial(self._read_notices, session), "notices")
        self._go_on()

    def session_failed(self, reason: str) -> None:
        """There will be no session; say why, now and whenever something is sent."""
        self._failure = reason
        self.complain(reason)

    async def _read_notices(self, session: ForgeSession) -> None:
        async for notice in session.notices():
            self.transcript.add_notice(notice.text, notice.level)

    # What the person sends

    def on_composer_submitted(self, message: Composer.Submitted) -> None:
        if (line := read_line(message.text)) is None:
            self._waiting.is_paused = False
            if self._waiting or self._session is None or not self._session.can_retry:
                self._go_on()
            else:
                self.resume_turn()
            return
        self.composer.remember(message.text)
        match line:
            case Slip(complaint):
                self.complain(complaint)
            case Command():
                self._submit_command(line)
            case UserText():
                self._submit_message(line)

    def on_choice_list_clicked(self, message: ChoiceList.Clicked) -> None:
        """Complete the line with the row of the menu that was clicked."""
        self.popup.choose(message.index)
        self.composer.action_complete()

    def run_by_name(self, name: str) -> None:
        """Run a command as if it had been typed."""
        line = read_line(f"/{name}")
        if isinstance(line, Command):
            self._submit_command(line)

    def _submit_message(self, line: UserText) -> None:
        if self._failure:
            self.complain(self._failure)
        elif self.has_turn or self._session is None or self._waiting.is_next:
            self._waiting.add(line)
            self._show_queue()
        else:
            self._start_turn(line.text)

    def _submit_command(self, line: Command) -> None:
        if line.spec.tier is Tier.INTERRUPTS:
            self._waiting.clear()  # now: what is sent after it is meant for what comes then
        if self._session is None and not self._failure and line.spec.scope is Scope.SESSION:
            self._waiting.add(line)
            self._show_queue()
        else:
            self._start_command(line)

    def _start_command(self, line: Command) -> None:
        workers.start(self, partial(self._run_command, line), "command")

    async def _run_command(self, line: Command) -> None:
        with self._waiting.held() if line.spec.tier is Tier.INTERRUPTS else nullcontext():
            if line.spec.scope is Scope.SCREEN:
                load(line.spec.body, __package__)(line.argument, self)
            elif self._session is not None and await self._may_run(line):
                from forge_core.commands.dispatch import run_command  # imports much: not before a command

                self._show_result(await run_command(line.spec, line.argument, self._session), self._session)
        self._go_on()

    async def _may_run(self, line: Command) -> bool:
        """Whether the command may run now; ends the turn for one that interrupts."""
        if self.has_turn and line.spec.tier is Tier.IDLE:
            self.complain(f"/{line.spec.name} works between turns. Press Esc to interrupt this one.")
            return False
        if self.has_turn and line.spec.tier is Tier.INTERRUPTS:
            await self.end_turn()
        return True

    def _show_result(self, result: CommandResult, session: ForgeSession) -> None:
        from forge_core.commands import result as results

        match result:
            case results.Text(body, title):
                self.show_text(body, title)
            case results.Notice(text):
                self.say(text)
            case results.Failure(text):
                self.complain(text)
            case results.ShowDiff(source):
                from forge_tui.screens.diff.screen import DiffScreen

                self.app.push_screen(DiffScreen(session.changes, source))
            case results.Cleared():
                self.start_over()
            case results.ResumeTurn():
                self.resume_turn()
        self.refresh_status()
        self.refresh_todos(is_over=not self.has_turn)

    def _argument_values(self, name: str) -> Sequence[ArgumentValue]:
        """Return the values of a command's argument that its row does not list."""
        spec = find(name)
        if spec is None or not spec.values:
            return ()
        if spec.scope is Scope.SCREEN:
            values: Sequence[ArgumentValue] = load(spec.values, __package__)(self)
            return values
        if self._session is None:
            return ()
        from forge_core.commands.dispatch import argument_values

        return argument_values(spec, self._session)

    def save_setting(self, name: str, value: str) -> None:
        """Save a setting that the screen has changed; say so if that fails."""
        if self._save_setting is not None:
            try:
                self._save_setting(name, value)
            except OSError as error:
                self.complain(f"The {name} is {value} now, but could not be kept: {error}.")

    def _go_on(self) -> None:
        """Start what waits, when nothing runs."""
        if not self.has_turn and self._session is not None:
            match self._waiting.next():
                case UserText(text):
                    self._start_turn(text)
                case Command() as command:
                    self._start_command(command)
        self._show_queue()

    def _recall(self) -> str | None:
        text = self._waiting.recall()
        self._show_queue()
        return text

    def _show_queue(self) -> None:
        early = "Forge is starting · " if self._waiting and self._session is None else ""
        self.activity.show_queue(early + self._waiting.text)

    # A turn

    @property
    def has_turn(self) -> bool:
        return not self._idle.is_set()

    def _start_turn(self, text: str) -> None:
        self.welcome.display = False
        self.transcript.add_user(text)
        self.todos.begin_turn()
        self._read_turn(text)

    def resume_turn(self) -> None:
        """Go on with the turn whose model call failed."""
        if not self.has_turn:
            self.transcript.resume_turn()
            self._read_turn(None)

    def _read_turn(self, text: str | None) -> None:
        self.forget_stop()
        self._idle.clear()
        self.activity.working = Working(self._clock())
        workers.start(self, partial(self._turn, text), "turn", is_replacing=True)

    async def _turn(self, text: str | None) -> None:
        """Read one turn to its end; a fault of ours leaves through the worker's state."""
        from forge_tui.screens.chat.turn import read_turn

        assert self._session is not None
        stopped, started = "error", self._clock()
        try:
            told = partial(self.refresh_todos, is_told=True)
            stopped = await read_turn(
                self._session, text, self.transcript, self._live, self.refresh_status, told
            )
        except ForgeError as error:
            self.complain(str(error))
        finally:
            self._idle.set()
            self.activity.working = None
        self.post_message(TurnEnded(self._clock() - started, stopped))
        if stopped in ("cancelled", "error"):
            self._waiting.pause()
        self.refresh_status()
        self.refresh_todos(is_over=True)
        self.todos.end_turn()
        self._go_on()

    def interrupt(self) -> None:
        if self._session is not None and self.has_turn:
            self._session.interrupt()
            if (working := self.activity.working) is not None:
                self.activity.working = replace(
                    working, verb="Interrupting", hint="keeps what has come", asked_at=None
                )

    async def end_turn(self) -> None:
        """Interrupt the running turn and wait for its end."""
        self.interrupt()
        await self._idle.wait()

    # What commands do to the screen: what the person has asked for shows, wherever they were reading

    def show_text(self, body: str, title: str) -> None:
        self.welcome.display = False  # at 80x24 it would leave a few rows for the text
        self.transcript.add_text(body, title)
        self.transcript.scroll_to_end()

    def say(self, text: str) -> None:
        self.transcript.add_notice(text, "info")
        self.transcript.scroll_to_end()

    def complain(self, text: str) -> None:
        self.transcript.add_notice(text, "error")
        self.transcript.scroll_to_end()

    def start_over(self) -> None:
        """Clear what belongs to the conversation on the screen."""
        self.transcript.clear_blocks()
        self._live.begin_turn()
        self.welcome.display = True
        self.call_after_refresh(collecting.give_back)

    def leave(self) -> None:
        self.app.exit()

    def cycle_mode(self) -> None:
        """The next permission mode, in the session too as soon as there is one."""
        mode = self._mode if self._session is None else self._session.status.mode  # /mode may have changed it
        index = MODE_CYCLE.index(mode) if mode in MODE_CYCLE else -1
        self._mode = MODE_CYCLE[(index + 1) % len(MODE_CYCLE)]
        if self._session is not None:
            self._session.set_mode(self._mode)
            self._say_what_auto_leaves(self._session)
        self._live.use_mode(str(self._mode))
        self._show_figures()

    def _say_what_auto_leaves(self, session: ForgeSession) -> None:
        """Say once that without a full sandbox mode auto does not run every command unasked."""
        is_sandboxed = session.status.sandbox == SANDBOX_ON
        if self._mode is not PermissionMode.AUTO or is_sandboxed or self._knows_auto:
            return
        from forge_core.commands.permission_commands import mode_summary

        self._knows_auto = True
        self.transcript.add_notice(f"Mode auto: {mode_summary(self._mode, is_sandboxed=False)}.", "info")

    # Figures

    def refresh_status(self) -> None:
        """Read the session's figures and the branch again."""
        if self._session is not None:
            self._live.use_status(self._session.status)
        self._live.use_branch(self._environment.branch(self._config.working_dir))
        self._show_figures()

    def refresh_todos(self, *, is_over: bool = False, is_told: bool = False) -> None:
        """Show the session's list of tasks; when a turn is over, one that is all done goes away."""
        todos = () if self._session is None else as_todos(self._session.todos.items)
        is_gone = is_over and all(todo.state == "completed" for todo in todos)
        (self.todos.tell if is_told else self.todos.show)(() if is_gone else todos)
        self.activity.show_doing(self.todos.doing)

    def _show_figures(self) -> None:
        self.status_bar.figures = self._live.current()
        self.welcome.facts = self._live.facts(self._environment.version)
