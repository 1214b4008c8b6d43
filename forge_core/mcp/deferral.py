"""Which tools of MCP servers the model is sent definitions of, and which it is only told the names of.

Deferred tools keep requests small. What is sent once never changes while tools are deferred: the provider's
prompt cache holds the definitions and the system prompt.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from forge_core.llm.tokens import estimate_tokens
from forge_core.mcp.mcp_tool import McpTool
from forge_core.mcp.tool_ranking import ToolIndex
from forge_core.tools.builtin.tool_search import definition_text
from forge_core.tools.registry import squeezed_name

MAX_TOOLS = 40
"""So many tools are sent with `auto`."""
AUTO_SHARE = 10
"""Percent of the model's window that they may take with `auto`."""
ASSUMED_WINDOW = 100_000
"""Tokens, where the model's window is not known."""
MAX_LISTED_TOKENS = 2_000
"""Of the names in the system prompt."""
MAX_NEWS_TOKENS = 1_000
"""Of the names in one line of a later message."""
_SECTION = """\
# Tools of MCP servers
You have no definitions of these tools yet. tool_search returns them, by name or by words; tool_run calls a \
tool, and so does a direct call of its full name, mcp__SERVER__NAME.
{}
"""


@dataclass(frozen=True)
class ToolChoice:
    """What one conversation has of the servers' tools; implements `DeferredTools`. Unchanging."""

    sent: tuple[McpTool, ...] = ()
    """Those whose definitions are sent, in this order."""
    deferred: tuple[McpTool, ...] = ()
    """Those that are called by name. One may be a newer definition of one in `sent`."""
    is_active: bool = False
    listing: str = ""
    """The section of the system prompt."""

    @classmethod
    def first(cls, tools: Sequence[McpTool], setting: str, window: int | None) -> ToolChoice:
        """Return the choice for a first request with these tools, to a model with a window of so many
        tokens. `setting` is `mcp_defer`."""
        if fits(tools, setting, window):
            return cls(tuple(tools))
        sent = tuple(tool for tool in tools if tool.server.always_load)
        deferred = tuple(tool for tool in tools if not tool.server.always_load)
        return cls(sent, deferred, bool(deferred), listing(deferred))

    def changed_to(self, tools: Sequence[McpTool], setting: str, window: int | None) -> ToolChoice:
        """Return the choice for the later requests of the conversation, in which there are these tools now.

        Until tools are deferred, `sent` follows the tools: new ones come last, if they fit. Afterwards, it
        only grows by new tools that are never deferred.
        """
        now = {tool.name: tool for tool in tools}
        kept = self.sent if self.is_active else tuple(now[one.name] for one in self.sent if one.name in now)
        names = {tool.name for tool in kept}
        late = [tool for tool in tools if tool.name not in names]
        if self.is_active or not fits([*kept, *late], setting, window):
            late = [tool for tool in late if tool.server.always_load]
        sent = (*kept, *late)
        identities = {*map(id, sent)}
        deferred = tuple(tool for tool in tools if id(tool) not in identities)
        return replace(self, sent=sent, deferred=deferred, is_active=self.is_active or bool(deferred))

    @cached_property
    def _index(self) -> ToolIndex:
        return ToolIndex(self.deferred)

    def ranked(self, query: str) -> Sequence[McpTool]:
        return self._index.ranked(query)

    def nearest(self, name: str) -> Sequence[McpTool]:
        return self._index.nearest(name)

    def definitions(self, names: Iterable[str]) -> dict[str, str]:
        """Return the definitions of those of these tools that are deferred, as tool_search returns them."""
        known = {squeezed_name(tool.name): tool for tool in self.deferred}
        found = (known.get(squeezed_name(name)) for name in names)
        return {tool.name: definition_text(tool) for tool in found if tool is not None}


def fits(tools: Sequence[McpTool], setting: str, window: int | None) -> bool:
    """Return whether the definitions of all tools may be sent."""
    deferrable = any(not tool.server.always_load for tool in tools)
    if setting == "never" or not deferrable:
        return True
    if setting == "always" or (setting == "auto" and len(tools) > MAX_TOOLS):
        return False
    share = AUTO_SHARE if setting == "auto" else float(setting.rstrip("%"))
    room = (window or ASSUMED_WINDOW) * share / 100
    return all(total <= room for total in itertools.accumulate(tool.tokens for tool in tools))


def listing(tools: Sequence[McpTool]) -> str:
    """Return the section of the system prompt about deferred tools; empty if there are none."""
    return _SECTION.format("\n".join(grouped(tools, MAX_LISTED_TOKENS))) if tools else ""


def grouped(tools: Iterable[McpTool], max_tokens: int) -> list[str]:
    """Return a line for each server with the names of its tools.

    Where the names take more tokens, the servers with most tools are listed with their number only, and
    servers for which there is no room at all are counted.
    """
    names: dict[str, list[str]] = {}
    for tool in tools:
        server = tool.server.name
        names.setdefault(server, []).append(tool.name.removeprefix(f"mcp__{server}__"))
    lines = {server: f"- {server}: {', '.join(found)}" for server, found in names.items()}
    sizes = {server: estimate_tokens(line) for server, line in lines.items()}
    total = sum(sizes.values())
    for server in sorted(names, key=lambda one: -sizes[one]):
        if total <= max_tokens:
            return [*lines.values()]
        count = len(names[server])
        lines[server] = f"- {server}: {count} tool{'s'[: count != 1]}"
        total += estimate_tokens(lines[server]) - sizes[server]
    kept = list(lines.values())
    while kept and sum(map(estimate_tokens, kept)) > max_tokens:
        kept = kept[: len(kept) * 3 // 4]
    more = len(lines) - len(kept)
    return kept + ([f"- and {more} more servers"] if more else [])
