"""Continuing a session in another process's place: the conversation, its figures and its state go on."""

from __future__ import annotations

import dataclasses
import fcntl
import json
import threading
from pathlib import Path

import pytest

from forge_core.approval import Answer, deny_all
from forge_core.commands.result import CommandNotice, Text
from forge_core.config.forge_config import Endpoint, ForgeConfig, Origin
from forge_core.config.permission_mode import PermissionMode
from forge_core.errors import JournalError, SessionInUseError
from forge_core.events import AgentEnd
from forge_core.redact import MASK, Redactor
from forge_core.runtime import build_session, load_session_config
from forge_core.session import ForgeSession
from forge_core.session.saved_sessions import SavedSessions
from forge_core.store.journal import journal_path, read_journal
from tests.support.commands import run_command
from tests.support.saved_journal import assert_valid_on_disk
from tests.support.sessions import Answering
from tests.support.sse_server import SseServer, answer, tool_answer

KEY = "Zq7+wV/2mN9xKp4tRb8yLc3d"


def config_for(root: Path, server: SseServer, **changes: object) -> ForgeConfig:
    root.mkdir(exist_ok=True)
    config = load_session_config(root, flags={"model": "offline"})
    changed = {
        "endpoint": Endpoint("custom", server.base_url, KEY, "FORGE_API_KEY"),
        "model": "test/model",
        "state_dir": root.parent / "state",
        "origins": {},
        **changes,
    }
    return dataclasses.replace(config, **changed)  # type: ignore[arg-type]


async def say(session: ForgeSession, text: str) -> AgentEnd:
    events = [event async for event in session.send(text)]
    last = events[-1]
    assert isinstance(last, AgentEnd)
    return last


def sent(server: SseServer, number: int = -1) -> list[dict[str, object]]:
    return [message for message in server.requests[number].json["messages"] if message["role"] != "system"]


async def test_the_model_is_sent_the_same_conversation_after_a_restart(tmp_path: Path) -> None:
    root = tmp_path / "work"
    call = tool_answer(("c1", "read", {"file_path": "a.txt"}), text="Let me look.")
    with SseServer(call, answer("It says ", "hello."), answer("Same.")) as server:
        config = config_for(root, server)
        (root / "a.txt").write_text("hello\n")
        session = build_session(config, deny_all)
        await say(session, "What does a.txt say?")
        spent, reads = session.spending(), dict(session._environment.files)
        await session.aclose()

        again = build_session(config, deny_all, resume=session.id)
        assert again.id == session.id
        assert again.spending() == spent
        assert again._environment.files == reads
        assert again.restored is not None
        assert again.restored.title == "What does a.txt say?"
        await say(again, "And now?")
        await again.aclose()
        before, after = sent(server, 1), sent(server, 2)
        assert after[: len(before)] == before
        assert [one["role"] for one in after] == ["user", "assistant", "tool", "assistant", "user"]


async def test_what_a_continued_session_says_is_appended_to_the_same_journal(tmp_path: Path) -> None:
    with SseServer(answer("one"), answer("two"), answer("three")) as server:
        config = config_for(tmp_path / "work", server)
        session = build_session(config, deny_all)
        await say(session, "first")
        await session.aclose()
        for text in ("second", "third"):
            session = build_session(config, deny_all, resume=session.id)
            await say(session, text)
            await session.aclose()
        assert [one["content"] for one in sent(server)] == ["first", "one", "second", "two", "third"]
    assert len(list((config.state_dir / "sessions").glob("*.jsonl"))) == 1


async def test_the_task_list_the_model_and_the_session_permissions_are_restored(tmp_path: Path) -> None:
    root = tmp_path / "work"
    todo = {"items": [{"content": "Fix it", "status": "in_progress", "active_form": "Fixing it"}]}
    calls = tool_answer(("c1", "todo", todo), ("c2", "write", {"file_path": "x.txt", "content": "x"}))
    with SseServer(calls, answer("done"), answer("more")) as server:
        config = config_for(root, server)
        session = build_session(config, Answering(Answer.SESSION))
        await say(session, "go")
        session.models.choose("test/other")
        session.set_mode(PermissionMode.ACCEPT_EDITS)
        rules = [entry for entry in session.policy.rules() if entry.origin == "session"]
        assert rules
        await session.aclose()

        again = build_session(config, deny_all, resume=session.id)
        assert again.todos.items == session.todos.items
        assert again.todos.items[0].active_form == "Fixing it"
        assert (again.status.model, again.status.mode) == ("test/other", PermissionMode.ACCEPT_EDITS)
        assert [entry for entry in again.policy.rules() if entry.origin == "session"] == rules
        await again.aclose()

        elsewhere = dataclasses.replace(config, working_dir=tmp_path / "other")
        (tmp_path / "other").mkdir()
        moved = build_session(elsewhere, deny_all, resume=session.id)
        assert [entry for entry in moved.policy.rules() if entry.origin == "session"] == []
        await moved.aclose()

        copy = build_session(
            config, deny_all, resume=SavedSessions(config.state_dir, Redactor()).fork(session.id)
        )
        assert [entry for entry in copy.policy.rules() if entry.origin == "session"] == []
        assert copy.todos.items == session.todos.items
        await copy.aclose()


