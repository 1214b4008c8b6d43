"""Tool calls in Claude Code's names and keys, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forge_core.config.permission_mode import PermissionMode
from forge_core.extensions.hooks.hook_input import SessionFacts, claude_calls, forge_arguments
from forge_core.tools.arguments import validate
from forge_core.tools.base import ExecutionContext
from forge_core.tools.registry import builtin_tools

TOOLS = {tool.name: tool for tool in builtin_tools()}
PATCH = """*** Begin Patch
*** Add File: new.txt
+hello
*** Update File: old.py
@@
 a
-b
+c
*** Update File: here.py
*** Move to: there.py
@@
-x
+y
*** Delete File: gone.txt
*** End Patch"""


def calls(tool: str, root: Path, **arguments: Any) -> list[tuple[str, dict[str, Any]]]:
    checked = validate(TOOLS[tool], arguments)
    return [(one.name, dict(one.input)) for one in claude_calls(TOOLS[tool], checked, ExecutionContext(root))]


NAMES = {
    "bash": ("Bash", "bash"),
    "read": ("Read", "NotebookRead", "read"),
    "write": ("Write", "write"),
    "edit": ("Edit", "NotebookEdit", "edit"),
    "multi_edit": ("Edit", "MultiEdit", "multi_edit"),
    "apply_patch": ("Edit", "apply_patch"),
    "glob": ("Glob", "glob"),
    "grep": ("Grep", "grep"),
    "task": ("Agent", "Task", "task"),
    "todo": ("TodoWrite", "todo"),
}
ARGUMENTS = {"file_path": "a.py", "edits": [{"file_path": "a.py", "old_string": "x", "new_string": "y"}]}


@pytest.mark.parametrize("tool", NAMES)
def test_a_tool_has_its_name_of_claude_code_and_is_matched_by_all(tool: str, tmp_path: Path) -> None:
    arguments = ARGUMENTS if tool == "multi_edit" else {"file_path": "a.py"}
    [call] = claude_calls(TOOLS[tool], arguments, ExecutionContext(tmp_path))
    assert (call.name, call.names) == (NAMES[tool][0], NAMES[tool])


def test_modes_have_the_names_of_claude_code(tmp_path: Path) -> None:
    facts = [SessionFacts("s", tmp_path, tmp_path, mode).fields() for mode in PermissionMode]
    assert {str(mode): fact["permission_mode"] for mode, fact in zip(PermissionMode, facts, strict=True)} == {
        "ask": "default",
        "accept-edits": "acceptEdits",
        "plan": "plan",
        "auto": "auto",
        "yolo": "bypassPermissions",
    }


def test_a_command_has_its_timeout_in_milliseconds(tmp_path: Path) -> None:
    assert calls("bash", tmp_path, command="ls", timeout_s=1.5) == [
        ("Bash", {"command": "ls", "description": "", "timeout": 1500})
    ]


def test_paths_are_absolute(tmp_path: Path) -> None:
    [(name, given)] = calls("edit", tmp_path, file_path="a.py", old_string="x", new_string="y")
    assert (name, given["file_path"]) == ("Edit", str(tmp_path / "a.py"))
    assert calls("write", tmp_path, file_path="b", content="c") == [
        ("Write", {"file_path": str(tmp_path / "b"), "content": "c"})
    ]
    [(name, given)] = calls("grep", tmp_path, pattern="x", ignore_case=True, path=".", after=2)
    assert (name, given["-i"], given["-A"], given["path"]) == ("Grep", True, 2, str(tmp_path))


def test_edits_of_several_files_are_one_call_for_each_file(tmp_path: Path) -> None:
    edits = [
        {"old_string": "a", "new_string": "b"},
        {"old_string": "c", "new_string": "d"},
        {"old_string": "e", "new_string": "f", "file_path": "two.py"},
    ]

    assert calls("multi_edit", tmp_path, file_path="one.py", edits=edits) == [
        (
            "Edit",
            {
                "file_path": str(tmp_path / "one.py"),
                "old_string": "a\nc",
                "new_string": "b\nd",
                "edits": edits[:2],
            },
        ),
        (
            "Edit",
            {
                "file_path": str(tmp_path / "two.py"),
                "old_string": "e",
                "new_string": "f",
                "edits": [{"old_string": "e", "new_string": "f"}],
            },
        ),
    ]


def test_a_patch_is_one_call_for_each_file(tmp_path: Path) -> None:
    def at(name: str) -> str:
        return str(tmp_path / name)

    assert calls("apply_patch", tmp_path, patch=PATCH) == [
        ("Write", {"file_path": at("new.txt"), "content": "hello\n"}),
        ("Edit", {"file_path": at("old.py"), "old_string": "a\nb", "new_string": "a\nc"}),
        ("Edit", {"file_path": at("here.py"), "old_string": "x", "new_string": "y"}),
        ("Write", {"file_path": at("there.py"), "content": "y"}),
        ("Edit", {"file_path": at("gone.txt"), "old_string": "", "new_string": ""}),
    ]
    [(name, given)] = calls("apply_patch", tmp_path, patch="nonsense")
    assert (name, given["new_string"]) == ("Edit", "nonsense")


def test_replaced_input_comes_back_as_arguments_of_forge(tmp_path: Path) -> None:
    arguments = {"command": "ls", "timeout_s": 1.0, "network": True}
    [call] = claude_calls(TOOLS["bash"], arguments, ExecutionContext(tmp_path))

    changed = forge_arguments(call, {**call.input, "command": "ls -l", "timeout": 2000})

    assert changed == {"command": "ls -l", "timeout_s": 2.0, "network": True}
    assert forge_arguments(call, {"command": "x", "timeout": "soon"}) == {"command": "x", "timeout_s": "soon"}


def test_the_input_of_a_call_in_parts_cannot_be_replaced(tmp_path: Path) -> None:
    arguments = {"patch": PATCH}
    call = claude_calls(TOOLS["apply_patch"], arguments, ExecutionContext(tmp_path))[0]
    with pytest.raises(ValueError, match="several places"):
        forge_arguments(call, {"content": ""})
