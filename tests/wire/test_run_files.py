"""`forge run` as a program: the files of --output-dir, --hermetic, and sessions that continue."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.support.sse_server import SseServer, answer, tool_answer
from tests.wire.test_run_program import at, forge

pytestmark = [pytest.mark.network_server, pytest.mark.slow]

KEY = "Zq7+wV/2mN9xKp4tRb8yLc3d"


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def test_the_output_folder_holds_events_result_cost_patch_and_settings(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("one\ntwo\n")
    call = tool_answer(("c1", "edit", {"file_path": "a.txt", "old_string": "two", "new_string": "2"}))
    with SseServer(call, answer("Done, ", KEY)) as server:
        arguments = at(server, "go", "--output-dir", "../out", "--permission-mode", "accept-edits")
        done = forge(*arguments, cwd=work, FORGE_API_KEY=KEY)
    out = tmp_path / "out"
    assert done.returncode == 0, done.stderr
    assert {path.name for path in out.iterdir()} == {
        "events.jsonl",
        "result.json",
        "cost.json",
        "changes.patch",
        "config.json",
    }
    events = [json.loads(line) for line in (out / "events.jsonl").read_text().splitlines()]
    assert (events[0]["type"], events[-1]["type"]) == ("llm_start", "agent_end")
    result = read(out / "result.json")
    assert (result["output"], result["stopped_reason"]) == ("Done, [redacted]", "complete")
    cost = read(out / "cost.json")
    assert cost["total"]["prompt_tokens"] == sum(one["prompt_tokens"] for one in cost["models"].values()) > 0
    assert "-two\n+2\n" in (out / "changes.patch").read_text()
    settings = read(out / "config.json")["settings"]
    assert settings["permission_mode"] == {"value": "accept-edits", "from": "flag"}
    assert all(KEY not in path.read_text() for path in out.iterdir())


def test_a_patch_of_the_output_folder_applies_to_what_was_there_before(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("one\ntwo\n")
    call = tool_answer(
        ("c1", "edit", {"file_path": "a.txt", "old_string": "two", "new_string": "2"}),
        ("c2", "write", {"file_path": "new file.txt", "content": "new\n"}),
    )
    with SseServer(call, answer("Done")) as server:
        arguments = at(server, "go", "--output-dir", "../out", "--permission-mode", "accept-edits")
        assert forge(*arguments, cwd=work).returncode == 0
    import subprocess

    before = tmp_path / "before"
    before.mkdir()
    (before / "a.txt").write_text("one\ntwo\n")
    subprocess.run(["git", "apply", str(tmp_path / "out" / "changes.patch")], cwd=before, check=True)
    assert (before / "a.txt").read_text() == "one\n2\n"
    assert (before / "new file.txt").read_text() == "new\n"


def test_an_output_folder_of_another_run_is_refused_before_a_request(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "result.json").write_text("{}")
    with SseServer(answer("no")) as server:
        done = forge(*at(server, "go", "--output-dir", "out"), cwd=tmp_path)
        assert server.requests == []
    assert done.returncode == 1
    assert "already holds 'result.json'" in done.stderr
    assert (tmp_path / "out" / "result.json").read_text() == "{}"


def test_a_hermetic_run_ignores_the_users_settings(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "config").mkdir(parents=True)
    (home / "config" / "config.toml").write_text('deny = ["read(*)"]\n')
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("the word is heron\n")
    call = tool_answer(("c1", "read", {"file_path": "a.txt"}))
    for flags, is_read in ((), False), (("--hermetic",), True):
        with SseServer(call, answer("ok")) as server:
            done = forge(*at(server, "go", *flags), cwd=work, FORGE_HOME=str(home))
            assert done.returncode in (0, 3)
            sent = server.requests[1].json["messages"][-1]["content"]
        assert ("heron" in sent) is is_read


def test_a_run_continues_the_last_session_or_a_copy_of_it(tmp_path: Path) -> None:
    env = {"FORGE_HOME": str(tmp_path / "home")}
    with SseServer(answer("one"), answer("two"), answer("three"), answer("four")) as server:
        assert forge(*at(server, "first"), cwd=tmp_path, **env).returncode == 0
        assert forge(*at(server, "second", "--continue"), cwd=tmp_path, **env).returncode == 0
        assert forge(*at(server, "third", "-c", "--fork"), cwd=tmp_path, **env).returncode == 0
        listed = json.loads(forge("sessions", "list", "--json", cwd=tmp_path, **env).stdout)
        fork, whole = listed
        done = forge(*at(server, "fourth", "--resume", whole["id"]), cwd=tmp_path, **env)
        assert done.returncode == 0, done.stderr
        sent = [
            [message["content"] for message in seen.json["messages"] if message["role"] == "user"]
            for seen in server.requests
        ]
    assert sent == [
        ["first"],
        ["first", "second"],
        ["first", "second", "third"],
        ["first", "second", "fourth"],
    ]
    assert (whole["turns"], fork["turns"], fork["parent"]) == (2, 3, whole["id"])


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--continue",), "There is no saved session of"),
        (("--resume", "20200101-000000-000000"), "There is no session '20200101-000000-000000'"),
        (("--fork",), "--fork needs a session"),
    ],
)
def test_a_session_that_does_not_exist_is_an_error(
    tmp_path: Path, flags: tuple[str, ...], words: str
) -> None:
    with SseServer(answer("no")) as server:
        done = forge(*at(server, "go", *flags), cwd=tmp_path, FORGE_HOME=str(tmp_path / "home"))
        assert server.requests == []
    assert done.returncode == 1
    assert words in done.stderr


def test_the_cost_of_a_continued_session_is_the_sum_over_all_runs(tmp_path: Path) -> None:
    env = {"FORGE_HOME": str(tmp_path / "home")}
    with SseServer(answer("one"), answer("two"), answer("three")) as server:
        for number, flags in enumerate(((), ("-c",), ("-c",))):
            arguments = at(server, "go", "--output-dir", f"out{number}", *flags)
            assert forge(*arguments, cwd=tmp_path, **env).returncode == 0
    totals = [read(tmp_path / f"out{number}" / "cost.json")["total"] for number in range(3)]
    first, _, last = totals
    assert last["prompt_tokens"] == 3 * first["prompt_tokens"]
    assert Decimal(last["cost_usd"]) == 3 * Decimal(first["cost_usd"])
