"""`/commit`: what is staged, with a message in the style of the log, which the user sees and may edit.

git runs as the user's own action, with their hooks and their signing key. Forge adds nothing that nobody has
chosen, skips no hook, changes no earlier commit and pushes nothing.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from forge_core.approval import Question, QuestionOption, QuestionRequest
from forge_core.commands.git.message_draft import (
    LEAST_DIFF_CHARS,
    MOST_DIFF_CHARS,
    SYSTEM,
    cleaned,
    plain_message,
    request,
)
from forge_core.commands.git.staged_secrets import FoundSecret, refusal, staged_secrets
from forge_core.commands.git.user_program import run_user_program
from forge_core.commands.result import CommandNotice, CommandResult, Failure, RunWork, ShowResult
from forge_core.errors import ForgeError
from forge_core.langchain.agent.event_queue import EventSink
from forge_core.private_keys import hide_private_keys
from forge_core.runtime import make_redactor
from forge_core.sanitize import safe_line
from forge_core.session.session import ForgeSession
from forge_core.tools.hidden_paths import hidden_paths
from forge_core.workspace.change_source import paths_of, quoted
from forge_core.workspace.commit_trailers import attributed
from forge_core.workspace.staging import StagedState, Staging

COMMIT, LEAVE = "Commit", "Do not commit"
_NAMED = 5
"""Files that a message names."""
_CHARS_PER_TOKEN = 2
"""Of the context window, so many characters a token are given to the diff: half of it at most."""


async def commit(argument: str, session: ForgeSession) -> CommandResult:
    """Commit what is staged; if nothing is, ask which files are staged first."""
    staging = Staging(session.config.working_dir)
    state = await staging.read()
    if state.conflicts:
        named = ", ".join(safe_line(quoted(path)) for path in state.conflicts[:_NAMED])
        return Failure(f"Nothing was committed: {named} has conflicts. Resolve them and stage the file.")
    if not (state.staged or state.under_way or state.unstaged):
        return CommandNotice("There is nothing to commit: no file differs from the last commit.")
    return RunWork(_Commit(session, staging, argument.strip()).run, "Preparing the commit")


@dataclass(slots=True)
class _Commit:
    """One commit, from the choice of files to the call of git."""

    session: ForgeSession
    staging: Staging
    hint: str

    async def run(self, events: EventSink, show: ShowResult) -> None:
        show(await self._run(events))

    async def _run(self, events: EventSink) -> CommandResult:
        state = await self.staging.read()
        if not (state.staged or state.under_way):
            if (failure := await self._stage(state, events)) is not None:
                return failure
            state = await self.staging.read()
        found, is_cut = await self._secrets(state)
        if found:
            return Failure(refusal(found))
        message, note = await self._draft(state)
        notes = [note, "only the first 24 MB were searched for secrets" if is_cut else ""]
        edited = await self._confirmed(message, state, notes)
        if edited is None:
            return CommandNotice("Nothing was committed. What is staged stays staged.")
        if await self.staging.fingerprint() != state.fingerprint:
            self.session.work.kept = (state.subjects, edited)
            return Failure(
                "Nothing was committed: what was shown has changed meanwhile. /commit shows it again."
            )
        if not await self._git(events, "commit", "-F", "-", given=f"{edited}\n"):
            self.session.work.kept = (state.subjects, edited)
            return Failure(
                "git made no commit; what it or a hook says is above. /commit offers the same message again."
            )
        self.session.work.kept = (None, "")
        return CommandNotice(f"Committed: {safe_line(edited.partition(chr(10))[0])}")

    async def _secrets(self, state: StagedState) -> tuple[list[FoundSecret], bool]:
        """Return the secrets that would be committed, and whether a part was too large to be searched."""
        redact, is_any_cut = make_redactor(self.session.config), False
        # Which files are binary is said by the repository (attributes, a zero byte): those are searched too,
        # but after the others, as a large one would leave no room for them.
        has_binary = any(counts.added is None for counts in state.counts.values())
        for all_as_text in (False, True) if has_binary else (False,):
            patch, is_cut = await self.staging.patch(context=0, all_as_text=all_as_text)
            is_any_cut |= is_cut
            if found := await asyncio.to_thread(staged_secrets, patch, redact):
                return found, is_any_cut
        return [], is_any_cut

    async def _git(self, events: EventSink, *arguments: str, given: str = "") -> bool:
        top, commands = self.staging.repository.top, self.session.user_commands
        return await run_user_program(commands, top, ("git", *arguments), events, given)

    async def _stage(self, state: StagedState, events: EventSink) -> CommandResult | None:
        """Ask which files are committed, and stage them; return why nothing was."""
        named = {safe_line(quoted(file.path)): file.path for file in state.unstaged}
        everything = f"All {len(named)} files"
        while everything in named:
            everything += " "
        options = [QuestionOption(name) for name in named]
        if len(named) > 1:
            options.insert(0, QuestionOption(everything))
        more = f" {state.unlisted:,} more are not listed: stage them with !git add." if state.unlisted else ""
        text = f"Nothing is staged. Which files are committed?{more}"
        text += "".join(f"\n{line}" for line in _programs(state, self.session.config.is_trusted))
        question = Question(text, "Files", tuple(options), True, words=None)
        reply = await self.session.work.ask(QuestionRequest("", (question,), heading="Commit: choose files"))
        chosen = reply.answers[0] if reply.answers else ()
        if reply.declined or not chosen:
            return CommandNotice("Nothing was staged or committed.")
        paths = [*named.values()] if everything in chosen else [named[name] for name in chosen]
        if await self._git(events, "--literal-pathspecs", "add", "--", *paths):
            return None
        return Failure("Nothing was committed: git could not stage the files; what it says is above.")

    async def _draft(self, state: StagedState) -> tuple[str, str]:
        """Return a message, and a remark on where it comes from."""
        work, config = self.session.work, self.session.config
        about, kept = work.kept
        if kept and about == state.subjects and not self.hint:  # no commit has been made since
            return kept, "the message of the last try"
        if state.message and not self.hint:
            return state.message, f"the message that git has prepared for {state.under_way or 'it'}"
        plain = plain_message(state.staged, state.subjects, self.hint)
        if config.endpoint.kind == "offline":
            return plain, "a plain message: the offline model writes none"
        window = work.model.context_window or MOST_DIFF_CHARS
        room = max(LEAST_DIFF_CHARS, min(MOST_DIFF_CHARS, window * _CHARS_PER_TOKEN))
        hidden = await hidden_paths(self.session.policy, state.repository.top, paths_of(state.staged))
        patch, _ = await self.staging.patch(context=3, without=hidden)
        try:
            question = await asyncio.to_thread(request, state, patch, self.hint, room)
            question = make_redactor(config)(hide_private_keys(question))  # of lines that stay or go
            answer = await work.model.ask(SYSTEM, question, "commit")
        except ForgeError as error:
            return plain, f"a plain message: the model gave none ({safe_line(str(error))})"
        message = attributed(cleaned(answer), config.git_attribution, work.model.name, self.hint)
        return (message, "") if message else (plain, "a plain message: the model gave none")

    async def _confirmed(self, message: str, state: StagedState, notes: list[str]) -> str | None:
        """Return the message as the user wants it; None if nothing is to be committed. An edited one is shown
        before it is used."""
        options = (QuestionOption(COMMIT), QuestionOption(LEAVE))
        files = len(state.staged)
        heading = f"Commit {files} file{'s'[: files != 1]}"
        heading += f" and conclude {state.under_way}" if state.under_way else ""
        while True:
            text = f"{message}\n\n{_about(state, self.session.config.is_trusted, notes)}"
            question = Question(text, "Commit", options, draft=message)
            reply = await self.session.work.ask(QuestionRequest("", (question,), heading=heading))
            [answer] = reply.answers[0] if reply.answers and reply.answers[0] else [LEAVE]
            if reply.declined or answer == LEAVE:
                return None
            if answer == COMMIT:
                return message
            message, notes = answer.strip() or message, ["edited by you", *notes[1:]]


def _about(state: StagedState, is_trusted: bool, notes: list[str]) -> str:
    """Return what a commit takes, where it goes and what it runs."""
    added = sum(counts.added or 0 for counts in state.counts.values())
    removed = sum(counts.removed or 0 for counts in state.counts.values())
    where = f"on {safe_line(state.branch) or 'a new branch'}"
    if state.is_detached:
        where = "on no branch: HEAD is detached"
    named = ", ".join(safe_line(quoted(file.path)) for file in state.staged[:_NAMED])
    more = f" and {len(state.staged) - _NAMED} more" if len(state.staged) > _NAMED else ""
    lines = [f"{named}{more} · +{added:,} −{removed:,} · {where}" if named else where]
    lines += _programs(state, is_trusted)
    lines += [f"{note[:1].upper()}{note[1:]}." for note in notes if note]
    return "\n".join(lines)


def _programs(state: StagedState, is_trusted: bool) -> list[str]:
    """Return the line that names what git runs; none if it runs nothing."""
    if not (programs := state.programs.text):
        return []
    return [f"git runs {programs}.{'' if is_trusted else ' This folder is not trusted.'}"]
