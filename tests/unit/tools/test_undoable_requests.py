"""Which requests for permission are marked as undoable: edits whose before-images undo keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest
from forge_core.permissions.policy import PermissionPolicy
from forge_core.tools import ExecutionContext, ToolExecutor, WriteTool
from forge_core.tools.builtin.bash import BashTool


class Images:
    async def settle(self) -> None:
        """Nothing was changed."""


async def asked(workspace: Path, tool: Any, arguments: dict[str, Any], images: Images | None) -> bool:
    requests: list[ApprovalRequest] = []

    async def refuse(request: ApprovalRequest) -> ApprovalReply:
        requests.append(request)
        return ApprovalReply(Answer.NO)

    context = ExecutionContext(workspace, before_images=cast("Any", images))
    executor = ToolExecutor(PermissionPolicy(workspace), refuse)
    result = await executor.execute(tool, arguments, context)
    assert requests, result
    return requests[0].is_undoable


@pytest.mark.parametrize(("name", "wanted"), [("a.txt", True), ("../b.txt", False)])
async def test_an_edit_is_undoable_inside_the_folder(tmp_path: Path, name: str, wanted: bool) -> None:
    workspace = tmp_path / "work"
    workspace.mkdir()
    arguments = {"file_path": name, "content": "x\n"}
    assert await asked(workspace, WriteTool(), arguments, Images()) is wanted
    assert not await asked(workspace, WriteTool(), arguments, None)


async def test_neither_commands_nor_edits_of_git_files_are_undoable(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert not await asked(tmp_path, BashTool(), {"command": "eval echo hi"}, Images())
    assert not await asked(tmp_path, WriteTool(), {"file_path": ".git/hooks/x", "content": "x\n"}, Images())
