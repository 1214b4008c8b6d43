"""What went wrong with a server, in one sentence."""

from __future__ import annotations

import httpx2
from mcp import MCPError
from pydantic import ValidationError


class RequestFailedError(Exception):
    """A request to a server failed; the text says why."""


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
