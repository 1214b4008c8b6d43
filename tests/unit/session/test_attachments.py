"""Images in messages of a session: what the model is sent, what is recorded, and what the user sees."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from forge_core.approval import Answer, deny_all
from forge_core.events import AgentEnd, Notice
from forge_core.images.image_header import MAX_IMAGES
from forge_core.images.image_reference import references_in
from forge_core.images.image_store import ImageStore
from forge_core.llm.models import Message, MessageRole
from forge_core.redact import Redactor
from forge_core.runtime import build_session, load_session_config
from forge_core.session.saved_sessions import SavedSessions
from forge_core.session.session import ForgeSession
from forge_core.store.export import exported
from forge_core.store.journal import Journal
from forge_core.store.saved_session import load_session
from tests.support.images import jpeg, png
from tests.support.sessions import Answering, scripted_session
from tests.support.sse_server import SseServer, answer


@pytest.fixture
def root(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    (work / "shot.png").write_bytes(png(64, 48))
    (tmp_path / "outside.png").write_bytes(png(32, 24))
    return work


def session_in(root: Path, **options: Any) -> ForgeSession:
    return scripted_session(root, [["Fine."]] * 4, **options)


async def send(session: ForgeSession, text: str) -> tuple[Message, list[str]]:
    """Send a message; return the message in the history, and the notices."""
    notices = [event.text async for event in session.send(text) if isinstance(event, Notice)]
    history = session._agent.memory.get_history()
    return [one for one in history if one.role is MessageRole.USER][-1], notices


async def test_an_image_that_the_text_names_is_a_part_of_the_message(root: Path) -> None:
    session = session_in(root)
    reference = session.attachments.images.keep(png(1024, 768))
    message, notices = await send(session, f"What is {reference.text}?")
    assert message.text == f"What is {reference.text}?"
    assert references_in(message.content) == [reference]
    assert notices == [f"Attached image: {reference.details}"]
    assert session._agent.memory.token_count() > reference.tokens
    await session.aclose()


async def test_a_mentioned_image_is_read_and_sent(root: Path) -> None:
    session = session_in(root)
    message, notices = await send(session, "What is in @shot.png?")
    [reference] = references_in(message.content)
    assert session.attachments.images.load(reference) == png(64, 48)
    assert message.text.startswith("What is in @shot.png?\n\n<forge-note>")
    assert f"shot.png: {reference.text}" in message.text
    assert notices == [f"Read shot.png: {reference.details}"]
    message, notices = await send(session, "And again @shot.png?")
    assert not references_in(message.content)
    assert notices == ["Read shot.png: unchanged, not sent again"]
    session._agent.memory.replace_history([])
    message, _ = await send(session, "And now @shot.png?")
    assert references_in(message.content) == [reference]
    await session.aclose()


@pytest.mark.parametrize(("reply", "is_sent"), [(Answer.ONCE, True), (Answer.NO, False)])
async def test_a_mentioned_image_follows_the_rules_of_read(root: Path, reply: Answer, is_sent: bool) -> None:
    approver = Answering(reply)
    session = session_in(root, approver=approver)
    message, _ = await send(session, "see @../outside.png")
    assert [request.tool for request in approver.asked] == ["read"]
    assert bool(references_in(message.content)) is is_sent
    assert session.attachments.images.folder.exists() is is_sent
    await session.aclose()


async def test_what_is_no_image_that_may_be_sent_is_named(root: Path) -> None:
    (root / "bad.png").write_bytes(png()[:20])
    (root / "wide.png").write_bytes(png(9_000, 1))
    (root / "text.png").write_text("words\n")
    session = session_in(root)
    message, notices = await send(session, "@bad.png @wide.png @text.png")
    assert notices[0] == "Not attached: bad.png: 'bad.png' is a damaged PNG file. Save it again."
    assert "'wide.png' has 9000×1 pixels, a side may have 8000" in notices[1]
    assert notices[2] == "Read text.png: 1 line"
    assert isinstance(message.content, str)
    await session.aclose()


async def test_an_image_is_recorded_by_reference_and_continued(root: Path) -> None:
    session = session_in(root)
    data = png(300, 200, extra=100_000)
    reference = session.attachments.images.keep(data, "big.png")
    await send(session, f"see {reference.text}")
    await send(session, f"and {reference.text}")
    await session.aclose()
    journal = session._journal.path
    assert journal.stat().st_size < 20_000
    assert [path.read_bytes() for path in session.attachments.images.folder.iterdir()] == [data]
    saved = load_session(journal)
    assert saved.title == "see [Image]"
    restored = [references_in(message.content) for message in saved.messages]
    assert restored == [[reference], [], [reference], []]
    for form in ("markdown", "html"):
        assert "big.png 300×200 PNG 101 KB" in exported(saved, form, Redactor())


async def test_a_text_with_a_lost_image_is_a_problem_and_sent_with_a_warning(root: Path) -> None:
    session = session_in(root)
    reference = session.attachments.images.keep(png())
    session.attachments.images.path(reference).unlink()
    assert "is not stored any more. Remove it" in session.attachments.problem(f"see {reference.text}")
    message, notices = await send(session, f"see {reference.text}")
    assert (message.content, len(notices)) == (f"see {reference.text}", 1)
    assert "is not stored any more" in notices[0]
    await session.aclose()


async def test_a_model_that_takes_no_images_is_a_problem_before_the_message_is_sent(root: Path) -> None:
    session = session_in(root, takes_images=False)
    text = f"see {session.attachments.images.keep(png()).text}"
    for one in (text, "see @shot.png"):
        problem = session.attachments.problem(one)
        assert problem.startswith("scripted/model takes no images. Choose a model that does with /model")
    for fine in ("see", "@nothing.png", "@../none", "mail@shot.png"):
        assert session.attachments.problem(fine) == ""
    _, notices = await send(session, text)
    assert notices[-1] == "scripted/model takes no images: it is sent the message without."
    await session.aclose()


async def test_the_number_of_images_of_a_message_is_limited(root: Path) -> None:
    session = session_in(root)
    texts = [session.attachments.images.keep(png(width)).text for width in range(1, MAX_IMAGES + 2)]
    assert session.attachments.problem(" ".join(texts[:MAX_IMAGES])) == ""
    assert "has 21 images, at most 20 can be sent" in session.attachments.problem(" ".join(texts))
    message, _ = await send(session, " ".join(texts))
    assert len(references_in(message.content)) == MAX_IMAGES
    await session.aclose()


async def test_a_cancelled_message_with_an_image_is_in_the_history(root: Path) -> None:
    session = session_in(root)
    text = f"see {session.attachments.images.keep(png()).text}"
    task = asyncio.create_task(session.attachments.attached(text))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [one.content for one in session._agent.memory.get_history()] == [text]
    await session.aclose()


# Over a real client


def built(
    root: Path, server: SseServer, resume: str | None = None, model: str = "test/model"
) -> ForgeSession:
    environ = {"HOME": str(root.parent), "XDG_STATE_HOME": str(root.parent / "state")}
    flags = {"base_url": server.base_url, "model": model, "sandbox": "off"}
    config = load_session_config(root, flags=flags, environ=environ)
    return build_session(config, deny_all, resume=resume, shows_figures=False)


def urls(server: SseServer, request: int = -1) -> list[str]:
    """The URLs of the images in a request."""
    contents = [message["content"] for message in server.requests[request].json["messages"]]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]


def data_url(kind: str, data: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


async def test_images_go_over_the_wire_in_every_request_also_after_resume_and_fork(root: Path) -> None:
    (root / "photo.jpg").write_bytes(jpeg(640, 480))
    with SseServer(*[answer("Seen.")] * 4) as server:
        session = built(root, server)
        pasted = session.attachments.images.keep(png(20, 10))
        await send(session, f"Compare {pasted.text} with @photo.jpg")
        await send(session, "Which is larger?")
        await session.aclose()
        wanted = [data_url("png", png(20, 10)), data_url("jpeg", jpeg(640, 480))]
        assert urls(server, 0) == urls(server, 1) == wanted
        saved = SavedSessions(session.config.state_dir, Redactor())
        fork = saved.fork(session.id)
        saved.delete(session.id)
        assert not session.attachments.images.folder.exists()
        continued = built(root, server, resume=fork)
        assert continued.waiting_notices() == []
        await send(continued, "And now?")
        assert urls(server) == wanted
        await continued.aclose()


async def test_a_lost_image_becomes_a_notice_and_a_note_for_the_model(root: Path) -> None:
    with SseServer(*[answer("Seen.")] * 2) as server:
        session = built(root, server)
        await send(session, "see @shot.png")
        await session.aclose()
        shutil.rmtree(session.attachments.images.folder)
        continued = built(root, server, resume=session.id)
        [notice] = continued.waiting_notices()
        assert notice.text.startswith("1 image of this session cannot be found any more.")
        ends = [event async for event in continued.send("What was it?") if isinstance(event, AgentEnd)]
        assert ends[0].result.stopped_reason == "complete"
        assert urls(server) == []
        assert "(64×48 PNG" in json.dumps(server.requests[-1].json, ensure_ascii=False)
        assert "is not included: its file is missing" in str(server.requests[-1].json)
        await continued.aclose()


async def test_the_offline_model_says_what_it_can_without_seeing(root: Path) -> None:
    environ = {"HOME": str(root.parent), "XDG_STATE_HOME": str(root.parent / "state")}
    config = load_session_config(root, flags={"model": "offline", "sandbox": "off"}, environ=environ)
    session = build_session(config, deny_all, shows_figures=False)
    await send(session, "what is in @shot.png?")
    assert session.last_result is not None
    assert session.last_result.output.startswith("Your message has an image: PNG, 64×48 pixels, ")
    await session.aclose()


def test_an_older_fork_without_images_is_copied(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "sessions" / "20261120-000000-abcdef.jsonl", Redactor())
    journal.record("session", {"id": "20261120-000000-abcdef", "working_dir": "/w"})
    journal.close()
    copy = SavedSessions(tmp_path, Redactor()).fork("20261120-000000-abcdef")
    assert not ImageStore(tmp_path / "sessions" / copy / "images").folder.exists()
