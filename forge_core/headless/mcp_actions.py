"""`forge mcp`: declares MCP servers, lists them, and approves those of a project."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from forge_core.commands.columns import columns, left_columns
from forge_core.errors import ConfigError
from forge_core.exit_codes import ExitCode
from forge_core.extensions.approvals import ApprovalState, ApprovalStore
from forge_core.headless.mcp_output import (
    approval_lines,
    as_json,
    details,
    named_servers,
    shown_command,
    unknown_server,
)
from forge_core.mcp import commented_json
from forge_core.mcp.approved_servers import declared_program
from forge_core.mcp.foreign_files import ForeignServer, find_foreign_servers
from forge_core.mcp.literal_secrets import mask_entry
from forge_core.mcp.server_edits import add_servers, remove_server
from forge_core.mcp.server_files import (
    ServerEntry,
    ServerScope,
    ServerSource,
    UnusableServer,
    declared_servers,
    file_of,
    read_entry,
    read_text,
)
from forge_core.mcp.server_launch import LaunchSettings
from forge_core.mcp.server_listing import DeclaredState, ListedServer, ServerListing
from forge_core.sanitize import safe_line
from forge_core.workspace.trust import is_trusted

if TYPE_CHECKING:
    import argparse

    from forge_core.config.forge_config import ForgeConfig

Confirm = Callable[[str], bool]
"""Asks a question that is answered by yes or no."""
_SCOPES = (ServerScope.USER, ServerScope.PROJECT)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = re.compile(r"([A-Za-z0-9!#$%&'*+.^_`|~-]+)\s*:\s*([^\r\n\0]*)")


def run_action(options: argparse.Namespace, config: ForgeConfig, confirm: Confirm | None = None) -> int:
    """Run `forge mcp ACTION` and return the exit code.

    Raises:
        ConfigError: with what is wrong and what to do.
    """
    return _ACTIONS[options.action](options, config, confirm or _ask)


def launch_settings(config: ForgeConfig) -> LaunchSettings:
    """Return how servers are started."""
    return LaunchSettings.of_session((config.working_dir, *config.added_folders), config)


# Listing


def _list(options: argparse.Namespace, config: ForgeConfig, confirm: Confirm) -> int:
    listing = ServerListing.load(config, launch_settings(config))
    if options.json:
        print(json.dumps([as_json(one) for one in listing.servers], indent=2))
    elif listing.servers:
        rows = [
            (safe_line(one.name), str(one.state), str(one.source.scope), shown_command(one))
            for one in listing.servers
        ]
        lines = left_columns(rows).split("\n")
        for line, one in zip(lines, listing.servers, strict=True):
            print(line)
            for remark in (one.reason, *(one.entry.warnings if one.entry is not None else ())):
                if remark:
                    print(f"  {remark}")
    elif not listing.problems:
        why = " while the setting safe is on" if config.safe else ""
        print(f"There are no MCP servers{why}. `forge mcp add --help` shows how to add one.")
    _print_problems(listing)
    return ExitCode.COMPLETE


def _get(options: argparse.Namespace, config: ForgeConfig, confirm: Confirm) -> int:
    listing = ServerListing.load(config, launch_settings(config))
    found = named_servers(listing, options.name)
    if options.json:
        print(json.dumps(as_json(found[0]), indent=2))
    else:
        print("\n\n".join(f"{one.name}: {one.state}\n{columns([*details(one)])}" for one in found))
    _print_problems(listing)
    return ExitCode.COMPLETE


def _print_problems(listing: ServerListing) -> None:
    for problem in listing.problems:
        print(problem, file=sys.stderr)


# Adding and removing


def _add(options: argparse.Namespace, config: ForgeConfig, confirm: Confirm) -> int:
    entry: dict[str, Any]
    target, kind = options.target, options.transport
    if kind in ("http", "sse") or (kind is None and target[0].startswith(("http://", "https://"))):
        if len(target) > 1 or options.env:
            raise ConfigError(
                "A server with a URL takes no arguments and no variables; headers are given as -H."
            )
        entry = {"type": kind or "http", "url": target[0]}
    else:
        if options.header:
            raise ConfigError("-H is for servers with a URL; a command is given variables: -e NAME=VALUE.")
        entry = {"command": target[0], "args": target[1:]}
    if options.env:
        entry["env"] = dict(map(_variable, options.env))
    if options.header:
        entry["headers"] = dict(map(_header, options.header))
    return _declare(options, config, entry)


def _add_json(options: argparse.Namespace, config: ForgeConfig, confirm: Confirm) -> int:
    try:
        entry = commented_json.parse(options.json_text)
    except ValueError as error:
        raise ConfigError(f"The server was not added: {error}.") from error
    return _declare(options, config, entry)


def _declare(options: argparse.Namespace, config: ForgeConfig, entry: Any) -> int:
    source = file_of(ServerScope(options.scope), config)
    read = read_entry(options.name, entry, source)
    if isinstance(read, UnusableServer):
        raise ConfigError(f"The server {options.name!r} was not added: {read.reason}.")
    add_servers(source, {options.name: entry}, config.state_dir)
    print(f"Added {options.name} to {source.label}.")
    for line in _advice(read, config):
        print(line)
    return ExitCode.COMPLETE


def _advice(server: ServerEntry, config: ForgeConfig) -> Iterator[str]:
    yield from server.warnings
    for place in mask_entry(server).secrets:
        audience = ", which others may read" if server.source.scope is ServerScope.PROJECT else ""
        name = place.removeprefix("env.") if place.startswith("env.") else "NAME"
        yield safe_line(
            f"{place} holds a secret in plain text{audience}. The value of a variable of your environment is "
            f"not in the file: write ${{{name}}} instead."
        )
    if server.source.scope is ServerScope.USER:
        yield f"`forge mcp test {server.name}` starts it as a test."
    elif is_trusted(config):
        yield f"It starts once you approve it: forge mcp approve {server.name}"
    else:
        yield "It starts once you trust the folder, which `forge chat` asks, and approve the server."


def _variable(text: str) -> tuple[str, str]:
    """Return name and value of NAME=VALUE; NAME alone refers to the variable of that name."""
    name, equals, value = text.partition("=")
    if not _VARIABLE.fullmatch(name):
        raise ConfigError(f"-e takes NAME=VALUE, or NAME to pass on a variable, not {text!r}.")
    return name, value if equals else f"${{{name}}}"


def _header(text: str) -> tuple[str, str]:
    found = _HEADER.fullmatch(text)
    if found is None:
        raise ConfigError("-H takes 'NAME: VALUE', as in: -H 'Authorization: Bearer ${TOKEN}'")
    return found[1], found[2]


def _remove(options: argparse.Namespace, config: ForgeConfig, confirm: Confirm) -> int:
    scopes = [ServerScope(options.scope)] if options.scope else _SCOPES
    names = {source: _names_in(source) for source in (file_of(scope, config) for scope in scopes)}
    found = [source for source in names if options.name in names[source]]
    if not found:
        raise unknown_server(options.name, [name for some in names.values() for name in some])
    if len(found) > 1:
        raise ConfigError(
            f"{' and '.join(one.label for one in found)} both declare {options.name!r}. Add --scope user or "
            "--scope project."
        )
    remove_server(found[0], options.name, config.state_dir)
    print(safe_line(f"Removed {options.name} from {found[0].label}."))
    return ExitCode.COMPLETE


def _names_in(source: ServerSource) -> list[str]:
    """Return the names of all entries of a file, also of those that are no servers."""
    try:
        return [*declared_servers(commented_json.parse(read_text(source).strip() or "{}"))]
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        print(safe_line(f"{source.label} was not read: {error}"), file=sys.stderr)
        return []


# Approving


def _approve(options: argparse.Namespace, config: ForgeConfig, confirm: Confirm) -> int:
    server = named_servers(ServerListing.load(config, launch_settings(config)), options.name)[0]
    if server.state is DeclaredState.UNTRUSTED:
        raise ConfigError(
            f"{server.name} was not approved: the folder is not trusted, so its servers do not count. "
            "`forge chat` asks whether you trust it; --trust trusts it for this command."
        )
    if server.entry is None or (server.entry.needs_approval and server.judgement is None):
        raise ConfigError(f"{server.name} cannot be approved: {server.reason}.")
    if server.judgement is None:
        print(f"{server.name} needs no approval: {server.source.label} is your own file.")
        return ExitCode.COMPLETE
    print("\n".join(approval_lines(server, server.entry)))
    if server.judgement.state is ApprovalState.APPROVED:
        print("It is approved already.")
        return ExitCode.COMPLETE
    if not options.yes and not confirm("Approve it?"):
        print("It is not approved.")
        return ExitCode.UNFINISHED
    decision = (declared_program(server.entry), server.judgement.seen, True)
    ApprovalStore(config.state_dir).decide([decision])
    print(f"Approved {server.name}. If it changes, Forge asks again.")
    return ExitCode.COMPLETE


def _ask(question: str) -> bool:
    """Ask at the terminal. Raises ConfigError where there is none."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise ConfigError("Nothing was done: there is no terminal to ask. Add --yes to agree.")
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


