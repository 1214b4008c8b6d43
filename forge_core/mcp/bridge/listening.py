"""Hears of changed lists where the protocol has a request for that (revision 2026-07-28)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from mcp import Client, MCPError
from mcp.client.subscriptions import SubscriptionLost
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from forge_core.mcp.bridge.failures import reason_of

_ACKNOWLEDGED_S = 10.0
_PAUSES_S = (1.0, 5.0, 30.0, 120.0)
"""Before each new attempt after a stream that has ended; the last one is repeated."""


async def listen(client: Client, changed: Callable[[], None], log: Callable[[str], None]) -> None:
    """Call `changed` for each change, and after each time without a stream. Returns at once where a server
    announces no changes, or announces them by itself."""
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
