"""How declared MCP servers are shown: their secrets masked, their variables not expanded."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

from forge_core.errors import ConfigError
from forge_core.mcp.literal_secrets import mask_entry
from forge_core.mcp.server_files import SAMPLING_TEXT, ServerEntry, Transport
from forge_core.mcp.server_launch import variables_of
from forge_core.mcp.server_listing import ListedServer, ServerListing
from forge_core.mcp.wire import ServerSandbox
from forge_core.sanitize import exact_text, safe_line
from forge_core.text_width import clip

_COMMAND_WIDTH = 70
_PLACES = {
    ServerSandbox.OFF: "outside the sandbox of commands",
    ServerSandbox.KEYS: "outside the sandbox of commands but without Forge's own folders",
    ServerSandbox.STRICT: "inside the sandbox of commands and without network",
}


def named_servers(listing: ServerListing, name: str) -> list[ListedServer]:
    """Return the servers of a name, the one that counts first. Raises ConfigError if there is none."""
    found = listing.named(name)
    if not found:
        raise unknown_server(name, [one.name for one in listing.servers])
    return found


def unknown_server(name: str, names: Sequence[str]) -> ConfigError:
    """Return the error about a name that no file declares; `names` are those that are declared."""
    near = get_close_matches(name, names, 1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    return ConfigError(f"There is no MCP server {name!r}. {hint}`forge mcp list` lists them.")


def shown_command(server: ListedServer) -> str:
    if server.entry is None:
        return ""
    shown = mask_entry(server.entry)
    return clip(safe_line(shown.url or _joined([shown.command, *shown.args])), _COMMAND_WIDTH)


def _joined(words: Sequence[str]) -> str:
    """Return a command line for reading: variables are not quoted."""
    return " ".join(shlex.quote(one) if not one or re.search(r"[\s'\"]", one) else one for one in words)


def details(server: ListedServer) -> Iterator[tuple[str, str]]:
    """Yield what is known of a server, as names and values."""
    yield "  source", f"{server.source.label} ({server.source.scope})"
    if server.reason:
        yield "  reason", server.reason
    if (entry := server.entry) is None:
        return
    shown = mask_entry(entry)
    if entry.transport is Transport.STDIO:
        yield "  command", safe_line(_joined([shown.command, *shown.args]))
    else:
        yield "  url", safe_line(shown.url) + (" (sse)" if entry.transport is Transport.SSE else "")
    for label, values in (("env", shown.environment), ("headers", shown.headers)):
        for name, value in values.items():
            yield f"  {label}", safe_line(f"{name}={value}" if label == "env" else f"{name}: {value}")
    if entry.cwd:
        yield "  folder", safe_line(entry.cwd)
    if entry.sandbox:
        yield "  sandbox", entry.sandbox
    if variables := variables_of(entry):
        yield "  variables", ", ".join(variables)
    if entry.timeout_s is not None:
        yield "  timeout", f"{entry.timeout_s:g} s"
    if entry.allowed_tools is not None:
        yield "  tools", safe_line(f"only {', '.join(entry.allowed_tools) or 'none'}")
    if entry.denied_tools:
        yield "  tools", safe_line(f"without {', '.join(entry.denied_tools)}")
    if entry.may_sample:
        yield "  sampling", SAMPLING_TEXT
    for text in shown.secrets:
        yield "  warning", safe_line(f"{text} holds a secret in plain text")
    for text in entry.warnings:
        yield "  warning", text
    for text in _differences(server):
        yield "  changed", safe_line(text)


def _differences(server: ListedServer) -> list[str]:
    """Return what has changed since the user decided; values that may hold secrets are left out."""
    lines = () if server.judgement is None else server.judgement.differences
    hidden = {f"{field} was": f"{field} has changed" for field in ("env", "headers", "args", "url")}
    return [next((text for start, text in hidden.items() if one.startswith(start)), one) for one in lines]


def as_json(server: ListedServer) -> dict[str, Any]:
    """Return a server as JSON, its secrets masked."""
    found: dict[str, Any] = {
        "name": server.name,
        "state": str(server.state),
        "reason": server.reason,
        "scope": str(server.source.scope),
        "source": str(server.source.path),
    }
    if (entry := server.entry) is None:
        return found
    shown = mask_entry(entry)
    return found | {
        "type": str(entry.transport),
        "command": shown.command,
        "args": list(shown.args),
        "env": dict(shown.environment),
        "cwd": entry.cwd,
        "url": shown.url,
        "headers": dict(shown.headers),
        "sandbox": str(entry.sandbox),
        "timeout_ms": None if entry.timeout_s is None else round(entry.timeout_s * 1000),
        "always_load": entry.always_load,
        "variables": variables_of(entry),
        "plain_secrets": list(shown.secrets),
        "warnings": list(entry.warnings),
        "changes": _differences(server),
    }


def approval_lines(server: ListedServer, entry: ServerEntry) -> Iterator[str]:
    """Yield what the user has to see before they decide: nothing in it is expanded or left out."""
    is_program = entry.transport is Transport.STDIO
    yield f"{server.name}, in {server.source.label}"
    line = shlex.join((entry.command, *entry.args)) if is_program else entry.url
    yield from (f"  {exact_text(one)}" for one in line.split("\n"))
    masked = mask_entry(entry)
    for name, value in masked.environment.items():
        yield exact_text(f"  with {name}={value}").replace("\n", "\u23ce")
    for name, value in masked.headers.items():
        yield exact_text(f"  with the header {name}: {value}").replace("\n", "\u23ce")
    if entry.cwd:
        yield exact_text(f"  in the folder {entry.cwd}").replace("\n", "\u23ce")
    if entry.may_sample:
        yield f"  {SAMPLING_TEXT}"
    if variables := variables_of(entry):
        yield f"It is given the values of {', '.join(variables)}."
    if is_program:
        yield f"It runs as you, {_PLACES[entry.sandbox]}, whenever a session starts here."
    if server.judgement is not None and server.judgement.differences:
        yield "Changed since you decided about it:"
        yield from (f"  {exact_text(one)}" for one in server.judgement.differences)
