"""Events as updates: what a tool call shows, and how its output arrives."""

from __future__ import annotations

import asyncio
from pathlib import Path

from acp import schema

from forge_core.approval import ToolKind
from forge_core.events import LLMChunk, LLMStart, Notice, Retry, ToolEnd, ToolProgress, ToolStart
from forge_core.integrations.acp import tool_calls
from forge_core.integrations.acp.client import written
from forge_core.integrations.acp.event_updates import EventUpdates
from forge_core.integrations.acp.update_sender import Update, UpdateSender
from forge_core.tools.editing.diff import MAX_DIFF_LINES, file_diff

ROOT = Path("/work")


def ended(result: str, **fields: object) -> schema.ToolCallProgress:
    event = ToolEnd(call_id="1", name="t", result=result, success=True, duration_s=0.0, **fields)  # type: ignore[arg-type]
    return tool_calls.ended(event, "1", ROOT)


def test_a_result_is_shown_without_what_only_the_model_needs_and_as_it_is() -> None:
    update = ended(
        "[note]\n# no heading\n```\x1b[31m\nwait for it", aside="[note]", model_notes=("wait for it",)
    )
    text = update.content[0].content.text
    assert text == "````\n# no heading\n```␛[31m\n````"


def test_changes_are_shown_place_by_place_with_their_lines() -> None:
    before = "".join(f"line {n}\n" for n in range(1, 41))
    after = before.replace("line 3\n", "three\n").replace("line 40\n", "forty")
    update = ended("", diffs=(file_diff("a.txt", before, after), file_diff("/else/new", "", "x\n")))
    first, second, new = update.content
    assert (first.path, first.old_text[:7], "three" in first.new_text) == ("/work/a.txt", "line 1\n", True)
    assert second.new_text.endswith("forty") and second.old_text.endswith("line 40\n")
    assert (new.path, new.old_text, new.new_text) == ("/else/new", None, "x\n")
    assert [one.line for one in update.locations] == [1, 37, 1]
    long = ended("", diffs=(file_diff("a", "", "x\n" * (MAX_DIFF_LINES + 10)),))
    assert "not shown" in long.content[-1].content.text


async def test_output_of_a_running_call_arrives_as_its_tail() -> None:
    sent: asyncio.Queue[Update] = asyncio.Queue()
    sender = UpdateSender(sent.put)
    updates = EventUpdates(sender, ROOT)
    command = {"command": "make"}
    updates.apply(
        ToolStart(call_id="1", name="bash", arguments=command, title="Run", target="make", kind=ToolKind.RUN)
    )
    for text in ("10 %", "\r20 %", "\nwarning\n"):
        updates.apply(ToolProgress(call_id="1", text=text))
    started, progress = await sent.get(), await sent.get()
    assert isinstance(started, schema.ToolCallStart) and started.title == "Run make"
    assert isinstance(progress, schema.ToolCallProgress)
    assert progress.content[0].content.text == "```\n20 %\nwarning\n```"  # type: ignore[index,union-attr]
    await sender.aclose()


async def test_fragments_are_joined_and_each_model_call_is_a_message() -> None:
    sent: list[Update] = []

    async def deliver(update: Update) -> None:
        sent.append(update)

    sender = UpdateSender(deliver)
    updates = EventUpdates(sender, ROOT)
    for iteration in (1, 2):
        updates.apply(LLMStart(iteration=iteration, model="m"))
        for kind, text in (("reasoning", "a"), ("reasoning", "b"), ("answer", "c"), ("answer", "d")):
            updates.apply(LLMChunk(text=text, kind=kind))  # type: ignore[arg-type]
    updates.apply(Retry.of("It broke off.", attempt=1, max_retries=2, wait_s=0, discards_answer=True))
    updates.apply(Notice(level="info", text="not worth a message"))
    updates.apply(Notice(level="warning", text="odd *text*"))
    await sender.flushed()
    texts = [one.content.text for one in sent]  # type: ignore[union-attr]
    assert texts[:4] == ["ab", "cd", "ab", "cd"]
    assert "does not count" in texts[4] and "odd \\*text\\*" in texts[5]
    ids = [one.message_id for one in sent]  # type: ignore[union-attr]
    assert ids[0] == ids[1] != ids[2] == ids[3] and len(set(ids)) == 4
    await sender.aclose()


def test_the_old_text_of_a_new_file_is_sent_as_null() -> None:
    diff = schema.FileEditToolCallContent(type="diff", path="/new.py", new_text="x")
    call = schema.ToolCallUpdate(tool_call_id="1", content=[diff, tool_calls.text_content("more")])
    start = schema.ToolCallStart(
        session_update="tool_call", tool_call_id="1", title="Write", content=[diff], locations=None
    )
    asked = written(schema.RequestPermissionRequest(session_id="s", tool_call=call, options=[]))
    sent = written(schema.SessionNotification(session_id="s", update=start))
    for contents in (asked["toolCall"]["content"], sent["update"]["content"]):
        assert contents[0] == {"type": "diff", "path": "/new.py", "oldText": None, "newText": "x"}
    assert "locations" not in sent["update"] and "title" not in asked["toolCall"]
