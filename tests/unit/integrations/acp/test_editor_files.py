"""Files with unsaved changes in the editor."""

from __future__ import annotations

from pathlib import Path

import acp
import pytest
from acp import schema

from tests.support.acp_editor import Editor, connected
from tests.support.sse_server import SseServer, answer, tool_answer
from tests.unit.integrations.acp.test_turns import at

pytestmark = pytest.mark.slow
READS = schema.ClientCapabilities(fs=schema.FileSystemCapabilities(read_text_file=True))


async def test_the_model_reads_unsaved_changes_and_cannot_edit_them(tmp_path: Path) -> None:
    changed, saved, new = tmp_path / "changed.txt", tmp_path / "saved.txt", tmp_path / "closed.txt"
    changed.write_text("on disk\n")
    saved.write_bytes(b"\xef\xbb\xbfsame\r\nlines\r\n")
    new.write_text("not open\n")
    editor = Editor(buffers={str(changed): "being typed\n", str(saved): "same\nlines\n"})

    def edit(call_id: str, name: str, old: str) -> tuple[str, str, dict[str, str]]:
        return (call_id, "edit", {"file_path": name, "old_string": old, "new_string": "by the model"})

    with SseServer(
        tool_answer(*((f"r{n}", "read", {"file_path": f"{n}.txt"}) for n in ("changed", "saved", "closed"))),
        tool_answer(edit("e1", "changed.txt", "on disk"), edit("e2", "saved.txt", "lines")),
        answer("ok"),
    ) as server:
        async with connected(editor, flags=at(server), capabilities=READS) as agent:
            session = (await agent.new_session(cwd=str(tmp_path))).session_id
            await agent.prompt(session_id=session, prompt=[acp.text_block("go")])
    ends = {one.tool_call_id: one for one in editor.take(schema.ToolCallProgress)}
    shown = {name: one.content[0].content.text for name, one in ends.items() if name.startswith("r")}
    assert "being typed" in shown["rchanged"] and "on disk" not in shown["rchanged"]
    assert "not saved" in shown["rchanged"] and "not saved" not in shown["rsaved"]
    assert "not open" in shown["rclosed"]
    assert "unsaved changes in the editor" in ends["e1"].content[0].content.text
    assert (changed.read_text(), saved.read_bytes()[3:]) == ("on disk\n", b"same\r\nby the model\r\n")
    assert len(editor.asked) == 1


async def test_an_editor_without_the_capability_is_not_asked(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("on disk\n")
    editor = Editor(buffers={str(tmp_path / "a.txt"): "being typed\n"})
    with SseServer(tool_answer(("r", "read", {"file_path": "a.txt"})), answer("ok")) as server:
        async with connected(editor, flags=at(server)) as agent:
            session = (await agent.new_session(cwd=str(tmp_path))).session_id
            await agent.prompt(session_id=session, prompt=[acp.text_block("go")])
    (end,) = editor.take(schema.ToolCallProgress)
    assert "on disk" in end.content[0].content.text
