"""Keeps the good items of a list that a server sends.

The SDK refuses a whole list for one item that the protocol does not allow, such as a tool without a name. So
responses pass through here before they reach it. The schema of a tool may lack its type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

from mcp.client import Transport
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest, JSONRPCResponse
from mcp_types.methods import parse_server_result
from pydantic import ValidationError

_ITEMS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
"""Request → the field of its result."""
_NAMES = {
    "tools": "tool",
    "prompts": "prompt",
    "resources": "resource",
    "resourceTemplates": "resource template",
}


class ListItems:
    """Leaves out items of one connection, and counts them."""

    def __init__(self) -> None:
        self.version = ""
        """The negotiated revision."""
        self._open: dict[Any, str] = {}
        """Id of a request → its method."""
        self._left_out: Counter[str] = Counter()
        self._reasons: dict[str, str] = {}
        """Field → why the first of its items was left out."""

    def take_summary(self) -> str:
        """Return how many items were left out since the last time; empty for none."""
        parts = [
            f"{count:,} {_NAMES[name]}{' is' if count == 1 else 's are'} left out, as the protocol does not "
            f"allow {'it' if count == 1 else 'them'} ({self._reasons[name]})"
            for name, count in self._left_out.items()
        ]
        self._left_out.clear()
        self._reasons.clear()
        return "; ".join(parts)

    @asynccontextmanager
    async def transport(self, inner: Transport) -> AsyncIterator[Any]:
        """Connect by the inner transport."""
        async with inner as (incoming, outgoing):
            yield _Incoming(incoming, self), _Outgoing(outgoing, self)

    def sent(self, item: SessionMessage) -> None:
        """Take note of a request."""
        message = item.message
        if isinstance(message, JSONRPCRequest) and message.method in _ITEMS:
            self._open[message.id] = message.method

    def received(self, item: SessionMessage | Exception) -> None:
        """Remove what is not allowed from the response to a request for a list."""
        message = item.message if isinstance(item, SessionMessage) else None
        if not isinstance(message, JSONRPCResponse) or message.id not in self._open:
            return
        method = self._open.pop(message.id)
        name, result = _ITEMS[method], message.result
        if name == "tools":
            _complete_schemas(result.get(name))
        bad = _bad_items(method, self.version, result)
        if not bad:
            return
        result[name] = [one for at, one in enumerate(result[name]) if at not in bad]
        self._left_out[name] += len(bad)
        at, why = next(iter(bad.items()))
        self._reasons.setdefault(name, f"number {at + 1}: {why}")


def _complete_schemas(tools: Any) -> None:
    """Add the type that each schema of a tool must have, and that some servers leave out."""
    for tool in tools if isinstance(tools, list) else ():
        if not isinstance(tool, dict):
            continue
        if tool.get("inputSchema") is None:
            tool["inputSchema"] = {}
        for name in ("inputSchema", "outputSchema"):
            schema = tool.get(name)
            if isinstance(schema, dict):
                tool[name] = {"type": "object", **schema}


def _bad_items(method: str, version: str, result: dict[str, Any]) -> dict[int, str]:
    """Return the indices of the items that the revision does not allow, each with the reason."""
    try:
        parse_server_result(method, version, result)
    except ValidationError as error:
        found: dict[int, str] = {}
        for one in error.errors(include_url=False, include_context=False, include_input=False):
            field, *rest = one["loc"]
            if field == _ITEMS[method] and rest and isinstance(rest[0], int):
                found.setdefault(rest[0], ": ".join(filter(None, (".".join(map(str, rest[1:])), one["msg"]))))
        return found
    except (KeyError, ValueError):  # a list that this revision does not know
        pass
    return {}


class _Closing:
    """What both streams have in common."""

    def __init__(self, stream: Any, items: ListItems) -> None:
        self._stream = stream
        self._items = items

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        found: bool | None = await self._stream.__aexit__(kind, error, traceback)
        return found


class _Incoming(_Closing):
    @property
    def last_context(self) -> Any:
        return getattr(self._stream, "last_context", None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        item: SessionMessage | Exception = await self._stream.__anext__()
        self._items.received(item)
        return item

    async def receive(self) -> SessionMessage | Exception:
        item: SessionMessage | Exception = await self._stream.receive()
        self._items.received(item)
        return item


class _Outgoing(_Closing):
    async def send(self, item: SessionMessage, /) -> None:
        self._items.sent(item)
        await self._stream.send(item)
