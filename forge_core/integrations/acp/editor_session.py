"""One session that the client has opened: its prompts run one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path

from acp import RequestError, schema

from forge_core.config.forge_config import ForgeConfig
from forge_core.errors import ConfigError, ForgeError, ToolError
from forge_core.events import AgentEnd, AgentEvent, Error, ToolEnd
from forge_core.integrations.acp.client import EditorClient
from forge_core.integrations.acp.event_updates import EventUpdates, plain_markdown
from forge_core.integrations.acp.permission_requests import ClientResponder
from forge_core.integrations.acp.prompt_text import Block, message_text
from forge_core.integrations.acp.session_options import ConfigOption, choose, options_of
from forge_core.integrations.acp.session_replay import replay
from forge_core.integrations.acp.session_state import SessionState
from forge_core.integrations.acp.slash_commands import SlashCommands
from forge_core.integrations.acp.update_sender import UpdateSender
from forge_core.result import STOP_NOTICES, AgentResult, StoppedReason
from forge_core.runtime import build_session, strict_sandbox_problem
from forge_core.sanitize import safe_text
from forge_core.session.session import ForgeSession
from forge_core.tools.editing.text import decode
from forge_core.tools.paths import MAX_TEXT_BYTES
from forge_core.workspace.trust import trust_question

AUTH_REQUIRED, INVALID_PARAMS, INTERNAL_ERROR = -32000, -32602, -32603


class EditorSession:
    """A session and its connection to the client."""

    def __init__(self, session: ForgeSession, client: EditorClient, updates: EventUpdates) -> None:
        self.session = session
        self._updates = updates
        self._state = SessionState(session, updates.sender)
        self._commands = SlashCommands(session, client, self._state.commands, updates.show)
        self._turns = asyncio.Lock()
        self._cancels = 0
        self._asks_trust = True
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    async def opened(
        cls, client: EditorClient, config: ForgeConfig, *, resume: str | None = None
    ) -> EditorSession:
        """Return a new session, or the saved one with the id `resume`.

        Raises:
            ForgeError: it cannot be opened.
        """
        if config.sandbox == "strict" and (
            problem := await asyncio.to_thread(strict_sandbox_problem, config)
        ):
            raise ConfigError(problem)
        session: ForgeSession
        sender = UpdateSender(lambda update: client.update(session.id, update))
        updates = EventUpdates(sender, config.working_dir)
        responder = ClientResponder(client, lambda: session.id, updates, config.working_dir)
        files = EditorFiles(client, lambda: session.id)
        try:
            session = await asyncio.to_thread(
                build_session, config, responder, responder, responder, resume=resume, unsaved=files
            )
        except BaseException:
            await sender.aclose()
            raise
        await session.extensions.ready()
        return cls(session, client, updates)

    def begin(self) -> None:
        """Begin to send what happens outside turns: once the client knows the session."""
        if not self._tasks:
            self._state.begin()
            self._tasks = [
                asyncio.create_task(self._read_notices(), name="forge-acp-notices"),
                asyncio.create_task(self.session.hooks.begin(), name="forge-acp-hooks"),
            ]

    async def options(self) -> list[ConfigOption]:
        """Return what the client can choose."""
        return await asyncio.to_thread(options_of, self.session)

    async def choose(self, option: str, value: str) -> None:
        """Change an option. Raises ConfigError."""
        choose(self.session, option, value)
        await self._state.send_choices()
        await self._updates.sender.flushed()

    async def prompt(self, blocks: Sequence[Block]) -> schema.PromptResponse:
        """Run a turn, once those before it have ended; return why it stopped.

        Raises:
            RequestError: the prompt cannot be sent, or the provider has failed.
        """
        cancels = self._cancels
        async with self._turns:
            if self._cancels != cancels:
                return schema.PromptResponse(stop_reason="cancelled")
            text = await self._message(blocks)
            await self._ask_trust()
            try:
                done = await self._commands.run(text)
            except ForgeError as error:
                done = plain_markdown(str(error))
            if isinstance(done, str):
                self._updates.show(done)
            try:
                if isinstance(done, str):
                    return schema.PromptResponse(stop_reason=self._stop_reason("complete", cancels))
                return await self._run(done, cancels)
            finally:
                await self._state.send_choices()
                await self._state.send_title(may_have_changed=isinstance(done, str))
                await self._updates.sender.flushed()

    async def replay(self) -> None:
        """Send the conversation so far, between turns."""
        async with self._turns:
            if not self.is_unused:
                await replay(await self.session.recorded(), self._updates)

    @property
    def is_unused(self) -> bool:
        """Whether nothing of it was recorded: it is a new session without a prompt."""
        return self.session.restored is None and self.session.last_result is None

    def cancel(self) -> None:
        """End the running turn in order, and those that wait."""
        self._cancels += 1
        self.session.interrupt()

    async def aclose(self) -> None:
        """End the session like the end of the chat."""
        self.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.session.aclose()
        await self._updates.sender.aclose()

    async def _message(self, blocks: Sequence[Block]) -> str:
        images, folder = self.session.attachments.images, self.session.config.working_dir
        text = await asyncio.to_thread(message_text, blocks, images, folder)
        if not text.strip():
            raise RequestError(INVALID_PARAMS, "The prompt is empty.")
        if problem := await asyncio.to_thread(self.session.attachments.problem, text):
            raise RequestError(INVALID_PARAMS, problem)
        return text

    async def _run(self, events: AsyncGenerator[AgentEvent, None], cancels: int) -> schema.PromptResponse:
        if self._cancels != cancels:  # while the message was made; the turn would not know
            return schema.PromptResponse(stop_reason="cancelled")
        failure, result = None, None
        async with aclosing(events) as stream:
            async for event in stream:
                self._updates.apply(event)
                self._state.follow(event)
                if isinstance(event, ToolEnd):
                    await self._state.send_choices()
                if isinstance(event, Error):
                    failure = event
                elif isinstance(event, AgentEnd):
                    result = event.result
                await self.session.settle(event)
        if result is not None and (notice := STOP_NOTICES.get(result.stopped_reason)):
            self._updates.say(notice)
        if result is None or result.stopped_reason == "error":
            if self._cancels == cancels:
                raise _failed(failure, result)
            return schema.PromptResponse(stop_reason="cancelled")
        return schema.PromptResponse(stop_reason=self._stop_reason(result.stopped_reason, cancels))

    def _stop_reason(self, reason: StoppedReason, cancels: int) -> schema.StopReason:
        """Return why a prompt has ended for the client, which may have cancelled it."""
        return stop_reason(reason) if self._cancels == cancels else "cancelled"

    async def _ask_trust(self) -> None:
        """Ask once whether the user trusts the folder, if it holds something that would act."""
        if not self._asks_trust:
            return
        self._asks_trust = False
        try:
            question = await asyncio.to_thread(trust_question, self.session.config)
            if question is not None and (said := await self._commands.ask_trust(question)):
                self._updates.show(f"{said}\n\n")
        except ForgeError as error:
            self._updates.say(str(error))

    async def _read_notices(self) -> None:
        async with aclosing(self.session.notices()) as notices:
            async for notice in notices:
                self._updates.apply(notice)


class EditorFiles:
    """The open files of one session."""

    def __init__(self, client: EditorClient, session_id: Callable[[], str]) -> None:
        self._client = client
        self._session_id = session_id

    async def unsaved_text(self, path: Path) -> str | None:
        """Return the text of a file that the user has changed in the editor and not saved, else None."""
        if not self._client.reads_files:
            return None
        on_disk = await asyncio.to_thread(_text_of, path)
        if on_disk is None:
            return None
        text = await self._client.read_file(self._session_id(), path)
        # Editors remove BOMs, and show all line ends as one.
        return None if text is None or _plain(text) == _plain(on_disk) else text


def stop_reason(reason: StoppedReason) -> schema.StopReason:
    """Return the protocol's word for why a turn without a failure stopped."""
    match reason:
        case "length":
            return "max_tokens"
        case "max_iterations" | "budget" | "timeout" | "loop":
            return "max_turn_requests"
        case "refusal":
            return "refusal"
        case "cancelled":
            return "cancelled"
        case "complete" | "stop_tool" | "denied" | "error":
            return "end_turn"


def _failed(failure: Error | None, result: AgentResult | None) -> RequestError:
    """Return the error of a turn that the provider, or Forge, has failed; the text is what the chat shows."""
    text = failure.error if failure is not None else (result.error if result is not None else None)
    kind = failure.kind if failure is not None else "Error"
    code = AUTH_REQUIRED if kind == "AuthenticationError" else INTERNAL_ERROR
    data = {"kind": kind, "recoverable": failure is not None and failure.recoverable}
    return RequestError(code, safe_text(text or "The turn has failed."), data)


def _text_of(path: Path) -> str | None:
    """Return the text of a file; None for what is no text file of a size that is read."""
    try:
        if not path.is_file() or path.stat().st_size > MAX_TEXT_BYTES:
            return None
        return decode(path.read_bytes()).readable
    except (OSError, ValueError, ToolError):
        return None


def _plain(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
