"""Turns of `forge acp`: the SDK's client on one side, a scripted provider on the other."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import acp
import pytest
from acp import schema

from tests.support.acp_editor import Editor, connected
from tests.support.images import png
from tests.support.sse_server import (
    Gate,
    Reply,
    SseServer,
    answer,
    chunk,
    error_reply,
    event,
    stream,
    tool_answer,
)

pytestmark = pytest.mark.slow


def at(server: SseServer) -> dict[str, Any]:
    return {"base_url": server.base_url, "model": "m/m"}


async def test_a_turn_streams_thoughts_answers_and_tool_calls_with_their_files(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one\ntwo\n")
    edit = {"file_path": "a.py", "old_string": "two", "new_string": "three"}
    editor = Editor()
    with SseServer(
        stream(chunk(reasoning="Let me "), chunk(reasoning="look."), chunk("", finish_reason="stop")),
        tool_answer(("r1", "read", {"file_path": "a.py", "offset": 2})),
        tool_answer(("e1", "edit", edit), text="I change it."),
        answer("Done", "."),
    ) as server:
        async with connected(editor, flags=at(server)) as agent:
            opened = await agent.new_session(cwd=str(tmp_path))
            for text in ("think", "change two"):
                done = await agent.prompt(session_id=opened.session_id, prompt=[acp.text_block(text)])
    assert done.stop_reason == "end_turn"
    assert (tmp_path / "a.py").read_text() == "one\nthree\n"
    thoughts = editor.take(schema.AgentThoughtChunk)
    assert "".join(one.content.text for one in thoughts) == "Let me look."
    read, edited = editor.take(schema.ToolCallStart)
    assert (read.kind, read.title, read.raw_input["offset"]) == ("read", "Read a.py", 2)
    assert (read.locations[0].path, read.locations[0].line) == (str(tmp_path / "a.py"), 2)
    assert (edited.kind, edited.title) == ("edit", "Edit a.py")
    of_read, of_edit = editor.take(schema.ToolCallProgress)
    assert (of_read.status, of_edit.status) == ("completed", "completed")
    assert "two" in of_read.content[0].content.text
    change = of_edit.content[0]
    assert (change.path, change.old_text, change.new_text) == (
        str(tmp_path / "a.py"),
        "one\ntwo\n",
        "one\nthree\n",
    )
    said = editor.take(schema.AgentMessageChunk)
    assert "".join(one.content.text for one in said) == "I change it.Done."
    assert len({one.message_id for one in said}) == 2
    (asked,) = editor.asked
    assert asked[0].tool_call_id == edited.tool_call_id
    assert asked[0].content[0].new_text == "one\nthree\n"


@pytest.mark.parametrize(
    ("chosen", "runs", "saved"),
    [
        ("once", True, False),
        ("always", True, True),
        ("no", False, False),
        ("", False, False),
        ("error", False, False),
    ],
)
async def test_a_command_runs_only_as_the_user_decides(
    tmp_path: Path, chosen: str, runs: bool, saved: bool
) -> None:
    command = "echo a > made.txt && echo 'a long one' && mkdir later"
    editor = Editor(choose=lambda call, options: chosen)
    with SseServer(tool_answer(("c1", "bash", {"command": command})), answer("ok")) as server:
        async with connected(editor, flags=at(server)) as agent:
            opened = await agent.new_session(cwd=str(tmp_path))
            await agent.prompt(session_id=opened.session_id, prompt=[acp.text_block("go")])
    call, options = editor.asked[0]
    assert call.kind == "execute"
    assert call.raw_input["command"] == command
    assert command in call.content[0].content.text
    kinds = [one.kind for one in options]
    assert kinds[0] == "allow_once" and kinds[-1] == "reject_once"
    assert (tmp_path / "made.txt").exists() is runs
    (end,) = [one for one in editor.take(schema.ToolCallProgress) if one.status != "in_progress"]
    assert end.status == ("completed" if runs else "failed")


async def test_cancel_ends_the_turn_and_the_prompts_that_wait(tmp_path: Path) -> None:
    gate, editor = Gate(), Editor()
    with SseServer(Reply([event(chunk("So far")), gate]), answer("Again.")) as server:
        async with connected(editor, flags=at(server)) as agent:
            opened = await agent.new_session(cwd=str(tmp_path))

            async def prompt(text: str) -> str:
                done = await agent.prompt(session_id=opened.session_id, prompt=[acp.text_block(text)])
                return done.stop_reason

            first, second = asyncio.create_task(prompt("one")), asyncio.create_task(prompt("two"))
            await asyncio.to_thread(gate.reached.wait)
            await agent.cancel(session_id=opened.session_id)
            assert await first == await second == "cancelled"
            gate.open()
            assert await prompt("three") == "end_turn"
        assert len(server.requests) == 2
    assert editor.said.endswith("Again.")


async def test_cancel_while_permission_is_asked_counts_as_no(tmp_path: Path) -> None:
    with SseServer(tool_answer(("c1", "write", {"file_path": "new.txt", "content": "x"}))) as server:
        editor = Editor()
        async with connected(editor, flags=at(server)) as agent:
            opened = await agent.new_session(cwd=str(tmp_path))
            cancels: list[asyncio.Task[None]] = []

            def cancel() -> None:
                cancels.append(asyncio.ensure_future(agent.cancel(session_id=opened.session_id)))

            editor.on_asked, editor.choose = cancel, lambda call, options: ""
            done = await agent.prompt(session_id=opened.session_id, prompt=[acp.text_block("go")])
    assert done.stop_reason == "cancelled"
    assert not (tmp_path / "new.txt").exists()


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (answer("cut", finish_reason="length"), "max_tokens"),
        (answer("no", finish_reason="content_filter"), "refusal"),
    ],
)
async def test_the_stop_reason_is_the_protocols(tmp_path: Path, reply: Reply, reason: str) -> None:
    with SseServer(reply, reply, reply) as server:
        async with connected(Editor(), flags=at(server)) as agent:
            opened = await agent.new_session(cwd=str(tmp_path))
            done = await agent.prompt(session_id=opened.session_id, prompt=[acp.text_block("go")])
    assert done.stop_reason == reason


async def test_a_failed_provider_is_an_error_with_the_sentence_of_the_chat(tmp_path: Path) -> None:
    with SseServer(error_reply(402, "no credits")) as server:
        async with connected(Editor(), flags=at(server)) as agent:
            opened = await agent.new_session(cwd=str(tmp_path))
            with pytest.raises(acp.RequestError) as failed:
                await agent.prompt(session_id=opened.session_id, prompt=[acp.text_block("go")])
    assert failed.value.code == -32603
    assert "credits" in str(failed.value)
    assert failed.value.data["kind"] == "PaymentRequiredError"


async def test_links_resources_and_images_are_sent(tmp_path: Path) -> None:
    (tmp_path / "my file.txt").write_text("line one\nline two\n")
    image = png(3, 2)
    with SseServer(answer("ok")) as server:
        async with connected(Editor(), flags=at(server)) as agent:
            opened = await agent.new_session(cwd=str(tmp_path))
            blocks = [
                acp.text_block("Compare"),
                acp.resource_link_block("my file", (tmp_path / "my file.txt").as_uri() + "#L2"),
                acp.text_block("with"),
                acp.resource_block(acp.embedded_text_resource("file:///x/y.txt", "embedded words")),
                acp.image_block(base64.b64encode(image).decode(), "image/png"),
            ]
            await agent.prompt(session_id=opened.session_id, prompt=blocks)
            with pytest.raises(acp.RequestError) as refused:
                huge = acp.embedded_text_resource("file:///x", "x" * 300_000)
                await agent.prompt(session_id=opened.session_id, prompt=[acp.resource_block(huge)])
        sent = server.requests[0].json["messages"][-1]["content"]
    text = next(part["text"] for part in sent if part["type"] == "text")
    assert "line two" in text and "line one" not in text
    assert "embedded words" in text
    assert any(part["type"] == "image_url" for part in sent)
    assert refused.value.code == -32602


async def test_what_cannot_be_asked_for_is_an_error(tmp_path: Path) -> None:
    async with connected(Editor()) as agent:
        for cwd in ("relative", str(tmp_path / "missing")):
            with pytest.raises(acp.RequestError) as failed:
                await agent.new_session(cwd=cwd)
            assert failed.value.code == -32602
        with pytest.raises(acp.RequestError) as failed:
            await agent.prompt(session_id="other", prompt=[acp.text_block("go")])
        assert failed.value.code == -32602
