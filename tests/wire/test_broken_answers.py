"""A provider whose answers break off, as `forge run` and `forge chat` meet it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from forge_core.events import LLMEnd, Retry
from forge_core.headless.printers import RESTART
from tests.support import preloaded
from tests.support.sse_server import (
    Cut,
    Gate,
    Reply,
    Reset,
    SseServer,
    Step,
    answer,
    chunk,
    error_reply,
    event,
    json_reply,
    stream,
    tool_answer,
)
from tests.support.terminal import Terminal
from tests.wire.test_interrupted_bill import BILL, session_at, until_counted

pytestmark = [pytest.mark.pty, pytest.mark.network_server]


FORGE = [sys.executable, "-m", "forge_tui.cli"]
FLAGS = ("--model", "test/model", "--base-url")
CALL = ("c1", "read", {"file_path": "notes.txt"})
OVERLOADED = {"error": {"code": 502, "message": "upstream died"}}


def half_call(end: Step) -> Reply:
    """Text and the beginning of a call, then `end`."""
    steps = list(tool_answer(CALL, text="I will look.").steps)
    return Reply([*steps[:4], end], framing="close" if isinstance(end, Cut) else "chunked")


def run(folder: Path, server: SseServer, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [*FORGE, "run", "what is the word?", *FLAGS, server.base_url, *arguments]
    return preloaded.run(command, cwd=folder, **options)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "notes.txt").write_text("heron\n")
    return tmp_path


def replies() -> list[Reply]:
    """A turn in which the first answer breaks off three times in different ways, and the second once."""
    overloaded = stream(chunk("It is "), {**chunk("", finish_reason="error"), **OVERLOADED})
    return [
        half_call(Reset()),
        half_call(Cut()),
        tool_answer(CALL, text="I look."),
        overloaded,
        answer("Heron."),
    ]


def test_a_run_with_broken_streams_gives_the_answer_and_runs_each_call_once(folder: Path) -> None:
    with SseServer(*replies()) as server:
        done = run(folder, server, "--output", "json")
        requests = [seen.json["messages"] for seen in server.requests]
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["output"], result["iterations"]) == ("Heron.", 2)
    assert [call["name"] for call in result["tool_calls"]] == ["read"]
    assert [len(messages) for messages in requests] == [2, 2, 2, 4, 4]
    assert requests[0] == requests[1] == requests[2]
    assert requests[3] == requests[4]
    assert result["usage"]["estimated"]


def test_text_output_marks_where_an_answer_restarts_and_a_file_has_it_once(folder: Path) -> None:
    with SseServer(*replies()) as server:
        done = run(folder, server)
    assert done.returncode == 0, done.stderr
    first = f"I will look.\n{RESTART}\n" * 2 + "I look.\n"
    assert done.stdout == f"{first}It is \n{RESTART}\nHeron.\n"
    assert done.stderr.count("Starting the answer again") == 3
    with SseServer(*replies()) as server, (folder / "out").open("w") as out:
        assert run(folder, server, stdout=out).returncode == 0
    assert (folder / "out").read_text() == "I look.\nHeron.\n"


def test_json_events_mark_discarded_text(folder: Path) -> None:
    with SseServer(*replies()) as server:
        done = run(folder, server, "--output", "stream-json")
    assert done.returncode == 0, done.stderr
    texts: list[str] = []
    for record in map(json.loads, done.stdout.splitlines()):
        data = record["data"]
        match record["type"]:
            case "llm_start":
                texts.append("")
            case "llm_chunk" if data["kind"] == "answer":
                texts[-1] += data["text"]
            case "notice" if data.get("discards_answer"):
                texts.pop()
    assert texts == ["I look.", "Heron."]


def test_a_run_whose_retries_all_fail_exits_with_2_and_prints_the_partial_answer(folder: Path) -> None:
    with SseServer(*(half_call(Reset()) for _ in range(5))) as server:
        done = run(folder, server)
        assert len(server.requests) == 3
    assert done.returncode == 2
    assert done.stdout == f"I will look.\n{RESTART}\n" * 2 + "I will look.\n"
    assert "broke in mid-answer" in done.stderr


def chat(folder: Path, server: SseServer, replies: Sequence[Reply]) -> Terminal:
    server.add(*replies)
    command = [*FORGE, "chat", *FLAGS, server.base_url]
    return Terminal(command, size=(100, 30), folder=folder, is_preloaded=True)


def test_a_chat_replaces_a_broken_answer_in_place(folder: Path) -> None:
    gate = Gate()
    last = Reply([event(chunk("The whole ")), gate, event(chunk("answer.", finish_reason="stop"))])
    broken = Reply([event(chunk("Half an ans")), Reset()])
    with SseServer() as server, chat(folder, server, [broken, last]) as terminal:
        terminal.wait_for("Ask about this folder")
        terminal.send("what is the word?\r")
        terminal.wait_for("The whole")
        assert "Half an ans" not in terminal.text
        terminal.wait_for("Retry 1 of 2.")
        gate.open()
        terminal.wait_for("Retry 1 succeeded.")
        assert "The whole answer." in terminal.text
        terminal.send("\x04")
        assert terminal.wait_for_exit() == 0


def test_a_chat_keeps_a_failed_turn_and_resumes_it_on_enter(folder: Path) -> None:
    broken = Reply([event(chunk("Half an ans")), Reset()])
    turn = [
        tool_answer(CALL, text="I look."),
        broken,
        broken,
        broken,
        broken,
        broken,
        broken,
        answer("Heron."),
    ]
    with SseServer() as server, chat(folder, server, turn) as terminal:
        terminal.wait_for("Ask about this folder")
        terminal.send("what is the word?\r")
        terminal.wait_for(lambda t: "Press Enter or type /retry" in t.text and "Enter send" in t.text)
        assert "Half an ans" in terminal.text
        assert len(server.requests) == 4
        terminal.send("\r")
        terminal.wait_for(
            lambda t: t.text.count("Press Enter or type /retry") == 2 and "Enter send" in t.text
        )
        terminal.send("/retry\r")
        terminal.wait_for(lambda t: "Heron." in t.text and "Enter send" in t.text)  # the turn has ended
        assert "Half an ans" not in terminal.text
        bodies = [seen.json["messages"] for seen in server.requests]
        assert all(body == bodies[1] for body in bodies[2:])
        terminal.send("/retry\r")
        terminal.wait_for("There is nothing to retry")
        assert len(server.requests) == 8
        terminal.send("\x04")
        assert terminal.wait_for_exit() == 0


def test_escape_during_a_retry_wait_ends_the_turn_immediately(folder: Path) -> None:
    error = {"error": {"code": 429, "message": "slow down"}}
    broken = stream(chunk("Half an ans"), {**chunk("", finish_reason="error"), **error})
    again = [broken, error_reply(503, "busy", headers={"Retry-After": "29"}), answer("Heron.")]
    with SseServer() as server, chat(folder, server, again) as terminal:
        terminal.wait_for("Ask about this folder")
        terminal.send("what is the word?\r")
        terminal.wait_for("retry 2 of 2")
        terminal.send("\x1b")
        terminal.wait_for("interrupted")
        terminal.wait_for(lambda t: "Press Enter or type /retry" in t.text and "Enter send" in t.text)
        terminal.send("\r")
        terminal.wait_for("Heron.")
        assert len(server.requests) == 3
        terminal.send("\x04")
        assert terminal.wait_for_exit() == 0


async def test_the_bill_of_a_broken_answer_replaces_its_estimate(tmp_path: Path) -> None:
    broken = Reply([event(chunk("Once upon a time")), Reset()], headers={"X-Generation-Id": "gen-1"})
    routes = {"GET /generation": json_reply({"data": BILL})}
    with SseServer(broken, answer("The end."), routes=routes) as server:
        session = session_at(tmp_path, server)
        events = [found async for found in session.send("tell me a story")]
        usage = await until_counted(session)
        await session.aclose()
    first, second = [found for found in events if isinstance(found, LLMEnd)]
    assert any(isinstance(found, Retry) for found in events)
    assert (first.usage.estimated, second.usage.estimated) == (True, False)
    assert usage.prompt_tokens == 500 + second.usage.prompt_tokens
    assert usage.cost_usd == Decimal("0.0375") + (second.cost_usd or 0)
