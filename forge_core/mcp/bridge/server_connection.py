"""One server: connects, lists what it offers, runs requests, and connects again after a crash."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import mcp_types as types
from mcp import Client, MCPError
from mcp.client import ClientRequestContext, IncomingMessage, Transport
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter

from forge_core import __version__
from forge_core.mcp.bridge.failures import RequestFailedError, pages_to_open, reason_of
from forge_core.mcp.bridge.http_client import HttpClient, http_transport
from forge_core.mcp.bridge.kept_sign_in import KeptSignIn
from forge_core.mcp.bridge.list_items import ListItems
from forge_core.mcp.bridge.listing import ServerLists, as_json, changed_lists, list_all, listen
from forge_core.mcp.bridge.open_requests import Ask, OpenRequests, UserQuestions
from forge_core.mcp.bridge.side_output import CallProgress, Progress, ServerLog
from forge_core.mcp.bridge.silent_servers import SilentServers
from forge_core.mcp.bridge.stdio_transport import ServerProcess, stdio_transport
from forge_core.mcp.wire import RESTART, BridgeEvent, Protocol, ServerLaunch, ServerReport, ServerState

START_S = 30.0  # of a program: `npx` and `uvx` download theirs the first time
CONNECT_S = 10.0  # to a service
LIST_S = 10.0
IDLE_CALL_S = 120.0
"""A call without progress for this long ends."""
MAX_CALL_S = 600.0
_RESTART_DELAYS_S = (1.0, 2.0, 4.0)
_RESTARTS_WITHIN_S = 300.0
_REFRESH_S = 1.0
"""Between two reads of a list that keeps changing."""
_SIGN_IN_POLL_S = 2.0
_MAX_ROUNDS = 10
"""Of questions that a server asks during one call."""
_CUT = frozenset(
    {
        "SSE stream ended without a response",
        "SSE stream ended and reconnection attempts were exhausted",
        "Connection closed",
    }
)
"""What the SDK says of a request whose answer cannot come any more."""
_WITHOUT_ROOT_CHANGES = "2026-07-28"
"""From this revision on, a server asks for the roots when it needs them, and is not told of changes."""

_Result = TypeVar("_Result")
Send: TypeAlias = Callable[[dict[str, Any]], None]


class ServerConnection:
    """A server, from its start to `aclose`. Its task alone enters and leaves the connection."""

    def __init__(
        self, launch: ServerLaunch, send: Send, ask: Ask, learn: Callable[[tuple[str, ...]], None]
    ) -> None:
        """`learn` is given values that must appear nowhere."""
        self.launch = launch
        self._sign_in = KeptSignIn(launch, learn) if launch.url and launch.state_dir else None
        self._send = send
        self._log = ServerLog(launch.name, send)
        self._ask = ask
        self._client: Client | None = None
        self._process: ServerProcess | None = None
        self._http: HttpClient | None = None
        self._protocol = launch.protocol
        """How the next connection begins."""
        self._reason = ""
        """Why there is no connection; empty with one, and while it is made."""
        self._limit: asyncio.Timeout | None = None
        """Of what the task waits for while it connects."""
        self._lists = ServerLists()
        self._items = ListItems()
        self._has_answered = False
        self._requests = OpenRequests()
        self._asking = UserQuestions(ask, self._requests)
        self._stop, self._lost, self._changed = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._restarts: deque[float] = deque(maxlen=len(_RESTART_DELAYS_S))
        self._task = asyncio.create_task(self._run(), name=f"mcp-{launch.name}")

    async def aclose(self) -> None:
        """End the connection and the server's processes."""
        self._stop.set()
        self._give_up()
        await asyncio.wait([self._task])

    def _give_up(self) -> None:
        """Let the task leave the connection, also while it is not made yet."""
        self._lost.set()
        if self._limit is not None:
            self._limit.reschedule(0)

    async def use_roots(self, roots: tuple[str, ...]) -> None:
        """Have other folders in the workspace, and tell the server."""
        self.launch = replace(self.launch, roots=roots)
        client = self._client
        if client is not None and client.protocol_version < _WITHOUT_ROOT_CHANGES:
            try:
                await client.send_roots_list_changed()
            except Exception as error:  # the server asks again when it needs them
                self._log(f"it was not told of other roots: {reason_of(error)}")

    # The connection

    async def _run(self) -> None:
        state = ServerState.STARTING
        while not self._stop.is_set():
            self._report(state)
            was_ready = False
            try:
                async with contextlib.AsyncExitStack() as stack:
                    await self._connect(stack)
                    was_ready = True
                    await self._serve()
                reason = self._ending() or self._problem() or "the connection was closed"
            except Exception as error:  # whatever a server does, the others go on
                reason = self._explained(error)
            finally:
                self._client = None
            if self._stop.is_set():
                break
            if self._http is not None and self._http.needs_sign_in:
                self._report(ServerState.NEEDS_SIGN_IN, error=reason)
                await self._signed_in()
                state = ServerState.STARTING
                continue
            if was_ready and self._http is not None and self._http.is_session_gone:
                state = (
                    ServerState.RESTARTING
                )  # at once, and as often as a session ends: only requests find out
                continue
            if not was_ready or (delay_s := self._restart_delay()) is None:
                self._report(ServerState.FAILED, error=reason)
                await self._stop.wait()
                break
            state = ServerState.RESTARTING
            self._report(state, error=reason)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay_s):
                    await self._stop.wait()
            if self.launch.argv and (refusal := await self._refusal()):
                self._report(ServerState.FAILED, error=refusal)
                await self._stop.wait()
                break
        self._report(ServerState.STOPPED)

    async def _signed_in(self) -> None:
        """Wait until the user has signed in, which may be in another program, or for the end."""
        while not self._stop.is_set() and not (self._sign_in and self._sign_in.is_replaced()):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_SIGN_IN_POLL_S):
                    await self._stop.wait()

    async def _refusal(self) -> str:
        """Return why the session lets the program not be started again: its files may have changed."""
        asking = asyncio.ensure_future(self._ask(RESTART, {}))
        stopping = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait({asking, stopping}, return_when=asyncio.FIRST_COMPLETED)
            return str(asking.result()) if asking.done() else ""
        finally:
            asking.cancel()
            stopping.cancel()

    def _restart_delay(self) -> float | None:
        """Return how long to wait before the server is started again; None: it has crashed too often."""
        now = time.monotonic()
        recent = [at for at in self._restarts if now - at < _RESTARTS_WITHIN_S]
        if len(recent) == len(_RESTART_DELAYS_S):
            return None
        self._restarts.append(now)
        return _RESTART_DELAYS_S[len(recent)]

    async def _connect(self, stack: contextlib.AsyncExitStack) -> None:
        began = time.monotonic()
        self._lost.clear()
        self._process, self._http, self._has_answered = None, None, False
        client = await self._negotiated(stack)
        self._has_answered = True
        initialize_ms = round((time.monotonic() - began) * 1000)
        async with self._within(LIST_S):
            lists = await list_all(client, self._items)
        self._client = client
        self._publish(lists)
        info = client.server_info
        capabilities = client.server_capabilities.model_dump(exclude_none=True)
        self._report(
            ServerState.READY,
            protocol=client.protocol_version,
            title=f"{info.title or info.name} {info.version}".strip() if info else "",
            instructions=client.instructions or "",
            capabilities=tuple(capabilities),
            warning=lists.warning,
            initialize_ms=initialize_ms,
            connect_ms=round((time.monotonic() - began) * 1000),
        )

    async def _negotiated(self, stack: contextlib.AsyncExitStack) -> Client:
        """Return the connected client. A URL is asked for the protocol first, and connected as an older
        server if that fails; the other way round if it is known not to answer."""
        silent, is_silent = SilentServers(self.launch), False
        protocols = await asyncio.to_thread(silent.attempts, self._protocol)
        limit_s = CONNECT_S if self.launch.url else START_S
        for at, protocol in enumerate(protocols):
            try:
                async with self._within(limit_s / len(protocols)):
                    client = await stack.enter_async_context(self._new_client(protocol))
                    if protocol in MODERN_PROTOCOL_VERSIONS:
                        # The SDK would go on without knowing what the server can do.
                        found = await client.session.send_discover(protocol)
                        client.session.adopt(types.DiscoverResult.model_validate(found))
                await asyncio.to_thread(silent.note, protocol, is_silent=is_silent)
                self._protocol = protocol
                return client
            except Exception as error:
                is_silent = isinstance(error, TimeoutError) and not self._lost.is_set()
                if at + 1 < len(protocols) and not (self._http and self._http.needs_sign_in):
                    continue
                if isinstance(error, TimeoutError):
                    late = f"it did not answer its initialization within {limit_s:g} s"
                    raise RequestFailedError(self._problem() or late) from None
                raise
        raise AssertionError("unreachable")

    @contextlib.asynccontextmanager
    async def _within(self, limit_s: float) -> AsyncIterator[None]:
        """Raise TimeoutError in the body after this time, or when the connection is given up."""
        async with asyncio.timeout(0 if self._stop.is_set() else limit_s) as limit:
            self._limit = limit
            try:
                yield
            finally:
                self._limit = None

    def _new_client(self, protocol: Protocol) -> Client:
        self._items = ListItems()
        return Client(
            self._items.transport(self._transport()),
            mode=protocol,
            cache=None,
            client_info=types.Implementation(name="forge", title="Forge", version=__version__),
            elicitation_callback=self._asking.elicit,
            sampling_callback=self._asking.sample if self.launch.may_sample else None,
            list_roots_callback=self._roots,
            logging_callback=self._logged,
            message_handler=self._notified,
        )

    def _transport(self) -> Transport:
        launch = self.launch
        if not launch.url:
            return stdio_transport(launch, self._log, self._started, self._lost.set)
        self._http = HttpClient(launch, self._give_up, sign_in=self._sign_in)
        return http_transport(launch, self._http)

    def _started(self, process: ServerProcess) -> None:
        self._process = process

    async def _serve(self) -> None:
        """Read lists again whenever they change, until the connection is lost."""
        client = self._client
        assert client is not None
        listening = asyncio.create_task(listen(client, self._changed.set, self._log))
        try:
            await self._keep_lists()
        finally:
            listening.cancel()
            await asyncio.wait([listening])

    async def _keep_lists(self) -> None:
        while not self._lost.is_set():
            waits = [asyncio.create_task(one.wait()) for one in (self._lost, self._changed)]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for one in waits:
                one.cancel()
            if self._lost.is_set():
                return
            self._changed.clear()
            await self._refresh()

    async def _refresh(self) -> None:
        client = self._client
        assert client is not None
        try:
            async with asyncio.timeout(LIST_S):
                lists = await list_all(client, self._items)
            self._publish(lists)
            if lists.warning:
                self._log(f"{lists.warning}\n")
        except Exception as error:  # the last good lists stay
            self._log(f"its lists were not read again: {self._explained(error)}")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_REFRESH_S):
                await self._lost.wait()

    def _publish(self, lists: ServerLists) -> None:
        """Send the lists that are different from the last ones."""
        before, self._lists = self._lists, lists
        for event in changed_lists(self.launch.name, before, lists):
            self._send(event)

    def _report(self, state: ServerState, **fields: Any) -> None:
        self._reason = fields.get("error", "")
        report = ServerReport(state=state, **fields)
        self._send({"event": BridgeEvent.STATE, "server": self.launch.name, **report.to_json()})

    def _problem(self) -> str:
        return self._http.problem if self._http is not None else ""

    def _ending(self) -> str:
        return self._process.ending(has_answered=True) if self._process is not None else ""

    def _explained(self, error: BaseException) -> str:
        """Return what went wrong: how the process has ended, if it has."""
        if self._process is not None and (ending := self._process.ending(has_answered=self._has_answered)):
            return ending
        reason = reason_of(error)
        if self._process is not None and self._process.stray:
            return f"{reason}; its last line was {self._process.stray!r}"
        return reason

    # Requests

    async def call(
        self, tool: str, arguments: dict[str, Any], timeout_s: float | None, on_progress: Progress
    ) -> dict[str, Any]:
        """Call a tool; return the result as in the protocol. Raises RequestFailedError.

        A call ends after `IDLE_CALL_S` without progress and after `MAX_CALL_S` in all, or after `timeout_s`;
        while the user is asked something for it, no time passes. It is never repeated.
        """
        client, report = self._ready(), CallProgress(on_progress)

        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            limit.progressed()
            await report(progress, total, message)

        async def send_once(responses: Any, state: str | None) -> Any:
            params = types.CallToolRequestParams(
                name=tool, arguments=arguments, input_responses=responses, request_state=state
            )
            # Not `client.call_tool`: it fails where the result differs from the schema of the output, and the
            # result is lost.
            return await client.session.send_request(
                types.CallToolRequest(params=params), _CALL_RESULT, progress_callback=progressed
            )

        async def send(responses: Any = None, state: str | None = None) -> Any:
            try:
                return await send_once(responses, state)
            except MCPError as error:
                # It was refused because of what the list says about its headers, and did not run.
                if error.code != types.HEADER_MISMATCH:
                    raise
                if not await self._is_unchanged(tool):
                    reason = (
                        f"its tool {tool!r} has changed since it was listed, so the call was not sent again"
                    )
                    raise RequestFailedError(reason) from error
                return await send_once(responses, state)

        async def work() -> dict[str, Any]:
            try:
                return as_json(await self._with_answers(client, await send(), send))
            except MCPError as error:
                if error.code != types.URL_ELICITATION_REQUIRED:
                    raise
                reason = await self._requests.answered(pages_to_open(error, self._ask))
                raise RequestFailedError(reason or reason_of(error)) from error

        try:
            async with self._requests.limited(timeout_s or IDLE_CALL_S, timeout_s or MAX_CALL_S) as limit:
                return await self._request(work())
        except TimeoutError:
            waited = limit.exceeded_s
            raise RequestFailedError(f"the call did not end within {waited:g} s, and was cancelled") from None

    async def _is_unchanged(self, tool: str) -> bool:
        """Read the lists again; return whether this tool is still the one that the user has seen."""

        def listed() -> list[dict[str, Any]]:
            return [one for one in self._lists.tools if one["name"] == tool]

        before = listed()
        self._publish(await list_all(self._ready(), self._items))
        return bool(before) and listed() == before

    async def prompt(self, name: str, arguments: dict[str, str]) -> dict[str, Any]:
        """Return the messages of a prompt, as in the protocol. Raises RequestFailedError."""
        return as_json(await self._limited(self._ready().get_prompt(name, arguments)))

    async def read(self, uri: str) -> dict[str, Any]:
        """Return the contents of a resource, as in the protocol. Raises RequestFailedError."""
        return as_json(await self._limited(self._ready().read_resource(uri)))

    async def complete(
        self, ref: dict[str, Any], argument: dict[str, str], context: dict[str, str] | None
    ) -> list[str]:
        """Return completions of an argument of a prompt or a resource template. Raises RequestFailedError."""
        of_prompt = ref.get("type") == "ref/prompt"
        kind = types.PromptReference if of_prompt else types.ResourceTemplateReference
        request = self._ready().complete(kind.model_validate(ref), argument, context)
        return list((await self._limited(request)).completion.values)

    def _ready(self) -> Client:
        if self._client is None:
            why = f": {self._reason}" if self._reason else ""
            raise RequestFailedError(f"the server {self.launch.name!r} is not connected{why}")
        return self._client

    async def _limited(self, request: Awaitable[_Result]) -> _Result:
        try:
            async with self._requests.limited(LIST_S, LIST_S):
                return await self._request(request)
        except TimeoutError:
            raise RequestFailedError(f"it did not answer within {LIST_S:g} s") from None

    async def _request(self, request: Awaitable[_Result]) -> _Result:
        """Return the result of a request. Raises RequestFailedError with the reason, and finds out that the
        connection is lost."""
        try:
            return await request
        except TimeoutError:
            raise
        except Exception as error:  # of a server, or of the SDK about what a server has sent
            reason = reason_of(error)
            if self._process is not None and isinstance(error, MCPError) and _is_closed(error):
                await self._process.wait_for_exit(0.5)
                reason = self._ending() or reason
            elif self._http is not None:
                if reason in _CUT:
                    reason = self._problem() or "it closed the connection before it had answered"
                if self._problem() or self._http.needs_sign_in:
                    self._lost.set()
            raise RequestFailedError(reason) from error

    async def _with_answers(self, client: Client, result: Any, send: Callable[..., Awaitable[Any]]) -> Any:
        """Answer what the server asks before it has a result, and send the request again with the answers
        (revision 2026-07-28)."""
        for _ in range(_MAX_ROUNDS):
            if not isinstance(result, types.InputRequiredResult):
                return result
            answers: dict[str, Any] = {}
            for key, request in (result.input_requests or {}).items():
                context = ClientRequestContext(session=client.session, request_id=key)
                answer = await client.session.dispatch_input_request(context, request)
                if isinstance(answer, types.ErrorData):
                    raise RequestFailedError(answer.message)
                answers[key] = answer
            result = await send(answers, result.request_state)
        raise RequestFailedError(f"it asked more than {_MAX_ROUNDS} times during one call")

    # What a server sends by itself

    async def _roots(self, context: ClientRequestContext) -> types.ListRootsResult:
        roots = [types.Root(uri=Path(one).as_uri(), name=Path(one).name) for one in self.launch.roots]  # type: ignore[arg-type]
        return types.ListRootsResult(roots=roots)

    async def _logged(self, params: types.LoggingMessageNotificationParams) -> None:
        self._log(f"{params.level}: {params.data}", stream="message")

    async def _notified(self, message: IncomingMessage) -> None:
        changes = (
            types.ToolListChangedNotification,
            types.PromptListChangedNotification,
            types.ResourceListChangedNotification,
        )
        if isinstance(message, changes):
            self._changed.set()


_CALL_RESULT: TypeAdapter[types.CallToolResult | types.InputRequiredResult] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)


def _is_closed(error: MCPError) -> bool:
    return error.code == types.CONNECTION_CLOSED
