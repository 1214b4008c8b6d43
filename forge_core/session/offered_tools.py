"""The tools of MCP servers in a session: which definitions the model is sent, and what it is told of the
others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from forge_core.session.saved_state import with_note
from forge_core.session.session_parts import SessionParts
from forge_core.tools.base import BaseTool

if TYPE_CHECKING:
    from forge_core.mcp.deferral import ToolChoice
    from forge_core.mcp.mcp_tool import McpTool


class OfferedTools:
    """Chooses at the first request, from what is connected then, and stays with it: later tools are added
    behind the others, or the model is told of their names in a message.

    What runs servers is imported only once there is a tool.
    """

    def __init__(self, parts: SessionParts, changed: Callable[[], None]) -> None:
        """`changed` is called when the system prompt must be made again."""
        self._agent, self._environment, self._provider = parts.agent, parts.environment, parts.provider
        self._setting, self._changed = parts.config.mcp_defer, changed
        self._connected: Sequence[McpTool] = ()
        self._now: Mapping[str, McpTool] = {}
        """Those that may be called, by name."""
        self._is_fixed = False
        """Whether the first request has been made."""
        self._first: Mapping[str, McpTool] = {}
        """What there was then."""
        self._told: Mapping[str, McpTool] = {}
        """What the model believes there is."""
        self._agent.before_call = self._before_call
        self._environment.offered = self

    def use(self, tools: Sequence[McpTool]) -> None:
        """Use these tools, all that there are, from the next request on."""
        self._connected = tools
        self._update()

    def refresh(self) -> None:
        """Look again which of the tools are of use; a rule may deny some now."""
        if self._connected:
            self._update()
        else:
            self._agent.update_offered_tools()

    def for_agent(
        self, select: Callable[[Iterable[BaseTool]], Sequence[BaseTool]], window: int | None
    ) -> ToolChoice | None:
        """Return the choice for a sub-agent that may use what `select` returns; None without any tool."""
        if not self._now:
            return None
        from forge_core.mcp.deferral import ToolChoice

        allowed = {tool.name for tool in select(self._now.values())}
        tools = [tool for name, tool in self._now.items() if name in allowed]
        return ToolChoice.first(tools, self._setting, window)

    def _window(self) -> int | None:
        return self._provider.context_window(self._agent.model_name)

    def tell_again(self) -> None:
        """Note that messages of the conversation are gone, and with them what they said of later tools."""
        choice = self._environment.deferred
        self._told = {**self._first, **({one.name: one for one in choice.sent} if choice else {})}

    def _update(self) -> None:
        from forge_core.mcp.deferral import ToolChoice

        context = self._agent.make_context()
        tools = [tool for tool in self._connected if tool.is_offered(context)]
        self._now = {tool.name: tool for tool in tools}
        before = self._environment.deferred or ToolChoice()
        if self._is_fixed:
            choice = before.changed_to(tools, self._setting, self._window())
        else:
            choice = ToolChoice.first(tools, self._setting, self._window())
        self._environment.deferred = choice
        self._agent.set_tools([*self._agent.tools, *choice.sent], choice.deferred)
        if choice.listing != before.listing:
            self._changed()

    def _before_call(self) -> str:
        """Choose at the first request; later, return what has changed since for the model."""
        if not self._is_fixed:
            if self._connected:  # the model's window may have become known
                self._update()
            self._is_fixed = True
            self._first = self._told = self._now
            return ""
        lines = self._news() if self._told is not self._now else []
        self._told = self._now
        return with_note("", lines).strip()

    def _news(self) -> list[str]:
        """Return what differs between what the model believes and what there is."""
        from forge_core.mcp.deferral import MAX_NEWS_TOKENS, grouped

        choice = self._environment.deferred
        deferred = {tool.name for tool in choice.deferred} if choice else set()
        new = [tool for name, tool in self._now.items() if name not in self._told]
        both = [(self._told[name], tool) for name, tool in self._now.items() if name in self._told]
        parts = {
            "New tools of MCP servers": [tool for tool in new if tool.name not in deferred],
            "New tools of MCP servers, to be found with tool_search and called with tool_run": [
                tool for tool in new if tool.name in deferred
            ],
            "Tools with a new definition, which tool_search returns": [
                tool for before, tool in both if tool.name in deferred and before.listed != tool.listed
            ],
            "Tools of MCP servers that are gone": [
                tool for name, tool in self._told.items() if name not in self._now
            ],
        }
        return [
            "\n".join([f"{head}:", *grouped(some, MAX_NEWS_TOKENS)]) for head, some in parts.items() if some
        ]
