"""`forge run` as a program of its own: real arguments, real HTTP on loopback, real signals and exit codes."""

from __future__ import annotations

import array
import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support import preloaded
from tests.support.sse_server import (
    PROCESSING,
    Cut,
    Gate,
    Reply,
    SseServer,
    Stall,
    answer,
    chunk,
    error_reply,
    event,
    stream,
    tool_answer,
)

pytestmark = pytest.mark.network_server


FORGE = [sys.executable, "-m", "forge_tui.cli"]
KEY = "sk-or-v1-canary0123456789"


def forge(*arguments: str, cwd: Path, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    return preloaded.run([*FORGE, *arguments], cwd=cwd, stdin_text=stdin, env={**os.environ, **env})


def at(server: SseServer, *arguments: str) -> list[str]:
    return ["run", *arguments, "--base-url", server.base_url, "--model", "test/model"]


def test_stdout_contains_only_the_answer(tmp_path: Path) -> None:
    environment = {**os.environ, "OPENROUTER_API_KEY": KEY, "OPENAI_API_KEY": KEY}
    with SseServer(Reply([PROCESSING, *answer("Hello ", "there").steps])) as server:
        done = subprocess.run(  # with the imports, which must print nothing
            [*FORGE, *at(server, "hi")], cwd=tmp_path, capture_output=True, text=True, env=environment
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, "Hello there\n", "")
    assert "authorization" not in server.requests[0].headers
    assert [tool["function"]["name"] for tool in server.requests[0].json["tools"]]


@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
def test_keys_of_any_form_are_redacted_in_what_is_printed(output: str, tmp_path: Path) -> None:
    key = "Zq7+wV/2mN9xKp4tRb8yLc3d"
    for reply in (answer("The key is ", key[:9], key[9:], "."), error_reply(400, f"bad key {key}")):
        with SseServer(reply) as server:
            done = forge(*at(server, "hi", "--output", output), cwd=tmp_path, OPENAI_API_KEY=key)
        assert key not in done.stdout + done.stderr
        assert "[redacted]" in done.stdout + done.stderr
    done = forge("run", "hi", "-C", f"no-{key}", cwd=tmp_path, OPENAI_API_KEY=key)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no-[redacted]" in done.stderr


def test_the_custom_endpoint_key_is_sent_there_and_announced(tmp_path: Path) -> None:
    with SseServer(answer("Hello")) as server:
        done = forge(*at(server, "hi"), cwd=tmp_path, OPENROUTER_API_KEY="sk-other", FORGE_API_KEY=KEY)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert done.stderr == f"The API key in FORGE_API_KEY is sent to {server.base_url}.\n"


@pytest.mark.parametrize(
    ("environment", "advice"),
    [
        ({"OPENROUTER_API_KEY": KEY}, "No API key was sent. Set FORGE_API_KEY."),
        ({"OPENROUTER_API_KEY": KEY, "FORGE_API_KEY": KEY}, "Check the key in FORGE_API_KEY."),
    ],
)
def test_a_401_names_the_variable_that_was_used(
    tmp_path: Path, environment: dict[str, str], advice: str
) -> None:
    with SseServer(error_reply(401, "who are you")) as server:
        done = forge(*at(server, "hi"), cwd=tmp_path, **environment)
    assert f"(401): who are you. {advice}" in done.stderr


def test_a_fragmented_tool_call_reads_the_real_file(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("the secret word is heron\n")
    with SseServer(tool_answer(("c1", "read", {"file_path": "notes.txt"})), answer("It is heron.")) as server:
        done = forge(*at(server, "what is the word?", "--output", "json"), cwd=tmp_path)
        messages = server.requests[1].json["messages"]
    assert done.returncode == 0, done.stderr
    assert "heron" in messages[-1]["content"]
    result = json.loads(done.stdout)
    assert result["output"] == "It is heron."
    assert result["usage"]["prompt_tokens"] == 24
    assert float(result["usage"]["cost_usd"]) == pytest.approx(2 * 0.000123)
    assert result["tool_calls"][0]["name"] == "read"


def test_stream_json_contains_every_event_with_agent_end_last(tmp_path: Path) -> None:
    with SseServer(answer("one ", "two")) as server:
        done = forge(*at(server, "hi", "--output", "stream-json"), cwd=tmp_path)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert {record["v"] for record in records} == {1}
    assert records[0]["type"] == "llm_start"
    assert records[-1]["type"] == "agent_end"
    text = "".join(r["data"]["text"] for r in records if r["type"] == "llm_chunk")
    assert text == "one two"


def write_call(path: str) -> Reply:
    return tool_answer(("c1", "write", {"file_path": path, "content": "x = 1\n"}))


def test_a_call_that_would_ask_is_denied_reported_to_the_model_and_exits_with_3(tmp_path: Path) -> None:
    with SseServer(write_call("new.py"), answer("I could not write it.")) as server:
        done = forge(*at(server, "write it"), cwd=tmp_path)
        told = server.requests[1].json["messages"][-1]["content"]
    assert done.returncode == 3
    assert not (tmp_path / "new.py").exists()
    assert told.startswith("Error:")
    assert "denied" in done.stderr


@pytest.mark.parametrize("flags", [["--allow", "write(*)"], ["--permission-mode", "accept-edits"]])
def test_an_allow_rule_or_mode_permits_writing(tmp_path: Path, flags: list[str]) -> None:
    with SseServer(write_call("new.py"), answer("Done.")) as server:
        done = forge(*at(server, "write it", *flags), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "new.py").read_text() == "x = 1\n"


IMPORTING = """
import signal, sys

class Signals:
    def __set_name__(self, owner, name):
        signal.raise_signal(signal.SIGINT)

class Hook:
    def find_spec(self, name, path=None, target=None):
        if name == "langchain_core":
            type("Imported", (), {"attribute": Signals()})

sys.meta_path.insert(0, Hook())
from forge_tui.cli import main
sys.exit(main(["run", "hi", "--model", "offline"]))
"""


def test_ctrl_c_while_loading_exits_with_4(tmp_path: Path) -> None:
    """In the middle of making a class a KeyboardInterrupt becomes another exception."""
    done = subprocess.run([sys.executable, "-c", IMPORTING], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (4, "", "")


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (error_reply(401, "No auth credentials found"), "No auth credentials found"),
        (error_reply(402, "Insufficient credits"), "Insufficient credits"),
        (error_reply(404, "No endpoints found for test/model"), "No endpoints found"),
        (Reply([b"data: {not json\n\n"]), ""),
    ],
)
def test_a_provider_error_is_quoted_and_exits_with_2(tmp_path: Path, reply: Reply, words: str) -> None:
    with SseServer(reply) as server:
        done = forge(*at(server, "hi"), cwd=tmp_path, FORGE_API_KEY=KEY)
    assert done.returncode == 2
    assert words in done.stderr
    assert KEY not in done.stdout + done.stderr


def test_a_mid_stream_error_keeps_the_text_and_exits_with_2(tmp_path: Path) -> None:
    broken = {**chunk("", finish_reason="error"), "error": {"code": 502, "message": "upstream died"}}
    with SseServer(stream(chunk("so far"), broken)) as server:
        done = forge(*at(server, "hi"), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "so far\n")
    assert "upstream died" in done.stderr


def test_a_cut_stream_is_an_error_and_not_an_answer(tmp_path: Path) -> None:
    with SseServer(Reply([event(chunk("half")), Cut()], framing="close")) as server:
        done = forge(*at(server, "hi"), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "half\n")


def test_a_refused_connection_is_reported_without_hanging(tmp_path: Path) -> None:
    done = forge(
        "run",
        "hi",
        "--base-url",
        "http://127.0.0.1:9/v1",
        "--model",
        "m",
        cwd=tmp_path,
        FORGE_MAX_RETRIES="0",
    )
    assert done.returncode == 2
    assert "127.0.0.1:9" in done.stderr


@contextmanager
def start(server: SseServer, cwd: Path) -> Iterator[subprocess.Popen[str]]:
    with preloaded.PreloadedPopen(
        [*FORGE, *at(server, "hi")],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        try:
            yield running
        finally:
            running.kill()


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 4), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131)],
)
def test_a_signal_ends_the_run_cleanly_with_its_exit_code(
    tmp_path: Path, number: signal.Signals, code: int, _own_home: Path
) -> None:
    gate = Gate()
    with (
        SseServer(Reply([event(chunk("partial ")), gate, Stall()])) as server,
        start(server, tmp_path) as running,
    ):
        assert gate.reached.wait(60)
        gate.open()
        assert running.stdout is not None
        assert running.stdout.read(8) == "partial "
        running.send_signal(number)
        running.communicate(timeout=180)
        assert server.requests[0].hung_up.wait(30)
    assert running.returncode == code
    journals = list((_own_home / "forge" / "state" / "sessions").glob("*.jsonl"))
    assert len(journals) == 1
    records: list[Any] = [json.loads(line) for line in journals[0].read_text().splitlines()]
    assert records[-1]["type"] in ("agent_end", "message", "budget")
    assert any(
        r["type"] == "agent_end" and r["data"]["result"]["stopped_reason"] == "cancelled" for r in records
    )


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 4), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_run_whose_output_is_not_read(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    gate = Gate()
    fat = [event(chunk("line\n" * 2000)) for _ in range(100)]
    with SseServer(Reply([fat[0], gate, *fat, Stall()])) as server, start(server, tmp_path) as running:
        assert gate.reached.wait(60)
        gate.open()
        assert running.stdout is not None
        waiting = array.array("i", [0])
        while waiting[0] < 60_000:  # of the 65,536 that a pipe holds
            time.sleep(0.01)
            fcntl.ioctl(running.stdout, termios.FIONREAD, waiting)
        running.send_signal(number)
        assert running.wait(60) == code


def test_a_closed_stdout_pipe_causes_no_traceback(tmp_path: Path) -> None:
    with SseServer(answer(*["line\n" * 2000] * 20)) as server, start(server, tmp_path) as running:
        assert running.stdout is not None and running.stderr is not None
        running.stdout.read(10)
        running.stdout.close()
        errors = running.stderr.read()
        running.stderr.close()
        running.wait(60)
    assert running.returncode == 141
    assert "Traceback" not in errors


def test_without_key_and_network_the_offline_model_works_on_the_real_folder(tmp_path: Path) -> None:
    (tmp_path / "greet.py").write_text("def greet(name):\n    return f'hello {name}'\n")
    done = forge("run", "find the function greet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "greet.py:1" in done.stdout
    assert "offline" in done.stdout.lower()


def test_usage_errors_are_one_line_and_exit_with_1(tmp_path: Path) -> None:
    for arguments, words in [
        (["run", "hi", "-C", str(tmp_path / "gone")], "does not exist"),
        (["run", "hi", "--model", "x/y"], "OPENROUTER_API_KEY"),
        (["run", "hi", "--allow", "bash("], "bash("),
        (["run"], "empty"),
    ]:
        done = forge(*arguments, cwd=tmp_path)
        assert done.returncode == 1, (arguments, done.stderr)
        assert words in done.stderr
        assert "Traceback" not in done.stderr
        assert done.stdout == ""


def test_chat_without_a_terminal_refers_to_forge_run(tmp_path: Path) -> None:
    done = forge("chat", cwd=tmp_path)
    assert done.returncode == 1
    assert "forge run" in done.stderr


def test_no_api_key_reaches_the_journal_or_the_log(tmp_path: Path, _own_home: Path) -> None:
    with SseServer(answer("ok")) as server:
        forge(*at(server, "hi"), cwd=tmp_path, FORGE_API_KEY=KEY)
    found = [
        path for path in _own_home.rglob("*") if path.is_file() and KEY in path.read_text(errors="replace")
    ]
    assert found == []
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in _own_home.rglob("*.jsonl")}
    assert set(modes.values()) == {"0o600"}


def test_a_broken_call_is_sent_back_as_valid_json(tmp_path: Path) -> None:
    with SseServer(tool_answer(("c1", "read", '{"file_path": ')), answer("Once more.")) as server:
        done = forge(*at(server, "read it"), cwd=tmp_path)
        history = server.requests[1].json["messages"]
    assert done.returncode == 0
    (call,) = history[-2]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {}
    assert history[-1]["content"].startswith("Error:")


def test_an_empty_answer_is_reported_on_stderr(tmp_path: Path) -> None:
    with SseServer(answer("")) as server:
        done = forge(*at(server, "hi"), cwd=tmp_path)
    assert (done.stdout.strip(), "empty answer" in done.stderr) == ("", True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here to play a full disk")
def test_an_unwritable_output_gives_a_one_line_error_and_exit_code_2(tmp_path: Path) -> None:
    for output in ("text", "json", "stream-json"):
        with SseServer(answer("hello")) as server, Path("/dev/full").open("w") as full:
            command = [*FORGE, *at(server, "hi", "--output", output)]
            done = preloaded.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=full)
        assert done.returncode == 2
        assert "cannot be written" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_closed_standard_output_is_reported(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m forge_tui.cli run hi >&-"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert "closed" in done.stderr
