"""No private key reaches the model unasked, also where the file's name says nothing of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest
from forge_core.config.permission_mode import PermissionMode
from forge_core.permissions.policy import PermissionPolicy
from forge_core.private_keys import LEFT_OUT
from forge_core.tools.base import ExecutionContext, ToolResult
from forge_core.tools.executor import ToolExecutor
from forge_core.tools.registry import builtin_tools
from tests.support.private_keys import KEYS, RSA, fragments

TOOLS = {tool.name: tool for tool in builtin_tools()}
EMBEDDED = "# Line 1\n" + "x = 1\n" * 300 + f'KEY = """{RSA}"""\ny = 2\n'
FIRST = 302
"""The line in which the embedded key begins."""
AFTER = FIRST + RSA.count("\n") + 1


class Session:
    """A folder with files that hold keys, and what the user is asked about it."""

    def __init__(self, folder: Path, answer: Answer = Answer.NO, **rules: Any) -> None:
        self.asked: list[ApprovalRequest] = []
        self.context = ExecutionContext(folder)
        self._answer = answer
        edit_tools = {"edit", "write", "multi_edit"}
        policy = PermissionPolicy(
            folder, rules.pop("mode", PermissionMode.ASK), edit_tools=edit_tools, **rules
        )
        self._executor = ToolExecutor(policy, self._approve)

    async def _approve(self, request: ApprovalRequest) -> ApprovalReply:
        self.asked.append(request)
        return ApprovalReply(self._answer)

    async def call(self, tool: str, **arguments: Any) -> ToolResult:
        return await self._executor.execute(TOOLS[tool], arguments, self.context)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "notes.txt").write_text(f"{RSA}\n")
    (tmp_path / "fixture.py").write_text(EMBEDDED)
    return tmp_path


def shows(result: ToolResult) -> bool:
    return any(one in result.for_model() for one in fragments(RSA))


@pytest.mark.parametrize("kind", KEYS)
async def test_reading_a_file_that_is_a_key_asks(tmp_path: Path, kind: str) -> None:
    (tmp_path / "notes.txt").write_text(f"{KEYS[kind]}\n")
    session = Session(tmp_path)
    result = await session.call("read", file_path="notes.txt")
    assert not result.success
    assert [one.reason for one in session.asked] == ["notes.txt may contain keys or passwords"]
    assert not any(one in result.for_model() for one in fragments(KEYS[kind]))
    session = Session(tmp_path, Answer.SESSION)
    for _ in range(2):
        result = await session.call("read", file_path="notes.txt")
        assert all(one in result.output for one in fragments(KEYS[kind]))
    assert len(session.asked) == 1


@pytest.mark.parametrize(
    "line", ["cat notes.txt", "tail -n 5 notes.txt", "sed -n 3,5p notes.txt", "grep MII < notes.txt", "cat *"]
)
@pytest.mark.parametrize("mode", [PermissionMode.ASK, PermissionMode.ACCEPT_EDITS, PermissionMode.AUTO])
async def test_a_command_that_names_a_key_file_asks(folder: Path, line: str, mode: PermissionMode) -> None:
    for sandbox in ("full", "off"):
        session = Session(folder, mode=mode, sandbox=sandbox)
        assert not (await session.call("bash", command=line, description="look")).success
        assert len(session.asked) == 1, sandbox


async def test_the_output_is_shown_of_a_command_that_names_the_file_and_was_allowed(folder: Path) -> None:
    session = Session(folder, Answer.ONCE)
    assert shows(await session.call("bash", command="cat notes.txt", description="look"))
    assert not shows(await session.call("bash", command="cat fixture.py", description="look"))
    assert [one.target for one in session.asked] == ["cat notes.txt"]
    session = Session(folder, allow=["bash(cat notes.txt)"])
    assert shows(await session.call("bash", command="cat notes.txt", description="look"))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read", {"file_path": "fixture.py"}),
        ("read", {"file_path": "fixture.py", "offset": FIRST + 3}),
        ("read", {"file_path": "fixture.py", "offset": FIRST + 3, "limit": 4}),
        ("grep", {"pattern": "[A-Z]{2,}|[a-z]{2,}"}),
        ("grep", {"pattern": "BEGIN", "context": 8}),
        ("bash", {"command": "cat fixture.py", "description": "look"}),
        ("bash", {"command": "grep -rn . .", "description": "look"}),
        ("bash", {"command": "tail -n 20 fixture.py", "description": "look"}),
        ("bash", {"command": f"head -n {FIRST + 9} fixture.py", "description": "look"}),
    ],
)
async def test_a_key_within_a_result_is_left_out(folder: Path, tool: str, arguments: dict[str, Any]) -> None:
    session = Session(folder, sandbox="full")
    result = await session.call(tool, **arguments)
    assert (result.success, session.asked) == (True, [])
    assert not shows(result)
    assert LEFT_OUT in result.output


async def test_the_output_of_scripts_and_errors_are_searched_too(folder: Path) -> None:
    session = Session(folder, Answer.ONCE)
    line = "python3 -c \"import glob; [print(open(one).read()) for one in glob.glob('n*')]\"; exit 3"
    result = await session.call("bash", command=line, description="look")
    assert not result.success
    assert not shows(result)
    assert LEFT_OUT in result.for_model()


async def test_the_other_lines_of_a_file_can_be_read_and_edited(folder: Path) -> None:
    session = Session(folder, mode=PermissionMode.ACCEPT_EDITS)
    rows = (await session.call("read", file_path="fixture.py", offset=FIRST - 1)).output.splitlines()
    numbers = [int(row.split("\t")[0]) for row in rows[:-1]]
    assert numbers == [FIRST - 1, FIRST, AFTER - 1, AFTER]
    assert LEFT_OUT in rows[1]
    result = await session.call("edit", file_path="fixture.py", old_string="y = 2", new_string="y = 3")
    assert result.success, result.error
    assert (folder / "fixture.py").read_text() == EMBEDDED.replace("y = 2", "y = 3")


async def test_the_note_is_never_written_to_a_file(folder: Path) -> None:
    session = Session(folder, mode=PermissionMode.ACCEPT_EDITS)
    rows = (await session.call("read", file_path="fixture.py")).output.splitlines()
    text = "\n".join(row.partition("\t")[2] for row in rows[:-1])
    for tool, arguments in (
        ("write", {"content": text}),
        ("edit", {"old_string": "y = 2", "new_string": f"{LEFT_OUT}: 3 lines]"}),
    ):
        result = await session.call(tool, file_path="fixture.py", **arguments)
        assert not result.success
        assert LEFT_OUT in str(result.error)
        assert (folder / "fixture.py").read_text() == EMBEDDED


async def test_a_rule_for_the_very_file_shows_the_key_and_a_wide_one_does_not(folder: Path) -> None:
    for rule, expected in (
        ("read(fixture.py)", True),
        ("read", False),
        ("read(**)", False),
        ("read(*.py)", False),
    ):
        session = Session(folder, allow=[rule])
        assert shows(await session.call("read", file_path="fixture.py")) is expected, rule
        assert session.asked == []
    session = Session(folder, project_allow=["read(fixture.py)", "read(notes.txt)"])
    assert not shows(await session.call("read", file_path="fixture.py"))
    assert not (await session.call("read", file_path="notes.txt")).success
    for rule, asked in (("read(notes.txt)", 0), ("read", 1), ("read(*)", 1)):
        session = Session(folder, allow=[rule])
        assert (await session.call("read", file_path="notes.txt")).success is not bool(asked)
        assert len(session.asked) == asked, rule


async def test_permission_for_one_call_does_not_extend_to_the_next(folder: Path) -> None:
    session = Session(folder, allow=["read(fixture.py)"])
    assert shows(await session.call("read", file_path="fixture.py"))
    assert not shows(await session.call("grep", pattern="[A-Z]{2,}"))


async def test_mode_yolo_shows_everything(folder: Path) -> None:
    session = Session(folder, mode=PermissionMode.YOLO)
    assert shows(await session.call("read", file_path="fixture.py"))
    assert shows(await session.call("bash", command="cat notes.txt", description="look"))
