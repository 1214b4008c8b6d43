"""`forge acp`: answers the client's requests. What runs sessions is imported with the first one."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import threading
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from acp import PROTOCOL_VERSION, RequestError, schema
from acp.connection import Connection
from acp.meta import AGENT_METHODS
from pydantic import BaseModel, ValidationError

from forge_core import __version__
from forge_core.config.forge_config import ForgeConfig
from forge_core.errors import ConfigError, ForgeError
from forge_core.integrations.acp.client import EditorClient
from forge_core.integrations.acp.stdio_lines import LineTransport
from forge_core.sanitize import safe_line, safe_text

if TYPE_CHECKING:
    from forge_core.integrations.acp.editor_session import EditorSession
    from forge_core.session.saved_sessions import SavedSessions

LoadConfig: TypeAlias = Callable[[Path | None], ForgeConfig]
"""Returns the settings for a folder; None: where the program was started."""
_Route: TypeAlias = tuple[type[BaseModel], Callable[[Any], Awaitable[BaseModel | None]]]
_AuthMethod: TypeAlias = schema.TerminalAuthMethod | schema.AuthMethodAgent | schema.EnvVarAuthMethod
EditorServer: TypeAlias = (
    schema.HttpMcpServer | schema.SseMcpServer | schema.AcpMcpServer | schema.McpServerStdio
)
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_SERVER_NAME = 32
"""Characters."""
_LOG = logging.getLogger(__name__)
_WARM_UP_S = 0.05
"""After the answer to `initialize`, so that the imports do not delay it."""
_LAST_ANSWERS_S = 2.0
"""How long requests may take at the end of the input."""


class AcpServer:
    """The agent's side of one connection."""

    def __init__(self, transport: LineTransport, load: LoadConfig) -> None:
        self._load = load
        self._connection = Connection(self._handle, transport, listening=False)
        self._client = EditorClient(self._connection)
        self._sessions: dict[str, EditorSession] = {}
        self._open_requests = 0
        self._answered = asyncio.Event()
        """Set when a request was answered."""
        self._routes: Mapping[str, _Route] = {
            AGENT_METHODS["initialize"]: (schema.InitializeRequest, self._initialize),
            AGENT_METHODS["authenticate"]: (schema.AuthenticateRequest, self._authenticate),
            AGENT_METHODS["session_new"]: (schema.NewSessionRequest, self._new),
            AGENT_METHODS["session_load"]: (schema.LoadSessionRequest, self._load_session),
            AGENT_METHODS["session_resume"]: (schema.ResumeSessionRequest, self._resume),
            AGENT_METHODS["session_list"]: (schema.ListSessionsRequest, self._list),
            AGENT_METHODS["session_close"]: (schema.CloseSessionRequest, self._close),
            AGENT_METHODS["session_delete"]: (schema.DeleteSessionRequest, self._delete),
            AGENT_METHODS["session_prompt"]: (schema.PromptRequest, self._prompt),
            AGENT_METHODS["session_set_mode"]: (schema.SetSessionModeRequest, self._set_mode),
            AGENT_METHODS["session_set_config_option"]: (
                schema.SetSessionConfigOptionSelectRequest,
                self._set_option,
            ),
            AGENT_METHODS["session_cancel"]: (schema.CancelNotification, self._cancel),
        }

    async def run(self) -> None:
        """Answer until the input ends, then end all sessions."""
        try:
            await self._connection.main_loop()
            await self._answer_the_last()
        finally:
            await self._connection.close()
            for session in self._sessions.values():
                await session.aclose()

    async def _answer_the_last(self) -> None:
        """Interrupt the turns, and wait a moment for the answers to requests."""
        for session in self._sessions.values():
            session.cancel()
        try:
            async with asyncio.timeout(_LAST_ANSWERS_S):
                await asyncio.sleep(0)  # the requests that came last begin
                while self._open_requests:
                    self._answered.clear()
                    await self._answered.wait()
        except TimeoutError:
            return

    async def _handle(self, method: str, params: Any, is_notification: bool) -> Any:
        """Answer a message of the client. Raises RequestError."""
        route = self._routes.get(method)
        if route is None:
            if is_notification:
                return None
            raise RequestError.method_not_found(safe_line(method)[:200])
        model, run = route
        self._open_requests += 1
        try:
            return await run(model.model_validate(params)) or {}
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)
            raise RequestError.invalid_params({"errors": found}) from error
        except ForgeError as error:
            raise RequestError(-32602, safe_text(str(error))) from error
        except RequestError:
            raise
        except Exception as error:  # the request's border: a bug fails one request, not the connection
            _LOG.exception("%s failed", method)
            raise RequestError(-32603, f"Forge failed: {type(error).__name__}") from error
        finally:
            self._open_requests -= 1
            self._answered.set()

    # The connection

    async def _initialize(self, request: schema.InitializeRequest) -> schema.InitializeResponse:
        self._client.capabilities = request.client_capabilities or schema.ClientCapabilities()
        takes_images = await asyncio.to_thread(self._takes_images)
        asyncio.get_running_loop().call_later(_WARM_UP_S, _warm_up)
        return schema.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=schema.Implementation(name="forge", title="Forge", version=__version__),
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                session_capabilities=schema.SessionCapabilities(
                    list=schema.SessionListCapabilities(),
                    resume=schema.SessionResumeCapabilities(),
                    close=schema.SessionCloseCapabilities(),
                    delete=schema.SessionDeleteCapabilities(),
                ),
                mcp_capabilities=schema.McpCapabilities(http=True, sse=True),
                prompt_capabilities=schema.PromptCapabilities(image=takes_images, embedded_context=True),
            ),
            auth_methods=self._auth_methods(),
        )

    def _takes_images(self) -> bool:
        """Return whether the model of the settings takes images; assumed where unknown."""
        from forge_core.runtime.provider_setup import model_takes_images

        try:
            return model_takes_images(self._load(None))
        except ForgeError:  # session/new says what is wrong
            return True

    def _auth_methods(self) -> list[_AuthMethod]:
        auth = self._client.capabilities.auth
        if auth is not None and auth.terminal:
            return [
                schema.TerminalAuthMethod(
                    type="terminal",
                    id="login",
                    name="Save an API key",
                    description="Runs forge auth login. Without a key, the built-in offline model answers.",
                    args=["auth", "login"],
                )
            ]
        return [
            schema.AuthMethodAgent(
                id="key",
                name="Set an API key",
                description="Run `forge auth login` in a terminal, or set OPENROUTER_API_KEY. Without a key, "
                "the built-in offline model answers.",
            )
        ]

    async def _authenticate(self, request: schema.AuthenticateRequest) -> None:
        """Nothing happens here: sessions that are opened later find the key."""
        return

    # Sessions

    async def _new(self, request: schema.NewSessionRequest) -> schema.NewSessionResponse:
        opened = await self._open(request.cwd, request.mcp_servers)
        return schema.NewSessionResponse(session_id=opened.session.id, **await self._choices(opened))

    async def _load_session(self, request: schema.LoadSessionRequest) -> schema.LoadSessionResponse:
        opened = await self._open(request.cwd, request.mcp_servers, request.session_id)
        await opened.replay()
        return schema.LoadSessionResponse(**await self._choices(opened))

    async def _resume(self, request: schema.ResumeSessionRequest) -> schema.ResumeSessionResponse:
        opened = await self._open(request.cwd, request.mcp_servers, request.session_id)
        return schema.ResumeSessionResponse(**await self._choices(opened))

    async def _choices(self, opened: EditorSession) -> dict[str, Any]:
        """Return what the answer about an opened session says of its choices; what else there is to say of it
        follows the answer."""
        from forge_core.integrations.acp.session_options import modes_of

        options = await opened.options()
        asyncio.get_running_loop().call_soon(opened.begin)
        return {"modes": modes_of(opened.session), "config_options": options}

    async def _set_mode(self, request: schema.SetSessionModeRequest) -> None:
        from forge_core.integrations.acp.session_options import OptionId

        await self._session(request.session_id).choose(OptionId.MODE, request.mode_id)

    async def _set_option(
        self, request: schema.SetSessionConfigOptionSelectRequest
    ) -> schema.SetSessionConfigOptionResponse:
        session = self._session(request.session_id)
        await session.choose(request.config_id, request.value)
        return schema.SetSessionConfigOptionResponse(config_options=await session.options())

    async def _open(
        self, cwd: str, servers: Sequence[EditorServer] | None, session_id: str | None = None
    ) -> EditorSession:
        """Open a new session, or a saved one, with the editor's servers; one that is open goes on."""
        from forge_core.integrations.acp.editor_session import EditorSession

        folder = _absolute(cwd)
        if session_id is not None and (open_one := self._sessions.get(session_id)) is not None:
            await asyncio.to_thread(_require_same, open_one.session.config.working_dir, folder)
            return open_one
        config = await asyncio.to_thread(self._load, folder)
        if servers:
            taken = await asyncio.to_thread(_server_names, config)
            config = replace(config, session_servers=declared_servers(servers, taken))
        opened = await EditorSession.opened(self._client, config, resume=session_id)
        self._sessions[opened.session.id] = opened
        return opened

    async def _list(self, request: schema.ListSessionsRequest) -> schema.ListSessionsResponse:
        from forge_core.integrations.acp.session_replay import page_of

        folder = None if request.cwd is None else _absolute(request.cwd)
        found = await asyncio.to_thread(lambda: self._saved().list(folder))
        return page_of(found, request.cursor)

    async def _close(self, request: schema.CloseSessionRequest) -> None:
        self._session(request.session_id)
        await self._sessions.pop(request.session_id).aclose()

    async def _delete(self, request: schema.DeleteSessionRequest) -> None:
        if (session := self._sessions.pop(request.session_id, None)) is not None:
            await session.aclose()
            if session.is_unused:
                return
        await asyncio.to_thread(lambda: self._saved().delete(request.session_id))

    def _saved(self) -> SavedSessions:
        """Return the saved sessions of all folders. Blocks."""
        from forge_core.runtime import make_redactor
        from forge_core.session.saved_sessions import SavedSessions

        config = self._load(None)
        return SavedSessions(config.state_dir, make_redactor(config))

    async def _prompt(self, request: schema.PromptRequest) -> schema.PromptResponse:
        return await self._session(request.session_id).prompt(request.prompt)

    async def _cancel(self, request: schema.CancelNotification) -> None:
        if (session := self._sessions.get(request.session_id)) is not None:
            session.cancel()

    def _session(self, session_id: str) -> EditorSession:
        """Return an open session. Raises ConfigError."""
        session = self._sessions.get(session_id)
        if session is None:
            raise ConfigError(
                f"The session {safe_line(session_id)[:100]!r} is not open. session/list shows those that can "
                "be loaded."
            )
        return session


