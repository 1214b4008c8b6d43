"""Folders that the user adds: for every tool they are inside, and what is beside them is not."""

from pathlib import Path
from typing import Any

import pytest

from forge_core.config.permission_mode import PermissionMode
from forge_core.permissions import Decision, PermissionPolicy, Verdict
from forge_core.permissions.sandbox.sandbox_state import SandboxStrength
from forge_core.tools import (
    ApplyPatchTool,
    BaseTool,
    BashTool,
    EditTool,
    ExecutionContext,
    GlobTool,
    GrepTool,
    LsTool,
    MultiEditTool,
    ReadTool,
    ToolExecutor,
    WriteTool,
)

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY
Call = tuple[BaseTool, dict[str, Any]]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Return a folder with a workspace `work`, a folder `lib` to add, and `beside`, which is not added."""
    base = tmp_path.resolve()
    for name in ("work", "lib/src", "beside"):
        (base / name).mkdir(parents=True)
    for name in ("work/a.txt", "lib/a.txt", "lib/src/a.txt", "beside/a.txt"):
        (base / name).write_text("old\n")
    (base / "lib/.env").write_text("TOKEN=x\n")
    (base / "lib/out").symlink_to("../beside")
    (base / "lib/link.txt").symlink_to("../beside/a.txt")
    return base


def policy_for(
    base: Path, mode: PermissionMode = PermissionMode.ASK, sandbox: SandboxStrength = "full", **rules: Any
) -> PermissionPolicy:
    policy = PermissionPolicy(base / "work", mode, sandbox=sandbox, **rules)
    policy.add_folder(base / "lib")
    return policy


def context_for(base: Path) -> ExecutionContext:
    return ExecutionContext(base / "work", added_folders=(base / "lib",))


def verdict(policy: PermissionPolicy, base: Path, tool: BaseTool, params: dict[str, Any]) -> Verdict:
    return policy.decide(tool.name, tool.use(params, context_for(base)))


def looks(name: str, folder: str) -> list[Call]:
    return [
        (ReadTool(), {"file_path": name}),
        (LsTool(), {"path": folder}),
        (GlobTool(), {"pattern": "*.txt", "path": folder}),
        (GrepTool(), {"pattern": "old", "path": folder}),
    ]


def edits(name: str) -> list[Call]:
    edit = {"file_path": name, "old_string": "old", "new_string": "new"}
    patch = f"*** Begin Patch\n*** Update File: {name}\n@@\n-old\n+new\n*** End Patch\n"
    return [
        (WriteTool(), {"file_path": name, "content": "new\n"}),
        (EditTool(), edit),
        (MultiEditTool(), {"edits": [edit]}),
        (ApplyPatchTool(), {"patch": patch}),
    ]


@pytest.mark.parametrize("spelling", ["{base}/lib", "../lib", "../beside/../lib", "sub/../../lib"])
def test_reading_and_editing_follow_the_rules_of_the_workspace(base: Path, spelling: str) -> None:
    folder = spelling.format(base=base)
    reading, editing = policy_for(base), policy_for(base, PermissionMode.ACCEPT_EDITS)
    for tool, params in looks(f"{folder}/a.txt", folder):
        assert verdict(reading, base, tool, params).decision is ALLOW, tool.name
    for tool, params in edits(f"{folder}/a.txt"):
        assert verdict(reading, base, tool, params).decision is ASK, tool.name
        assert verdict(editing, base, tool, params).decision is ALLOW, tool.name


@pytest.mark.parametrize("folder", ["{base}/beside", "../lib/../beside", "{base}/lib/out", "../lib/out"])
def test_what_lies_beside_or_behind_a_link_is_outside(base: Path, folder: str) -> None:
    folder = folder.format(base=base)
    for mode in (PermissionMode.ASK, PermissionMode.ACCEPT_EDITS, PermissionMode.AUTO):
        policy = policy_for(base, mode)
        for tool, params in [*looks(f"{folder}/a.txt", folder), *edits(f"{folder}/a.txt")]:
            found = verdict(policy, base, tool, params)
            assert (found.decision, found.is_private) == (ASK, True), (mode, tool.name)
            assert "is outside the folders" in found.reason


def test_a_link_to_a_file_outside_is_outside(base: Path) -> None:
    policy = policy_for(base, PermissionMode.AUTO)
    for tool, params in [(ReadTool(), {"file_path": "../lib/link.txt"}), *edits("../lib/link.txt")]:
        assert verdict(policy, base, tool, params).decision is ASK, tool.name


def test_a_folder_whose_name_merely_begins_the_same_is_outside(base: Path) -> None:
    (base / "library").mkdir()
    (base / "library/a.txt").write_text("old\n")
    for tool, params in looks("../library/a.txt", "../library"):
        assert verdict(policy_for(base), base, tool, params).decision is ASK, tool.name


@pytest.mark.parametrize("name", [".env", ".git/config", ".forge/config.toml", ".vscode/tasks.json"])
def test_keys_and_files_that_programs_act_on_ask_as_in_the_workspace(base: Path, name: str) -> None:
    policy = policy_for(base, PermissionMode.AUTO)
    found = verdict(policy, base, WriteTool(), {"file_path": f"../lib/{name}", "content": "x\n"})
    assert found.decision is ASK
    if name == ".env":
        assert verdict(policy, base, ReadTool(), {"file_path": f"../lib/{name}"}).decision is ASK


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("cat ../lib/a.txt", ALLOW),
        ("cat {base}/lib/src/a.txt", ALLOW),
        ("rg old ../lib/src", ALLOW),
        ("cd {base}/lib && cat a.txt", ALLOW),
        ("cd {base}/lib && git log --oneline", ALLOW),
        ("cat ../beside/a.txt", ASK),
        ("cat ../lib/../beside/a.txt", ASK),
        ("cat ../lib/out/a.txt", ASK),
        ("cat ../lib/link.txt", ASK),
        ("cat ../lib/*.txt", ASK),
        ("cat ../lib/.env", ASK),
        ("cd {base}/lib && cat ../beside/a.txt", ASK),
        ("rm -rf {base}/lib", DENY),
        ("rm -rf ../lib/*", DENY),
        ("rm -rf {base}/lib/.git", DENY),
        ("find {base}/lib -delete", DENY),
    ],
)
def test_commands_that_read_run_there_and_the_guard_protects_it(
    base: Path, line: str, expected: Decision
) -> None:
    found = verdict(policy_for(base), base, BashTool(), {"command": line.format(base=base)})
    assert found.decision is expected, found.reason


@pytest.mark.parametrize(
    ("line", "expected"),
    [("touch ../lib/new.txt", ALLOW), ("echo x > ../beside/new.txt", ASK), ("touch ../beside/new", ASK)],
)
def test_mode_auto_runs_sandboxed_commands_that_write_there(
    base: Path, line: str, expected: Decision
) -> None:
    found = verdict(policy_for(base, PermissionMode.AUTO), base, BashTool(), {"command": line})
    assert found.decision is expected, found.reason


def test_rules_deny_by_relative_patterns_but_allow_by_absolute_ones(base: Path) -> None:
    denied = policy_for(base, deny=["read(src/**)"])
    assert verdict(denied, base, ReadTool(), {"file_path": "../lib/src/a.txt"}).decision is DENY
    relative = policy_for(base, allow=["edit(src/**)"])
    absolute = policy_for(base, allow=[f"edit({base}/lib/src/**)"])
    bare = policy_for(base, allow=["edit"])
    for tool, params in edits("../lib/src/a.txt"):
        assert verdict(relative, base, tool, params).decision is ASK, tool.name
        assert verdict(absolute, base, tool, params).decision is ALLOW, tool.name
        assert verdict(bare, base, tool, params).decision is ALLOW, tool.name


def test_rules_of_a_trusted_project_allow_nothing_in_an_added_folder(base: Path) -> None:
    policy = policy_for(base, project_allow=["edit", "bash(touch:*)"])
    assert verdict(policy, base, EditTool(), edits("a.txt")[1][1]).decision is ALLOW
    assert verdict(policy, base, EditTool(), edits("../lib/a.txt")[1][1]).decision is ASK
    assert verdict(policy, base, BashTool(), {"command": "touch new"}).decision is ALLOW
    assert verdict(policy, base, BashTool(), {"command": "touch ../lib/new"}).decision is ASK


def test_an_edit_there_can_be_allowed_for_the_session_but_not_for_good(base: Path) -> None:
    policy = policy_for(base)
    found = verdict(policy, base, EditTool(), edits("../lib/a.txt")[1][1])
    assert found.session_rule == f"edit({base}/lib/a.txt)"
    assert found.always_rule == ""
    policy.allow_for_session(found.session_rule)
    assert verdict(policy, base, EditTool(), edits("../lib/a.txt")[1][1]).decision is ALLOW
    assert verdict(policy, base, EditTool(), edits("a.txt")[1][1]).decision is ASK


async def test_the_tools_work_in_an_added_folder(base: Path) -> None:
    (base / "lib/.gitignore").write_text("ignored.txt\n")
    (base / "lib/ignored.txt").write_text("old\n")
    executor = ToolExecutor(policy_for(base, PermissionMode.ACCEPT_EDITS))
    context = context_for(base)
    read = await executor.execute(ReadTool(), {"file_path": "../lib/a.txt"}, context)
    assert "old" in read.output
    found = await executor.execute(GrepTool(), {"pattern": "old", "path": f"{base}/lib/src"}, context)
    assert f"{base}/lib/src/a.txt" in found.output
    globbed = await executor.execute(GlobTool(), {"pattern": "**/*.txt", "path": f"{base}/lib"}, context)
    assert "src/a.txt" in globbed.output
    assert "ignored.txt" not in globbed.output
    for tool, params in edits("../lib/src/a.txt"):
        (base / "lib/src/a.txt").write_text("old\n")
        context.files.clear()
        await executor.execute(ReadTool(), {"file_path": "../lib/src/a.txt"}, context)
        done = await executor.execute(tool, params, context)
        assert done.success, done.error
        assert (base / "lib/src/a.txt").read_text() == "new\n", tool.name
