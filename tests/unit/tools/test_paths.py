"""Where the file tools take a path to lead."""

from pathlib import Path

import pytest

from forge_core.approval import Effect, ToolKind
from forge_core.permissions import Decision, PermissionPolicy
from forge_core.tools.base import ExecutionContext, ToolUse
from forge_core.tools.paths import locate


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "other/deep").mkdir(parents=True)
    (tmp_path / "other/notes.txt").write_text("theirs")
    root = tmp_path / "work"
    (root / "src/deep").mkdir(parents=True)
    (root / "notes.txt").write_text("ours")
    (root / "link").symlink_to(tmp_path / "other/deep")
    (root / "near").symlink_to("src/deep")
    return root


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("link/../notes.txt", "other/notes.txt"),
        ("src/../link/../notes.txt", "other/notes.txt"),
        ("near/../a.py", "work/src/a.py"),
        ("src/../notes.txt", "work/notes.txt"),
        ("src/none/../../notes.txt", "work/notes.txt"),
        ("link/a", "work/link/a"),
        ("../other/notes.txt", "other/notes.txt"),
    ],
)
def test_dots_behind_a_link_lead_where_the_kernel_goes(root: Path, given: str, expected: str) -> None:
    assert locate(given, ExecutionContext(root)) == root.parent / expected


@pytest.mark.parametrize(("tool", "kind"), [("read", ToolKind.LOOK), ("edit", ToolKind.WRITE)])
def test_parent_segments_after_a_link_do_not_leave_the_workspace_unasked(
    root: Path, tool: str, kind: ToolKind
) -> None:
    policy = PermissionPolicy(root, sandbox="full")
    for path in (locate("link/../notes.txt", ExecutionContext(root)), root / "link/../notes.txt"):
        assert policy.decide(tool, ToolUse(Effect.READ, "x", (path,), kind=kind)).decision is Decision.ASK
