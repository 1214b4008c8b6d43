"""Prompts that are slash commands: their results are messages, and what asks in the chat is a request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import TypeAlias, assert_never

from acp import schema

from forge_core.commands import result as results
from forge_core.commands.command_spec import CommandSpec, Scope
from forge_core.commands.command_table import CommandTable, split_command
from forge_core.commands.dispatch import run_command
from forge_core.commands.prompt_commands import command_use, prompts_loaded
from forge_core.errors import ConfigError
from forge_core.events import AgentEvent
from forge_core.extensions.approvals import WaitingProgram, how_they_run
from forge_core.integrations.acp.client import EditorClient
from forge_core.integrations.acp.event_updates import new_id, plain_markdown
from forge_core.integrations.acp.tool_calls import Content, fenced, markdown_content, text_content
from forge_core.runtime import make_redactor
from forge_core.sanitize import safe_line
from forge_core.session.changes import Source
from forge_core.session.instruction_notes import InstructionChange, write_change
from forge_core.session.saved_sessions import SavedSessions
from forge_core.session.session import ForgeSession
from forge_core.workspace.trust import TrustQuestion

Done: TypeAlias = "str | AsyncGenerator[AgentEvent, None]"
"""Markdown to show, or the events of a turn."""


class SlashCommands:
    """Runs the commands of one session."""

    def __init__(
        self, session: ForgeSession, client: EditorClient, table: CommandTable, show: Callable[[str], None]
    ) -> None:
        """`show` shows Markdown while a command runs."""
        self._session = session
        self._show = show
        self._client = client
        self._table = table

    async def run(self, text: str) -> Done:
        """Run what a prompt says: a command, or else a turn with the message.

        Raises:
            ForgeError: there is no such command, or it fails.
        """
        name, argument = split_command(text)
        if not name or "/" in name:
            return self._session.send(text)
        await prompts_loaded(name, self._session)
        spec = self._table.find(name)
        if spec is None:
            raise ConfigError(self._table.complaint(name))
        if (problem := spec.problem(argument)) is not None:
            raise ConfigError(problem)
        match spec.scope:
            case Scope.PROMPT:
                use = command_use(name, argument, self._session)
                if use is None:
                    raise ConfigError(self._table.complaint(name))
                return self._session.send(text, command=use)
            case Scope.SESSION:
                return await self.run_body(spec, argument.strip())
            case Scope.SCREEN:
                raise ConfigError(f"/{spec.name} is a command of forge chat.")

    async def run_body(self, spec: CommandSpec, argument: str) -> Done:
        """Run a command of the session, with a valid argument."""
        return await self._shown(await run_command(spec, argument, self._session))

    async def ask_trust(self, question: TrustQuestion) -> str:
        """Ask whether the user trusts the folder, apply the decision and return what to show."""
        lines = "\n".join(f"- {plain_markdown(one)}" for one in question.findings)
        explained = f"Ignored unless you trust this folder:\n\n{lines}"
        options = [
            schema.PermissionOption(option_id="yes", name="Trust this folder", kind="allow_always"),
            schema.PermissionOption(option_id="", name="Not now", kind="reject_once"),
            schema.PermissionOption(option_id="no", name="Never", kind="reject_always"),
        ]
        title = f"Trust {safe_line(str(question.folder))}?"
        chosen = await self._ask(title, [markdown_content(explained)], options)
        spec = self._table.find("trust")
        if not chosen or spec is None:
            return ""
        done = await self.run_body(spec, chosen)
        return done if isinstance(done, str) else ""

    async def _shown(self, result: results.CommandResult) -> Done:
        session = self._session
        match result:
            case results.Text(body, title):
                return _titled(title, fenced(body))
            case results.CopyText(text, what):
                return _titled(what, fenced(text, "markdown"))
            case results.Document(body, title):
                return _titled(title, body)
            case results.CommandNotice(text) | results.StatusChange(text) | results.Failure(text):
                return plain_markdown(text)
            case results.ShowAgents(running, defined):
                return fenced(f"{running}\n\n{defined}")
            case results.ShowServers(body) | results.ShowJobs(body) | results.ChooseModel(body):
                return fenced(body)
            case results.ShowDiagnosis(_, body) | results.ShowRewound(_, body):
                return fenced(body)
            case results.ShowDiff(source):
                return await self._diff(source)
            case results.Cleared():
                return "The conversation is empty now."
            case results.ResumeTurn():
                return session.retry()
            case results.CompactConversation(focus, is_fast, turns):
                return session.compact(focus, is_fast=is_fast, turns=turns)
            case results.RunWork():
                return self._work(result)
            case results.SendMessage(text):
                return session.send(text)
            case results.ChooseRewind(points):
                rows = [f"/rewind {one.number}  {safe_line(one.text)[:80]}" for one in points]
                return fenced("\n".join(rows))
            case results.ChooseEndpoint():
                return (
                    "`/connect NAME` connects to a provider whose key is saved; `forge auth login` saves one."
                )
            case results.ForkSession(records, prompt):
                saved = SavedSessions(session.config.state_dir, make_redactor(session.config))
                copy = await asyncio.to_thread(saved.fork, session.id, records=records, draft=prompt)
                return f"The copy is session {copy}. Open it from the list of sessions."
            case results.ChooseInstructionFile(changes, heading):
                return await self._write_note(changes, heading)
            case results.ApprovePrograms(programs, body, title):
                decided = await self._approve(programs)
                return "\n\n".join(filter(None, (_titled(title, fenced(body)) if body else "", decided)))
            case results.EditInstructionFile(path, name):
                return f"Edit {plain_markdown(safe_line(name))}: `{safe_line(str(path))}`"
            case _:
                assert_never(result)

    async def _work(self, work: results.RunWork) -> AsyncGenerator[AgentEvent, None]:
        """Yield the events of work that runs like a turn, and show what comes of it."""
        found: list[results.CommandResult] = []
        running = self._session.work.run(lambda events: work.job(events, found.append))
        async with aclosing(running) as events:
            async for event in events:
                yield event
        for one in found:
            shown = await self._shown(one)
            if isinstance(shown, str):
                self._show(f"{shown}\n\n")
                continue
            async with aclosing(shown) as events:
                async for event in events:
                    yield event

    async def _diff(self, source: Source) -> str:
        changes = self._session.changes(source)
        listed = await changes.read()
        parts = [plain_markdown(f"{listed.title}. {listed.remark}".rstrip())]
        for file in listed.files:
            patch = await changes.patch(file)
            heading = plain_markdown(f"{safe_line(file.path)}, {file.status.value}")
            parts.append(f"{heading}\n\n{fenced(patch.text or patch.remark, 'diff')}")
        return "\n\n".join(parts)

    async def _write_note(self, changes: Sequence[InstructionChange], heading: str) -> str:
        options = [
            schema.PermissionOption(
                option_id=str(number), name=safe_line(f"{one.name}, {one.scope}"), kind="allow_once"
            )
            for number, one in enumerate(changes)
        ]
        options.append(schema.PermissionOption(option_id="", name="Write nothing", kind="reject_once"))
        chosen = await self._ask(heading, [], options)
        if not chosen:
            return "Nothing was written."
        return plain_markdown(await write_change(self._session, changes[int(chosen)]))

    async def _approve(self, programs: Sequence[WaitingProgram]) -> str:
        """Ask about each program, with its exact command line; without an answer, nothing is decided."""
        approved: set[int] = set()
        for number, program in enumerate(programs):
            options = [
                schema.PermissionOption(option_id="yes", name="Approve", kind="allow_always"),
                schema.PermissionOption(option_id="no", name="Do not approve", kind="reject_always"),
                schema.PermissionOption(option_id="", name="Decide later", kind="reject_once"),
            ]
            content = [text_content("\n".join(program.lines)), markdown_content(how_they_run([program]))]
            match await self._ask(f"Let {safe_line(program.name)} run?", content, options, kind="execute"):
                case "yes":
                    approved.add(number)
                case "":
                    return "Nothing was decided."
        agreed = await self._session.programs.decide(programs, approved)
        return f"{agreed} of {len(programs)} programs approved."

    async def _ask(
        self,
        title: str,
        content: Sequence[Content],
        options: Sequence[schema.PermissionOption],
        kind: schema.ToolKind = "other",
    ) -> str:
        call = schema.ToolCallUpdate(
            tool_call_id=new_id(), title=title, kind=kind, status="pending", content=list(content)
        )
        return await self._client.choose(self._session.id, call, options)


def _titled(title: str, markdown: str) -> str:
    return f"**{plain_markdown(safe_line(title))}**\n\n{markdown}" if title else markdown
