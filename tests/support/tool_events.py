"""TOOL_START events as the built-in tools announce their calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from forge_core.events import ToolStart
from forge_core.tools.registry import builtin_tools

_TOOLS = {tool.name: tool for tool in builtin_tools()}


def tool_start(call_id: str, name: str, arguments: Mapping[str, Any], **fields: Any) -> ToolStart:
    """Return the event of a call; a plain one where no built-in tool has the name."""
    tool = _TOOLS.get(name)
    plain = ToolStart(call_id=call_id, name=name, arguments=arguments)
    return replace(plain if tool is None else tool.start_event(call_id, arguments), **fields)
