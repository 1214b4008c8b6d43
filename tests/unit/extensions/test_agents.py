"""Agents defined by files in the form of Claude Code, and those that are built in."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from forge_core.config.permission_mode import PermissionMode
from forge_core.extensions.agents import (
    BUILT_IN_AGENTS,
    AgentCatalog,
    AgentDefinition,
    agents_of,
)
from forge_core.extensions.catalog import ExtensionCatalog, load_catalog
from forge_core.extensions.locations import ExtensionKind
from forge_core.permissions.verdict import stricter
from forge_core.runtime import load_session_config
from forge_core.tools.registry import builtin_tools

FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work/.claude/agents").mkdir(parents=True)
    return tmp_path / "work/.claude/agents"


def catalog_of(folder: Path, own: Path | None = None) -> ExtensionCatalog:
    config = load_session_config(folder.parent.parent, trust=True)
    return load_catalog(dataclasses.replace(config, own_extensions=() if own is None else (own,)))


def loaded(folder: Path, own: Path | None = None) -> AgentCatalog:
    return agents_of(catalog_of(folder, own))


def agent(folder: Path, front_matter: str, body: str = "Do it.") -> AgentDefinition:
    (folder / "one.md").write_text(f"---\nname: one\ndescription: d\n{front_matter}\n---\n{body}")
    found = loaded(folder).find("one")
    assert found is not None
    return found


def tools_of(one: AgentDefinition) -> list[str]:
    return [tool.name for tool in one.select(builtin_tools())]


FOR_AGENTS = [tool.name for tool in builtin_tools() if tool.for_agents]
EDITS = ["edit", "multi_edit", "apply_patch"]


@pytest.mark.parametrize(
    ("front_matter", "fields", "tools", "problems"),
    [
        ("tools:\n  write: false", {}, [], 1),  # opencode's form
        ("model: inherit", {"model": "", "max_turns": None, "mode": None}, FOR_AGENTS, 0),
        ("tools: Read, Grep, Glob\nmodel: sonnet", {"model": "sonnet"}, ["read", "glob", "grep"], 0),
        ("tools: [read, Bash]\nmaxTurns: 12", {"max_turns": 12}, ["read", "bash"], 0),
        ("tools: '*'\ndisallowedTools: Edit, Write", {}, sorted({*FOR_AGENTS} - {*EDITS, "write"}), 0),
        ("disallowedTools:\n  - Bash(rm *)", {}, [one for one in FOR_AGENTS if one != "bash"], 0),
        ("disallowedTools: '*'", {}, [], 0),
        ("tools: []", {"tools": ()}, [], 0),
        ("tools: Read, Bash(git *), WebSearch", {}, ["read"], 2),
        ("tools: Read, Task, Agent, AskUserQuestion, ExitPlanMode", {}, ["read"], 0),
        ("tools: mcp__git__log, Read", {}, ["read"], 0),
        ("permissionMode: plan", {"mode": PermissionMode.PLAN}, FOR_AGENTS, 0),
        ("permissionMode: bypassPermissions", {"mode": PermissionMode.YOLO}, FOR_AGENTS, 0),
        ("permissionMode: acceptEdits", {"mode": PermissionMode.ACCEPT_EDITS}, FOR_AGENTS, 0),
        ("permissionMode: dontAsk", {"mode": PermissionMode.ASK}, FOR_AGENTS, 1),
        ("skills: pdf, xlsx\ncolor: purple", {"skills": ("pdf", "xlsx"), "color": "purple"}, FOR_AGENTS, 0),
        ("tools: Read\nskills: pdf\ncolor: chartreuse", {"color": ""}, ["read", "skill"], 0),
        ("skills: pdf\ndisallowedTools: Skill", {}, [one for one in FOR_AGENTS if one != "skill"], 0),
        ("maxTurns: many", {"max_turns": None}, FOR_AGENTS, 1),
        ("tools: Read\n\tmodel: {", {"tools": (), "description": "Do it."}, [], 1),
        ("hooks:\n  Stop: []\n  PreToolUse: [{matcher: Bash}]", {}, FOR_AGENTS, 1),
        ("mcpServers: {git: {command: rm}}\nisolation: worktree", {"is_isolated": True}, FOR_AGENTS, 1),
        ("isolation: container", {"is_isolated": True}, FOR_AGENTS, 1),
    ],
)
def test_a_file_narrows_what_an_agent_may_use(
    folder: Path, front_matter: str, fields: dict[str, Any], tools: list[str], problems: int
) -> None:
    found = agent(folder, front_matter)

    assert {name: getattr(found, name) for name in fields} == fields
    assert sorted(tools_of(found)) == sorted(tools)
    assert len(found.problems) == problems, found.problems
    assert (found.prompt, found.origin) == ("Do it.", "project")


def test_published_agent_files_mean_what_the_table_says(folder: Path) -> None:
    _, *files = (FIXTURES / "claude_agents.txt").read_text("utf-8").split("\n%%% ")
    for file in files:
        head, _, text = file.partition("\n")
        name, *encoding = head.split(", ")
        lines = f"{text}\n".replace("\n", "\r\n" if "crlf" in encoding else "\n")
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lines.encode("utf-8-sig" if "bom" in encoding else "utf-8"))
    catalog, tools = catalog_of(folder), builtin_tools()
    found = {}
    for definition in catalog.of_kind(ExtensionKind.AGENT):
        one = agents_of(catalog).find(definition.name)
        assert one is not None
        names = [tool.name for tool in one.select(tools)]
        fields = {
            "name": one.name,
            "description": one.description[:100],
            "tools": [*names, *(name for name in one.tools or () if name.startswith("mcp__"))],
            "disallowed_tools": [*one.disallowed_tools],
            "model": one.model,
            "max_turns": one.max_turns,
            "mode": one.mode,
            "skills": [*one.skills],
            "color": one.color,
            "problems": [*definition.problems, *one.problems],
            "prompt": one.prompt.splitlines()[:1],
        }
        fields["tools"] = "all" if names == FOR_AGENTS else fields["tools"]
        found[str(definition.path.relative_to(folder))] = {
            key: value for key, value in fields.items() if value not in ("", None, []) or key == "tools"
        }

    assert len(found) == len(files) >= 25
    assert found == json.loads((FIXTURES / "claude_agents.json").read_text("utf-8"))


def test_the_agents_that_are_built_in_have_the_tools_of_their_purpose() -> None:
    tools = {one.name: tools_of(one) for one in BUILT_IN_AGENTS}

    assert tools["explore"] == ["read", "glob", "grep", "ls"]
    assert "bash" in tools["verify"]
    assert not {"write", *EDITS} & {*tools["verify"]}
    assert tools["general"] == FOR_AGENTS


def test_a_file_never_replaces_an_agent_that_is_built_in(folder: Path, tmp_path: Path) -> None:
    for path in (folder, tmp_path / "own/agents"):
        path.mkdir(parents=True, exist_ok=True)
        for name in ("Explore", "tester"):
            (path / f"{name}.md").write_text(f"---\ndescription: by {path.parent.name}\n---\nBody")

    catalog = loaded(folder, tmp_path / "own")

    found = {name: catalog.find(name) for name in ("explore", "project:explore", "tester", "user:tester")}
    descriptions = {name: one and one.description for name, one in found.items()}
    assert descriptions == {
        "explore": BUILT_IN_AGENTS[0].description,
        "project:explore": "by .claude",
        "tester": "by .claude",
        "user:tester": "by own",
    }
    assert [one.name for one in catalog.agents] == [
        "explore", "verify", "general", "project:Explore", "tester",
    ]  # fmt: skip
    assert catalog.find("general-purpose") is catalog.find("General")
    assert (catalog.find("testr"), catalog.nearest("testr")) == (None, "tester")


def test_the_mode_that_asks_more_often_is_the_stricter_one() -> None:
    assert stricter(PermissionMode.YOLO, PermissionMode.PLAN) is PermissionMode.PLAN
    assert stricter(PermissionMode.ASK, PermissionMode.AUTO) is PermissionMode.ASK


def test_the_agent_of_the_documentation_is_read_as_it_says(folder: Path) -> None:
    page = (Path(__file__).parents[3] / "docs/extending.md").read_text()
    example = page.partition("## Agents")[2].partition("```markdown\n")[2].partition("```\n")[0]
    (folder / "code-reviewer.md").write_text(example)

    found = loaded(folder).find("code-reviewer")

    assert found is not None
    assert found.description == "Reviews a change for bugs. Use after code was written."
    assert tools_of(found) == ["read", "glob", "grep", "bash"]
    assert (found.model, found.mode, found.max_turns) == ("", PermissionMode.PLAN, 20)
    assert found.prompt.startswith("You review changes.") and not found.problems
