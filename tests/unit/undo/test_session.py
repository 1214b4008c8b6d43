"""Undo under a real session: the real tools, the real executor, and only the model is scripted."""

from __future__ import annotations

from pathlib import Path

from forge_core.commands.handlers import run_command
from forge_core.commands.result import Text
from forge_core.config.models import PermissionMode
from forge_core.events import ToolEnd
from forge_core.tools.registry import builtin_tools
from forge_core.undo import UndoStore
from tests.support.scripted_llm import Call
from tests.support.sessions import scripted_session
from tests.unit.undo.workspace import shapes


async def test_a_turn_with_file_tools_and_commands_is_taken_back_and_brought_back(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "a.py").write_text("x = 1\n")
    (root / "b.py").write_text("y = 1\n")
    script = [
        [
            Call("edit", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}),
            Call("write", {"file_path": "pkg/new.py", "content": "z = 1\n"}),
        ],
        [Call("bash", {"command": "sed -i s/1/2/ b.py; echo x > made; chmod +x a.py"})],
        ["done"],
    ]
    session = scripted_session(root, script, tools=builtin_tools(), mode=PermissionMode.YOLO)
    store = UndoStore(root, tmp_path / "undo" / "s" / "undo", private=root / "state")
    session._parts.bench.undo = store
    before = _own(root)
    ended = [event async for event in session.send("change things") if isinstance(event, ToolEnd)]
    assert [event.success for event in ended] == [True, True, True]
    after = _own(root)
    assert after.keys() - before.keys() == {"pkg", "pkg/new.py", "made"}
    undone = await run_command("/undo", session)
    assert isinstance(undone, Text)
    assert _own(root) == before
    redone = await run_command("/redo", session)
    assert isinstance(redone, Text)
    assert _own(root) == after
    await session.aclose()


def _own(root: Path) -> dict:
    return {name: shape for name, shape in shapes(root).items() if name.split("/")[0] != "state"}