async def test_a_model_is_not_taken_over_at_another_endpoint(tmp_path: Path) -> None:
    root = tmp_path / "work"
    with SseServer(answer("one")) as first, SseServer(answer("two")) as second:
        config = config_for(root, first)
        other = dataclasses.replace(
            config,
            endpoint=dataclasses.replace(config.endpoint, base_url=second.base_url),
            model="own/default",
        )
        session = build_session(config, deny_all)
        session.models.choose("test/other")
        await say(session, "go")
        await session.aclose()

        for expected in ("'test/other'", ""):  # the second time, the model is one of this endpoint
            moved = build_session(other, deny_all, resume=session.id)
            assert moved.status.model == "own/default"
            notices = " ".join(notice.text for notice in moved.waiting_notices())
            assert ("own/default" in notices, first.base_url in notices) == (bool(expected), bool(expected))
            assert expected in notices
            await moved.aclose()

        again = build_session(config, deny_all, resume=session.id)
        assert again.status.model == config.model
        await again.aclose()
        chosen = dataclasses.replace(other, model="by/flag", origins={"model": Origin.FLAG})
        named = build_session(chosen, deny_all, resume=session.id)
        assert (named.status.model, named.waiting_notices()) == ("by/flag", [])
        await named.aclose()


@pytest.mark.parametrize(
    ("saved", "continued"),
    [
        (PermissionMode.YOLO, PermissionMode.ASK),
        (PermissionMode.PLAN, PermissionMode.PLAN),
        (PermissionMode.AUTO, PermissionMode.ASK),
    ],
)
async def test_a_mode_that_is_not_safe_here_becomes_ask(
    tmp_path: Path, saved: PermissionMode, continued: PermissionMode
) -> None:
    with SseServer(answer("ok")) as server:
        config = config_for(tmp_path / "work", server, permission_mode=saved, sandbox="off")
        session = build_session(config, deny_all)
        await say(session, "hi")
        await session.aclose()
        plain = dataclasses.replace(config, permission_mode=PermissionMode.ASK)
        again = build_session(plain, deny_all, resume=session.id)
        assert again.status.mode is continued
        await again.aclose()


async def test_a_model_and_mode_on_the_command_line_win(tmp_path: Path) -> None:
    with SseServer(answer("ok")) as server:
        config = config_for(tmp_path / "work", server, permission_mode=PermissionMode.PLAN)
        session = build_session(config, deny_all)
        await say(session, "hi")
        await session.aclose()
        flags = dataclasses.replace(
            config,
            model="test/flag",
            permission_mode=PermissionMode.ASK,
            origins={"model": Origin.FLAG, "permission_mode": Origin.FLAG},
        )
        again = build_session(flags, deny_all, resume=session.id)
        assert (again.status.model, again.status.mode) == ("test/flag", PermissionMode.ASK)
        await again.aclose()


async def test_a_killed_turn_is_answered_as_cancelled_when_the_session_continues(tmp_path: Path) -> None:
    call = tool_answer(("c1", "read", {"file_path": "a.txt"}))
    with SseServer(call, answer("done"), answer("ok")) as server:
        config = config_for(tmp_path / "work", server)
        session = build_session(config, deny_all)
        await say(session, "go")
        await session.aclose()
        path = config.state_dir / "sessions" / f"{session.id}.jsonl"
        lines = path.read_bytes().splitlines(keepends=True)
        end = next(n for n, line in enumerate(lines) if json.loads(line)["type"] == "tool_end")
        path.write_bytes(b"".join(lines[:end]))  # killed while the tool ran

        again = build_session(config, deny_all, resume=session.id)
        await say(again, "go on")
        await again.aclose()
        messages = sent(server)
        assert [one["role"] for one in messages] == ["user", "assistant", "tool", "user"]
        assert "cancelled" in str(messages[2]["content"])


@pytest.mark.parametrize("version", [1, 2])
async def test_the_answers_to_killed_calls_are_recorded_once(tmp_path: Path, version: int) -> None:
    calls = tool_answer(("c1", "read", {"file_path": "a.txt"}), ("c2", "ls", {}), text="I look.")
    with SseServer(calls, answer("done"), answer("ok"), answer("ok")) as server:
        config = config_for(tmp_path / "work", server)
        session = build_session(config, deny_all)
        await say(session, "go")
        await session.aclose()
        path = config.state_dir / "sessions" / f"{session.id}.jsonl"
        records = read_journal(path).records
        end = next(n for n, record in enumerate(records) if record["type"] == "tool_end")
        kept = [one for one in records[:end] if version == 2 or one["type"] != "message"]  # killed there
        path.write_text("".join(json.dumps({**one, "v": version}) + "\n" for one in kept))

        for _ in range(2):
            await build_session(config, deny_all, resume=session.id).aclose()
        assert_valid_on_disk(path)
        recorded = [record["data"] for record in read_journal(path).records[len(kept) :]]
        added = [data for data in recorded if "role" in data]
        assert [(one["role"], one["tool_call_id"]) for one in added] == [("tool", "c1"), ("tool", "c2")]
        for _ in range(2):
            again = build_session(config, deny_all, resume=session.id)
            await say(again, "go on")
            await again.aclose()
        first, second = sent(server, 2), sent(server, 3)
        assert [one["role"] for one in first] == ["user", "assistant", "tool", "tool", "user"]
        assert second[: len(first)] == first


