"""Writing to the files that declare servers."""

from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path

import pytest

from forge_core.errors import ConfigError
from forge_core.mcp.server_edits import add_servers, remove_server
from forge_core.mcp.server_files import ServerScope, ServerSource

ENTRY = {"command": "x"}


@pytest.fixture
def user(tmp_path: Path) -> ServerSource:
    return ServerSource(tmp_path / "config/forge/mcp.json", ServerScope.USER, tmp_path, "mcp.json")


@pytest.fixture
def project(tmp_path: Path) -> ServerSource:
    return ServerSource(tmp_path / ".mcp.json", ServerScope.PROJECT, tmp_path, ".mcp.json")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_private_to_the_user_or_as_any_file_of_the_project(
    user: ServerSource, project: ServerSource, tmp_path: Path
) -> None:
    before = os.umask(0o022)
    try:
        for source in (user, project):
            add_servers(source, {"one": ENTRY}, tmp_path / "state")
    finally:
        os.umask(before)

    expected = '{\n  "mcpServers": {\n    "one": {\n      "command": "x"\n    }\n  }\n}\n'
    assert user.path.read_text() == project.path.read_text() == expected
    assert (mode(user.path), mode(project.path), mode(user.path.parent)) == (0o600, 0o644, 0o700)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", {"mcpServers": {"one": ENTRY}}),
        ('{"$schema": "x"}', {"$schema": "x", "mcpServers": {"one": ENTRY}}),
        ('{"a": {"command": "y"}}', {"a": {"command": "y"}, "one": ENTRY}),
        ('{"mcpServers": {"a": 1}, "b": {}}', {"mcpServers": {"a": 1, "one": ENTRY}, "b": {}}),
    ],
    ids=["empty", "other-keys", "bare-map", "usual"],
)
def test_an_entry_is_added_and_removed(
    project: ServerSource, tmp_path: Path, before: str, after: object
) -> None:
    project.path.write_text("\ufeff" + before)
    project.path.chmod(0o640)

    add_servers(project, {"one": ENTRY}, tmp_path / "state")

    text = project.path.read_text("utf-8")
    assert text[0] == "\ufeff" and json.loads(text[1:]) == after
    assert mode(project.path) == 0o640
    remove_server(project, "one", tmp_path / "state")
    assert "one" not in project.path.read_text()
    with pytest.raises(ConfigError, match=r"\.mcp\.json declares no server 'one'"):
        remove_server(project, "one", tmp_path / "state")


def test_text_that_is_no_valid_unicode_is_kept(user: ServerSource, tmp_path: Path) -> None:
    entry = {"command": "x", "args": ["caf\udce9", "é"]}
    add_servers(user, {"one": entry}, tmp_path / "state")
    assert json.loads(user.path.read_text())["mcpServers"] == {"one": entry}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '{"mcpServers": {"a": 1',
            r"cannot be read \(line 1, column 23 is not JSON: expecting ',' delimiter.*Repair it first",
        ),
        ('{"servers": {"a": {}}}', 'write "mcpServers" instead'),
        ('{"mcpServers": []}', "mcpServers is not an object"),
        ("[]", "it is not a JSON object"),
        ('{"mcpServers": {"one": 1}}', "declares a server 'one' already"),
    ],
)
def test_what_cannot_be_changed_stays_as_it_is(
    project: ServerSource, tmp_path: Path, content: str, message: str
) -> None:
    project.path.write_text(content)
    with pytest.raises(ConfigError, match=message):
        add_servers(project, {"new": ENTRY, "one": ENTRY}, tmp_path / "state")
    assert project.path.read_text() == content
    assert not list(tmp_path.glob(".*.mcp*"))


def test_links_are_followed_for_the_user_and_never_out_of_a_project(
    user: ServerSource, project: ServerSource, tmp_path: Path
) -> None:
    (tmp_path / "dotfiles").mkdir()
    user.path.parent.mkdir(parents=True)
    user.path.symlink_to(tmp_path / "dotfiles/mcp.json")
    add_servers(user, {"one": ENTRY}, tmp_path / "state")
    assert user.path.is_symlink() and "one" in (tmp_path / "dotfiles/mcp.json").read_text()

    for target in ("dotfiles/mcp.json", "gone.json"):
        inner = tmp_path / "work"
        inner.mkdir(exist_ok=True)
        (inner / ".mcp.json").unlink(missing_ok=True)
        (inner / ".mcp.json").symlink_to(tmp_path / target)
        source = ServerSource(inner / ".mcp.json", ServerScope.PROJECT, inner, ".mcp.json")
        with pytest.raises(ConfigError, match="a link out of the project"):
            add_servers(source, {"two": ENTRY}, tmp_path / "state")
    assert not (tmp_path / "gone.json").exists()


def test_writers_at_the_same_time_lose_nothing(user: ServerSource, tmp_path: Path) -> None:
    names = [f"server-{number}" for number in range(20)]
    threads = [
        threading.Thread(target=add_servers, args=(user, {name: ENTRY}, tmp_path / "state")) for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(json.loads(user.path.read_text())["mcpServers"]) == sorted(names)
