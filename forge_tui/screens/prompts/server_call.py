"""What a prompt shows of a call of an MCP server: the tool, every argument, and what the server says."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from forge_core.approval import ServerTool
from forge_core.sanitize import safe_line, safe_text
from forge_tui.widgets.exact_text import ExactLine, diff_lines

_CLAIM_LINES = 3
"""Lines of the tool's description that show beside the call; the full view has the rest."""
_LINE_CHARS = 60
"""A longer list or object is shown over several lines."""
_INSET, _TEXT = "  ", "  │ "
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.$-]+")


def server_call_lines(
    tool: ServerTool, arguments: Mapping[str, Any], changes: tuple[str, ...]
) -> list[ExactLine]:
    """Return the name of the tool, the arguments in the order of the call, and what has changed about it."""
    lines = [ExactLine(part, is_code=True) for part in tool.name.split("\n")]
    for name, value in arguments.items():
        lines += _argument_lines(name, value)
    if not arguments:
        lines.append(ExactLine("(no arguments)", "blank", _INSET))
    if changes:
        lines += [ExactLine(""), ExactLine("Changed since you allowed it:", "heading")]
        for change in changes:
            is_text = change.startswith(("-", "+", " "))
            lines += diff_lines(change) if is_text else [ExactLine(change, "heading")]
    return lines


def _argument_lines(name: str, value: Any) -> list[ExactLine]:
    """Return the lines of an argument. It is JSON, so that no text looks like a number; a text of several
    lines is shown as it is, behind a rule."""
    label = name if _PLAIN_NAME.fullmatch(name) else json.dumps(name, ensure_ascii=False)
    if isinstance(value, str) and "\n" in value:
        rest = [ExactLine(part, gutter=_TEXT, is_code=True) for part in value.split("\n")]
        return [ExactLine(f"{label}:", gutter=_INSET, is_code=True), *rest]
    text = json.dumps(value, ensure_ascii=False, default=str)
    if isinstance(value, list | dict) and len(text) > _LINE_CHARS:
        text = json.dumps(value, ensure_ascii=False, default=str, indent=2)
    first, *more = text.split("\n")
    rest = [ExactLine(part.lstrip(" "), gutter=_INSET * 2 + _indent(part), is_code=True) for part in more]
    return [ExactLine(f"{label}: {first}", gutter=_INSET, is_code=True), *rest]


def _indent(text: str) -> str:
    return " " * (len(text) - len(text.lstrip(" ")))


def destination_of(tool: ServerTool) -> str:
    """Return where the arguments are sent; "" for a program on this machine."""
    parts = tool.host.split("/", 3)  # the path of a URL may hold a key
    return safe_line(f"Sent to {'/'.join([*parts[:2], parts[2].rpartition('@')[2]])}") if parts[2:] else ""


def claim_of(tool: ServerTool) -> str:
    """Return in one line what the server says of the tool, of its description the beginning."""
    lines = [safe_line(line).strip() for line in tool.description.split("\n") if line.strip()]
    more = ["…"] if len(lines) > _CLAIM_LINES else []
    return " ".join([_says(tool), *lines[:_CLAIM_LINES], *more]) if lines or tool.hints else ""


def whole_claim(tool: ServerTool) -> list[str]:
    """Return all that the server says of the tool, in lines."""
    lines = [line for line in safe_text(tool.description).split("\n") if line.strip()]
    return [_says(tool), *lines] if lines or tool.hints else []


def _says(tool: ServerTool) -> str:
    hints = f" that it {' and '.join(tool.hints)}" if tool.hints else ""
    return f"The server says{hints}{':' if tool.description.strip() else ''}"
