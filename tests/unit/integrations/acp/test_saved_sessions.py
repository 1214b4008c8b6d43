"""Saved sessions in the editor: the same as those of the chat, in both directions."""

from __future__ import annotations

from pathlib import Path

import acp
import pytest
from acp import schema

from forge_core.approval import Answer, ApprovalReply, ApprovalRequest
from forge_core.integrations.acp.session_replay import PAGE, page_of
from forge_core.runtime import build_session, load_session_config, make_redactor
from forge_core.session.saved_sessions import SavedSessions, SessionSummary
from tests.support.acp_editor import Editor, connected
from tests.support.sse_server import SseServer, answer, chunk, stream, tool_answer
from tests.unit.integrations.acp.test_turns import at

pytestmark = pytest.mark.slow


async def allow(request: ApprovalRequest) -> ApprovalReply:
    return ApprovalReply(Answer.ONCE)


async def test_a_session_of_the_chat_is_loaded_with_all_that_was_shown(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    steps = [{"content": "Fix it", "status": "in_progress"}]
    with SseServer(
        tool_answer(
            ("c1", "todo", {"items": steps}),
            ("c2", "edit", {"file_path": "a.txt", "old_string": "old", "new_string": "new"}),
            ("c3", "bash", {"command": "echo hi"}),
        ),
        stream(chunk(reasoning="Hm."), chunk("All done."), chunk("", finish_reason="stop")),
        answer("And more."),
    ) as server:
        chat = build_session(load_session_config(tmp_path, flags=at(server)), allow)
        assert [event async for event in chat.send("do it")]
        await chat.aclose()
        editor = Editor()
        async with connected(editor, flags=at(server)) as agent:
            (listed,) = (await agent.list_sessions(cwd=str(tmp_path))).sessions
            assert (listed.session_id, listed.title, listed.cwd) == (chat.id, "do it", str(tmp_path))
            assert listed.updated_at is not None
            await agent.load_session(cwd=str(tmp_path), session_id=chat.id, mcp_servers=[])
            kinds = [type(one) for one in editor.updates]
            (said,) = editor.take(schema.UserMessageChunk)
            assert said.content.text == "do it"
            assert kinds[0] is schema.UserMessageChunk
            assert editor.said == "All done."
            assert [one.content.text for one in editor.take(schema.AgentThoughtChunk)] == ["Hm."]
            assert [one.kind for one in editor.take(schema.ToolCallStart)] == ["think", "edit", "execute"]
            ends = editor.take(schema.ToolCallProgress)
            assert [one.status for one in ends] == ["completed"] * 3
            assert ends[1].content[0].new_text == "new\n"
            assert not any(part.type == "terminal" for end in ends for part in end.content)
            editor.updates.clear()
            done = await agent.prompt(session_id=chat.id, prompt=[acp.text_block("go on")])
            assert (done.stop_reason, editor.said) == ("end_turn", "And more.")
        assert "do it" in str(server.requests[2].json["messages"])
    saved = SavedSessions(chat.config.state_dir, make_redactor()).load(chat.id)
    assert [turn.text for turn in saved.turns] == ["do it", "go on"]


async def test_sessions_of_the_editor_are_listed_resumed_closed_and_deleted(tmp_path: Path) -> None:
    editor = Editor()
    async with connected(editor) as agent:
        opened = await agent.new_session(cwd=str(tmp_path))
        session_id = opened.session_id
        await agent.prompt(session_id=session_id, prompt=[acp.text_block("list the files")])
        saved = SavedSessions(load_session_config(tmp_path).state_dir, make_redactor())
        assert [one.id for one in saved.list(tmp_path)] == [session_id]
        await agent.close_session(session_id=session_id)
        with pytest.raises(acp.RequestError):
            await agent.prompt(session_id=session_id, prompt=[acp.text_block("gone")])
        editor.updates.clear()
        await agent.resume_session(session_id=session_id, cwd=str(tmp_path))
        assert editor.take(schema.UserMessageChunk) == []
        assert (
            await agent.prompt(session_id=session_id, prompt=[acp.text_block("hi")])
        ).stop_reason == "end_turn"
        # the session is open: loading it shows it again
        await agent.load_session(cwd=str(tmp_path), session_id=session_id, mcp_servers=[])
        assert [one.content.text for one in editor.take(schema.UserMessageChunk)] == ["list the files", "hi"]
        for missing in ("20200101-000000-abcdef", "../x"):
            with pytest.raises(acp.RequestError) as failed:
                await agent.load_session(cwd=str(tmp_path), session_id=missing, mcp_servers=[])
            assert failed.value.code == -32602
        unused = (await agent.new_session(cwd=str(tmp_path))).session_id
        for one in (unused, session_id):
            await agent._conn.send_request("session/delete", {"sessionId": one})
        assert (await agent.list_sessions()).sessions == []
    assert saved.list() == []


async def test_a_session_takes_no_permission_into_another_folder(tmp_path: Path) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    here.mkdir()
    elsewhere.mkdir()
    async with connected(Editor()) as agent:
        session_id = (await agent.new_session(cwd=str(here))).session_id
        await agent.prompt(session_id=session_id, prompt=[acp.text_block("hi")])
        await agent.set_session_mode(session_id=session_id, mode_id="accept-edits")
        await agent.prompt(session_id=session_id, prompt=[acp.text_block("hi")])
        with pytest.raises(acp.RequestError, match="is open in"):  # it would go on there, unnoticed
            await agent.load_session(cwd=str(elsewhere), session_id=session_id, mcp_servers=[])
        await agent.close_session(session_id=session_id)
        for folder, mode in ((here, "accept-edits"), (elsewhere, "ask")):
            loaded = await agent.load_session(cwd=str(folder), session_id=session_id, mcp_servers=[])
            assert loaded.modes is not None and loaded.modes.current_mode_id == mode
            await agent.close_session(session_id=session_id)


async def test_what_a_resource_mentions_is_not_attached(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(f"the content of {name}\n")
    resource = schema.TextResourceContents(uri="file:///w/c.md", text="See @b.txt and @/etc/hostname.\n")
    embedded = schema.EmbeddedResourceContentBlock(type="resource", resource=resource)
    editor = Editor()
    with SseServer(answer("done")) as server:
        async with connected(editor, flags=at(server)) as agent:
            session_id = (await agent.new_session(cwd=str(tmp_path))).session_id
            prompt = [acp.text_block("explain @a.txt and "), embedded]
            await agent.prompt(session_id=session_id, prompt=prompt)
        sent = str(server.requests[0].json["messages"][-1])
    assert "the content of a.txt" in sent and "See @b.txt" in sent
    assert "the content of b.txt" not in sent and editor.asked == []


def test_the_list_has_pages() -> None:
    made = [SessionSummary(f"s{n}", f"t{n}", "/w", 0.0, float(n), 1, None, "m", "") for n in range(PAGE + 3)]
    first = page_of(made, None)
    assert first.next_cursor is not None
    second = page_of(made, first.next_cursor)
    assert [one.session_id for one in (*first.sessions, *second.sessions)] == [one.id for one in made]
    assert second.next_cursor is None
