"""What went wrong with a server, in one sentence."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
from mcp import MCPError
from mcp.shared.exceptions import UrlElicitationRequiredError
from pydantic import ValidationError


class RequestFailedError(Exception):
    """A request to a server failed; the text says why."""


_MAX_PAGES = 5


def reason_of(error: BaseException) -> str:
    """Return what went wrong: the message of the innermost error, since task groups wrap those in them."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return str(error) or "it did not answer in time"
    if isinstance(error, MCPError | RequestFailedError):
        return error.message if isinstance(error, MCPError) else str(error)
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        return f"it sent what the protocol does not allow: {where}: {first['msg']}"
    if isinstance(error, httpx2.ConnectError):
        return f"no connection: {error}"
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


async def pages_to_open(error: MCPError, ask: Callable[[str, dict[str, Any]], Awaitable[Any]]) -> str:
    """Ask the user to open the pages that a server wants to be visited before it runs a call; return why the
    call has failed, and whether it may be made again."""
    pages = UrlElicitationRequiredError.from_error(error.error).elicitations
    for page in pages[:_MAX_PAGES]:
        answer = await ask("elicit", page.model_dump(mode="json", by_alias=True, exclude_none=True))
        if answer["action"] != "accept":
            return f"{error.message} The user did not open the page, so do not call it again."
    return f"{error.message} The user was sent to the page; call it again once they are done there."
