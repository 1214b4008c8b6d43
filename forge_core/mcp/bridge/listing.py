"""Reads all that a server offers, page by page, and learns of changes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from mcp import Client, MCPError
from mcp.client.subscriptions import SubscriptionLost
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from forge_core.mcp.bridge.failures import RequestFailedError, reason_of
from forge_core.mcp.bridge.list_items import ListItems
from forge_core.mcp.wire import BridgeEvent

MAX_ITEMS = 10_000
"""Of one list."""
_MAX_PAGES = 1_000
_MAX_CHARS = 8_000_000
"""Of one list, as JSON: it is one message to the session."""
_ACKNOWLEDGED_S = 10.0
_PAUSES_S = (1.0, 5.0, 30.0, 120.0)
"""Before each new attempt after a stream that has ended; the last one is repeated."""


@dataclass(frozen=True, slots=True)
class ServerLists:
    """The lists of a server, as in the protocol."""

    tools: list[dict[str, Any]] = field(default_factory=list)
    prompts: list[dict[str, Any]] = field(default_factory=list)
    resources: list[dict[str, Any]] = field(default_factory=list)
    templates: list[dict[str, Any]] = field(default_factory=list)
    warning: str = ""
    """What was left out of them, and why."""


def changed_lists(name: str, before: ServerLists, now: ServerLists) -> Iterator[dict[str, Any]]:
    """Yield the events about the lists of a server that are different from the last ones."""
    if now.tools != before.tools:
        yield {"event": BridgeEvent.TOOLS, "server": name, "items": now.tools}
    if now.prompts != before.prompts:
        yield {"event": BridgeEvent.PROMPTS, "server": name, "items": now.prompts}
    if (now.resources, now.templates) != (before.resources, before.templates):
        fields = {"items": now.resources, "templates": now.templates}
        yield {"event": BridgeEvent.RESOURCES, "server": name, **fields}


async def list_all(client: Client, items: ListItems) -> ServerLists:
    """Return what a server offers now. Raises RequestFailedError for lists that do not end."""
    can = client.server_capabilities
    items.version = client.protocol_version
    left_out: list[str] = []

    async def unless_invalid(name: str, listing: Awaitable[list[dict[str, Any]]]) -> list[dict[str, Any]]:
        try:
            return await listing
        except ValidationError as error:
            left_out.append(f"its {name} are left out: {reason_of(error)}")
            return []

    tools = await _all(client.list_tools, "tools") if can.tools else []
    prompts, resources, templates = [], [], []
    if can.prompts:
        prompts = await unless_invalid("prompts", _all(client.list_prompts, "prompts"))
    if can.resources:
        resources = await unless_invalid("resources", _all(client.list_resources, "resources"))
        templates = await unless_invalid("resource templates", _templates(client))
    warning = "; ".join(filter(None, (items.take_summary(), *left_out)))
    return ServerLists(tools, prompts, resources, templates, warning)


def as_json(value: BaseModel) -> dict[str, Any]:
    """Return a value of the protocol as it is on the wire."""
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def listen(client: Client, changed: Callable[[], None], log: Callable[[str], None]) -> None:
    """Hear of changed lists by the request for that, which the revision 2026-07-28 has.

    Call `changed` for each change, and after each time without a stream. Returns at once where a server
    announces no changes, or announces them by itself.
    """
    can = client.server_capabilities
    tools = bool(can.tools and can.tools.list_changed)
    prompts = bool(can.prompts and can.prompts.list_changed)
    resources = bool(can.resources and can.resources.list_changed)
    if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or not (tools or prompts or resources):
        return
    failures = 0
    while True:
        try:
            stream = client.listen(
                tools_list_changed=tools, prompts_list_changed=prompts, resources_list_changed=resources
            )
            async with asyncio.timeout(_ACKNOWLEDGED_S) as limit, stream as events:
                limit.reschedule(None)
                if failures:
                    changed()  # what has changed in between was not heard
                async for _ in events:
                    failures = 0
                    changed()
        except MCPError as error:
            log(f"changes of its lists are not heard: {reason_of(error)}")
            return
        except (SubscriptionLost, TimeoutError):
            pass
        await asyncio.sleep(_PAUSES_S[min(failures, len(_PAUSES_S) - 1)])
        failures += 1


async def _templates(client: Client) -> list[dict[str, Any]]:
    try:
        return await _all(client.list_resource_templates, "resource_templates")
    except MCPError:  # a server with resources need not know templates
        return []


async def _all(list_page: Callable[..., Awaitable[Any]], attribute: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    chars = 0
    for _ in range(_MAX_PAGES):
        try:
            page = await list_page(cursor=cursor)
        except MCPError:
            page = await list_page(cursor=cursor)  # once more; a failure of one page costs all of them
        items = [as_json(one) for one in getattr(page, attribute)]
        found += items
        chars += sum(len(json.dumps(one, ensure_ascii=False)) for one in items)
        if chars > _MAX_CHARS:
            raise RequestFailedError(f"its list of {attribute} has more than {_MAX_CHARS:,} characters")
        cursor = page.next_cursor
        if not cursor or len(found) >= MAX_ITEMS:
            return found[:MAX_ITEMS]
    raise RequestFailedError(f"its list of {attribute} has more than {_MAX_PAGES:,} pages")
