"""Commands of files and prompts of servers in a session: the message that one becomes, and the model and
rules of a custom command for the turn."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, TypeAlias

from forge_core.approval import ToolKind
from forge_core.config.forge_config import ForgeConfig
from forge_core.errors import ConfigError, ForgeError
from forge_core.events import Notice, ToolEnd, ToolStart
from forge_core.extensions.custom_commands import (
    CommandUse,
    CustomCommand,
    ShellPart,
    message_text,
    written_text,
)
from forge_core.extensions.locations import ExtensionKind, ExtensionScope
from forge_core.extensions.model_aliases import named_model
from forge_core.langchain.agent import ForgeAgent
from forge_core.langchain.agent.event_queue import EventSink
from forge_core.llm.models import UserContent
from forge_core.private_keys import hide_private_keys
from forge_core.sanitize import safe_line
from forge_core.session.attachments import Attachments
from forge_core.session.model_selection import ModelSelection
from forge_core.session.server_offers import ServerOffers
from forge_core.session.session_extensions import SessionExtensions
from forge_core.session.shell_parts import CommandsRefusedError, ShellParts
from forge_core.session.tool_environment import ToolEnvironment
from forge_core.tools.builtin.task import TaskTool

if TYPE_CHECKING:
    from forge_core.mcp.prompts import PromptUse, ServerPrompt
    from forge_core.mcp.results import ServerText

TypedUse: TypeAlias = "CommandUse | PromptUse"
"""What a typed command becomes a message by."""


class NotSentError(ForgeError):
    """A command of a file could not become a message; the text says why."""


class CommandMessages:
    """Makes the message of a turn: that of a command, or what the user wrote."""

    def __init__(
        self,
        agent: ForgeAgent,
        environment: ToolEnvironment,
        models: ModelSelection,
        attachments: Attachments,
        extensions: SessionExtensions,
        offers: ServerOffers,
        config: Callable[[], ForgeConfig],
    ) -> None:
        self._agent = agent
        self._environment = environment
        self._models = models
        self._attachments = attachments
        self._extensions = extensions
        self._offers = offers
        self._config = config
        self._shell = ShellParts(agent, environment, attachments.is_interrupted)
        self._last: TypedUse | None = None
        self._getting: asyncio.Task[ServerText] | None = None
        """Waits for a server's prompt."""

    def interrupt(self) -> None:
        """End what runs for the message, and start nothing more."""
        self._shell.interrupt()
        if self._getting is not None:
            self._getting.cancel()

    @contextmanager
    def in_turn(self, use: TypedUse | None, *, is_retry: bool) -> Iterator[None]:
        """Apply the model and the rules of a command inside the block, which is one turn; a retry has those
        of the turn that failed."""
        self._last = use = self._last if is_retry else use
        if not isinstance(use, CommandUse):
            yield
            return
        rules, refused = use.command.grants()
        for problem in refused if not is_retry else ():
            self._say("warning", f"/{use.command.name} grants less than it says: {problem}")
        with self._environment.policy.allowing(rules), self._models.for_turn(self._model(use.command)):
            yield

    async def message(self, text: str, events: EventSink) -> UserContent:
        """Return the message of a turn with all that is attached to it.

        `text` is what the user has typed; for a command it is replaced. If this is cancelled, the typed text
        enters the history.

        Raises:
            NotSentError: the command has an argument that it cannot take, the user refused what it runs, or a
                server has not sent its prompt.
        """
        use = self._last
        if use is None:
            return await self._attachments.attached(text)
        if not isinstance(use, CommandUse):
            return await self._of_prompt(text, use, events)
        try:
            parts = use.command.expand(use.arguments)
            commands = [part.command for part in parts if isinstance(part, ShellPart)]
            outputs = await self._shell.run(commands, use.command.name, events)
        except (ConfigError, CommandsRefusedError) as error:
            self._attachments.keep_unanswered(text, "denied")
            raise NotSentError(f"Not sent: {error}") from error
        except BaseException:
            self._attachments.keep_unanswered(text, "cancelled")
            raise
        sent, written = message_text(parts, outputs), written_text(parts)
        if (one := use.command.definition).kind is ExtensionKind.SKILL:
            run = self._environment.skills.run
            sent, written = await asyncio.to_thread(run, one, use.arguments, sent), text
        sent = self._for_agent(sent, use.command) + use.request
        source = f"your own {one.kind}" if one.scope is ExtensionScope.USER else "this project"
        _show(use.command.name, source, sent, events)
        return await self._attachments.attached(sent, written)

    async def _of_prompt(self, text: str, use: PromptUse, events: EventSink) -> UserContent:
        """Return the message that a server's prompt becomes. What the server has written mentions nothing."""
        prompt = use.prompt
        try:
            got = await self._from_server(prompt, prompt.values(use.arguments))
            if not got.text.strip() and not got.images:
                raise ForgeError(f"the MCP server {prompt.server!r} has sent nothing")
        except ForgeError as error:
            self._attachments.keep_unanswered(text, "denied")
            raise NotSentError(f"Not sent: {safe_line(str(error))}") from error
        except asyncio.CancelledError:
            self._attachments.keep_unanswered(text, "cancelled")
            if not self._attachments.is_interrupted():
                raise
            raise NotSentError("Not sent: interrupted before the server had answered.") from None
        limited, _ = self._agent.executor.outputs.limit(hide_private_keys(got.text), prompt.command)
        sent = prompt.framed(limited) + use.request
        _show(prompt.command, f"the MCP server {prompt.server}", sent, events)
        return await self._attachments.attached(sent, use.arguments, got.images)

    async def _from_server(self, prompt: ServerPrompt, values: Mapping[str, str]) -> ServerText:
        """Return what the server makes of its prompt. An interrupt cancels the wait."""
        task = self._getting = asyncio.create_task(self._offers.message(prompt, values))
        try:
            if not self._attachments.is_interrupted():
                await asyncio.wait([task])
            task.cancel()
            return await task
        finally:
            task.cancel()
            self._getting = None

    def _model(self, command: CustomCommand) -> str | None:
        """Return the model for the turn; None for the current one."""
        model, notice = named_model(command.model, self._config(), self._models.listed)
        if notice:
            self._say("warning", f"/{command.name}: {notice}")
        return model

    def _for_agent(self, text: str, command: CustomCommand) -> str:
        """Return the message that delegates a command to its sub-agent."""
        if not command.agent:
            return text
        known = self._extensions.agents
        agent = known.find(command.agent) if TaskTool.name in self._agent.registry else None
        if agent is None:
            self._say(
                "warning",
                f"There is no agent {safe_line(command.agent)!r}, so /{command.name} runs without one.",
            )
            return text
        tool = TaskTool.name
        return f"Give this to the agent {agent.name!r} with the tool {tool}, word for word:\n\n{text}"

    def _say(self, level: Literal["info", "warning"], text: str) -> None:
        self._attachments.notify(Notice(level=level, text=text))


def _show(command: str, source: str, sent: str, events: EventSink) -> None:
    """Show what is sent in place of the typed line, as a card that unfolds."""
    call_id, lines = f"command-{uuid.uuid4().hex}", sent.count("\n") + 1
    start = ToolStart(
        call_id=call_id,
        name=f"/{command}",
        arguments={},
        title="Sent",
        target=f"{lines} line{'s'[: lines != 1]} from {source}",
        kind=ToolKind.USER,
    )
    events.emit(start)
    end = ToolEnd(
        call_id=call_id,
        name=f"/{command}",
        result=sent,
        success=True,
        duration_s=0.0,
        is_in_header=True,
    )
    events.emit(end)
