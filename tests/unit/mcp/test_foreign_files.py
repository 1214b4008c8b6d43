"""Servers of other programs, from their real files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forge_core.mcp.foreign_files import ForeignServer, find_foreign_servers
from forge_core.mcp.server_files import ServerScope


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def found(root: Path) -> dict[str, ForeignServer]:
    result = find_foreign_servers(root, {"HOME": str(root.parent)})
    assert not result.problems
    return {one.name: one for one in result.servers}


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_claude_code(root: Path) -> None:
    content = {
        "numStartups": 12,
        "mcpServers": {"git": {"type": "stdio", "command": "mcp-server-git", "args": [], "env": {}}},
        "projects": {
            str(root): {"mcpServers": {"local": {"type": "http", "url": "https://a.example"}}},
            "/elsewhere": {"mcpServers": {"other": {"command": "x"}}},
        },
    }
    write(root.parent / ".claude.json", json.dumps(content))

    servers = found(root)

    assert [*servers] == ["git", "local"]
    assert servers["git"].entry == content["mcpServers"]["git"]  # type: ignore[index]
    assert servers["local"].remarks == ("it was for this folder only",)
    assert {one.file.label for one in servers.values()} == {"~/.claude.json"}
    assert {one.file.scope for one in servers.values()} == {ServerScope.USER}


def test_codex(root: Path) -> None:
    write(
        root.parent / ".codex/config.toml",
        """
model = "x"
[mcp_servers.git]
command = "mcp-server-git"
args = ["--repository", "."]
env = { LOG = "info" }
env_vars = ["TOKEN"]
enabled = false
tool_timeout_sec = 90
enabled_tools = ["log"]
startup_timeout_sec = 20
[mcp_servers.docs]
url = "https://a.example/mcp"
bearer_token_env_var = "DOCS_TOKEN"
http_headers = { X-Region = "eu" }
env_http_headers = { X-Key = "DOCS_KEY" }
""",
    )

    servers = found(root)

    assert servers["git"].entry == {
        "command": "mcp-server-git",
        "args": ["--repository", "."],
        "env": {"LOG": "info", "TOKEN": "${TOKEN}"},
        "disabled": True,
        "timeout": 90_000,
        "tools": {"allow": ["log"]},
    }
    assert servers["docs"].entry == {
        "url": "https://a.example/mcp",
        "headers": {"X-Region": "eu", "X-Key": "${DOCS_KEY}", "Authorization": "Bearer ${DOCS_TOKEN}"},
    }


def test_vs_code(root: Path) -> None:
    write(
        root / ".vscode/mcp.json",
        """{
  // the team's
  "inputs": [{"type": "promptString", "id": "perplexity-key", "password": true}],
  "servers": {
    "io.github.perplexity/ask": {
      "type": "stdio", "command": "npx", "args": ["-y", "${workspaceFolder}/x", "${config:a}"],
      "env": {"KEY": "${input:perplexity-key}", "HOME": "${userHome}", "T": "${env:TOKEN}", "N": null},
      "envFile": "${workspaceFolder}/.env",
    },
    "workspace": {"url": "https://a.example"}
  }
}""",
    )

    servers = found(root)

    one = servers["io-github-perplexity-ask"]
    assert one.entry == {
        "type": "stdio",
        "command": "npx",
        "args": ["-y", "${FORGE_PROJECT_DIR}/x", "${config:a}"],
        "env": {"KEY": "${PERPLEXITY_KEY}", "HOME": "${HOME}", "T": "${TOKEN}"},
    }
    assert one.remarks == (
        "it is called 'io.github.perplexity/ask' there",
        "left out: envFile",
        "${config:a} means nothing to Forge",
        "the editor asks for a value: set the environment variable PERPLEXITY_KEY",
    )
    assert one.file.scope is ServerScope.PROJECT
    assert "workspace-server" in servers


@pytest.mark.parametrize("scope", list(ServerScope)[:2])
def test_cursor(root: Path, scope: ServerScope) -> None:
    folder = root if scope is ServerScope.PROJECT else root.parent
    write(folder / ".cursor/mcp.json", '{"mcpServers": {"a": {"command": "x", "env": {"K": "${env:K}"}}}}')

    assert found(root)["a"].entry == {"command": "x", "env": {"K": "${K}"}}
    assert found(root)["a"].file.scope is scope


def test_a_file_that_cannot_be_read_hides_no_other(root: Path) -> None:
    write(root.parent / ".claude.json", "{")
    write(root.parent / ".codex/config.toml", "x = ")
    (root.parent / ".cursor").mkdir()
    (root.parent / ".cursor/mcp.json").mkdir()
    write(root / ".vscode/mcp.json", '{"servers": {"a": {"command": "x"}, "b": 1}}')
    (root / ".cursor").mkdir()
    (root / ".cursor/mcp.json").symlink_to(root.parent / ".claude.json")

    result = find_foreign_servers(root, {"HOME": str(root.parent)})

    assert [one.name for one in result.servers] == ["a"]
    assert [line.partition(" was not read: ")[0] for line in result.problems] == [
        "~/.claude.json",
        "~/.codex/config.toml",
        "~/.cursor/mcp.json",
    ]
