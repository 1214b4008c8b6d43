"""Runs slash commands and writes their results; asks in a line where the app opens a picker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, assert_never

from forge_core.commands import result as results
from forge_core.commands.command_spec import Scope
from forge_core.commands.dispatch import run_command
from forge_core.commands.prompt_commands import command_use, prompts_loaded
from forge_core.config.listing import known_setting
from forge_core.config.running_settings import NO_VALUE, LiveSetting, RunningSettings
from forge_core.config.settings import SETTINGS, check_value, choices
from forge_core.durations import time_ago
from forge_core.errors import ForgeError
from forge_core.extensions.approvals import how_they_run
from forge_core.sanitize import safe_line
from forge_core.session.instruction_notes import write_change
from forge_core.session.live_settings import session_settings
from forge_tui.plain.labelled_output import (
    CHANGE,
    ERROR,
    FORGE,
    INFO,
    NOTICE,
    QUESTION,
    STATUS,
    LabelledOutput,
)
from forge_tui.submitted_line import Command
from forge_tui.theme_files import theme_names
from forge_tui.widgets.exact_text import exact_line

if TYPE_CHECKING:
    from forge_core.commands.result import CommandResult
    from forge_core.session.changes import Source
    from forge_tui.plain.plain_chat import PlainChat

SHOW = "show"
"""A command of its own: the app folds and unfolds instead."""
SHOWN_MODELS = 20
_KEYS = f"""\
Enter sends the line. A \\ at its end continues the message in the next line.
\"\"\" begins and ends a message of several lines.
! and a command runs it in your own shell; # and a line goes into your instructions.
A line that is typed while a turn runs waits for its end.
/{SHOW} N writes a long text in full; /{SHOW} lists them.
Ctrl+C interrupts the turn; twice, it ends Forge. Ctrl+D ends Forge.
Everything else of the app works with forge chat -c, which continues this session."""
_REWINDS = {
    "": "conversation and files",
    "chat": "only the conversation",
    "files": "only the files",
    "fork": "in a copy of the session",
    "summary": "summarise from there on, undo nothing",
}


class PlainCommands:
    """The commands of one conversation."""

    def __init__(self, chat: PlainChat, out: LabelledOutput) -> None:
        self._chat = chat
        self._out = out
        self._own: Mapping[str, Callable[[str], Awaitable[None]]] = {
            "help": self._help,
            "keys": self._keys,
            "new": self._new,
            "resume": self._resume,
            "config": self._config,
            "thinking": self._thinking,
            "raw": self._raw,
            "copy": self._raw,
            "plain": self._plain,
            "exit": self._exit,
        }
        """The commands of the screen that have a body here."""

    async def run(self, line: Command) -> None:
        """Run one command."""
        name = line.spec.name
        if line.spec.scope is Scope.PROMPT:
            await self._send(line)
        elif line.spec.scope is Scope.SESSION:
            if line.spec.working:
                self._out.say(STATUS, line.spec.working)
            await self._show(await run_command(line.spec, line.argument, self._chat.session), line)
        elif name in self._own:
            await self._own[name](line.argument)
        else:
            self._out.say(
                NOTICE, f"/{name} needs the screen. Leave with /exit; forge chat -c continues there."
            )

    async def _send(self, line: Command) -> None:
        await prompts_loaded(line.spec.name, self._chat.session)
        use = command_use(line.spec.name, line.argument, self._chat.session)
        if use is None:
            self._out.say(ERROR, self._chat.commands.complaint(line.spec.name))
        else:
            await self._chat.send(line.line, use)

    def show_long(self, argument: str) -> None:
        """Write a long text, or the list of them."""
        texts = self._chat.events.long_texts
        if argument.isdecimal() and self._chat.events.show(int(argument[:9])):
            return
        if argument:
            self._out.say(ERROR, f"There is no text {safe_line(argument[:40])!r}: 1 to {len(texts)}.")
            return
        self._out.say(INFO, f"{len(texts)} long texts, the last ones:")
        for number, text in list(enumerate(texts, 1))[-10:]:
            self._out.line(f"{number} {text.title}, {len(text.text.splitlines()):,} lines")

    async def _show(self, result: CommandResult, line: Command) -> None:
        chat, out = self._chat, self._out
        match result:
            case results.Text(body, title):
                out.say(INFO, f"{title}\n{body}" if title else body)
            case results.Document(body, title) | results.CopyText(body, title):
                out.say(INFO, f"{title}\n{body}")
            case results.CommandNotice(text) | results.StatusChange(text):
                out.say(NOTICE, text)
            case results.Failure(text):
                out.say(ERROR, text)
            case results.ShowAgents(running, defined):
                out.say(INFO, f"{running}\n\n{defined}")
            case results.ShowServers(body, title):
                out.say(INFO, f"{title}\n{body}" if title else body)
            case results.ShowJobs(body):
                out.say(INFO, f"Jobs\n{body}")
            case results.ShowDiagnosis(_, body):
                out.say(INFO, f"Doctor\n{body}")
            case results.ShowDiff(source):
                await self._diff(source)
            case results.Cleared():
                out.say(NOTICE, "The conversation is empty now.")
            case results.ResumeTurn():
                await chat.read_turn(chat.session.retry())
            case results.CompactConversation(focus, is_fast, turns):
                await chat.read_turn(chat.session.compact(focus, is_fast=is_fast, turns=turns))
            case results.RunWork():
                await self._run_work(result, line)
            case results.ChooseRewind():
                await self._choose_rewind(result)
            case results.ChooseModel():
                await self._choose_model()
            case results.ChooseEndpoint(base_url):
                from forge_tui.plain.endpoint_choice import EndpointChoice

                await EndpointChoice(chat, out).ask(base_url)
            case results.ShowRewound(_, body, prompt):
                out.say(INFO, body)
                chat.draft = prompt
                if prompt:
                    out.say(NOTICE, f"The message comes back to be edited: {prompt}")
            case results.ForkSession(records, prompt):
                forked = await asyncio.to_thread(
                    chat.saved().fork, chat.session.id, records=records, draft=prompt
                )
                await chat.change_session(forked)
            case results.ChooseInstructionFile():
                await self._write_note(result)
            case results.ApprovePrograms(_, body, title):
                if body:
                    out.say(INFO, f"{title}\n{body}")
                await self._approve(result)
            case results.SendMessage(text):
                await chat.send(text)
            case results.EditInstructionFile(path, name):
                out.say(NOTICE, f"Edit {safe_line(name)} with an editor of yours: {safe_line(str(path))}")
            case _:
                assert_never(result)

    async def _run_work(self, work: results.RunWork, line: Command) -> None:
        """Run the work of a command to its end, and show what comes of it."""
        self._out.say(STATUS, f"{work.verb}.")
        found: list[CommandResult] = []
        chat = self._chat
        await chat.read_turn(chat.session.work.run(lambda events: work.job(events, found.append)))
        for one in found:
            await self._show(one, line)

    # Results that ask

    async def _diff(self, source: Source) -> None:
        changes = self._chat.session.changes(source)
        listed = await changes.read()
        self._out.say(INFO, f"{listed.title}. {listed.remark}".rstrip())
        for file in listed.files:
            patch = await changes.patch(file)
            self._out.say(CHANGE, f"{safe_line(file.path)}, {file.status.value}")
            self._out.lines((patch.text or patch.remark).rstrip("\n"))

    async def _choose_rewind(self, wanted: results.ChooseRewind) -> None:
        rows = [f"{safe_line(p.text)[:80]} ({len(p.files)} files changed since)" for p in wanted.points]
        prompts = self._chat.prompts
        at = await prompts.choose("Go back to before which message?", rows, none="stay")
        if at is None:
            return
        how = await prompts.choose("What goes back?", [*_REWINDS.values()], none="stay")
        if how is not None:
            await self._chat.run_by_name(f"rewind {wanted.points[at].number} {[*_REWINDS][how]}".strip())

    async def _choose_model(self) -> None:
        known = [choice.id for choice in self._chat.session.models.known()]
        found = known
        while True:
            listed = found[:SHOWN_MODELS]
            self._out.say(QUESTION, f"Which model? {len(found):,} of {len(known):,}:")
            for number, name in enumerate(listed, 1):
                self._out.line(f"{number} {safe_line(name)}")
            typed = await self._chat.prompts.line("Answer (a number, letters of a name, empty: keep): ")
            word = (typed or "").strip()
            if not word:
                return
            if word.isdecimal() and 1 <= int(word[:6]) <= len(listed):
                await self._chat.run_by_name(f"model {listed[int(word) - 1]}")
                return
            found = [name for name in known if word.lower() in name.lower()] or known

    async def _write_note(self, wanted: results.ChooseInstructionFile) -> None:
        rows = [f"{safe_line(change.name)}, {safe_line(change.scope)}" for change in wanted.changes]
        at = await self._chat.prompts.choose(wanted.heading, rows, none="write nothing")
        if at is None:
            return
        change = wanted.changes[at]
        try:
            self._out.say(NOTICE, await write_change(self._chat.session, change))
        except ForgeError as error:
            self._out.say(ERROR, str(error))

    async def _approve(self, wanted: results.ApprovePrograms) -> None:
        """Ask which programs may run, and store the decision; without an answer, nothing is decided."""
        out, count = self._out, len(wanted.programs)
        want = f"{count} program{'s want' if count > 1 else ' wants'}"
        out.say(QUESTION, f"{want} to run. {how_they_run(wanted.programs)}")
        for number, program in enumerate(wanted.programs, 1):
            first, *rest = map(exact_line, program.lines)
            out.line(f"{number} {first}")
            out.lines("\n".join(f"  {line}" for line in rest))
        typed = await self._chat.prompts.line("Approve (numbers, 0: none of them, empty: decide later): ")
        words = (typed or "").replace(",", " ").split()
        if not words:
            return
        if not all(word.isdecimal() and int(word[:6]) <= count for word in words):
            out.say(ERROR, f"Nothing was decided: type numbers from 1 to {count}, or 0.")
            return
        approved = {int(word) - 1 for word in words if int(word)}
        try:
            agreed = await self._chat.session.programs.decide(wanted.programs, approved)
        except ForgeError as error:
            out.say(ERROR, str(error))
        else:
            out.say(NOTICE, f"{agreed} of {count} programs approved.")

    # Commands of the screen

    async def _help(self, argument: str) -> None:
        self._out.say(INFO, "Commands")
        for spec in self._chat.commands.specs:
            self._out.line(f"/{spec.name} {spec.argument_hint}".rstrip() + f": {spec.description}")
        self._out.line(f"/{SHOW} [N]: Write a long text in full")
        self._out.say(INFO, f"Keys\n{_KEYS}")

    async def _keys(self, argument: str) -> None:
        self._out.say(INFO, f"Keys\n{_KEYS}")

    async def _new(self, argument: str) -> None:
        await self._chat.change_session(None)

    async def _resume(self, argument: str) -> None:
        saved = self._chat.saved()
        if argument:
            await self._chat.change_session(await asyncio.to_thread(saved.id_of, argument))
            return
        listed = (await asyncio.to_thread(saved.list, self._chat.session.config.working_dir))[:20]
        rows = [f"{safe_line(one.title)}, {time_ago(time.time() - one.updated)}" for one in listed]
        if not rows:
            self._out.say(NOTICE, "There is no saved session of this folder.")
            return
        at = await self._chat.prompts.choose("Which session?", rows, none="stay")
        if at is not None:
            await self._chat.change_session(listed[at].id)

    async def _config(self, argument: str) -> None:
        """Write the settings, or one of them; or set it to the value that follows."""
        named, _, value = argument.partition(" ")
        name = known_setting(named, "/config") if named else ""
        settings = RunningSettings(self._chat, self._live_settings, self._theme_names)
        await settings.read_file()
        if value.strip():
            self._out.say(NOTICE, safe_line(await settings.set(name, value.strip())))
            return
        states = [settings.state(name)] if name else settings.states()
        self._out.say(INFO, SETTINGS[name].summary if name else f"{len(states)} settings")
        for state in states:
            facts = "; ".join(filter(None, (state.source, state.remark)))
            self._out.line(safe_line(f"{state.name}: {state.value} ({facts})"))
        if values := settings.choices(name) if name else ():
            self._out.line(safe_line("Values: " + ", ".join(values)))
        way = f"/config {name or 'NAME'}"
        self._out.line(f"{way} VALUE changes it; {way} {NO_VALUE} removes it from your file.")

    def _live_settings(self) -> Mapping[str, LiveSetting]:
        """Return the settings that this chat and its session hold."""
        events = self._chat.events
        speaks = LiveSetting(lambda: events.speaks_diffs, partial(setattr, events, "speaks_diffs"))
        thinking = LiveSetting(lambda: events.thinking, partial(setattr, events, "thinking"))
        session = session_settings(self._chat.session)
        return {"thinking": thinking, "spoken_diffs": speaks, **session}

    def _theme_names(self) -> Sequence[str]:
        return theme_names(self._chat.config.config_dir / "themes")

    async def _thinking(self, argument: str) -> None:
        values = choices("thinking")
        following = values[(values.index(self._chat.events.thinking) + 1) % len(values)]
        self._chat.events.thinking = check_value("thinking", argument or following)
        self._out.say(NOTICE, f"Reasoning: {self._chat.events.thinking}")

    async def _raw(self, argument: str) -> None:
        answers = self._chat.events.answers
        number = int(argument[:6]) if argument.isdecimal() else 1
        if not 1 <= number <= len(answers):
            self._out.say(ERROR, f"There is no answer {number}: there are {len(answers)}, the last one is 1.")
            return
        self._out.say(FORGE, answers[-number])

    async def _plain(self, argument: str) -> None:
        self._out.say(NOTICE, "This is plain text already. Leave with /exit; forge chat -c shows the app.")

    async def _exit(self, argument: str) -> None:
        self._chat.leave()