# Importing


def _import(options: argparse.Namespace, config: ForgeConfig, confirm: Confirm) -> int:
    found = find_foreign_servers(config.working_dir, os.environ)
    chosen = [one for one in found.servers if not options.names or one.name in options.names]
    for name in options.names:
        if name not in [one.name for one in chosen]:
            raise ConfigError(f"No other program has a server {name!r}. `forge mcp import` lists them.")
    sources = {scope: file_of(scope, config) for scope in _SCOPES}
    new: dict[ServerScope, dict[str, Mapping[str, Any]]] = {scope: {} for scope in _SCOPES}
    taken = {scope: _names_in(source) for scope, source in sources.items()}
    for one in chosen:
        scope = one.file.scope
        reason = _why_not(one, sources[scope], [*taken[scope], *new[scope]])
        if not reason:
            new[scope][one.name] = one.entry
        print("\n".join(_shown_import(one, sources[scope], reason)))
    for problem in found.problems:
        print(problem, file=sys.stderr)
    counts = [f"{len(new[scope])} to {sources[scope].label}" for scope in _SCOPES if new[scope]]
    if not counts:
        print("There is nothing to import.")
        return ExitCode.COMPLETE
    if not options.yes and not confirm(f"Write {' and '.join(counts)}?"):
        print("Nothing was written.")
        return ExitCode.UNFINISHED
    for scope, entries in new.items():
        if entries:
            add_servers(sources[scope], entries, config.state_dir)
    print(f"Wrote {' and '.join(counts)}. `forge mcp list` lists the servers.")
    return ExitCode.COMPLETE


