"""Sessions whose state directory is full, gone, read-only, or shared with many processes."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from forge_core.approval import Answer, deny_all
from forge_core.errors import JournalError, SessionInUseError
from forge_core.redact import Redactor
from forge_core.runtime import build_session
from forge_core.session.saved_sessions import SavedSessions
from forge_core.store.journal import read_journal
from forge_core.store.saved_session import load_session
from forge_core.store.session_index import list_sessions
from tests.support.saved_journal import (
    always,
    config_for,
    continue_session,
    read_lines,
    record_session,
    say,
    write_lines,
)
from tests.support.sessions import Answering
from tests.support.sse_server import SseServer, answer, tool_answer


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 512 KB."""
    disk = tmp_path / "state"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(disk)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a tmpfs needs the rights of root")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


async def test_a_full_disk_is_reported_at_once_and_saved_when_there_is_room(
    tmp_path: Path, small_disk: Path
) -> None:
    filler = small_disk / "filler"
    write = {"file_path": "new.txt", "content": "x\n" * 30_000}
    replies = [answer("first"), tool_answer(("c1", "write", write)), answer("second"), answer("third")]
    with SseServer(*replies) as server:
        config = config_for(tmp_path, server)
        session = build_session(config, Answering(Answer.ONCE))
        await say(session, "one")
        await asyncio.to_thread(_fill, filler)
        notices = session.notices()
        started, seen = time.monotonic(), asyncio.ensure_future(anext(notices))
        events = [event async for event in session.send("two")]
        texts = [getattr(event, "text", "") for event in events]
        if not any("Not saved" in text for text in texts):
            assert "Not saved" in (await asyncio.wait_for(seen, 5)).text
            assert time.monotonic() - started < 1 + events[-1].timestamp - events[0].timestamp
        seen.cancel()
        assert session.last_result is not None
        assert session.last_result.stopped_reason == "complete"
        assert (config.working_dir / "new.txt").stat().st_size == 60_000
        await say(session, "three")
        filler.unlink()
        await session.aclose()
    path = small_disk / "sessions" / f"{session.id}.jsonl"
    saved = load_session(path)
    assert saved.damaged == 0
    assert [turn.text for turn in saved.turns] == ["one", "two", "three"]
    assert [one.text for one in saved.messages if one.text in ("first", "second", "third")] == [
        "first",
        "second",
        "third",
    ]


