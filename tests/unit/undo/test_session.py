"""Undo under a real session: the real tools, the real executor, and only the model is scripted."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from forge_core.commands.result import Failure, Text
from forge_core.config.permission_mode import PermissionMode
from forge_core.events import ToolEnd
from forge_core.permissions.sandbox.placeholders import MountedPaths
from forge_core.permissions.sandbox.probing import probe_now
from forge_core.permissions.sandbox.sandbox import Sandbox
from forge_core.permissions.sandbox.sandbox_state import SandboxKind
from forge_core.session.session import ForgeSession
from forge_core.tools.registry import builtin_tools
from forge_core.undo import UndoStore
from tests.support.commands import run_command
from tests.support.scripted_llm import Call
from tests.support.sessions import scripted_session
from tests.unit.undo.workspace import shapes


async def test_a_turn_with_file_tools_and_commands_is_undone_and_redone(tmp_path: Path) -> None:
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
    session._environment.undo = store
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


@pytest.mark.parametrize("is_sandboxed", [False, True], ids=["bare", "sandboxed"])
async def test_possible_user_edits_are_listed_with_a_hint_how_to_select_them(
    tmp_path: Path, is_sandboxed: bool
) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "a.txt").write_text("one\n")
    (root / "notes.txt").write_text("old\n")
    command = "sed -i s/one/two/ a.txt; touch ready; while [ ! -e go ]; do sleep 0.01; done"
    session = scripted_session(
        root,
        [[Call("bash", {"command": command})], ["done"]],
        tools=builtin_tools(),
        mode=PermissionMode.YOLO,
    )
    bench = session._environment
    bench.undo = UndoStore(
        root, tmp_path / "s" / "undo", private=root / "state", mounts=MountedPaths(root / "state")
    )
    if is_sandboxed:
        state = probe_now("auto", root)
        if state.kind is not SandboxKind.BUBBLEWRAP:
            pytest.skip(f"no bubblewrap sandbox here: {state.reason}")
        bench.sandbox = Sandbox(state, root, state_dir=root / "state")
    turn = asyncio.ensure_future(_played(session))
    while not (root / "ready").exists():
        assert not turn.done()
        await asyncio.sleep(0.01)
    (root / "notes.txt").write_text("mine\n")
    (root / "go").touch()
    await turn
    undone = await run_command("/undo", session)
    assert isinstance(undone, Text)
    assert "These 2 files changed while `sed -i s/one/two/ a.txt; touch ready; " in undone.body
    assert "may be yours. Left alone\n  go\n  notes.txt\n" in undone.body
    assert "/undo all undoes them too. /undo with go undoes only that one." in undone.body
    assert (root / "a.txt").read_text() == "one\n"
    assert (root / "notes.txt").read_text() == "mine\n"
    listed = await run_command("/undo list", session)
    assert isinstance(listed, Text) and "2 may be yours" in listed.body
    chosen = await run_command("/undo with ./notes.txt", session)
    assert isinstance(chosen, Text) and "/undo all undoes it too." in chosen.body
    assert (root / "notes.txt").read_text() == "old\n"
    await run_command("/redo", session)
    assert (root / "notes.txt").read_text() == "mine\n" and (root / "a.txt").read_text() == "two\n"
    unknown = await run_command("/undo with nothing.txt", session)
    assert isinstance(unknown, Failure)
    assert "not among the files that may be yours. They are: go, notes.txt." in str(unknown)
    await session.aclose()


async def _played(session: ForgeSession) -> None:
    async for _ in session.send("go"):
        pass


def _own(root: Path) -> dict:
    return {name: shape for name, shape in shapes(root).items() if name.split("/")[0] != "state"}
