"""The user's decisions about the programs that files declare, whatever their kind."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Protocol

from forge_core.events import Notice
from forge_core.session.session_hooks import SessionHooks
from forge_core.session.session_servers import SessionServers

if TYPE_CHECKING:
    from forge_core.extensions.approvals import WaitingProgram


class _Programs(Protocol):
    """The programs of one kind."""

    def waiting(self) -> list[WaitingProgram]: ...
    async def decide(self, shown: Sequence[WaitingProgram], approved: Collection[int]) -> int: ...
    async def reload(self) -> None: ...


class ProgramApprovals:
    """Hooks and MCP servers that wait for approval. The user is asked once about all of them."""

    def __init__(
        self, hooks: SessionHooks, servers: SessionServers, notify: Callable[[Notice], None]
    ) -> None:
        self.ask: Callable[[], bool] = lambda: False
        """Called at the start of the session if programs wait for approval; returns whether the user is asked
        about them. If not, a notice names them."""
        self._servers = servers
        self._kinds: tuple[_Programs, ...] = (hooks, servers)
        self._notify = notify
        hooks.on_read = self._begin

    def waiting(self) -> list[WaitingProgram]:
        """Return the programs about which the user has not decided as they are now."""
        return [program for kind in self._kinds for program in kind.waiting()]

    async def decide(self, shown: Sequence[WaitingProgram], approved: Collection[int]) -> int:
        """Store the user's decision about each program that was shown and still waits as it was; those whose
        index is in `approved` may run. Return their number.

        Raises:
            ConfigError: the decision cannot be stored.
        """
        return sum([await kind.decide(shown, approved) for kind in self._kinds])

    async def reload(self) -> None:
        """Read the files again."""
        for kind in self._kinds:
            await kind.reload()

    async def _begin(self) -> None:
        """Begin to start servers, and ask about what waits: once, after the hooks were read."""
        await self._servers.begin()
        waiting = self.waiting()
        if waiting and not self.ask():
            names = ", ".join(f"{one.name} ({one.source})" for one in waiting)
            text = (
                f"Programs that you have not approved do not run: {names}. /hooks approve and /mcp approve "
                "show their command lines; forge run takes --approve NAME."
            )
            self._notify(Notice(level="warning", text=text))
