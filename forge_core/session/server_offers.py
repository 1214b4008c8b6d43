"""The prompts and resources that the servers of a session offer: found, read, and completed while they are
typed."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from forge_core.mention_syntax import TRAILING

if TYPE_CHECKING:
    from forge_core.mcp.prompts import ServerPrompt
    from forge_core.mcp.resources import ResourceMention, ResourceOffer
    from forge_core.mcp.results import ResultReader, ServerText
    from forge_core.mcp.servers import McpServers, ServerStatus

PROMPT_PREFIX = "mcp__"
"""The beginning of the names of prompts as commands."""
COMPLETION_S = 2.0
"""How long the values of an argument are waited for. Nothing that is typed waits for them."""
_MOST_OFFERED = 50
_MOST_KEPT = 500
"""Answers about arguments."""


class OfferedMention(NamedTuple):
    """One way to go on with a text after `@`. Both texts are untrusted."""

    text: str
    detail: str
    is_whole: bool = True
    """Whether nothing has to follow."""


class ServerOffers:
    """What the user can name of the connected servers. Without any, every method returns at once, and nothing
    is imported."""

    def __init__(
        self,
        servers: Callable[[], McpServers | None],
        reader: Callable[[], ResultReader],
        is_denied: Callable[[str, str], bool],
    ) -> None:
        """`reader` returns the reader of one result; `is_denied`, whether a rule denies a prompt of a server,
        or its resources if the second argument is empty."""
        self._servers = servers
        self._reader = reader
        self._is_denied = is_denied
        self._all_prompts: list[ServerPrompt] = []
        self._prompts: list[ServerPrompt] = []
        """Those that no rule denies."""
        self._listed: list[tuple[str, object]] = []
        """The lists of which the prompts were made."""
        self._listeners: list[Callable[[], None]] = []
        self._completions: dict[tuple[str, ...], Sequence[str]] = {}
        self._completing: asyncio.Task[None] | None = None
        self.on_completed: Callable[[], None] = lambda: None
        """Called when values of an argument have come."""

    # Prompts

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` when the prompts have changed, on the event loop."""
        self._listeners.append(listener)

    def changed(self) -> None:
        """Make the prompts anew if the lists of the servers, or the rules, have changed."""
        listed: list[tuple[str, object]] = [
            (name, one.prompts) for name, one in self._ready().items() if one.prompts
        ]
        is_new = listed != self._listed
        if is_new:
            from forge_core.mcp.prompts import listed_prompts

            self._listed = listed
            self._completions.clear()
            self._all_prompts = listed_prompts({name: one.prompts for name, one in self._ready().items()})
        before = self._prompts
        self._prompts = [one for one in self._all_prompts if not self._is_denied(one.server, one.name)]
        if is_new or self._prompts != before:
            for listener in self._listeners:
                listener()

    @property
    def prompts(self) -> Sequence[ServerPrompt]:
        """The prompts of all connected servers that may be used, sorted by the names of their commands."""
        return self._prompts

    def prompt(self, command: str) -> ServerPrompt | None:
        """Return the prompt of a command; case is ignored."""
        lower = command.lower()
        return next((one for one in self._prompts if one.command.lower() == lower), None)

    async def message(self, prompt: ServerPrompt, values: Mapping[str, str]) -> ServerText:
        """Return what a prompt becomes. Raises ForgeError."""
        servers = self._running(prompt.server, prompt.name)
        result = await servers.prompt(prompt.server, prompt.name, values)
        return await asyncio.to_thread(self._reader().messages, result)

    # Resources

    def mentioned(self, written: str) -> ResourceMention | None:
        """Return the resource that a text after `@` mentions; None if that is something else."""
        server, colon, uri = written.partition(":")
        status = self._with_resources().get(server)
        if not colon or not uri or status is None:
            return None
        from forge_core.mcp.resources import ResourceMention, is_listed

        shorter = uri.rstrip(TRAILING)
        for one in (uri, shorter):
            if is_listed(status.resources, status.templates, one):
                return ResourceMention(server, one)
        return ResourceMention(server, shorter) if "://" in uri else None

    async def read(self, mention: ResourceMention) -> ServerText:
        """Return the contents of a resource. Raises ForgeError."""
        result = await self._running(mention.server).read(mention.server, mention.uri)
        return await asyncio.to_thread(self._reader().contents, result)

    def completed(self, typed: str) -> list[OfferedMention]:
        """Return how a text after `@` may go on: the servers with resources whose name begins with it, or the
        resources of the server that it names. Values of variables follow later (`on_completed`)."""
        server, colon, uri = typed.partition(":")
        ready = self._with_resources()
        if not colon:
            found = [name for name in ready if name.lower().startswith(server.lower())]
            return [
                OfferedMention(f"{name}:", "resources of an MCP server", is_whole=False) for name in found
            ]
        if (status := ready.get(server)) is None:
            return []
        offered = self._resources(status, uri)
        return [OfferedMention(f"{server}:{one.uri}", one.detail, one.is_whole) for one in offered]

    def _resources(self, status: ServerStatus, typed: str) -> list[ResourceOffer]:
        from forge_core.mcp.resources import ResourceOffer, can_be_mentioned, offers, open_variables

        found = offers(status.resources, status.templates, typed, _MOST_OFFERED)
        for one in open_variables(status.templates, typed):
            ref = {"type": "ref/resource", "uri": one.template}
            values = self._values(status.entry.name, ref, one.name, one.typed, one.given)
            uris = (f"{one.before}{value}" for value in values)
            found += [ResourceOffer(uri, one.name) for uri in uris if can_be_mentioned(uri)]
        return [*{one.uri: one for one in found}.values()][:_MOST_OFFERED]

    # Arguments

    def argument_values(self, command: str, typed: str) -> Sequence[str]:
        """Return the values known by now for the last argument of a prompt, of which a part may be typed.
        They are untrusted. Others follow later (`on_completed`)."""
        prompt = self.prompt(command)
        if prompt is None or not prompt.arguments:
            return ()
        words = typed.split(" ")
        if any(mark in words[-1] for mark in "'\"\\"):
            return ()  # what would be completed is not what is typed
        with contextlib.suppress(ValueError):
            words[:-1] = shlex.split(" ".join(words[:-1]))
        if len(words) > len(prompt.arguments):
            return ()
        names = [one.name for one in prompt.arguments]
        given = dict(zip(names, words[:-1], strict=False))
        ref = {"type": "ref/prompt", "name": prompt.name}
        return self._values(prompt.server, ref, names[len(words) - 1], words[-1], given)

    def _values(
        self, server: str, ref: Mapping[str, Any], name: str, typed: str, given: Mapping[str, str]
    ) -> Sequence[str]:
        """Return the values that are known; ask the server for those that are not."""
        status = self._ready().get(server)
        if status is None or "completions" not in status.report.capabilities:
            return ()
        key = (server, *map(str, ref.values()), name, typed, *(f"{a}={b}" for a, b in given.items()))
        if (known := self._completions.get(key)) is not None:
            return known
        if self._completing is not None:
            self._completing.cancel()
        work = self._complete(key, server, ref, {"name": name, "value": typed}, given)
        self._completing = asyncio.create_task(work, name=f"mcp-completion-{server}")
        return ()

    async def _complete(
        self,
        key: tuple[str, ...],
        server: str,
        ref: Mapping[str, Any],
        argument: Mapping[str, str],
        given: Mapping[str, str],
    ) -> None:
        from forge_core.mcp.bridge_process import BridgeError

        values: Sequence[str] = ()
        prompt = ref.get("name", "")
        with contextlib.suppress(BridgeError, TimeoutError):
            async with asyncio.timeout(COMPLETION_S):
                values = await self._running(server, prompt).complete(server, ref, argument, given)
        if len(self._completions) >= _MOST_KEPT:
            self._completions.clear()
        self._completions[key] = values[:_MOST_OFFERED]
        if values:
            self.on_completed()

    async def aclose(self) -> None:
        """Ask nothing more."""
        if self._completing is not None:
            self._completing.cancel()
            await asyncio.wait([self._completing])

    # The servers

    def _ready(self) -> Mapping[str, ServerStatus]:
        servers = self._servers()
        statuses = {} if servers is None else servers.statuses
        return {name: one for name, one in statuses.items() if one.is_ready}

    def _with_resources(self) -> Mapping[str, ServerStatus]:
        """Return the connected servers whose resources may be attached."""
        return {
            name: one
            for name, one in self._ready().items()
            if (one.resources or one.templates) and not self._is_denied(name, "")
        }

    def _running(self, server: str, prompt: str = "") -> McpServers:
        """Return what runs a server whose prompt, or whose resources, are asked for. Raises BridgeError."""
        from forge_core.mcp.bridge_process import BridgeError

        servers = self._servers()
        if servers is None or server not in self._ready():
            raise BridgeError(f"The MCP server {server!r} is not connected; /mcp shows why.")
        if self._is_denied(server, prompt):
            raise BridgeError(f"A deny rule covers this of the MCP server {server!r}; /permissions lists it.")
        return servers
