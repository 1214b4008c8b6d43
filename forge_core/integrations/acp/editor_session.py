"""One session that the client has opened: its prompts run one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from acp import RequestError, schema

from forge_core.commands.prompt_commands import headless_turn
from forge_core.config.forge_config import ForgeConfig
from forge_core.errors import ConfigError
from forge_core.events import AgentEnd, AgentEvent, Error
from forge_core.integrations.acp.client import EditorClient
from forge_core.integrations.acp.event_updates import EventUpdates
from forge_core.integrations.acp.permission_requests import ClientResponder
from forge_core.integrations.acp.prompt_text import Block, message_text
from forge_core.integrations.acp.session_replay import replay
from forge_core.integrations.acp.update_sender import UpdateSender
from forge_core.result import STOP_NOTICES, AgentResult, StoppedReason
from forge_core.runtime import build_session, strict_sandbox_problem
from forge_core.sanitize import safe_text
from forge_core.session.session import ForgeSession

AUTH_REQUIRED, INVALID_PARAMS, INTERNAL_ERROR = -32000, -32602, -32603


class EditorSession:
    """A session and its connection to the client."""

    def __init__(self, session: ForgeSession, updates: EventUpdates) -> None:
        self.session = session
        self._updates = updates
        self._turns = asyncio.Lock()
        self._cancels = 0
        self._tasks = [
            asyncio.create_task(self._read_notices(), name="forge-acp-notices"),
            asyncio.create_task(session.hooks.begin(), name="forge-acp-hooks"),
        ]

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
        try:
            session = await asyncio.to_thread(
                build_session, config, responder, responder, responder, resume=resume
            )
        except BaseException:
            await sender.aclose()
            raise
        await session.extensions.ready()
        return cls(session, updates)

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
            try:
                events = await headless_turn(self.session, text)
            except ConfigError as error:  # there is no such command
                self._updates.say(str(error))
                await self._updates.sender.flushed()
                return schema.PromptResponse(stop_reason="end_turn")
            return await self._run(events, cancels)

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
        await asyncio.wait(self._tasks)
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
                if isinstance(event, Error):
                    failure = event
                elif isinstance(event, AgentEnd):
                    result = event.result
                await self.session.settle(event)
        if result is not None and (notice := STOP_NOTICES.get(result.stopped_reason)):
            self._updates.say(notice)
        await self._updates.sender.flushed()
        if self._cancels != cancels:
            return schema.PromptResponse(stop_reason="cancelled")
        if result is None or result.stopped_reason == "error":
            raise _failed(failure, result)
        return schema.PromptResponse(stop_reason=stop_reason(result.stopped_reason))

    async def _read_notices(self) -> None:
        async with aclosing(self.session.notices()) as notices:
            async for notice in notices:
                self._updates.apply(notice)


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
