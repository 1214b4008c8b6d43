"""Requests to the client: the editor. An error of the client is logged and survived."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from acp import RequestError, schema
from acp.connection import Connection
from acp.meta import CLIENT_METHODS
from pydantic import BaseModel, ValidationError

from forge_core.integrations.acp.update_sender import Update
from forge_core.sanitize import safe_line

_FILE_S = 5.0
"""How long the editor may take for the text of a file."""
_LOG = logging.getLogger(__name__)


class EditorClient:
    """The client at the other end of the connection, with what it can do."""

    def __init__(self, connection: Connection) -> None:
        self.capabilities = schema.ClientCapabilities()
        """What it said that it can do; nothing before `initialize`."""
        self._connection = connection

    @property
    def reads_files(self) -> bool:
        """Whether it gives the text of files, unsaved changes included."""
        return bool(self.capabilities.fs and self.capabilities.fs.read_text_file)

    @property
    def shows_forms(self) -> bool:
        """Whether it puts questions to the user."""
        asks = self.capabilities.elicitation
        return asks is not None and asks.form is not None

    async def update(self, session_id: str, update: Update) -> None:
        """Send an update of a session. Never raises."""
        params = schema.SessionNotification(session_id=session_id, update=update)
        try:
            await self._connection.send_notification(CLIENT_METHODS["session_update"], written(params))
        except (ConnectionError, OSError) as error:
            _LOG.info("An update was not sent: %s", error)

    async def choose(
        self, session_id: str, call: schema.ToolCallUpdate, options: Sequence[schema.PermissionOption]
    ) -> str:
        """Ask for one of some options; return its id, or an empty text for none of them."""
        params = schema.RequestPermissionRequest(session_id=session_id, tool_call=call, options=list(options))
        result = await self._request("session_request_permission", params)
        try:
            outcome = schema.RequestPermissionResponse.model_validate(result).outcome
        except ValidationError:
            return ""
        chosen = outcome.option_id if isinstance(outcome, schema.AllowedOutcome) else ""
        return chosen if any(option.option_id == chosen for option in options) else ""

    async def fill_in(
        self, session_id: str, call_id: str, message: str, form: schema.ElicitationSchema
    ) -> Mapping[str, Any] | Literal["decline", "cancel"]:
        """Put a form to the user; return what they have filled in, or how they have left it."""
        params = schema.CreateFormSessionElicitationRequest(
            session_id=session_id,
            tool_call_id=call_id or None,
            message=message,
            mode="form",
            requested_schema=form,
        )
        result = await self._request("elicitation_create", params)
        if not isinstance(result, dict) or result.get("action") not in ("accept", "decline"):
            return "cancel"
        content = result.get("content")
        if result["action"] == "decline":
            return "decline"
        return content if isinstance(content, dict) else {}

    async def read_file(self, session_id: str, path: Path) -> str | None:
        """Return the text of a file as the editor has it; None if it gives none, or not in time."""
        params = schema.ReadTextFileRequest(session_id=session_id, path=str(path))
        try:
            async with asyncio.timeout(_FILE_S):
                result = await self._request("fs_read_text_file", params)
            return schema.ReadTextFileResponse.model_validate(result).content
        except (TimeoutError, ValidationError):
            return None

    async def _request(self, name: str, params: BaseModel) -> Any:
        """Send a request and return its result; None if the client answers with an error, or has gone."""
        method = CLIENT_METHODS[name]
        try:
            return await self._connection.send_request(method, written(params))
        except (RequestError, ConnectionError, OSError) as error:
            _LOG.warning("%s failed in the client: %s", method, safe_line(str(error)))
            return None


def written(params: BaseModel) -> dict[str, Any]:
    """Return what is sent: fields without a value are left out, except for the old text of a new file, which
    some clients look for."""
    message: dict[str, Any] = params.model_dump(mode="json", by_alias=True, exclude_none=True)
    content = (message.get("toolCall") or message.get("update") or {}).get("content")
    for part in content if isinstance(content, list) else ():
        if part["type"] == "diff":
            part.setdefault("oldText", None)
    return message