def _fill(filler: Path) -> None:
    with filler.open("wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while file.write(b"x" * size) == size:
                    pass
            except OSError:
                continue


@pytest.mark.parametrize("kind", ["read-only", "a file"])
async def test_a_state_directory_that_cannot_be_written_costs_only_the_record(
    tmp_path: Path, kind: str
) -> None:
    state = tmp_path / "state"
    if kind == "a file":
        state.write_text("in the way")
    else:
        mount = ["mount", "-t", "tmpfs", "-o", "size=64k,ro", "tmpfs", str(state)]
        state.mkdir()
        if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("mounting a read-only file system needs the rights of root")
    try:
        with SseServer(
            tool_answer(("c1", "write", {"file_path": "n", "content": "x"})), answer("ok")
        ) as server:
            config = config_for(tmp_path, server)
            session = build_session(config, Answering(Answer.ONCE))
            end = await say(session, "hi")
            assert end.result.stopped_reason == "complete"
            assert list_sessions(state) == []
            await session.aclose()
    finally:
        if kind == "read-only":
            subprocess.run(["umount", "-l", str(state)], check=True)


async def test_a_state_directory_deleted_under_a_session_is_written_again(tmp_path: Path) -> None:
    replies = [
        answer("first"),
        tool_answer(("c1", "write", {"file_path": "n", "content": "x"})),
        answer("ok"),
    ]
    with SseServer(*replies) as server:
        config = config_for(tmp_path, server)
        session = build_session(config, Answering(Answer.ONCE))
        await say(session, "one")
        shutil.rmtree(config.state_dir)
        end = await say(session, "two")
        assert end.result.stopped_reason == "complete"
        await session.aclose()
    path = config.state_dir / "sessions" / f"{session.id}.jsonl"
    assert [turn.text for turn in load_session(path).turns] == ["one", "two"]
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_clock_that_is_set_back_changes_nothing(tmp_path: Path) -> None:
    with SseServer() as server:
        path = await record_session(config_for(tmp_path, server), server)
    records = read_lines(path)
    before = load_session(path)
    second = next(index for index, record in enumerate(records) if record["data"].get("text") == "Thanks")
    for record in records[second:]:
        record["timestamp"] -= 86_400
    write_lines(path, records)
    saved = load_session(path)
    assert (saved.messages, [turn.text for turn in saved.turns]) == (
        before.messages,
        [turn.text for turn in before.turns],
    )
    with SseServer(routes=always()) as server:
        await continue_session(config_for(tmp_path, server), server, path.stem)


async def test_a_session_behind_a_symbolic_link_continues_and_only_the_link_is_deleted(
    tmp_path: Path,
) -> None:
    with SseServer() as server:
        path = await record_session(config_for(tmp_path, server), server)
    elsewhere = tmp_path / "elsewhere.jsonl"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    with SseServer(routes=always()) as server:
        config = config_for(tmp_path, server)
        await continue_session(config, server, path.stem)
    assert [turn.text for turn in load_session(elsewhere).turns][-1] == "go on"
    SavedSessions(config.state_dir, Redactor()).delete(path.stem)
    assert elsewhere.exists()


@pytest.mark.parametrize("content", [b"no end of a line", b"a shopping list\nbread\nmilk", b"\0" * 100])
async def test_what_is_not_a_session_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    with SseServer() as server:
        config = config_for(tmp_path, server)
        path = config.state_dir / "sessions" / "20261123-000000-abcdef.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        with pytest.raises(JournalError, match="holds no session"):
            build_session(config, deny_all, resume=path.stem)
    assert path.read_bytes() == content


MANY = """
import sys
from pathlib import Path
from forge_core.errors import JournalError, SessionInUseError
from forge_core.redact import Redactor
from forge_core.session.saved_sessions import SavedSessions

sessions = SavedSessions(Path(sys.argv[1]), Redactor())
sys.stdin.read(1)
for number in range(5):
    copy = sessions.fork(sys.argv[2])
    sessions.rename(copy, f"{sys.argv[3]}-{number}")
    assert sessions.find(copy).title == f"{sys.argv[3]}-{number}"
    try:
        sessions.rename(sys.argv[2], "renamed")
    except SessionInUseError:
        pass
    assert len(sessions.list()) > number
"""


@pytest.mark.slow
async def test_twenty_processes_list_rename_and_fork_at_once(tmp_path: Path) -> None:
    with SseServer() as server:
        config = config_for(tmp_path, server)
        path = await record_session(config, server)
    turns = [turn.text for turn in load_session(path).turns]
    arguments = [sys.executable, "-c", MANY, str(config.state_dir), path.stem]
    programs = [
        subprocess.Popen([*arguments, f"p{number}"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for number in range(20)
    ]
    try:
        for program in programs:
            assert program.stdin is not None
            program.stdin.close()
        for program in programs:
            assert program.stderr is not None
            problems = await asyncio.to_thread(program.stderr.read)
            assert await asyncio.to_thread(program.wait, 120) == 0, problems
    finally:
        for program in programs:
            if program.poll() is None:
                program.kill()
            if program.stderr is not None:
                program.stderr.close()
    found = list_sessions(config.state_dir)
    assert {one.title for one in found} == {
        "renamed",
        *(f"p{number}-{copy}" for number in range(20) for copy in range(5)),
    }
    for one in found:
        content = read_journal(config.state_dir / "sessions" / f"{one.id}.jsonl")
        assert content.damaged == 0
        texts = [record["data"]["text"] for record in content.records if record["type"] == "user"]
        assert texts == turns
    folder = config.state_dir / "sessions"
    assert not [*folder.glob(".index-*")]
    assert len(json.loads((folder / "index.json").read_bytes())["sessions"]) <= len(found)


async def test_a_session_that_is_open_is_not_opened_renamed_or_deleted_by_others(tmp_path: Path) -> None:
    with SseServer(answer("ok"), answer("ok")) as server:
        config = config_for(tmp_path, server)
        session = build_session(config, deny_all)
        await say(session, "hi")
        others = SavedSessions(config.state_dir, Redactor())
        path = config.state_dir / "sessions" / f"{session.id}.jsonl"
        before = path.read_bytes()
        with pytest.raises(SessionInUseError):
            build_session(config, deny_all, resume=session.id)
        with pytest.raises(SessionInUseError):
            others.rename(session.id, "other")
        with pytest.raises(SessionInUseError):
            others.delete(session.id)
        assert path.read_bytes().startswith(before)
        await say(session, "again")
        await session.aclose()
    assert [turn.text for turn in load_session(path).turns] == ["hi", "again"]
