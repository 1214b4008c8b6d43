"""What tools of MCP servers return and ask during a call, in a session."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import QuestionReply, QuestionRequest
from forge_core.events import Notice, ToolEnd, ToolProgress
from forge_core.mcp.elicitation import DO_NOT_OPEN, OPEN
from forge_core.session.session import ForgeSession
from tests.support.images import png
from tests.support.scripted_llm import Call, ScriptedLLM
from tests.support.server_sessions import called, server_session, turn

pytestmark = pytest.mark.usefixtures("preloaded_bridge")

IMAGE = {"type": "image", "data": base64.b64encode(png()).decode(), "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}
ECHO = Call("mcp__bench__echo", {"text": "x"})


def requests(session: ForgeSession) -> list[list[Any]]:
    """The messages of every request to the model."""
    llm = session._agent.llm
    assert isinstance(llm, ScriptedLLM)
    return llm.seen


@pytest.mark.parametrize("takes_images", [True, False])
async def test_an_image_reaches_a_model_that_takes_it_and_the_others_its_name(
    tmp_path: Path, takes_images: bool
) -> None:
    script = called([IMAGE, AUDIO])
    async with server_session(
        tmp_path, [ECHO], ["done"], script=script, takes_images=takes_images
    ) as session:
        await turn(session)
        *_, result, last = requests(session)[-1]
        saved = sorted((tmp_path / "state/outputs").iterdir())
        assert [oct(one.stat().st_mode & 0o777) for one in saved] == ["0o600"] * len(saved)
        if takes_images:
            assert "[image 1, 3×2 PNG" in result.content and "<tool-output" in result.content
            assert "mcp__bench__echo" in last.content[0]["text"]
            assert last.content[1]["image_url"]["url"].startswith("forge-image:")
            assert [one.suffix for one in saved] == [".wav"]
        else:
            assert str(saved[0]) in last.content and [one.suffix for one in saved] == [".png", ".wav"]


async def test_the_model_may_read_what_was_saved_and_a_long_result_is_in_a_file(tmp_path: Path) -> None:
    long = "\n".join(f"line {number}" for number in range(9_000))
    script = called([{"type": "text", "text": long}])
    async with server_session(tmp_path, [ECHO], ["done"], ["done"], script=script) as session:
        [end] = [event for event in await turn(session) if isinstance(event, ToolEnd)]
        assert len(str(end.result)) < 31_000 and end.omission is not None
        read = Call("read", {"file_path": end.omission.kept_in})
        session._agent.llm.replies[1:] = [["done"], [read], ["done"]]
        from forge_core.tools.builtin.read import ReadTool

        session._agent.set_tools([*session._agent.tools, ReadTool()])
        ends = [event for event in await turn(session) if isinstance(event, ToolEnd)]
        assert [end.success for end in ends] == [True]


FORM = {
    "message": "Who?",
    "requestedSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
}
PAGE = {"mode": "url", "message": "Sign in", "url": "https://example.org/a", "elicitationId": "1"}


@pytest.mark.parametrize(
    ("params", "reply", "result"),
    [
        (FORM, QuestionReply((("3",),)), {"action": "accept", "content": {"n": 3}}),
        (FORM, QuestionReply(declined=True), {"action": "decline"}),
        (FORM, QuestionReply(declined=True, cancelled=True), {"action": "cancel"}),
        (FORM, None, {"action": "cancel"}),
        (PAGE, QuestionReply(((OPEN,),)), {"action": "accept"}),
        (PAGE, QuestionReply(((DO_NOT_OPEN,),)), {"action": "decline"}),
        (PAGE, None, {"action": "cancel"}),
        ({**PAGE, "url": "file:///etc/passwd"}, QuestionReply(((OPEN,),)), {"action": "cancel"}),
    ],
    ids=["accept", "decline", "cancel", "headless", "open", "not-opened", "page-headless", "file"],
)
async def test_a_server_asks_the_user_during_a_call(
    tmp_path: Path, params: dict[str, Any], reply: QuestionReply | None, result: dict[str, Any]
) -> None:
    asked: list[QuestionRequest] = []
    opened: list[str] = []

    async def answer(request: QuestionRequest) -> QuestionReply:
        asked.append(request)
        return reply or request.unanswered("no user is available")

    async def open_page(url: str) -> bool:
        opened.append(url)
        return False

    script = {"tools/call echo": {"asks": [{"method": "elicitation/create", "params": params}]}}
    async with server_session(tmp_path, [ECHO], ["done"], script=script, questioner=answer) as session:
        session.servers.open_page = open_page
        events = await turn(session)
        [end] = [event for event in events if isinstance(event, ToolEnd)]
        assert json.loads(str(end.result)) == [result]
        assert [(one.server, bool(one.call_id)) for one in asked] == [("bench", True)] * (len(asked) > 0)
        assert opened == (["https://example.org/a"] if result == {"action": "accept"} else [])
        texts = [event.text for event in events if isinstance(event, Notice)]
        assert bool(opened) == any("Open this page yourself: https://example.org/a" in one for one in texts)


@pytest.mark.parametrize("is_opened", [True, False])
async def test_a_call_that_needs_a_page_first_fails_and_says_so(tmp_path: Path, is_opened: bool) -> None:
    opened: list[str] = []

    async def answer(request: QuestionRequest) -> QuestionReply:
        return QuestionReply(((OPEN if is_opened else DO_NOT_OPEN,),))

    async def open_page(url: str) -> bool:
        opened.append(url)
        return True

    error = {"code": -32042, "message": "Sign in first.", "data": {"elicitations": [PAGE]}}
    script = {"tools/call echo": {"error": error}}
    async with server_session(tmp_path, [ECHO], ["done"], script=script, questioner=answer) as session:
        session.servers.open_page = open_page
        [end] = [event for event in await turn(session) if isinstance(event, ToolEnd)]
        assert not end.success and "Sign in first." in str(end.result)
        assert ("call it again once" in str(end.result), bool(opened)) == (is_opened, is_opened)
        assert (tmp_path / "own/received").read_text().count("tools/call") == 1


async def test_an_interrupt_withdraws_the_question_and_cancels_the_call(tmp_path: Path) -> None:
    withdrawn = asyncio.Event()

    async def wait(request: QuestionRequest) -> QuestionReply:
        session.interrupt()
        try:
            await asyncio.Event().wait()
        finally:
            withdrawn.set()
        raise AssertionError

    script = {"tools/call echo": {"asks": [{"method": "elicitation/create", "params": FORM}]}}
    async with server_session(tmp_path, [ECHO], ["done"], script=script, questioner=wait) as session:
        [end] = [event for event in await turn(session) if isinstance(event, ToolEnd)]
        assert end.outcome == "interrupted"
        async with asyncio.timeout(30):
            await withdrawn.wait()
            while "cancelled" not in session.servers.statuses["bench"].log:
                await asyncio.sleep(0.01)


async def test_progress_shows_and_log_messages_go_to_the_log_only(tmp_path: Path) -> None:
    progress = {"progressToken": "$token", "progress": 1, "total": 2, "message": "half\x1b[2J"}
    sends = [
        {"method": "notifications/message", "params": {"level": "error", "data": "secret plans"}},
        {"method": "notifications/progress", "params": progress},
    ]
    script = {"tools/call echo": {"sends": sends}}
    async with server_session(tmp_path, [ECHO], ["done"], script=script) as session:
        events = await turn(session)
        assert [event.text for event in events if isinstance(event, ToolProgress)] == ["1 of 2: half␛[2J\n"]
        assert "secret plans" not in repr(events) and session.servers.statuses["bench"].log == ""


async def test_servers_learn_of_added_folders(tmp_path: Path) -> None:
    added = tmp_path / "more"
    added.mkdir()
    async with server_session(tmp_path) as session:
        await session.folders.add(added)
        async with asyncio.timeout(30):
            while added.as_uri() not in session.servers.statuses["bench"].log:
                await asyncio.sleep(0.01)
