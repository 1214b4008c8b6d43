"""One right to change a path, whichever tool changes it: what it covers, and what a prompt offers."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest, ToolKind
from forge_core.errors import ConfigError
from forge_core.permissions import Decision, PermissionPolicy, Verdict, parse_rule
from forge_core.permissions.path_info import folds_case, locate
from forge_core.permissions.rules.rule import allows_paths, denies_paths
from forge_core.tools import (
    ApplyPatchTool,
    EditTool,
    ExecutionContext,
    MultiEditTool,
    ToolExecutor,
    WriteTool,
    builtin_tools,
)
from forge_core.tools.base import BaseTool

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY
EDIT_TOOLS = [tool.name for tool in builtin_tools() if tool.kind is ToolKind.WRITE]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "notes").mkdir(parents=True)
    (root / "other").mkdir()
    for name in ("notes/a.md", "notes/b.md", "other/c.md", "top.md"):
        (root / name).write_text("old\n")
    return root


def changes_to(*names: str) -> list[tuple[BaseTool, dict[str, Any]]]:
    """A call of each tool that changes these files."""
    updates = "".join(f"*** Update File: {name}\n@@\n-old\n+new\n" for name in names)
    edits = [{"file_path": name, "old_string": "old", "new_string": "new"} for name in names]
    calls: list[tuple[BaseTool, dict[str, Any]]] = [
        (MultiEditTool(), {"edits": edits}),
        (ApplyPatchTool(), {"patch": f"*** Begin Patch\n{updates}*** End Patch\n"}),
    ]
    if len(names) == 1:
        calls.append((WriteTool(), {"file_path": names[0], "content": "new\n"}))
        calls.append((EditTool(), edits[0]))
    return calls


def verdict(policy: PermissionPolicy, root: Path, tool: BaseTool, params: dict[str, Any]) -> Verdict:
    return policy.decide(tool.name, tool.use(params, ExecutionContext(working_dir=root)))


def decisions(policy: PermissionPolicy, root: Path, *names: str) -> set[Decision]:
    return {verdict(policy, root, tool, params).decision for tool, params in changes_to(*names)}


def test_an_edit_grant_for_a_folder_covers_every_tool_and_all_paths_of_a_call(root: Path) -> None:
    policy = PermissionPolicy(root, allow=["edit(notes/**)"])
    assert decisions(policy, root, "notes/a.md") == {ALLOW}
    assert decisions(policy, root, "notes/a.md", "notes/b.md") == {ALLOW}
    assert decisions(policy, root, "notes/a.md", "other/c.md") == {ASK}
    assert decisions(policy, root, "notes/../top.md") == {ASK}
    assert decisions(policy, root, "notes/../../elsewhere.md") == {ASK}


def test_an_edit_grant_does_not_follow_a_link_out_of_the_folder(root: Path) -> None:
    (root / "notes/away").symlink_to(root / "other")
    (root / "notes/one.md").symlink_to(root / "top.md")
    (root.parent / "elsewhere").mkdir()
    (root / "notes/out").symlink_to(root.parent / "elsewhere")
    policy = PermissionPolicy(root, allow=["edit(notes/**)"])
    for name in ("notes/away/c.md", "notes/one.md", "notes/out/x"):
        assert decisions(policy, root, name) == {ASK}, name


@pytest.mark.parametrize(
    "section",
    ["*** Delete File: notes/a.md\n", "*** Update File: notes/a.md\n*** Move to: notes/z.md\n@@\n-old\n+x\n"],
)
def test_an_edit_grant_does_not_allow_deleting_or_moving(root: Path, section: str) -> None:
    patch = {"patch": f"*** Begin Patch\n{section}*** End Patch\n"}
    found = verdict(PermissionPolicy(root, allow=["edit(notes/**)"]), root, ApplyPatchTool(), patch)
    assert (found.decision, found.is_destructive, found.session_rule, found.always_rule) == (
        ASK,
        True,
        "",
        "",
    )
    named = PermissionPolicy(root, allow=["apply_patch(notes/**)"])
    assert verdict(named, root, ApplyPatchTool(), patch).decision is ALLOW


@pytest.mark.parametrize("tool", ["write", "multi_edit", "apply_patch"])
def test_an_allow_rule_covers_one_tool_and_a_deny_rule_covers_all(root: Path, tool: str) -> None:
    rules, right = [f"{tool}(notes/**)"], ["edit(notes/**)"]
    allowing = PermissionPolicy(root, edit_tools=EDIT_TOOLS, allow=rules)
    denying = PermissionPolicy(root, edit_tools=EDIT_TOOLS, allow=right, deny=rules)
    asking = PermissionPolicy(root, edit_tools=EDIT_TOOLS, allow=right, ask=rules)
    for one, params in changes_to("notes/a.md"):
        assert verdict(allowing, root, one, params).decision is (ALLOW if one.name == tool else ASK)
        assert verdict(denying, root, one, params).decision is DENY
        assert verdict(asking, root, one, params).decision is ASK


@pytest.mark.parametrize(("tool", "expected"), [("anything", DENY), ("read", ALLOW), ("bash", ALLOW)])
def test_without_edit_tool_names_a_deny_rule_for_any_tool_covers_edits(
    root: Path, tool: str, expected: Decision
) -> None:
    policy = PermissionPolicy(root, allow=["edit(notes/**)"], deny=[f"{tool}(notes/**)"])
    assert decisions(policy, root, "notes/a.md") == {expected}
    named = PermissionPolicy(
        root, edit_tools=EDIT_TOOLS, allow=["edit(notes/**)"], deny=[f"{tool}(notes/**)"]
    )
    assert decisions(named, root, "notes/a.md") == {ALLOW}


@pytest.mark.parametrize(
    ("names", "session", "always"),
    [
        (["notes/a.md"], "edit(notes/a.md)", "edit(notes/**)"),
        (["top.md"], "edit(./top.md)", "edit(./*)"),
        (["notes/a.md", "notes/b.md"], "edit({notes/a.md,notes/b.md})", "edit(notes/**)"),
        (["notes/a.md", "top.md"], "edit({notes/a.md,./top.md})", ""),
        (["notes/a.md", "../x"], "", ""),
        (["notes/a.md", ".env"], "", ""),
    ],
)
def test_every_edit_prompt_offers_an_edit_grant(
    root: Path, names: list[str], session: str, always: str
) -> None:
    for tool, params in changes_to(*names):
        found = verdict(PermissionPolicy(root), root, tool, params)
        assert (found.decision, found.session_rule, found.always_rule) == (ASK, session, always), tool.name


def test_a_session_rule_for_several_files_covers_these_files_only(root: Path) -> None:
    (root / "notes/a,{b}*.md").write_text("old\n")
    names = ["notes/a,{b}*.md", "notes/b.md", "top.md"]
    policy = PermissionPolicy(root)
    tool, params = changes_to(*names)[0]
    policy.allow_for_session(verdict(policy, root, tool, params).session_rule)
    assert decisions(policy, root, *names) == {ALLOW}
    for name in names:
        assert decisions(policy, root, name) == {ALLOW}
    for name in ("notes/a.md", "notes/a,bx.md", "notes/top.md", "other/c.md"):
        assert decisions(policy, root, name) == {ASK}, name


async def test_a_session_approval_of_several_edits_covers_later_edits(root: Path) -> None:
    asked: list[ApprovalRequest] = []

    async def approver(request: ApprovalRequest) -> ApprovalReply:
        asked.append(request)
        return ApprovalReply(Answer.SESSION)

    executor = ToolExecutor(PermissionPolicy(root), approver)
    context = ExecutionContext(working_dir=root)
    for old, new in (("old", "new"), ("new", "newer")):
        edits = [
            {"file_path": name, "old_string": old, "new_string": new} for name in ("notes/a.md", "other/c.md")
        ]
        result = await executor.execute(MultiEditTool(), {"edits": edits}, context)
        assert result.success, result.error
    assert [request.session_rule for request in asked] == ["edit({notes/a.md,other/c.md})"]


@pytest.mark.parametrize(
    "rule",
    ["write", "apply_patch(**)", "edit({**,x})", "edit({/etc/**,x})", "edit({~/x,y})", "edit({../x,y})"],
)
def test_a_rule_for_everything_is_recognised_inside_alternatives(root: Path, rule: str) -> None:
    with pytest.raises(ConfigError, match="every call"):
        PermissionPolicy(root, edit_tools=EDIT_TOOLS).allow_always(rule)


def test_file_names_are_compared_like_in_the_file_system(root: Path) -> None:
    upper, composed = locate(root / "Notes/A.md", root), locate(root / "notes/caf\u00e9", root)
    assert not denies_paths(parse_rule("edit(notes/**)"), [upper]) or folds_case(root)
    for rule, one in (("edit(notes/**)", upper), ("edit(notes/cafe\u0301)", composed), ("edit(a.MD)", upper)):
        folding = replace(one, folds_case=True)
        assert denies_paths(parse_rule(rule), [folding])
        assert allows_paths(parse_rule(rule), [folding])
    assert denies_paths(parse_rule(f"edit({root}/NOTES/**)"), [replace(upper, folds_case=True)])
