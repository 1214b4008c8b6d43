"""The MCP servers of a session: their states, their tools, and the calls to them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from forge_core.errors import ToolError
from forge_core.mcp.approved_servers import fingerprint_of
from forge_core.mcp.argument_check import problem_in
from forge_core.mcp.bridge_process import BridgeError, BridgeProcess
from forge_core.mcp.mcp_tool import ListedTool, McpTool, tool_names
from forge_core.mcp.results import ResultReader
from forge_core.mcp.server_files import ServerEntry
from forge_core.mcp.server_launch import LaunchSettings, UnresolvedServerError, launch_of
from forge_core.mcp.server_questions import Ask, ServerQuestions
from forge_core.mcp.wire import RESTART, BridgeEvent, Operation, ServerReport, ServerState
from forge_core.sanitize import safe_line
from forge_core.tools.base import ExecutionContext, ToolResult

_KEPT_LOG_CHARS = 64_000
"""The last characters of what each server has written to standard error."""


@dataclass(slots=True)
class ServerStatus:
    """What is known of a server now. All text of it is untrusted."""

    entry: ServerEntry
    report: ServerReport
    tools: list[ListedTool] = field(default_factory=list)
    prompts: list[Mapping[str, Any]] = field(default_factory=list)
    resources: list[Mapping[str, Any]] = field(default_factory=list)
    templates: list[Mapping[str, Any]] = field(default_factory=list)
    calls: int = 0
    fingerprint: str = ""
    """Of its entry and files as it was started."""
    last_error: str = ""
    """The last one, also after the server has been connected again."""
    log: str = ""
    """The end of what it has written to standard error."""

    @property
    def is_ready(self) -> bool:
        return self.report.state is ServerState.READY

    @property
    def is_settled(self) -> bool:
        """Whether it has connected, or failed to."""
        return self.report.state not in (ServerState.STARTING, ServerState.RESTARTING)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerHost:
    """What servers need of the session."""

    settings: LaunchSettings
    bridge_environment: Mapping[str, str]
    reader: Callable[[], ResultReader]
    """Returns the reader of one result."""
    ask: Ask
    log: Callable[[str, str], None]
    """Records a line of a server in Forge's log."""
    changed: Callable[[], None]
    """Called on the event loop when a state or a list has changed."""
    refusal: Callable[[ServerEntry], str]
    """Returns why a server must not start after all. Blocks."""


