"""MCP servers that were set up for other programs, as entries for Forge's own files."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forge_core.mcp import commented_json
from forge_core.mcp.server_files import RESERVED_NAMES, ServerScope, declared_servers
from forge_core.sanitize import safe_line
from forge_core.workspace.beneath import open_file
from forge_core.workspace.project_files import read_project_file

_MAX_BYTES = 64_000_000
"""Claude Code keeps the history of projects in the file with its servers."""
_KNOWN_FIELDS = frozenset({"type", "command", "args", "env", "cwd", "url", "headers", "disabled"})
"""Those that mean the same in VS Code, Cursor and Forge."""
_REFERENCE = re.compile(r"\$\{([^{}]*)\}")
_PLACES = {"workspaceFolder": "${FORGE_PROJECT_DIR}", "userHome": "${HOME}", "pathSeparator": "/", "/": "/"}


@dataclass(frozen=True, slots=True)
class ForeignFile:
    """A file of another program. Its servers go to the same scope: one that came with a project needs
    approval."""

    path: Path
    label: str
    scope: ServerScope


@dataclass(frozen=True, slots=True)
class ForeignServer:
    """A server of such a file. All text in it is untrusted."""

    name: str
    file: ForeignFile
    entry: Mapping[str, Any]
    """As Forge's files have it."""
    remarks: tuple[str, ...] = ()
    """What is different from the other program."""


@dataclass(frozen=True, slots=True)
class ForeignServers:
    servers: tuple[ForeignServer, ...]
    problems: tuple[str, ...]
    """Files that could not be read, as sentences; safe to display."""


def find_foreign_servers(root: Path, environ: Mapping[str, str]) -> ForeignServers:
    """Return the servers that other programs know in the folder `root`. Blocks while it reads."""
    servers: list[ForeignServer] = []
    problems = []
    for file, read in _files(root, environ):
        try:
            if (text := _text(file, root)) is not None:
                servers += read(text, file, root)
        except (OSError, ValueError) as error:
            reason = safe_line(str(getattr(error, "strerror", None) or error))
            problems.append(f"{file.label} was not read: {reason}.")
    return ForeignServers(tuple(servers), tuple(problems))


_Reader = Callable[[str, ForeignFile, Path], Iterable[ForeignServer]]


def _files(root: Path, environ: Mapping[str, str]) -> Iterator[tuple[ForeignFile, _Reader]]:
    home = Path(environ.get("HOME") or Path.home())
    codex = Path(environ.get("CODEX_HOME") or home / ".codex")
    yield _own(home / ".claude.json", home), _read_claude
    yield _own(codex / "config.toml", home), _read_codex
    yield _own(home / ".config/Code/User/mcp.json", home), _read_editor
    yield _own(home / "Library/Application Support/Code/User/mcp.json", home), _read_editor
    yield _own(home / ".cursor/mcp.json", home), _read_editor
    for name in (".vscode/mcp.json", ".cursor/mcp.json") if root != home else ():
        yield ForeignFile(root / name, name, ServerScope.PROJECT), _read_editor


def _own(path: Path, home: Path) -> ForeignFile:
    label = f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
    return ForeignFile(path, safe_line(label), ServerScope.USER)


