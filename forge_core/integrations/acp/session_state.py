"""What the client shows beside the conversation: commands, options, plan, usage and title."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from acp import schema

from forge_core.commands.command_spec import CommandSpec, Scope
from forge_core.commands.command_table import CommandTable
from forge_core.commands.prompt_commands import follow_prompts
from forge_core.errors import ForgeError
from forge_core.events import AgentEnd, AgentEvent, LLMEnd, ToolEnd
from forge_core.integrations.acp.session_options import modes_of, options_of
from forge_core.integrations.acp.session_replay import written_time
from forge_core.integrations.acp.update_sender import UpdateSender
from forge_core.sanitize import safe_line
from forge_core.session.session import ForgeSession
from forge_core.tools.builtin.todo import TodoItem


class SessionState:
    """Follows one session."""

    def __init__(self, session: ForgeSession, sender: UpdateSender) -> None:
        self.commands = CommandTable()
        """The commands that can be typed."""
        self._session = session
        self._sender = sender
        self._title = "" if session.restored is None else session.restored.title
        self._todos: Sequence[TodoItem] = ()
        self._chosen = self._choices()
        follow_prompts(self.commands, session)

    def begin(self) -> None:
        """Send what the client does not know of a session that it has opened."""
        self.send_commands()
        self._session.extensions.on_change(self.send_commands)
        self._session.servers.offers.on_change(self.send_commands)
        self._send_plan()

    def follow(self, event: AgentEvent) -> None:
        """Send what has changed with an event."""
        match event:
            case LLMEnd(parent_id=None):
                self.send_usage()
            case ToolEnd():
                self._send_plan()
            case AgentEnd():
                self._send_plan()
                self.send_usage()

    def send_commands(self) -> None:
        """Send the commands that can be typed here."""
        self._sender.send(
            schema.AvailableCommandsUpdate(
                session_update="available_commands_update",
                available_commands=[_command(spec) for spec in self.commands.specs if is_offered(spec)],
            )
        )

    def send_usage(self) -> None:
        """Send how full the context window is, and what the session has cost."""
        status = self._session.status
        if not status.context_window:
            return
        cost = status.usage.cost_usd
        self._sender.send(
            schema.UsageUpdate(
                session_update="usage_update",
                used=status.context_used,
                size=status.context_window,
                cost=None if cost is None else schema.Cost(amount=float(cost), currency="USD"),
            )
        )

    async def send_choices(self) -> None:
        """Send the options if one was changed other than by the client."""
        before, self._chosen = self._chosen, self._choices()
        if before == self._chosen:
            return
        if before[0] != self._chosen[0]:
            mode = modes_of(self._session).current_mode_id
            self._sender.send(
                schema.CurrentModeUpdate(session_update="current_mode_update", current_mode_id=mode)
            )
        options = await asyncio.to_thread(options_of, self._session)
        self._sender.send(
            schema.ConfigOptionUpdate(session_update="config_option_update", config_options=options)
        )

    async def send_title(self, *, may_have_changed: bool) -> None:
        """Send the title if there was none before, or if a command has changed it."""
        if self._title and not may_have_changed:
            return
        try:
            title = (await self._session.recorded()).title
        except ForgeError:  # nothing is recorded yet
            return
        if title and title != self._title:
            self._title = title
            self._sender.send(
                schema.SessionInfoUpdate(
                    session_update="session_info_update",
                    title=safe_line(title),
                    updated_at=written_time(time.time()),
                )
            )

    def _choices(self) -> tuple[str, str, str]:
        models = self._session.models
        return str(self._session.policy.mode), models.current, models.effort or ""

    def _send_plan(self) -> None:
        items = self._session.todos.items
        if items == self._todos:
            return
        self._todos = items
        entries = [
            schema.PlanEntry(content=safe_line(item.content), priority="medium", status=item.status.value)
            for item in items
        ]
        self._sender.send(schema.AgentPlanUpdate(session_update="plan", entries=entries))


def is_offered(spec: CommandSpec) -> bool:
    """Return whether a command can be typed in an editor: not one of the chat's screen."""
    return spec.scope is not Scope.SCREEN


def _command(spec: CommandSpec) -> schema.AvailableCommand:
    hint = safe_line(spec.argument_hint)
    text_input = schema.AvailableCommandInput(root=schema.UnstructuredCommandInput(hint=hint))
    return schema.AvailableCommand(
        name=safe_line(spec.name), description=safe_line(spec.description), input=text_input if hint else None
    )
