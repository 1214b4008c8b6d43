"""The parts of a command line that make it ask."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_core.approval import ApprovalReply, ApprovalRequest
from forge_core.permissions.policy import PermissionPolicy
from forge_core.permissions.sandbox.sandbox import Sandbox
from forge_core.permissions.sandbox.sandbox_state import SandboxKind, SandboxState
from forge_core.tools.base import ExecutionContext, ToolUse
from forge_core.tools.builtin.bash import BashTool
from forge_core.tools.builtin.write import WriteTool
from forge_core.tools.executor import ToolExecutor


def risky(line: str, folder: Path) -> list[str]:
    policy = PermissionPolicy(folder)
    tool = BashTool()
    use: ToolUse = tool.use({"command": line}, ExecutionContext(working_dir=folder))
    return [line[first:last] for first, last in policy.decide("bash", use).risky]


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("ls src && rm -rf build", ["rm -rf build"]),
        ("rm -rf build", ["rm -rf build"]),
        ("make; sudo ls; curl -s example.com", ["make", "sudo ls", "curl -s example.com"]),
        ("ls && make test && rm -rf build", ["make test", "rm -rf build"]),
        ("rm -rf a && make b && ls", ["rm -rf a", "make b"]),
        ("echo é日本 && rm -r x", ["rm -r x"]),
        ("echo $(rm -rf a) done", ["rm -rf a"]),
        ("ls && make test", ["make test"]),
        ("make test", []),
        ("make && pytest", []),
        ("ls", []),
        ("if then rm", []),
    ],
)
def test_the_parts_that_make_a_line_ask(tmp_path: Path, line: str, parts: list[str]) -> None:
    assert risky(line, tmp_path) == parts


async def request_for(
    tool: BashTool | WriteTool, folder: Path, sandbox: Sandbox | None = None, **arguments: object
) -> ApprovalRequest:
    requests: list[ApprovalRequest] = []

    async def approver(request: ApprovalRequest) -> ApprovalReply:
        requests.append(request)
        return request.unanswered("seen")

    strength = "off" if sandbox is None else sandbox.state.strength
    unmasked = None if sandbox is None else sandbox.unmasked_reason
    policy = PermissionPolicy(folder, sandbox=strength, unmasked_reason=unmasked)
    executor = ToolExecutor(policy, approver)
    context = ExecutionContext(working_dir=folder, sandbox=sandbox)
    await executor.execute(tool, arguments, context)
    return requests[0]


async def test_a_request_says_where_its_command_would_run(tmp_path: Path) -> None:
    assert (await request_for(BashTool(), tmp_path, command="make")).sandbox == "off"
    full = Sandbox(SandboxState(SandboxKind.BUBBLEWRAP), tmp_path, state_dir=tmp_path / "state")
    assert (await request_for(BashTool(), tmp_path, command="make", sandbox=full)).sandbox == "full"
    weak = Sandbox(SandboxState(SandboxKind.LANDLOCK), tmp_path, state_dir=tmp_path / "state")
    request = await request_for(BashTool(), tmp_path, command="ls && rm -r a", sandbox=weak)
    assert request.sandbox == "weak" and request.risky == ((6, 13),)
    assert (await request_for(WriteTool(), tmp_path, file_path="a", content="b")).sandbox == ""


async def test_a_sandbox_that_cannot_hide_all_keys_is_called_weak(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    box = Sandbox(SandboxState(SandboxKind.BUBBLEWRAP), work, state_dir=tmp_path / "state")
    assert (await request_for(BashTool(), work, command="make", sandbox=box)).sandbox == "full"
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/.forge").symlink_to(tmp_path)
    box.add_folder(tmp_path / "lib")
    assert (await request_for(BashTool(), work, command="make", sandbox=box)).sandbox == "weak"
