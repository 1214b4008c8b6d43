"""The MCP servers of a session: those of the user, and those of the project that the user has approved.

What runs them is imported only if a file declares any.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from logging import Logger
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forge_core.config.forge_config import ForgeConfig
from forge_core.errors import ConfigError
from forge_core.events import Notice
from forge_core.private_folders import make_private_folder
from forge_core.sanitize import safe_line
from forge_core.session.server_offers import ServerOffers
from forge_core.session.server_sampling import ServerSampling
from forge_core.session.tool_environment import ToolEnvironment
from forge_core.workspace.project_files import SERVER_FILE

if TYPE_CHECKING:
    from forge_core.extensions.approvals import WaitingProgram
    from forge_core.mcp.approved_servers import ServerApprovals
    from forge_core.mcp.mcp_tool import McpTool
    from forge_core.mcp.results import KeepImage, ResultReader
    from forge_core.mcp.server_files import ServerEntry, ServerTable
    from forge_core.mcp.server_launch import LaunchSettings
    from forge_core.mcp.server_questions import ServerQuestion
    from forge_core.mcp.servers import McpServers, ServerStatus
    from forge_core.mcp.sign_in_attempt import SignInAttempt
    from forge_core.mcp.wire import ServerLaunch

_OWN_FILE = "mcp.json"


class SessionServers:
    """Starts the servers of one session, and gives the agent their tools. Without a file that declares any,
    every method returns at once."""

    def __init__(
        self,
        config: ForgeConfig,
        environment: ToolEnvironment,
        keep_image: Callable[[], KeepImage | None],
        use_tools: Callable[[Sequence[McpTool]], None],
        notify: Callable[[Notice], None],
        logger: Logger,
        sampling: ServerSampling | None = None,
    ) -> None:
        """`keep_image` returns what stores an image for the model; None if it takes none. `use_tools` takes
        the tools of all connected servers whenever they have changed. `sampling` lets the model answer
        servers; None: no request of a server reaches it."""
        self.approvals: ServerApprovals | None = None
        """What was declared; None where nothing was, or before it was read."""
        self.untrusted: Sequence[ServerTable] = ()
        """What the project declares, while the user does not trust it."""
        self.offers = ServerOffers(lambda: self._servers, self._reader, environment.policy.denies_offer)
        """Their prompts and resources."""
        environment.server_offers = self.offers
        self.open_page: Callable[[str], Awaitable[bool]] = self._open_page
        """Opens a page in the user's browser; returns whether it could."""
        self.has_browser: Callable[[], Awaitable[bool]] = self._has_browser
        """Returns whether a page can be opened on the user's screen."""
        self._config = config
        self._environment = environment
        self._keep_image = keep_image
        self._sampling = sampling
        self._use_tools = use_tools
        self._notify = notify
        self._logger = logger
        self._servers: McpServers | None = None
        self._tools: list[McpTool] = []
        self._reported: dict[str, str] = {}
        """Server → the failure that the user was notified of."""
        self._starting: asyncio.Task[None] | None = None
        self._files = 0
        self._attempts: dict[str, SignInAttempt] = {}
        """Server → the last attempt to sign in to it."""

    @property
    def statuses(self) -> Mapping[str, ServerStatus]:
        """The servers that were started, by name."""
        return {} if self._servers is None else self._servers.statuses

    @property
    def tools(self) -> list[McpTool]:
        """The tools of all connected servers."""
        return [] if self._servers is None else self._servers.tools()

    async def begin(self) -> None:
        """Read the files once, and begin to start the servers that may start. Waits for none of them."""
        if self._starting is not None:
            return
        self._starting = asyncio.create_task(asyncio.sleep(0), name="forge-mcp")
        await self.reload()

    async def reload(self) -> None:
        """Read the files again; start what is new or has changed, and end what is gone."""
        before = {name: one.entry for name, one in self.statuses.items()}
        if not before and not self._has_files():
            self.approvals = None
            return
        from forge_core.mcp.approved_servers import ServerApprovals

        approvals = await asyncio.to_thread(ServerApprovals.load, self._config)
        self.untrusted = await asyncio.to_thread(_untrusted, self._config)
        is_first, self.approvals = self.approvals is None, approvals
        if is_first:
            for text in (
                *approvals.table.problems,
                *(
                    f"The MCP server {one.name!r} in {one.source.label} cannot be used: {one.reason}."
                    for one in approvals.table.unusable
                ),
            ):
                self._notify(Notice(level="warning", text=text))
        allowed = {one.name: one for one in approvals.allowed}
        gone = [name for name in before if name not in allowed]
        new = [one for name, one in allowed.items() if before.get(name) != one]
        self._start(gone, new)

    def waiting(self) -> list[WaitingProgram]:
        """Return the servers about which the user has not decided as they are now."""
        return [] if self.approvals is None else self.approvals.shown

    async def decide(self, shown: Sequence[WaitingProgram], approved: Collection[int]) -> int:
        """Store the user's decision about each program that is a server and still waits as it was shown, and
        start those whose index is in `approved`. Return their number.

        Raises:
            ConfigError: the decision cannot be stored.
        """
        if self.approvals is None:
            return 0
        agreed = await asyncio.to_thread(self.approvals.decide, self._config, shown, approved)
        await self.reload()
        return len(agreed)

    async def restart(self, name: str) -> None:
        """Start a server anew. Raises ConfigError if there is no such server that may start."""
        entry = self._startable(name)
        self._reported.pop(name, None)
        self._start([name] if name in self.statuses else [], [entry])

    def sign_in(self, name: str) -> SignInAttempt:
        """Begin to sign in to a server, or return the attempt that goes on.

        Raises:
            ConfigError: there is no such server that may start, or it has no sign-in.
        """
        from forge_core.mcp.sign_in_attempt import SignInAttempt, SignInState
        from forge_core.mcp.sign_in_store import SignInStore
        from forge_core.tools.shell.environment import network_environment

        before = self._attempts.get(name)
        if before is not None and not before.is_over:
            return before
        launch = self._sign_in_launch(name)

        async def ended(attempt: SignInAttempt) -> None:
            is_done = attempt.state is SignInState.DONE
            self._notify(Notice(level="info" if is_done else "warning", text=attempt.report))
            status = self.statuses.get(name)
            if is_done and (status is None or not status.is_ready):
                await self.restart(name)

        self._attempts[name] = attempt = SignInAttempt(
            launch,
            SignInStore(Path(launch.state_dir), launch.url),
            network_environment(),
            self._startable(name).client.callback_port,
            self.open_page,
            ended,
        )
        return attempt

    def check_sign_in(self, name: str) -> None:
        """Raise ConfigError if there is no such server that may start, or it has no sign-in."""
        self._sign_in_launch(name)

    async def sign_out(self, name: str) -> bool:
        """Remove the sign-in to a server, and connect again without it; return whether there was one.

        Raises:
            ConfigError: there is no such server, it has no sign-in, or it cannot be removed.
        """
        from forge_core.mcp.sign_in_store import SignInStore

        launch = self._sign_in_launch(name)
        was_there = await asyncio.to_thread(SignInStore(Path(launch.state_dir), launch.url).remove)
        if was_there:
            await self.restart(name)
        return was_there

    def signed_in_at(self, name: str) -> float:
        """Return when the user has signed in to a server, in seconds since the epoch; 0 without a sign-in.
        Blocks."""
        from forge_core.mcp.sign_in_store import SignInStore

        try:
            launch = self._sign_in_launch(name)
        except ConfigError:
            return 0.0
        return SignInStore(Path(launch.state_dir), launch.url).obtained_at()

    async def revoke(self, name: str) -> bool:
        """Forget that the user has approved a server, and end it; return whether they had decided about it.

        Raises:
            ConfigError: there is no such server, or that cannot be stored.
        """
        entry = self._startable(name)
        assert self.approvals is not None
        was_there = await asyncio.to_thread(self.approvals.revoke, self._config, entry)
        await self.reload()
        return was_there

    def _sign_in_launch(self, name: str) -> ServerLaunch:
        from forge_core.mcp.server_launch import sign_in_launch

        return sign_in_launch(self._startable(name), self._launch_settings())

    def _startable(self, name: str) -> ServerEntry:
        """Return a server that may start. Raises ConfigError."""
        allowed = () if self.approvals is None else self.approvals.allowed
        entry = next((one for one in allowed if one.name == name), None)
        if entry is None:
            raise ConfigError(f"There is no server {safe_line(name)!r} that may start; /mcp lists them.")
        return entry

    async def settled(self, timeout_s: float) -> list[str]:
        """Wait until every server has connected or failed; return the names of those that have not connected
        by then."""
        if self._starting is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await asyncio.wait([self._starting])
                    if self._servers is not None:
                        await self._servers.settled(timeout_s)
        return [name for name, one in self.statuses.items() if not one.is_ready]

    async def use_roots(self) -> None:
        """Tell the servers which folders the workspace has now."""
        if self._servers is not None:
            await self._servers.use_roots([str(one) for one in self._environment.policy.folders.all])

    async def aclose(self) -> None:
        """End all servers."""
        await self.offers.aclose()
        for attempt in self._attempts.values():
            await attempt.cancel()
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait([self._starting])
        if self._servers is not None:
            await self._servers.aclose()

    def _has_files(self) -> bool:
        config = self._config
        paths = (config.working_dir / SERVER_FILE, config.config_dir / _OWN_FILE)
        return bool(config.mcp_config or config.session_servers) or any(map(os.path.lexists, paths))

    def _start(self, gone: Sequence[str], new: Sequence[ServerEntry]) -> None:
        if not gone and not new:
            return
        before = self._starting

        async def work() -> None:
            if before is not None:
                await asyncio.wait([before])
            if self._servers is None:
                self._servers = await asyncio.to_thread(self._new_servers)
            for name in gone:
                await self._servers.stop(name)
            await self._servers.start(new)

        self._starting = asyncio.create_task(work(), name="forge-mcp")

    def _new_servers(self) -> McpServers:
        from forge_core.mcp.server_files import EMPTY_FOLDER
        from forge_core.mcp.servers import McpServers, ServerHost
        from forge_core.tools.shell.environment import network_environment

        def refusal(entry: ServerEntry) -> str:
            return "" if self.approvals is None else self.approvals.refusal(entry)

        make_private_folder(self._config.state_dir / EMPTY_FOLDER)
        host = ServerHost(
            settings=self._launch_settings(),
            bridge_environment=network_environment(),
            reader=self._reader,
            ask=self._ask,
            log=self._log,
            changed=self._changed,
            refusal=refusal,
        )
        return McpServers(host)

    def _launch_settings(self) -> LaunchSettings:
        from forge_core.mcp.server_launch import LaunchSettings

        return LaunchSettings.of_session(self._environment.policy.folders.all, self._config)

    # What the servers send

    def _changed(self) -> None:
        """Use the tools that there are now, and report new failures."""
        from forge_core.mcp.wire import ServerState

        assert self._servers is not None
        for name, status in self.statuses.items():
            report = status.report
            if report.state is ServerState.READY and not report.warning:
                self._reported.pop(name, None)
            elif report.state is ServerState.READY and self._reported.get(name) != report.warning:
                self._reported[name] = report.warning
                self._say(f"Of the MCP server {name!r}, {report.warning}.")
            elif report.state is ServerState.FAILED and self._reported.get(name) != report.error:
                self._reported[name] = report.error
                text = f"The MCP server {name!r} failed: {safe_line(report.error)}. /mcp shows it."
                self._notify(Notice(level="warning", text=text))
            elif report.state is ServerState.NEEDS_SIGN_IN and name not in self._reported:
                self._reported[name] = report.error
                text = (
                    f"The MCP server {name!r} needs a sign-in: /mcp login {name}, or in a shell "
                    f"forge mcp login {name}."
                )
                self._notify(Notice(level="warning", text=text))
        self.offers.changed()
        tools = self._servers.tools()
        if tools != self._tools:
            self._tools = tools
            self._use_tools(tools)

    def _log(self, server: str, text: str) -> None:
        for line in text.splitlines():
            self._logger.info("mcp %s: %s", server, safe_line(line))

    async def _ask(self, question: ServerQuestion) -> Any:
        """Return the user's answer to a question of a server."""
        if question.kind == "sample":
            from forge_core.mcp.sampling import sampled

            if (sampling := self._sampling) is None:
                return None
            return await sampled(
                question, sampling.model, self._environment.responder, sampling.answer, self._say
            )
        from forge_core.mcp.elicitation import answer_to

        return await answer_to(question, self._environment.responder, self.open_page, self._say)

    async def _open_page(self, url: str) -> bool:
        from forge_core.mcp.browser import open_page

        return await open_page(url, self._config.working_dir, os.environ)

    async def _has_browser(self) -> bool:
        from forge_core.mcp.browser import opener

        return await asyncio.to_thread(opener, self._config.working_dir, os.environ) is not None

    def _say(self, text: str) -> None:
        self._notify(Notice(level="warning", text=safe_line(text)))

    def _reader(self) -> ResultReader:
        from forge_core.mcp.results import ResultReader

        self._environment.policy.allow_reading(self._environment.output_dir)
        return ResultReader(self._keep_file, self._keep_image())

    def _keep_file(self, data: bytes, ending: str) -> Path | None:
        """Write what a result holds besides text to a private file. Blocks."""
        folder = self._environment.output_dir
        try:
            make_private_folder(folder)
            while True:
                self._files += 1
                path = folder / f"mcp-{self._files:04d}{ending}"
                with contextlib.suppress(FileExistsError):
                    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
                    with os.fdopen(descriptor, "wb") as file:
                        file.write(data)
                    return path
        except OSError:
            return None


def _untrusted(config: ForgeConfig) -> list[ServerTable]:
    from forge_core.mcp.server_files import read_source
    from forge_core.mcp.server_listing import untrusted_sources

    return [read_source(source) for source in untrusted_sources(config)]