def declared_servers(
    servers: Sequence[EditorServer], taken: Collection[str] = ()
) -> Mapping[str, Mapping[str, Any]]:
    """Return the entries by name. A name is made of the characters that names of servers may have, and is
    none of those `taken`: rules for a server of the user must not allow another one. A server that the editor
    itself would run is left out, as it was not offered."""
    entries: dict[str, Mapping[str, Any]] = {}
    for server in servers:
        if (entry := _entry(server)) is not None:
            entries[_free_name(server.name, {*entries, *taken})] = entry
    return entries


def _server_names(config: ForgeConfig) -> set[str]:
    """Return the names of the servers that files declare. Blocks: it reads them."""
    from forge_core.mcp.server_files import load_servers

    table = load_servers(config)
    return {one.name for one in table.servers} | {one.name for one in table.unusable}


def _entry(server: EditorServer) -> Mapping[str, Any] | None:
    match server:
        case schema.McpServerStdio():
            variables = {one.name: one.value for one in server.env}
            return {"command": server.command, "args": list(server.args), "env": variables}
        case schema.HttpMcpServer() | schema.SseMcpServer():
            headers = {one.name: one.value for one in server.headers}
            return {"type": server.type, "url": server.url, "headers": headers}
        case schema.AcpMcpServer():
            return None


def _free_name(name: str, taken: Collection[str]) -> str:
    """Return a valid name that no other server has."""
    plain = _NOT_IN_NAMES.sub("-", name).strip("-")[:_MAX_SERVER_NAME] or "server"
    numbered = (f"{plain[: _MAX_SERVER_NAME - 3]}-{number}" for number in count(2))
    return next(one for one in chain((plain,), numbered) if one not in taken)


def _absolute(cwd: str) -> Path:
    """Return the folder of a request. Raises ConfigError."""
    if not Path(cwd).is_absolute():
        raise ConfigError(f"cwd is {safe_line(cwd)!r}; it must be an absolute path.")
    return Path(cwd)


def _require_same(folder: Path, cwd: Path) -> None:
    """Raise ConfigError if a session is open in another folder than the client names."""
    if os.path.realpath(folder) != os.path.realpath(cwd):
        raise ConfigError(
            f"The session is open in {safe_line(str(folder))!r}. Close it first, or name that folder."
        )


def _warm_up() -> None:
    """Import in a thread what the first session needs."""
    names = ("forge_core.integrations.acp.editor_session", "forge_core.runtime.tooling")
    threading.Thread(target=lambda: [import_module(name) for name in names], daemon=True).start()