async def test_a_removed_key_is_not_sent_again_and_the_user_is_informed_once(tmp_path: Path) -> None:
    with SseServer(answer("ok"), answer("ok"), answer("ok")) as server:
        config = config_for(tmp_path / "work", server)
        session = build_session(config, deny_all)
        await say(session, f"keep {KEY} for me")
        await session.aclose()
        again = build_session(config, deny_all, resume=session.id)
        notices = again.notices()
        assert "Keys were removed" in (await anext(notices)).text
        await say(again, "go on")
        await again.aclose()
        assert sent(server)[0]["content"] == f"keep {MASK} for me"
        third = build_session(config, deny_all, resume=session.id)
        assert third._events._notices.empty()
        await third.aclose()


async def test_a_session_that_is_open_elsewhere_is_refused(tmp_path: Path) -> None:
    with SseServer(answer("ok")) as server:
        config = config_for(tmp_path / "work", server)
        session = build_session(config, deny_all)
        await say(session, "hi")
        with pytest.raises(SessionInUseError):
            build_session(config, deny_all, resume=session.id)
        await session.aclose()
        again = build_session(config, deny_all, resume=session.id)
        await again.aclose()


async def test_a_session_that_is_released_shortly_is_waited_for(tmp_path: Path) -> None:
    with SseServer(answer("ok")) as server:
        config = config_for(tmp_path / "work", server)
        session = build_session(config, deny_all)
        await say(session, "hi")
        await session.aclose()
        with journal_path(config.state_dir, session.id).open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            threading.Timer(0.1, fcntl.flock, (held, fcntl.LOCK_UN)).start()
            again = build_session(config, deny_all, resume=session.id)
        await again.aclose()


@pytest.mark.parametrize("name", ["20260101-000000-000000", "../../etc/passwd", ""])
def test_an_unknown_session_is_refused(tmp_path: Path, name: str) -> None:
    with SseServer() as server:
        config = config_for(tmp_path / "work", server)
        with pytest.raises(JournalError, match="There is no session"):
            build_session(config, deny_all, resume=name)


async def test_a_draft_that_a_kill_has_left_survives_a_turn_without_a_composer(tmp_path: Path) -> None:
    """`forge run --continue` between two chats."""
    with SseServer(answer("ok"), answer("ok")) as server:
        config = config_for(tmp_path / "work", server)
        session = build_session(config, deny_all)
        await say(session, "hi")
        await session.aclose()
        session.drafts.set("half a sent")
        session.drafts.write()
        run = build_session(config, deny_all, resume=session.id)
        await say(run, "and now")
        await run.aclose()
        again = build_session(config, deny_all, resume=session.id)
        assert again.restored is not None and again.restored.draft == "half a sent"
        await again.aclose()


async def test_the_draft_and_the_queue_are_kept(tmp_path: Path) -> None:
    with SseServer(answer("ok")) as server:
        config = config_for(tmp_path / "work", server)
        session = build_session(config, deny_all)
        session.save_input(draft="typed before there was a session to save", queue=[])
        await say(session, "hi")
        session.save_input(draft="half a sent", queue=["next", "after that"])
        session.rename("A name")
        await session.aclose()
        again = build_session(config, deny_all, resume=session.id)
        assert again.restored is not None
        assert (again.restored.draft, again.restored.queue) == ("half a sent", ["next", "after that"])
        assert again.restored.title == "A name"
        await again.aclose()


async def test_instruction_files_that_were_left_out_are_not_sent_after_a_restart(tmp_path: Path) -> None:
    root = tmp_path / "work"
    with SseServer(answer("One."), answer("Two."), answer("Three.")) as server:
        config = dataclasses.replace(config_for(root, server), own_instructions=(root / "AGENTS.md",))
        (root / "AGENTS.md").write_text("Use tabs.\n" * 500)
        session = build_session(config, deny_all)
        await say(session, "first")
        assert isinstance(await run_command("/context", session), Text)
        assert isinstance(await run_command("/context drop 1", session), CommandNotice)
        await say(session, "second")
        await session.aclose()
        again = build_session(config, deny_all, resume=session.id)
        await say(again, "third")
        await again.aclose()
        systems = [str(request.json["messages"][0]["content"]) for request in server.requests]
    assert ["Use tabs." in system for system in systems] == [True, False, False]
