"""The states of declared servers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forge_core.config.forge_config import ForgeConfig
from forge_core.extensions.approvals import ApprovalStore
from forge_core.mcp.approved_servers import declared_program
from forge_core.mcp.server_launch import LaunchSettings
from forge_core.mcp.server_listing import ServerListing
from forge_core.runtime import load_session_config

SETTINGS = LaunchSettings(environment={"HOME": "/home/ada"}, child_environment={})
RUN = {"command": "sh", "args": ["run.sh"]}


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ForgeConfig:
    monkeypatch.setenv("FORGE_HOME", str(tmp_path / "forge"))
    (tmp_path / "work").mkdir()
    config = load_session_config(tmp_path / "work", trust=True)
    config.config_dir.mkdir(parents=True)
    write(
        config.config_dir / "mcp.json", mine={"command": "x"}, both=RUN, unset={"url": "https://a/${NOT_SET}"}
    )
    write(
        config.working_dir / ".mcp.json",
        both={**RUN, "disabled": True},
        new=RUN,
        same=RUN,
        other=RUN,
        no=RUN,
        broken={"command": 1},
        lacking={**RUN, "env": {"A": "${NOT_SET}"}},
    )
    return config


def write(path: Path, **servers: Mapping[str, Any]) -> None:
    path.write_text(json.dumps({"mcpServers": servers}))


def states(config: ForgeConfig) -> dict[tuple[str, str], str]:
    listing = ServerListing.load(config, SETTINGS)
    return {
        (str(one.source.scope), one.name): f"{one.state}: {one.reason}" if one.reason else str(one.state)
        for one in listing.servers
    }


def test_every_server_has_its_state(config: ForgeConfig) -> None:
    script = config.working_dir / "run.sh"
    script.write_text("echo 1")
    listing = ServerListing.load(config, SETTINGS)
    decided = {"same": True, "other": True, "no": False}
    ApprovalStore(config.state_dir).decide(
        (declared_program(one.entry), one.judgement.seen, decided[one.name])
        for one in listing.servers
        if one.name in decided and one.entry is not None and one.judgement is not None
    )
    content = json.loads((config.working_dir / ".mcp.json").read_text())
    content["mcpServers"]["other"]["args"] = ["run.sh", "--more"]
    (config.working_dir / ".mcp.json").write_text(json.dumps(content))

    not_set = "the environment variable NOT_SET is not set"
    assert states(config) == {
        ("user", "mine"): "enabled",
        ("user", "both"): "overridden: .mcp.json declares the same name",
        ("user", "unset"): f"cannot be used: {not_set}",
        ("project", "both"): "disabled",
        ("project", "new"): "pending approval",
        ("project", "same"): "approved",
        ("project", "other"): "changed",
        ("project", "no"): "declined",
        ("project", "broken"): "cannot be used: command is not a text",
        ("project", "lacking"): f"pending approval: {not_set}",
    }
    [changed] = ServerListing.load(config, SETTINGS).named("other")
    assert changed.judgement is not None
    assert changed.judgement.differences == ('args was ["run.sh"], is ["run.sh", "--more"]',)
    script.write_text("echo 2")
    assert states(config)["project", "same"] == "changed"
    named = replace(config, approved_programs=("same",))
    assert states(named)["project", "same"] == "approved"
    assert [str(one.source.scope) for one in ServerListing.load(config, SETTINGS).named("both")] == [
        "project",
        "user",
    ]


def test_servers_of_an_untrusted_folder_are_listed(config: ForgeConfig) -> None:
    untrusted = replace(config, is_trusted=False)
    found = states(untrusted)
    assert found["project", "new"] == "folder not trusted"
    assert found["user", "both"] == "enabled"
    assert states(replace(untrusted, safe=True, own_extensions=())) == {}