class McpServers:
    """Starts servers and calls their tools. The bridge is started with the first server."""

    def __init__(self, host: ServerHost) -> None:
        self.statuses: dict[str, ServerStatus] = {}
        """By name, in the order in which they were declared."""
        self._host = host
        self._bridge: BridgeProcess | None = None
        self._questions = ServerQuestions(host.ask, self._answer)
        self._starting = asyncio.Lock()
        self._restarts_left = 1
        """How often the bridge is started again if it dies."""
        self._tools: dict[str, McpTool] = {}
        self._settled = asyncio.Event()
        self._background: set[asyncio.Task[Any]] = set()

    # Starting and stopping

    async def start(self, entries: Iterable[ServerEntry]) -> None:
        """Start servers, and those that run already anew. Returns before they are connected."""
        for entry in entries:
            report = ServerReport(state=ServerState.STARTING)
            self.statuses[entry.name] = ServerStatus(entry, report)
            await self._start(entry)
        self._update()

    async def stop(self, name: str) -> None:
        """End a server; its tools are no longer offered."""
        status = self.statuses[name]
        if self._bridge is not None:
            with contextlib.suppress(BridgeError):
                await self._bridge.request(Operation.STOP, server=name)
        status.tools, status.prompts, status.resources, status.templates = [], [], [], []
        status.report = ServerReport(state=ServerState.STOPPED)
        self._update()

    async def settled(self, timeout_s: float) -> bool:
        """Wait until every server has connected or failed; return whether they all have in time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while not all(one.is_settled for one in self.statuses.values()):
                    self._settled.clear()
                    await self._settled.wait()
        return all(one.is_settled for one in self.statuses.values())

    async def use_roots(self, roots: Sequence[str]) -> None:
        """Have other folders in the workspace, and tell the servers that run."""
        settings = replace(self._host.settings, roots=tuple(roots))
        self._host = replace(self._host, settings=settings)
        if self._bridge is not None:
            with contextlib.suppress(BridgeError):
                await self._bridge.request(Operation.ROOTS, roots=list(roots))

    async def aclose(self) -> None:
        """End all servers and the bridge."""
        self._questions.withdraw_all()
        for task in [*self._background]:
            task.cancel()
        if self._bridge is not None:
            await self._bridge.aclose()

    async def _start(self, entry: ServerEntry) -> None:
        try:
            if reason := await self._refusal(self.statuses[entry.name]):
                raise UnresolvedServerError(reason)
            fingerprint = self.statuses[entry.name].fingerprint
            launch = replace(launch_of(entry, self._host.settings), fingerprint=fingerprint)
            bridge = await self._running_bridge()
            await bridge.request(Operation.START, server=launch.to_json())
        except (UnresolvedServerError, BridgeError) as error:
            self._failed(entry.name, str(error))

    async def _refusal(self, status: ServerStatus) -> str:
        """Return why a server must not start now; take its fingerprint if it may."""
        if reason := await asyncio.to_thread(self._host.refusal, status.entry):
            return reason
        status.fingerprint = await asyncio.to_thread(fingerprint_of, status.entry)
        return ""

    async def _let_restart(self, status: ServerStatus, question_id: int) -> None:
        self._answer(question_id, await self._refusal(status))

    async def _running_bridge(self) -> BridgeProcess:
        async with self._starting:
            if self._bridge is None:
                bridge = BridgeProcess(self._take, self._bridge_ended)
                await bridge.start(self._host.bridge_environment)
                self._bridge = bridge
            return self._bridge

    def _bridge_ended(self, reason: str) -> None:
        """Start the bridge once more, with all servers; after that they have failed."""
        self._bridge = None
        self._questions.withdraw_all()
        again = [one.entry for one in self.statuses.values() if one.report.state is not ServerState.STOPPED]
        self._host.log("bridge", reason)
        if self._restarts_left <= 0:
            for entry in again:
                self._failed(entry.name, f"the MCP bridge has ended: {reason}")
            return
        self._restarts_left -= 1

        self._in_background(self.start(again))

    def _in_background(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    # Tools

    def tools(self) -> list[McpTool]:
        """Return the tools of all connected servers, in the order of the servers."""
        return [*self._tools.values()]

    def is_current(self, tool: McpTool) -> bool:
        """Return whether a tool is as its server lists it now; of a server that does not run, `call` reports
        that."""
        status = self.statuses.get(tool.server.name)
        is_listed = status is not None and status.report.state is ServerState.READY
        return not is_listed or self._tools.get(tool.name) is tool

    async def call(
        self, tool: McpTool, arguments: Mapping[str, Any], context: ExecutionContext
    ) -> ToolResult:
        """Run a call of a tool. Raises ToolError."""
        status = self.statuses.get(tool.server.name)
        if self._bridge is None or status is None:
            raise ToolError(f"the MCP server {tool.server.name!r} is not running")
        status.calls += 1

        def progressed(message: Mapping[str, Any]) -> None:
            if context.on_output is not None:
                context.on_output(_progress_line(message))

        try:
            with self._questions.during(tool.server.name, context):
                result = await self._bridge.request(
                    Operation.CALL,
                    on_progress=progressed,
                    server=tool.server.name,
                    tool=tool.listed.name,
                    arguments=dict(arguments),
                    timeout_s=tool.server.timeout_s,
                )
        except BridgeError as error:
            raise ToolError(f"{tool.server.name}: {safe_line(str(error))}") from error
        reader, warning = self._host.reader(), await _mismatch(tool, result)
        return await asyncio.to_thread(reader.read, result, warning)  # it may hold large files

    # What the user names

    async def prompt(self, server: str, name: str, arguments: Mapping[str, str]) -> Mapping[str, Any]:
        """Return the messages of a prompt, as in the protocol. Raises BridgeError."""
        fields = {"server": server, "prompt": name, "arguments": dict(arguments)}
        found: Mapping[str, Any] = await self._requested(Operation.PROMPT, **fields)
        return found

    async def read(self, server: str, uri: str) -> Mapping[str, Any]:
        """Return the contents of a resource, as in the protocol. Raises BridgeError."""
        found: Mapping[str, Any] = await self._requested(Operation.READ, server=server, uri=uri)
        return found

    async def complete(
        self, server: str, ref: Mapping[str, Any], argument: Mapping[str, str], given: Mapping[str, str]
    ) -> list[str]:
        """Return values of an argument of a prompt or a template; `given` are the other arguments. Raises
        BridgeError."""
        fields = {"ref": dict(ref), "argument": dict(argument), "context": dict(given) or None}
        found: list[str] = await self._requested(Operation.COMPLETE, server=server, **fields)
        return found

    async def _requested(self, operation: Operation, **fields: Any) -> Any:
        if self._bridge is None:
            raise BridgeError("The MCP bridge is not running.")
        return await self._bridge.request(operation, **fields)

    # What the bridge sends

    def _take(self, event: BridgeEvent, message: Mapping[str, Any]) -> None:
        status = self.statuses.get(message["server"])
        if status is None:
            return
        match event:
            case BridgeEvent.STATE:
                status.report = ServerReport.from_json(message)
                status.last_error = status.report.error or status.last_error
                if status.report.state in (ServerState.FAILED, ServerState.STOPPED):
                    status.tools = []
            case BridgeEvent.TOOLS:
                read = (ListedTool.read(item) for item in message["items"])
                status.tools = [one for one in read if one is not None]
            case BridgeEvent.PROMPTS:
                status.prompts = message["items"]
            case BridgeEvent.RESOURCES:
                status.resources, status.templates = message["items"], message["templates"]
            case BridgeEvent.LOG:
                if message["stream"] == "stderr":
                    status.log = (status.log + message["text"])[-_KEPT_LOG_CHARS:]
                self._host.log(status.entry.name, message["text"])
                return
            case BridgeEvent.ASK if message["kind"] == RESTART:
                self._in_background(self._let_restart(status, message["id"]))
                return
            case BridgeEvent.ASK:
                self._questions.take(message["id"], status.entry, message["kind"], message["params"])
                return
            case BridgeEvent.WITHDRAW:
                self._questions.withdraw(message["id"])
                return
        self._update()

    def _answer(self, question_id: int, value: Any) -> None:
        if self._bridge is not None:
            with contextlib.suppress(BridgeError):
                self._bridge.send({"op": Operation.ANSWER, "id": question_id, "value": value})

    def _failed(self, name: str, reason: str) -> None:
        status = self.statuses[name]
        status.tools = []
        status.report = ServerReport(state=ServerState.FAILED, error=reason)
        status.last_error = reason
        self._update()

    def _update(self) -> None:
        """Make the tools anew from the lists, and tell the session."""
        listed = [
            (status, tool)
            for status in self.statuses.values()
            for tool in status.tools
            if _is_wanted(status.entry, tool.name)
        ]
        names = tool_names((status.entry.name, tool.name) for status, tool in listed)
        before, self._tools = self._tools, {}
        for status, tool in listed:
            made = McpTool(names[status.entry.name, tool.name], tool, status.entry, self, status.fingerprint)
            known = before.get(made.name)
            self._tools[made.name] = known if known is not None and known.is_same_as(made) else made
        self._settled.set()
        self._host.changed()


def _is_wanted(entry: ServerEntry, tool: str) -> bool:
    is_allowed = entry.allowed_tools is None or tool in entry.allowed_tools
    return is_allowed and tool not in entry.denied_tools


async def _mismatch(tool: McpTool, result: Mapping[str, Any]) -> str:
    """Return how a result differs from what its server promised; empty if it does not."""
    schema, structured = tool.listed.output_schema, result.get("structuredContent")
    if schema is None or result.get("isError"):
        return ""
    if structured is None:
        return "the tool declares structured output, and sent none"
    problem = await problem_in(structured, schema)
    return f"the structured output differs from its schema: {problem}" if problem else ""


def _progress_line(message: Mapping[str, Any]) -> str:
    done, total, text = message.get("progress"), message.get("total"), message.get("message")
    amount = f"{done:g} of {total:g}" if total else f"{done:g}"
    return safe_line(f"{amount}: {text}" if text else amount) + "\n"
