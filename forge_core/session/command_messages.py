"""Custom commands in a session: the message that one becomes, and its model and rules for the turn."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

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
from forge_core.sanitize import safe_line
from forge_core.session.attachments import Attachments
from forge_core.session.model_selection import ModelSelection
from forge_core.session.session_extensions import SessionExtensions
from forge_core.session.shell_parts import CommandsRefusedError, ShellParts
from forge_core.session.tool_environment import ToolEnvironment
from forge_core.tools.builtin.task import TaskTool


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
        config: Callable[[], ForgeConfig],
    ) -> None:
        self._agent = agent
        self._environment = environment
        self._models = models
        self._attachments = attachments
        self._extensions = extensions
        self._config = config
        self._shell = ShellParts(agent, environment, attachments.is_interrupted)
        self._last: CommandUse | None = None

    def interrupt(self) -> None:
        """End the command that runs for the message, and start no other."""
        self._shell.interrupt()

    @contextmanager
    def in_turn(self, use: CommandUse | None, *, is_retry: bool) -> Iterator[None]:
        """Apply the model and the rules of a command inside the block, which is one turn; a retry has those
        of the turn that failed."""
        self._last = use = self._last if is_retry else use
        if use is None:
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
            NotSentError: the command has an argument that it cannot take, or the user refused what it runs.
        """
        use = self._last
        if use is None:
            return await self._attachments.attached(text)
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
        self._show(text, sent, use.command, events)
        return await self._attachments.attached(sent, written)

    def _show(self, typed: str, sent: str, command: CustomCommand, events: EventSink) -> None:
        """Show what is sent in place of the typed line, as a card that unfolds."""
        call_id, lines = f"command-{uuid.uuid4().hex}", sent.count("\n") + 1
        one = command.definition
        source = f"your own {one.kind}" if one.scope is ExtensionScope.USER else "this project"
        start = ToolStart(
            call_id=call_id,
            name=f"/{command.name}",
            arguments={},
            title="Sent",
            target=f"{lines} line{'s'[: lines != 1]} from {source}",
            kind=ToolKind.USER,
        )
        events.emit(start)
        end = ToolEnd(
            call_id=call_id,
            name=f"/{command.name}",
            result=sent,
            success=True,
            duration_s=0.0,
            is_in_header=True,
        )
        events.emit(end)

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
