"""From an entry to a launch: variables, environment, folder; and the names of tools."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from forge_core.mcp.mcp_tool import tool_names
from forge_core.mcp.server_files import ServerEntry, ServerScope, ServerSource, read_entry
from forge_core.mcp.server_launch import (
    Expansion,
    LaunchSettings,
    UnresolvedServerError,
    launch_of,
    variables_of,
)

SETTINGS = LaunchSettings(
    environment={"TOKEN": "t0ken", "OPENROUTER_API_KEY": "sk-1", "EMPTY": ""},
    child_environment={"PATH": "/bin"},
    forge_keys=("OPENROUTER_API_KEY",),
    roots=("/project",),
)


def entry(content: dict[str, Any], scope: ServerScope = ServerScope.PROJECT) -> ServerEntry:
    found = read_entry("one", content, ServerSource(Path("/project/.mcp.json"), scope, Path("/project"), ""))
    assert isinstance(found, ServerEntry), found
    return found


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("${TOKEN}", "t0ken"),
        ("a${TOKEN}b${TOKEN}", "at0kenbt0ken"),
        ("${NONE:-x y}", "x y"),
        ("${EMPTY:-x}", "x"),
        ("${NONE:-}", ""),
        ("$TOKEN ${TOKEN%x} ${1}", "$TOKEN ${TOKEN%x} ${1}"),
        ("${NONE}", "${NONE}"),
    ],
)
def test_variables_are_expanded(text: str, expanded: str) -> None:
    assert Expansion(SETTINGS.environment).of(text) == expanded


def test_a_program_is_given_its_own_variables_and_the_scrubbed_environment() -> None:
    launch = launch_of(
        entry(
            {
                "command": "${FORGE_PROJECT_DIR}/run",
                "args": ["${TOKEN}"],
                "env": {"A": "${TOKEN}"},
                "cwd": "sub",
            }
        ),
        SETTINGS,
    )
    assert launch.argv == ("/project/run", "t0ken")
    assert launch.environment == {
        "PATH": "/bin",
        "A": "t0ken",
        "FORGE_PROJECT_DIR": "/project",
        "CLAUDE_PROJECT_DIR": "/project",
    }
    assert (launch.folder, launch.protocol, launch.roots) == ("/project/sub", "legacy", ("/project",))


def test_a_url_is_given_its_headers_and_no_environment() -> None:
    content = {"url": "https://a.example/${NONE:-mcp}", "headers": {"Authorization": "Bearer ${TOKEN}"}}
    launch = launch_of(entry(content), SETTINGS)
    assert (launch.url, launch.headers) == ("https://a.example/mcp", {"Authorization": "Bearer t0ken"})
    assert (launch.argv, launch.environment, launch.protocol) == ((), {}, "auto")
    assert variables_of(entry(content)) == ["NONE", "TOKEN"]


def test_a_missing_variable_is_named() -> None:
    with pytest.raises(UnresolvedServerError, match="the environment variable NONE, OTHER is not set"):
        launch_of(entry({"command": "x", "args": ["${NONE}", "${OTHER}"]}), SETTINGS)


def test_a_folder_of_an_unknown_user_is_named() -> None:
    with pytest.raises(UnresolvedServerError, match="cwd is '~nobody-at-all/x', and there is no such user"):
        launch_of(entry({"command": "x", "cwd": "~nobody-at-all/x"}), SETTINGS)


def test_a_project_is_given_no_key_of_forge() -> None:
    content = {"url": "https://a.example", "headers": {"X": "${OPENROUTER_API_KEY}"}}
    with pytest.raises(UnresolvedServerError, match="OPENROUTER_API_KEY is a key of Forge itself"):
        launch_of(entry(content), SETTINGS)
    assert launch_of(entry(content, ServerScope.USER), SETTINGS).headers == {"X": "sk-1"}


def test_tools_have_names_that_providers_take() -> None:
    keys = [("git", "log"), ("git", "a.b"), ("git", "a_b"), ("docs", "x" * 80), ("docs", "größe")]
    names = tool_names(keys)
    assert names["git", "log"] == "mcp__git__log"
    assert names["docs", "größe"] == "mcp__docs__gr__e"
    assert names["git", "a.b"] != names["git", "a_b"]
    assert len(set(names.values())) == len(keys)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in names.values())
    assert re.fullmatch(r"mcp__docs__x{44}_[0-9a-f]{8}", names["docs", "x" * 80])
    assert tool_names(reversed(keys)) == names