def _text(file: ForeignFile, root: Path) -> str | None:
    """Return the text of a file; None where there is none. Raises OSError or ValueError."""
    if file.scope is ServerScope.PROJECT:
        found = read_project_file(root, str(file.path.relative_to(root)), _MAX_BYTES)
        return None if found is None else found.text
    try:
        with open_file(file.path) as content:
            return content.read(_MAX_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        return None


def _read_claude(text: str, file: ForeignFile, root: Path) -> Iterator[ForeignServer]:
    """Yield the user's servers, and those that they added for this folder alone."""
    content = commented_json.parse(text)
    yield from _servers(_members(content, "mcpServers"), file, lambda entry: (dict(entry), []))
    local = _members(_members(_members(content, "projects"), str(root)), "mcpServers")
    yield from _servers(local, file, lambda entry: (dict(entry), ["it was for this folder only"]))


def _read_editor(text: str, file: ForeignFile, root: Path) -> Iterator[ForeignServer]:
    """Yield the servers of VS Code or Cursor."""
    content = commented_json.parse(text)
    servers = _members(content, "servers") or (
        declared_servers(content) if isinstance(content, dict) and "mcpServers" in content else {}
    )
    yield from _servers(servers, file, _of_editor)


def _read_codex(text: str, file: ForeignFile, root: Path) -> Iterator[ForeignServer]:
    yield from _servers(_members(tomllib.loads(text), "mcp_servers"), file, _of_codex)


def _members(content: object, name: str) -> Mapping[str, Any]:
    found = content.get(name) if isinstance(content, dict) else None
    return found if isinstance(found, dict) else {}


def _servers(
    entries: Mapping[str, Any],
    file: ForeignFile,
    convert: Callable[[Mapping[str, Any]], tuple[dict[str, Any], list[str]]],
) -> Iterator[ForeignServer]:
    for given, entry in entries.items():
        if isinstance(entry, dict):
            name = _name(given)
            renamed = [] if name == given else [f"it is called {given!r} there"]
            converted, remarks = convert(entry)
            yield ForeignServer(name, file, converted, (*renamed, *remarks))


def _name(given: str) -> str:
    """Return a name that Forge accepts."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", given).strip("-")[:32] or "server"
    return f"{name}-server" if name.lower() in RESERVED_NAMES else name


def _of_editor(entry: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    remarks: dict[str, None] = {}
    known = {name: value for name, value in entry.items() if name in _KNOWN_FIELDS and value is not None}
    if left_out := [name for name in entry if name not in known]:
        remarks[f"left out: {', '.join(left_out)}"] = None
    return {name: _with_variables(value, remarks) for name, value in known.items()}, [*remarks]


def _with_variables(value: Any, remarks: dict[str, None]) -> Any:
    """Return a value with the variables of the editor as variables of the environment."""
    if isinstance(value, dict):
        return {name: _with_variables(one, remarks) for name, one in value.items() if one is not None}
    if isinstance(value, list):
        return [_with_variables(one, remarks) for one in value]
    if not isinstance(value, str):
        return value

    def variable(found: re.Match[str]) -> str:
        kind, _, name = found[1].partition(":")
        if kind == "env":
            return f"${{{name}}}"
        if kind == "input":
            variable = re.sub(r"\W+", "_", name).upper()
            remarks[f"the editor asks for a value: set the environment variable {variable}"] = None
            return f"${{{variable}}}"
        if found[1] not in _PLACES:
            remarks[f"{found[0]} means nothing to Forge"] = None
        return _PLACES.get(found[1], found[0])

    return _REFERENCE.sub(variable, value)


def _of_codex(entry: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    found: dict[str, Any] = {name: entry[name] for name in ("command", "args", "cwd", "url") if name in entry}
    given = entry.get("env_vars")
    env = {str(name): f"${{{name}}}" for name in given} if isinstance(given, list) else {}
    headers = dict(_members(entry, "http_headers"))
    headers |= {name: f"${{{variable}}}" for name, variable in _members(entry, "env_http_headers").items()}
    if variable := entry.get("bearer_token_env_var"):
        headers["Authorization"] = f"Bearer ${{{variable}}}"
    tools = {
        ours: entry[theirs]
        for ours, theirs in (("allow", "enabled_tools"), ("deny", "disabled_tools"))
        if theirs in entry
    }
    timeout_s = entry.get("tool_timeout_sec")
    more = {
        "env": {**_members(entry, "env"), **env},
        "headers": headers,
        "tools": tools,
        "timeout": round(timeout_s * 1000) if isinstance(timeout_s, int | float) else 0,
        "disabled": entry.get("enabled") is False,
    }
    return found | {name: value for name, value in more.items() if value}, []
