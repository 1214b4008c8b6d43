"""What a strict chat-completions host refuses in a request, in the words of the rule that is broken."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_KNOWN_ROLES = ("system", "user", "assistant", "tool")


def violations(body: Mapping[str, Any]) -> list[str]:
    """Every broken rule; empty for a request that any host takes."""
    found: list[str] = []
    if "tools" in body and not body["tools"]:
        found.append("tools is empty")
    open_ids: list[str] = []
    seen_ids: set[str] = set()
    for index, message in enumerate(body["messages"]):
        where = f"messages[{index}]"
        role = message.get("role")
        if role not in _KNOWN_ROLES:
            found.append(f"{where}: unknown role {role!r}")
        if role == "system" and index > 0:
            found.append(f"{where}: a system message is not first")
        if role == "tool":
            if message.get("tool_call_id") not in open_ids:
                found.append(f"{where}: tool result {message.get('tool_call_id')!r} answers no open call")
            else:
                open_ids.remove(message["tool_call_id"])
            if not isinstance(message.get("content"), str):
                found.append(f"{where}: a tool result without text")
            continue
        if open_ids:
            found.append(f"{where}: the calls {open_ids} have no result")
            open_ids = []
        if role == "assistant":
            open_ids = _read_calls(message, where, seen_ids, found)
        elif not isinstance(message.get("content"), str) and not _is_content(message.get("content")):
            found.append(f"{where}: {role} content is neither text nor parts")
    if open_ids:
        found.append(f"the calls {open_ids} have no result at the end")
    return found


def _is_content(content: Any) -> bool:
    """Return whether there is text, or a part that says of which kind it is."""
    if isinstance(content, list):
        return bool(content) and all(isinstance(part, dict) and part.get("type") for part in content)
    return isinstance(content, str) and bool(content.strip())


def _read_calls(message: Mapping[str, Any], where: str, seen_ids: set[str], found: list[str]) -> list[str]:
    calls = message.get("tool_calls")
    if calls is not None and not calls:
        found.append(f"{where}: tool_calls is empty")
    if not calls and not _is_content(message.get("content")):
        found.append(f"{where}: an empty assistant message")
    ids = []
    for call in calls or ():
        if not call.get("id"):
            found.append(f"{where}: a call without an id")
        if call.get("id") in seen_ids:
            found.append(f"{where}: the id {call.get('id')!r} occurs twice")
        seen_ids.add(call.get("id"))
        ids.append(call.get("id"))
        if not call.get("function", {}).get("name"):
            found.append(f"{where}: a call without a name")
        try:
            arguments = json.loads(call["function"]["arguments"])
        except (ValueError, KeyError, TypeError):
            arguments = None
        if not isinstance(arguments, dict):
            found.append(f"{where}: arguments that are no JSON object")
    return ids
