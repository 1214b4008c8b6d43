"""`forge run` for other programs: answers that match a JSON schema, and turns driven by JSON lines."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.preloaded import PreloadedPopen
from tests.support.sse_server import Reply, SseServer, Stall, answer, chunk, event, tool_answer
from tests.wire.test_run_program import FORGE, at, forge

pytestmark = [pytest.mark.network_server, pytest.mark.slow]

SCHEMA = {
    "type": "object",
    "properties": {"count": {"type": "integer", "minimum": 0}},
    "required": ["count"],
    "additionalProperties": False,
}


def schema_in(folder: Path) -> str:
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    return "schema.json"


@pytest.mark.parametrize("text", ['{"count": 3}', 'Here it is:\n```json\n{"count": 3}\n```\n'])
@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
def test_an_answer_that_matches_is_printed_as_its_value(tmp_path: Path, output: str, text: str) -> None:
    with SseServer(answer(text)) as server:
        arguments = at(server, "count", "--json-schema", schema_in(tmp_path), "--output", output)
        done = forge(*arguments, cwd=tmp_path)
        sent = server.requests[0].json["messages"][-1]["content"]
    assert done.returncode == 0, done.stderr
    assert json.dumps(SCHEMA) in sent
    last = json.loads(done.stdout.splitlines()[-1])
    value = {"text": last, "json": last.get("structured"), "stream-json": last.get("data", {}).get("value")}
    assert value[output] == {"count": 3}
    assert len(done.stdout.splitlines()) == 1 or output == "stream-json"


def test_one_repair_is_asked_for(tmp_path: Path) -> None:
    with SseServer(answer('{"count": -1}'), answer('{"count": 1}')) as server:
        done = forge(*at(server, "count", "--json-schema", schema_in(tmp_path)), cwd=tmp_path)
        sent = server.requests[1].json["messages"][-1]["content"]
    assert (done.returncode, json.loads(done.stdout)) == (0, {"count": 1})
    assert "count: -1 is less than the minimum of 0" in sent
    assert "asking once more" in done.stderr


def test_a_second_answer_that_does_not_match_ends_with_3(tmp_path: Path) -> None:
    with SseServer(answer("no idea"), answer("[]")) as server:
        done = forge(*at(server, "count", "--json-schema", json.dumps(SCHEMA)), cwd=tmp_path)
        assert len(server.requests) == 2
    assert (done.returncode, done.stdout) == (3, "")
    assert "[] is not of type 'object'" in done.stderr


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("missing.json", "cannot be read"),
        ('{"type": 5}', "no valid JSON schema"),
        ('{"type": "object"', "not valid JSON"),
    ],
)
def test_an_unusable_schema_is_an_error_before_a_request(tmp_path: Path, schema: str, words: str) -> None:
    with SseServer(answer("no")) as server:
        done = forge(*at(server, "count", "--json-schema", schema), cwd=tmp_path)
        assert server.requests == []
    assert done.returncode == 1
    assert words in done.stderr


def test_a_reference_to_another_document_is_never_fetched(tmp_path: Path) -> None:
    with SseServer(answer("1"), answer("1")) as server:
        schema = json.dumps({"$ref": f"{server.base_url}/schema.json"})
        done = forge(*at(server, "count", "--json-schema", schema), cwd=tmp_path)
        assert {seen.path for seen in server.requests} == {"/api/v1/chat/completions"}
    assert done.returncode == 3
    assert "reference that cannot be used" in done.stderr


class Driver:
    """A driver of `forge run --input stream-json`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.records: list[dict[str, Any]] = []

    def send(self, **message: Any) -> None:
        self.send_line(json.dumps(message))

    def send_line(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def until(self, kind: str) -> dict[str, Any]:
        """Read records up to the next one of this type, and return its data."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.records.append(json.loads(line))
            if self.records[-1]["type"] == kind:
                return dict(self.records[-1]["data"])
        raise AssertionError(f"no {kind} came: {self.records[-3:]} {self.process.stderr}")

    def end(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.stdout is not None
        self.records += [json.loads(line) for line in self.process.stdout]
        return self.process.wait(60)


@contextmanager
def driven(server: SseServer, folder: Path, *flags: str) -> Iterator[Driver]:
    arguments = at(server, "--input", "stream-json", "--output", "stream-json", *flags)
    with PreloadedPopen(
        [*FORGE, *arguments],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Driver(process)
        finally:
            process.kill()


def test_several_turns_run_in_one_session(tmp_path: Path) -> None:
    with SseServer(answer("one"), answer("two")) as server, driven(server, tmp_path) as driver:
        assert driver.until("ready")["model"] == "test/model"
        driver.send(type="user", text="first")
        assert driver.until("agent_end")["result"]["output"] == "one"
        driver.send(type="user", text="second")
        assert driver.end() == 0
        assert driver.records[-1]["data"]["result"]["output"] == "two"
        sent = server.requests[1].json["messages"]
    assert [one["content"] for one in sent if one["role"] == "user"] == ["first", "second"]


def test_messages_that_wait_are_answered_after_the_end_of_the_input(tmp_path: Path) -> None:
    with SseServer(answer("one"), answer("two")) as server, driven(server, tmp_path) as driver:
        driver.send(type="user", text="first")
        driver.send(type="user", text="second")
        assert driver.end() == 0
    ends = [one for one in driver.records if one["type"] == "agent_end"]
    assert [one["data"]["result"]["output"] for one in ends] == ["one", "two"]


@pytest.mark.parametrize(("reply", "is_written"), [("once", True), ("no", False)])
def test_permission_is_asked_of_the_driver(tmp_path: Path, reply: str, is_written: bool) -> None:
    call = tool_answer(("c1", "write", {"file_path": "a.txt", "content": "x"}))
    with SseServer(call, answer("ok")) as server, driven(server, tmp_path) as driver:
        driver.send(type="user", text="write it")
        request = driver.until("permission_request")
        assert (request["tool"], request["target"], request["call_id"]) == ("write", "a.txt", "c1")
        driver.send(type="permission", id=request["id"], answer=reply, reason="not now")
        driver.until("agent_end")
        driver.end()
        told = server.requests[1].json["messages"][-1]["content"]
    assert (tmp_path / "a.txt").exists() is is_written
    assert ("not now" in told) is not is_written


def test_a_steering_message_enters_the_running_turn_else_it_starts_the_next_one(tmp_path: Path) -> None:
    call = tool_answer(("c1", "write", {"file_path": "a.txt", "content": "x"}))
    asks = tool_answer(("c2", "write", {"file_path": "b.txt", "content": "x"}))
    with (
        SseServer(call, answer("ok"), asks, answer("next")) as server,
        driven(server, tmp_path) as driver,
    ):
        driver.send(type="user", text="write it")
        request = driver.until("permission_request")
        driver.send(type="user", text="and stop there", steer=True)
        driver.send(type="permission", id=request["id"], answer="once")
        assert driver.until("steered")["text"] == "and stop there"
        driver.until("agent_end")
        driver.send(type="user", text="once more")
        driver.until("permission_request")
        driver.send(type="user", text="after all", steer=True)
        driver.send(type="interrupt")
        assert driver.until("agent_end")["result"]["stopped_reason"] == "cancelled"
        assert driver.until("agent_end")["result"]["output"] == "next"
        assert driver.end() == 0
        steered, last = (server.requests[at].json["messages"] for at in (1, 3))
    assert [one["role"] for one in steered[-2:]] == ["tool", "user"]
    assert steered[-1]["content"] == "and stop there"
    assert last[-1]["content"] == "after all"


def test_questions_are_asked_of_the_driver(tmp_path: Path) -> None:
    question = {"question": "Which?", "header": "Pick", "options": [{"label": "A"}, {"label": "B"}]}
    call = tool_answer(("c1", "ask_user", {"questions": [question]}))
    with SseServer(call, answer("ok")) as server, driven(server, tmp_path) as driver:
        driver.send(type="user", text="ask me")
        request = driver.until("question_request")
        driver.send(type="answers", id=request["id"], answers=[["B"]])
        driver.until("agent_end")
        driver.end()
        told = server.requests[1].json["messages"][-1]["content"]
    assert "B" in told


@pytest.mark.parametrize(("reply", "mode"), [("accept_edits", "accept-edits"), ("keep_planning", "plan")])
def test_plans_are_decided_by_the_driver(tmp_path: Path, reply: str, mode: str) -> None:
    call = tool_answer(("c1", "exit_plan_mode", {"plan": "# Goal"}))
    with (
        SseServer(call, answer("ok")) as server,
        driven(server, tmp_path, "--permission-mode", "plan") as driver,
    ):
        driver.send(type="user", text="plan it")
        request = driver.until("plan_request")
        assert (request["plan"], request["mode"], request["call_id"]) == ("# Goal", "ask", "c1")
        driver.send(type="plan", id=request["id"], answer="yes")
        assert "accept_edits" in driver.until("input_error")["error"]
        driver.send(type="plan", id=request["id"], answer=reply, feedback="test first")
        driver.until("agent_end")
        driver.end()
        told = server.requests[1].json["messages"][-1]["content"]
    assert (f"mode is {mode} now" in told) is (mode != "plan")
    assert ("test first" in told) is (mode == "plan")


def test_an_interrupt_ends_the_turn_and_the_next_one_runs(tmp_path: Path) -> None:
    with (
        SseServer(Reply([event(chunk("partial ")), Stall()]), answer("two")) as server,
        driven(server, tmp_path) as driver,
    ):
        driver.send(type="user", text="first")
        driver.until("llm_chunk")
        driver.send(type="interrupt")
        assert driver.until("agent_end")["result"]["stopped_reason"] == "cancelled"
        driver.send(type="user", text="second")
        assert driver.until("agent_end")["result"]["output"] == "two"
        assert driver.end() == 0


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "not a line of JSON"),
        ("[]", "must be a JSON object"),
        ('{"type": "nonsense"}', "unknown type 'nonsense'"),
        ('{"type": "user", "text": " "}', "not empty"),
        ('{"type": "permission", "id": "r9", "answer": "once"}', "no request 'r9' is waiting"),
    ],
)
def test_a_bad_line_is_reported_and_the_run_goes_on(tmp_path: Path, line: str, words: str) -> None:
    with SseServer(answer("one")) as server, driven(server, tmp_path) as driver:
        driver.send_line(line)
        assert words in driver.until("input_error")["error"]
        driver.send(type="user", text="first")
        assert driver.until("agent_end")["result"]["output"] == "one"
        assert driver.end() == 0


def test_a_wrong_reply_is_reported_and_the_request_waits_on(tmp_path: Path) -> None:
    call = tool_answer(("c1", "write", {"file_path": "a.txt", "content": "x"}))
    with SseServer(call, answer("ok")) as server, driven(server, tmp_path) as driver:
        driver.send(type="user", text="write it")
        request = driver.until("permission_request")
        driver.send(type="permission", id=request["id"], answer="maybe")
        assert "must be one of once, session, always, no" in driver.until("input_error")["error"]
        driver.send(type="answers", id=request["id"], answers=[["x"]])
        assert "permission" in driver.until("input_error")["error"]
        driver.send(type="permission", id=request["id"], answer="once")
        driver.until("agent_end")
        assert driver.end() == 0
    assert (tmp_path / "a.txt").exists()


def test_requests_are_denied_when_the_input_has_ended(tmp_path: Path) -> None:
    call = tool_answer(("c1", "write", {"file_path": "a.txt", "content": "x"}))
    with SseServer(call, answer("ok")) as server, driven(server, tmp_path) as driver:
        driver.send(type="user", text="write it")
        driver.until("permission_request")
        assert driver.end() == 3
    assert not (tmp_path / "a.txt").exists()


def test_a_signal_ends_a_driver_that_waits_for_input(tmp_path: Path) -> None:
    with SseServer() as server, driven(server, tmp_path) as driver:
        driver.until("ready")
        driver.process.send_signal(signal.SIGTERM)
        assert driver.process.wait(30) == 143


def test_the_flags_of_a_driven_run_are_checked(tmp_path: Path) -> None:
    with SseServer() as server:
        done = forge(*at(server, "--input", "stream-json"), cwd=tmp_path)
    assert done.returncode == 1
    assert "--output stream-json" in done.stderr


def test_a_signal_starts_no_turn_with_what_a_turn_has_left(tmp_path: Path) -> None:
    asks = [tool_answer((f"c{at}", "write", {"file_path": f"{at}.txt", "content": "x"})) for at in range(2)]
    with SseServer(*asks, answer("never")) as server, driven(server, tmp_path) as driver:
        driver.send(type="user", text="write it")
        driver.until("permission_request")
        driver.send(type="user", text="one", steer=True)
        driver.send(type="user", text="two", steer=True)
        driver.send(type="interrupt")
        driver.until("agent_end")
        driver.until("permission_request")  # of the turn that the first one has begun
        driver.process.send_signal(signal.SIGTERM)
        assert driver.end() == 143
        assert len(server.requests) == 2