def _why_not(server: ForeignServer, source: ServerSource, taken: Sequence[str]) -> str:
    if server.name in taken:
        return f"{source.label} has a server of this name"
    read = read_entry(server.name, server.entry, source)
    return read.reason if isinstance(read, UnusableServer) else ""


def _shown_import(server: ForeignServer, source: ServerSource, reason: str) -> Iterator[str]:
    yield safe_line(
        f"{server.name}, from {server.file.label}: " + (f"not imported: {reason}" if reason else "")
    )
    read = read_entry(server.name, server.entry, source)
    if reason or isinstance(read, UnusableServer):
        return
    listed = ListedServer(server.name, source, DeclaredState.ENABLED, entry=read)
    yield from columns([row for row in details(listed) if row[0] != "  source"]).split("\n")
    yield from (safe_line(f"  {one}") for one in server.remarks)


def _test(options: argparse.Namespace, config: ForgeConfig, confirm: Confirm) -> int:
    from forge_core.headless.mcp_checks import run_checks

    return run_checks(options.names, config, launch_settings(config))


def _login(options: argparse.Namespace, config: ForgeConfig, confirm: Confirm) -> int:
    from forge_core.headless.mcp_login import login

    return login(options.name, config, launch_settings(config), no_browser=options.no_browser)


def _logout(options: argparse.Namespace, config: ForgeConfig, confirm: Confirm) -> int:
    from forge_core.headless.mcp_login import logout

    return logout(options.name, config, launch_settings(config))


_ACTIONS: Mapping[str, Callable[[argparse.Namespace, ForgeConfig, Confirm], int]] = {
    "list": _list,
    "get": _get,
    "add": _add,
    "add-json": _add_json,
    "remove": _remove,
    "approve": _approve,
    "test": _test,
    "import": _import,
    "login": _login,
    "logout": _logout,
}
