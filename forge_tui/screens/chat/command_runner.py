"""Runs slash commands for the conversation and shows their results."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING

from forge_core.commands.command_spec import ArgumentValue, Scope, Tier, load
from forge_core.commands.command_table import CommandTable
from forge_core.errors import ForgeError
from forge_core.sanitize import safe_line
from forge_tui import workers
from forge_tui.screens.chat.turn import TurnWork
from forge_tui.submitted_line import NOTE, Command, UserText

if TYPE_CHECKING:
    from forge_core.commands.result import (
        ChooseInstructionFile,
        CommandResult,
        RunWork,
        ShowAgents,
        ShowDiagnosis,
        ShowDiff,
        ShowJobs,
        ShowServers,
    )
    from forge_core.extensions.approvals import WaitingProgram
    from forge_core.session.session import ForgeSession
    from forge_tui.screens.chat.screen import ChatScreen

LONGEST_NOTE_S = 60.0
STATUS_NOTE_S = 6.0
"""How long the confirmation of a change shows, which may be a sentence."""


class CommandRunner:
    """Runs the body that the row of a command names, on the screen or on the session."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self.table = CommandTable(is_complete=False)
        """The commands that can be typed."""
        self._put_off: Sequence[WaitingProgram] = ()
        """The programs about which the user was asked at a start."""
        self._asked: tuple[WaitingProgram, ...] = ()
        """The programs about which the user is asked now."""
        self._line = ""
        """The command whose output may be shown now, as long as it has printed nothing."""

    @contextlib.contextmanager
    def showing(self, line: str) -> Iterator[None]:
        """Put the line of a command above the first text that is shown meanwhile. Nothing may be awaited in
        it: other texts are not of the command."""
        before, self._line = self._line, line
        try:
            yield
        finally:
            self._line = before

    def show_line(self) -> None:
        """Show the line of the command that prints something now, if it is the first time."""
        line, self._line = self._line, ""
        if line:
            from forge_core.runtime import make_redactor

            redact = make_redactor(self._screen.sessions.config)
            self._screen.transcript.add_command(redact(line))

    def follow(self, session: ForgeSession) -> None:
        """Take the commands of files and servers that count in a session, as soon as they are there, and ask
        about programs that wait for approval when it starts."""
        from forge_core.commands.prompt_commands import follow_prompts  # after the first frame

        self._screen.popup.use_offers(session.servers.offers)
        session.programs.ask = partial(self._offer_programs, session)
        follow_prompts(self.table, session)
        workers.start(self._screen, session.extensions.ready, "extensions")

    def start_prompt(self, line: Command) -> bool:
        """Start a turn with the message that the command of a file or the prompt of a server becomes; return
        False if there is no such command, or it needs other arguments."""
        from forge_core.commands.prompt_commands import command_use

        session = self._screen.session
        if session is None:
            return False
        try:
            use, complaint = command_use(line.spec.name, line.argument, session), ""
        except ForgeError as error:
            use, complaint = None, str(error)
        if use is None:
            with self.showing(line.line):
                self._screen.complain(complaint or self.table.complaint(line.spec.name))
            return False
        self._screen.start_turn(line.line, line.typed, use)
        return True

    async def run(self, line: Command) -> None:
        """Run one command and show its result. Waits for the end of a turn that it interrupts."""
        if not await self._may_run(line):
            return
        if line.spec.scope is Scope.SCREEN:
            with self.showing(line.line):
                load(line.spec.body, __package__)(line.argument, self._screen)
        elif (session := self._screen.session) is not None:
            from forge_core.commands.dispatch import run_command  # imports much: not before a command

            if line.spec.working:
                self._screen.activity.note(line.spec.working, LONGEST_NOTE_S)
            result = await run_command(line.spec, line.argument, session)
            self._screen.activity.end_note(line.spec.working)
            with self.showing(line.line):
                self._show_result(result, session, line)

    async def _may_run(self, line: Command) -> bool:
        """Whether the command may run now; ends the turn for one that interrupts."""
        if self._screen.has_turn and line.spec.tier is Tier.IDLE:
            with self.showing(line.line):
                self._screen.complain(
                    f"/{line.spec.name} works between turns. Press Esc to interrupt this one."
                )
            return False
        if self._screen.has_turn and line.spec.tier is Tier.INTERRUPTS:
            await self._screen.end_turn()
        return True

    def _show_result(self, result: CommandResult, session: ForgeSession, line: Command) -> None:
        from forge_core.commands import result as results

        match result:
            case results.Text(body, title, tints):
                self._screen.show_text(body, title, tints)
            case results.Document(body, title):
                self.show_line()
                self._screen.show_document(body, title)
            case results.CommandNotice(text):
                self._screen.say(text)
            case results.StatusChange(text):
                self._screen.activity.note(text, STATUS_NOTE_S)
            case results.Failure(text):
                self._screen.complain(text)
            case (
                results.ShowDiagnosis()
                | results.ShowDiff()
                | results.ShowAgents()
                | results.ShowJobs()
                | results.ShowServers()
            ):
                self._open(result, session)
            case results.Cleared():
                self._screen.start_over()
            case results.ChooseRewind(points):
                self._screen.rewinding.choose(points)
            case results.ChooseModel():
                from forge_tui.screens.panels.model_picker import ModelPicker

                self._screen.app.push_screen(ModelPicker(session.models), self._choose_model)
            case results.ChooseEndpoint(base_url):
                self._choose_endpoint(session, base_url)
            case results.ShowRewound():
                self._screen.rewinding.show(result)
            case results.ForkSession():
                self._screen.rewinding.fork(result)
            case results.EditInstructionFile(path, name):
                self._edit(session, path, name)
            case results.ChooseInstructionFile():
                workers.start(self._screen, partial(self._write_note, session, result, line), "note")
            case results.ApprovePrograms(_, body, title):
                if body:
                    self._screen.show_text(body, title, ())
                self._ask_about(session, result.programs, "" if body else line.line)
            case results.CopyText(text, what):
                self._screen.show_document(text, what)
                self._screen.app.copy_to_clipboard(text)
            case results.RunWork():
                self._run_work(result, session, line)
            case results.SendMessage(text):
                self._screen.sending.send(UserText(text))
            case results.ResumeTurn():
                self._screen.resume_turn()
            case results.CompactConversation(focus, is_fast, turns):
                self.show_line()
                start = methodcaller("compact", focus, is_fast=is_fast, turns=turns)
                self._screen.run_work(TurnWork(start, "Compacting"))
        self._screen.refresh_status()
        self._screen.refresh_todos(is_over=not self._screen.has_turn)

    def _run_work(self, work: RunWork, session: ForgeSession, line: Command) -> None:
        """Run the work of a command as a turn, and show what comes of it."""
        self._screen.welcome.display = False
        self.show_line()
        show = partial(self._show_result, session=session, line=line)
        self._screen.run_work(
            TurnWork(lambda of: of.work.run(lambda events: work.job(events, show)), work.verb)
        )

    def _open(
        self,
        result: ShowDiagnosis | ShowDiff | ShowAgents | ShowJobs | ShowServers,
        session: ForgeSession,
    ) -> None:
        """Show what has a view of its own."""
        from forge_core.commands import result as results

        match result:
            case results.ShowDiagnosis(findings):
                from forge_tui.widgets.transcript.diagnosis_block import DiagnosisBlock

                self._screen.show_block(DiagnosisBlock(findings))
            case results.ShowDiff(source):
                from forge_tui.screens.diff.screen import DiffScreen

                self._screen.app.push_screen(DiffScreen(session.changes, source, session.review))
            case results.ShowAgents(_, defined):
                from forge_tui.screens.panels.agents_panel import AgentsPanel

                panel = AgentsPanel(session.agents, defined, clock=self._screen.environment.clock)
                self._screen.app.push_screen(panel, self._show_agent)
            case results.ShowJobs():
                from forge_tui.screens.panels.jobs_panel import JobsPanel

                self._screen.app.push_screen(JobsPanel(session.jobs, clock=self._screen.environment.clock))

            case results.ShowServers(_, _, server, signs_in):
                self._show_servers(session, server, signs_in=signs_in)

    def _show_servers(self, session: ForgeSession, server: str, *, signs_in: bool) -> None:
        """Show the MCP servers, or one of them."""
        screen, clock = self._screen, self._screen.environment.clock
        approve = partial(screen.run_by_name, "mcp approve")
        if server:
            from forge_tui.screens.panels.servers.server_panel import ServerPanel

            screen.app.push_screen(ServerPanel(session, server, approve, clock, signs_in=signs_in))
        else:
            from forge_tui.screens.panels.servers.servers_panel import ServersPanel

            screen.app.push_screen(ServersPanel(session, approve, clock))

    def _show_agent(self, number: int | None) -> None:
        self._screen.run_by_name(None if number is None else f"agents show {number}")

    def _choose_model(self, model: str | None) -> None:
        self._screen.refresh_status()  # the picker may have changed the effort
        self._screen.run_by_name(model and f"model {model}")

    def _choose_endpoint(self, session: ForgeSession, base_url: str) -> None:
        """Ask for an endpoint, its key and its model, and connect to it; `base_url` is that of an endpoint
        that is chosen already."""
        from forge_core.runtime.endpoint_list import known_endpoints
        from forge_tui.screens.panels.connect_picker import ChosenEndpoint, ConnectPicker

        screen = self._screen

        def use(chosen: ChosenEndpoint | None) -> None:
            if chosen is not None:
                if chosen.report:
                    screen.say(chosen.report)
                workers.start(screen, partial(self._connect, session, chosen.base_url), "connect")

        known = partial(known_endpoints, find_servers=screen.environment.local_servers)
        screen.app.push_screen(ConnectPicker(session.config, base_url, known), use)

    async def _connect(self, session: ForgeSession, base_url: str) -> None:
        """Connect to an endpoint that chooses its model; for any other, ask for the model first."""
        from forge_core.runtime.connecting import name_of, prepare, resolve_with_key
        from forge_core.runtime.endpoint_list import endpoint_at
        from forge_tui.screens.panels.model_picker import ModelPicker

        screen, name = self._screen, name_of(base_url)
        if endpoint_at(session.config, base_url).picks_model:
            screen.run_by_name(f"connect {name}")
            return
        try:
            endpoint = await workers.in_thread(lambda: resolve_with_key(session.config, base_url))
        except ForgeError as error:
            screen.complain(str(error))
            return
        connection = prepare(session, endpoint)

        def use(model: str | None) -> None:
            workers.start(screen, connection.close, "connect")
            screen.run_by_name(model and f"connect {name} {model}")

        screen.app.push_screen(ModelPicker(connection.models()), use)

    def _edit(self, session: ForgeSession, path: Path, name: str) -> None:
        """Open an instruction file in the user's editor, and use what it holds afterwards."""
        from forge_tui.terminal.editor import EditorError, edit

        try:
            edit(self._screen.app, path, self._screen.sessions.folder)
        except EditorError as error:
            self._screen.complain(f"{safe_line(name)} was not opened: {error}")
            return
        session.reload_instructions()
        self._screen.say(f"{safe_line(name)} is closed, and the instruction files were read again.")

    async def _write_note(self, session: ForgeSession, wanted: ChooseInstructionFile, line: Command) -> None:
        """Ask for the instruction file that is changed, and write it. If the user takes none, a line
        that begins with `# ` is sent as a message."""
        from forge_core.session.instruction_notes import write_change
        from forge_tui.screens.prompts.note import NotePrompt

        screen, is_message = self._screen, line.line.startswith(NOTE)
        prompt = partial(NotePrompt, wanted.changes, heading=wanted.heading, is_message=is_message)
        with screen.unsent.holding(line.line if is_message else ""):
            reply = await screen.prompts.show(prompt)
        if reply.change is None:
            if is_message:
                screen.sending.send(UserText(f"{line.line}\n{reply.more}".strip()))
            elif reply.more:
                screen.prompts.restore_draft(reply.more, len(reply.more))
            return
        try:
            written = await write_change(session, reply.change)
        except ForgeError as error:
            with self.showing(line.line):
                screen.complain(str(error))
        else:
            with self.showing(line.line):
                screen.say(written)
        screen.refresh_status()

    def _offer_programs(self, session: ForgeSession) -> bool:
        """Ask about the programs that wait for approval when a session starts, unless the user does something
        else or has put the same question off; return whether they are asked."""
        screen, waiting = self._screen, session.programs.waiting()
        is_busy = screen.has_turn or screen.prompts.is_taken or screen.app.screen is not screen
        if is_busy or screen.composer.text or len(screen.sending.queue) or waiting == self._put_off:
            return False
        self._put_off = waiting
        self._ask_about(session, waiting, "")
        return True

    def _ask_about(self, session: ForgeSession, programs: Sequence[WaitingProgram], line: str) -> None:
        if tuple(programs) != self._asked:  # a command can ask while the start of the session does
            self._asked = tuple(programs)
            workers.start(self._screen, partial(self._approve, session, programs, line), "programs")

    async def _approve(self, session: ForgeSession, programs: Sequence[WaitingProgram], line: str) -> None:
        """Ask which programs may run, and store the decision. `line` is the command that asked, if it has
        shown nothing yet."""
        from forge_tui.screens.prompts.programs import ProgramsPrompt

        screen = self._screen
        try:
            reply = await screen.prompts.show(partial(ProgramsPrompt, programs))
        finally:
            self._asked = ()
        if reply.more:
            screen.prompts.restore_draft(reply.more, len(reply.more))
        if reply.approved is None:
            screen.activity.note("Not decided: /hooks approve or /mcp approve asks again", STATUS_NOTE_S)
            return
        try:
            count = await session.programs.decide(programs, reply.approved)
        except ForgeError as error:
            with self.showing(line):
                screen.complain(str(error))
        else:
            with self.showing(line):
                screen.say(f"{count} of {len(programs)} programs approved.")
        screen.refresh_status()

    def argument_values(self, name: str) -> Sequence[ArgumentValue]:
        """Return the values of a command's argument that its row does not list."""
        spec = self.table.find(name)
        if spec is None or not spec.values:
            return ()
        if spec.scope is Scope.SCREEN:
            values: Sequence[ArgumentValue] = load(spec.values, __package__)(self._screen)
        else:
            session = self._screen.session
            values = () if session is None else load(spec.values)(session)
        return values
