"""Files that declare servers: what is read, what is refused and why."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forge_core.config.forge_config import ForgeConfig
from forge_core.mcp.approved_servers import ServerApprovals
from forge_core.mcp.server_files import (
    ServerEntry,
    ServerScope,
    ServerSource,
    Transport,
    UnusableServer,
    load_servers,
    read_entry,
    read_source,
)
from forge_core.runtime import load_session_config

COMMAND = {"command": "server"}


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ForgeConfig:
    monkeypatch.setenv("FORGE_HOME", str(tmp_path / "forge"))
    (tmp_path / "work").mkdir()
    config = load_session_config(tmp_path / "work")
    config.config_dir.mkdir(parents=True)
    return replace(config, own_extensions=(config.config_dir,), is_trusted=True)


def source(path: Path, scope: ServerScope = ServerScope.PROJECT) -> ServerSource:
    return ServerSource(path, scope, path.parent, path.name)


def read(entry: Any, name: str = "one") -> ServerEntry | UnusableServer:
    return read_entry(name, entry, source(Path("/project/.mcp.json")))


def write(path: Path, content: Any) -> None:
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def test_all_fields_of_an_entry_are_read() -> None:
    found = read(
        {
            "command": " mcp-server-git ",
            "args": ["--repository", "."],
            "env": {"LOG": "${LOG:-info}", "PORT": 80},
            "cwd": "sub",
            "timeout": 60000,
            "alwaysLoad": True,
            "tools": {"allow": ["log"], "deny": ["push"]},
            "protocol": "2026-07-28",
            "trust_annotations": True,
            "unknown": 1,
        }
    )
    assert isinstance(found, ServerEntry)
    assert (found.transport, found.command_line) == (Transport.STDIO, "mcp-server-git --repository .")
    assert found.environment == {"LOG": "${LOG:-info}", "PORT": "80"}
    assert (found.cwd, found.timeout_s, found.always_load) == ("sub", 60.0, True)
    assert (found.allowed_tools, found.denied_tools) == (("log",), ("push",))
    assert (found.protocol, found.trusts_annotations) == ("2026-07-28", True)
    assert found.warnings == ("command has spaces around its value; they are ignored",)
    assert found.needs_approval


@pytest.mark.parametrize(
    ("entry", "transport"),
    [
        ({"command": "x"}, Transport.STDIO),
        ({"url": "https://a.example/mcp"}, Transport.HTTP),
        ({"type": "http", "url": "${BASE}/mcp"}, Transport.HTTP),
        ({"type": "streamable-http", "url": "http://127.0.0.1:1/mcp"}, Transport.HTTP),
        ({"type": "sse", "url": "https://a.example/sse"}, Transport.SSE),
    ],
)
def test_the_transport_follows_from_the_fields(entry: dict[str, Any], transport: Transport) -> None:
    found = read(entry)
    assert isinstance(found, ServerEntry) and found.transport is transport


@pytest.mark.parametrize(
    ("name", "entry", "reason"),
    [
        ("a b", COMMAND, "its name must be 1 to 32 letters, digits, '-' or '_'"),
        ("x" * 33, COMMAND, "its name must be 1 to 32 letters, digits, '-' or '_'"),
        ("Forge", COMMAND, "its name is reserved"),
        ("one", [], "it is not an object"),
        ("one", {}, "it has neither command nor url"),
        ("one", {"type": "stdio"}, "it has no command"),
        ("one", {"url": ""}, "it is not configured: its url is empty"),
        (
            "one",
            {"type": "ws", "url": "ws://a"},
            "its type is 'ws': Forge does not speak WebSocket; use 'http'",
        ),
        ("one", {"type": "pipe"}, "its type is 'pipe'; it can be 'stdio', 'http' or 'sse'"),
        ("one", {"url": "ftp://a"}, "its url is 'ftp://a'; it must begin with http:// or https://"),
        ("one", {**COMMAND, "args": "a"}, "args is not a list of texts"),
        ("one", {**COMMAND, "env": {"A": None}}, "env is not an object of texts"),
        ("one", {**COMMAND, "timeout": "1"}, "timeout is '1'; it must be a number above 0"),
        ("one", {**COMMAND, "timeout": math.inf}, "timeout is inf; it must be a number above 0"),
        ("one", {**COMMAND, "timeout": 10**400}, f"timeout is 1{'0' * 39}; it must be a number above 0"),
        (
            "one",
            {"url": "https://a.example", "oauth": {"callbackPort": math.inf}},
            "callbackPort is inf; it must be a number above 0",
        ),
        ("one", {**COMMAND, "disabled": "yes"}, "disabled is 'yes'; it must be true or false"),
        (
            "one",
            {"url": "https://a", "sandbox": "strict"},
            "sandbox is set, but a server with a url is no program of this machine; remove it",
        ),
        ("one", {**COMMAND, "sandbox": "on"}, "sandbox is 'on'; it can be 'keys' or 'strict'"),
        ("one", {"command": "a\0b"}, "command is not a text"),
        ("one", {**COMMAND, "url": "https://a.example"}, "it has a command and a url; remove one of them"),
        (
            "one",
            {"type": "stdio", **COMMAND, "url": "https://a.example"},
            "it has a command and a url; remove one of them",
        ),
    ],
)
def test_an_entry_that_cannot_be_used_says_why(name: str, entry: Any, reason: str) -> None:
    found = read(entry, name)
    assert isinstance(found, UnusableServer) and found.reason == reason


def test_a_timeout_in_seconds_is_ignored_with_a_warning() -> None:
    found = read({**COMMAND, "timeout": 30})
    assert isinstance(found, ServerEntry) and found.timeout_s is None
    assert found.warnings == ("timeout is in milliseconds: 30 is below 1000, so it is ignored",)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "line 1, column 2 is not JSON: expecting property name"),
        ('"mcpServers": {}', "it is only a part of a JSON object: put { before it and } after it"),
        ("[]", "it is not a JSON object"),
        ({"mcpServers": []}, "mcpServers is not an object"),
        ({"servers": {"a": COMMAND}}, 'it has its servers in "servers", as VS Code has them'),
        ({"mcp": {"servers": {"a": COMMAND}}}, 'it has its servers in "mcp": {"servers": ...}, as VS Code'),
        ("[" * 100_000, "it is nested too deeply"),
        (" " * 1_000_001, "it has more than 1,000,000 bytes"),
        ({f"s{n}": COMMAND for n in range(101)}, "it declares 101 servers; at most 100 can be used"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, content: Any, problem: str) -> None:
    write(tmp_path / ".mcp.json", content)
    [found] = read_source(source(tmp_path / ".mcp.json")).problems
    assert found.startswith("Servers in .mcp.json were not read: ") and problem in found


@pytest.mark.parametrize(
    "content", [{"mcpServers": {"a": COMMAND, "b c": COMMAND}}, {"a": COMMAND, "b c": COMMAND}]
)
def test_one_bad_entry_hides_no_other(tmp_path: Path, content: Any) -> None:
    (tmp_path / ".mcp.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(content).encode())
    table = read_source(source(tmp_path / ".mcp.json"))
    assert [one.name for one in table.servers] == ["a"]
    assert [one.name for one in table.unusable] == ["b c"]


def test_comments_are_accepted(tmp_path: Path) -> None:
    write(tmp_path / ".mcp.json", '{"mcpServers": {"a": {"command": "x", /* why */}}} // end')
    assert [one.command for one in read_source(source(tmp_path / ".mcp.json")).servers] == ["x"]


def test_a_server_that_cannot_be_bound_to_its_files_hides_no_other(config: ForgeConfig) -> None:
    for number in range(201):
        (config.working_dir / f"{number}.txt").touch()
    many = {"command": "cat", "args": [f"{number}.txt" for number in range(201)]}
    write(config.working_dir / ".mcp.json", {"many": many, "a": COMMAND})

    approvals = ServerApprovals.load(config)

    assert [one.name for one in approvals.table.servers] == ["a"]
    [unusable] = approvals.table.unusable
    assert (unusable.name, unusable.reason) == ("many", "its command line names more than 200 files")


def test_a_file_that_leads_out_of_the_project_is_not_read(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere.json", {"a": COMMAND})
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / ".mcp.json").symlink_to(tmp_path / "elsewhere.json")
    [problem] = read_source(source(tmp_path / "project" / ".mcp.json")).problems
    assert "it is a link out of the project" in problem


def test_the_strongest_scope_wins(config: ForgeConfig, tmp_path: Path) -> None:
    write(config.config_dir / "mcp.json", {"a": {"command": "user"}, "b": {"command": "user"}, "c": COMMAND})
    write(config.working_dir / ".mcp.json", {"a": {"command": "project"}, "b": {"command": "project"}})
    write(tmp_path / "flag.json", {"a": {"command": "flag"}})

    table = load_servers(replace(config, mcp_config=(str(tmp_path / "flag.json"),)))

    assert {one.name: (one.command, str(one.source.scope)) for one in table.servers} == {
        "a": ("flag", "session"),
        "b": ("project", "project"),
        "c": ("server", "user"),
    }


def test_a_project_counts_only_once_it_is_trusted(config: ForgeConfig) -> None:
    write(config.working_dir / ".mcp.json", {"a": COMMAND})
    assert load_servers(config).servers
    assert not load_servers(replace(config, is_trusted=False)).servers
    assert not load_servers(replace(config, safe=True)).servers


def test_a_file_of_an_option_that_is_missing_is_a_problem(config: ForgeConfig) -> None:
    [problem] = load_servers(replace(config, mcp_config=("/no/such.json",))).problems
    assert problem == "Servers in /no/such.json were not read: No such file or directory."
