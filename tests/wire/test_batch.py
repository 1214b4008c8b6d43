"""`forge batch` with real processes: the offline model, and providers that fail by a script."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from forge_core.batch.batch_command import run_batch
from forge_core.batch.driver import BatchOptions
from forge_core.batch.local_engine import LocalEngine
from forge_core.batch.task_file import read_tasks
from forge_core.errors import ConfigError
from forge_core.runtime import load_session_config
from tests.support.batches import BatchFolder, at, without_request_retries
from tests.support.copied_program import CopiedProgram
from tests.support.sse_server import (
    MODEL,
    USAGE,
    Gate,
    Reply,
    Seen,
    SseServer,
    answer,
    error_reply,
    tool_answer,
)

pytestmark = [
    pytest.mark.network_server,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="copies are forked with pidfds and subreapers"),
]

POST = "POST /chat/completions"
COST = Decimal(str(USAGE["cost"]))


@pytest.fixture
def folder(tmp_path: Path) -> BatchFolder:
    return BatchFolder.make(tmp_path / "batch")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    """The argument vector of `forge`, for tasks."""
    with CopiedProgram(tmp_path_factory.mktemp("program")) as copied:
        yield copied.argv


@pytest.fixture
def run(folder: BatchFolder, program: tuple[str, ...]) -> Callable[..., int]:
    """Runs a batch in this process; its tasks are programs."""

    def run_with(**options: Any) -> int:
        batch = BatchOptions(out=folder.out, **{"retry_wait_s": 0.0, **options})
        config = load_session_config(folder.path)
        return run_batch(read_tasks(folder.tasks), batch, config, LocalEngine(program, config))

    return run_with


def by_prompt(replies: dict[str, list[Reply]]) -> Callable[[Seen], Reply]:
    """Answer each request by the word of `replies` that is in its last message: the first reply that is left;
    the last one stays."""

    def choose(seen: Seen) -> Reply:
        prompt = json.dumps(seen.json["messages"][-1])
        found = next(rest for word, rest in replies.items() if word in prompt)
        return found.pop(0) if len(found) > 1 else found[0]

    return choose


def test_tasks_change_their_own_worktrees_and_are_verified(
    folder: BatchFolder, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    replace = "replace Hello by {{word}} in greeting.py"
    folder.write(
        [
            {
                "id": "good",
                "prompt": replace,
                "vars": {"word": "Welcome"},
                "verify": "grep Welcome greeting.py",
            },
            {"id": "bad", "prompt": "create new.md with 'first line'", "verify": "grep Welcome greeting.py"},
            {"id": "no-ref", "prompt": "read greeting.py", "ref": "v1"},
        ],
        model="offline",
        permission_mode="accept-edits",
    )
    # A module of the repository is not imported by the programs.
    (folder.repo / "json.py").write_text("raise SystemExit('imported')")
    assert run() == 3
    rows = folder.rows()
    assert {name: (row["status"], row["verify"]) for name, row in rows.items()} == {
        "good": ("complete", "passed"), "bad": ("complete", "failed"), "no-ref": ("failed", ""),
    }  # fmt: skip
    assert (rows["good"]["added"], rows["good"]["removed"], rows["bad"]["added"]) == (1, 1, 1)
    assert "+Welcome" in (folder.out / "tasks/good/diff.patch").read_text()
    assert "b/new.md" in (folder.out / "tasks/bad/diff.patch").read_text()
    assert (folder.out / "tasks/good/verify.log").read_text() == "Welcome\n"
    assert "has no commit 'v1'" in rows["no-ref"]["error"]
    result = json.loads((folder.out / "tasks/good/result.json").read_text())
    assert "Replaced `Hello`" in result["answer"] and "greeting.py" in result["kept_because"]
    assert (folder.repo / "greeting.py").read_text() == "Hello\n" and not folder.lost_worktrees()
    shown = capsys.readouterr().out
    assert "good  complete  verify passed" in shown and "1 of 3 complete, 1 not verified, 1 failed" in shown
    assert rows["good"]["worktrees"][0] in shown

    before = folder.log()
    # The line of the call: nothing was started.
    assert run() == 3 and len(folder.log()) == len(before) + 1
    assert "names no model" not in capsys.readouterr().err
    folder.write([{"id": "bad", "prompt": "create Welcome.md with 'x'"}], permission_mode="plan")
    run()
    shown = capsys.readouterr().err
    assert "1 task names no model and runs on the built-in offline model, which is no AI\n" in shown
    assert [one["attempt"] for one in folder.log() if one["type"] == "start" and one["id"] == "bad"] == [1, 2]
    assert (folder.out / "tasks/bad/attempt-1/diff.patch").is_file()


def test_failures_of_the_provider_are_retried_and_other_ends_on_request(
    folder: BatchFolder, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    without_request_retries()
    replies = {
        "limited": [error_reply(429, "slow down"), answer("done")],
        "failing": [error_reply(500, "oops"), error_reply(500, "oops"), answer("done")],
        "refused": [answer("", finish_reason="content_filter"), answer("done")],
    }
    with SseServer(routes={POST: by_prompt(replies)}) as server:
        folder.write([{"id": word, "prompt": f"{word} task"} for word in replies], **at(server.base_url))
        assert run(retries=1, parallel=4) == 3
        assert "limits the rate of requests: at most 2 tasks run at once" in capsys.readouterr().out
        rows = folder.rows()
        assert {name: (row["status"], row["attempts"]) for name, row in rows.items()} == {
            "limited": ("complete", 2),
            "failing": ("error", 2),
            "refused": ("unfinished", 1),
        }
        assert folder.ends() == dict.fromkeys(replies, 1) and len(server.requests) == 5
        assert "oops" in rows["failing"]["error"] and rows["limited"]["cost_usd"] == f"{COST:f}"
        assert (folder.out / "tasks/failing/attempt-1/events.jsonl").is_file()

        assert run() == 3 and len(server.requests) == 5
        assert run(retry_failed=True) == 0 and len(server.requests) == 7
    assert {name: row["attempts"] for name, row in folder.rows().items()} == {
        "limited": 2, "failing": 3, "refused": 2,
    }  # fmt: skip
    assert folder.ends() == {"limited": 1, "failing": 2, "refused": 2}


BREAKERS = {
    "key": (error_reply(401, "bad key"), "the API key was not accepted"),
    "credit": (error_reply(402, "no credit"), "there is no credit, or a quota"),
    "model": (error_reply(404, "no such model"), "the model is unknown"),
    "quota": (
        error_reply(429, "used up", metadata={"error_type": "insufficient_quota"}),
        "there is no credit, or a quota",
    ),
}
"""Word of the prompt → what the provider answers, and why the batch stops."""


def test_a_failure_that_meets_every_task_stops_the_batch_until_it_is_mended(
    folder: BatchFolder, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    without_request_retries()
    gate, waiting = Gate(), len(BREAKERS)

    def choose(seen: Seen) -> Reply:
        """Answer when all of the first tasks have asked: none of them stops another."""
        nonlocal waiting
        waiting -= 1
        if waiting == 0:
            gate.open()
        prompt = json.dumps(seen.json["messages"][-1])
        reply = next(reply for word, (reply, _) in BREAKERS.items() if word in prompt)
        return answer("done") if waiting < 0 else replace(reply, steps=[gate, *reply.steps])

    tasks = [{"id": word, "prompt": f"{word} task"} for word in BREAKERS]
    with SseServer(routes={POST: choose}) as server:
        folder.write([*tasks, {"id": "rest", "prompt": "do it"}], **at(server.base_url))
        assert run(parallel=4) == 2
        rows = folder.rows()
        assert rows.pop("rest")["status"] == "not started" and len(server.requests) == 4
        for word, row in rows.items():
            assert row["status"] == "error" and BREAKERS[word][1] in row["error"], row
        shown = capsys.readouterr().out
        assert "Nothing more is started: the" in shown and "0 of 5 complete, 4 error, 1 not started" in shown
        assert not folder.ends()

        folder.write([tasks[-1]], **at(server.base_url))
        assert run() == 0 and folder.ends() == {"quota": 1}


def test_a_missing_key_stops_the_batch(
    folder: BatchFolder, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    folder.write([{"id": f"t{n}", "prompt": "do it"} for n in range(2)], model=MODEL)
    assert run(parallel=1) == 2
    assert [row["status"] for row in folder.rows().values()] == ["failed", "not started"]
    assert "No API key for the model 'test/model'. Set OPENROUTER_API_KEY" in capsys.readouterr().out
    assert not folder.ends()


def test_at_the_limit_of_cost_running_tasks_are_interrupted_and_a_higher_one_goes_on(
    folder: BatchFolder, run: Callable[..., int]
) -> None:
    held = Gate()
    edit = {"file_path": "greeting.py", "old_string": "Hello", "new_string": "Welcome"}
    dear = answer("done", usage={**USAGE, "cost": float(COST * 4)})
    replies = {
        "dear task": [replace(dear, steps=[gate := Gate(), *dear.steps])],
        "long task": [tool_answer(("c1", "edit", edit)), answer("done")],
        "other task": [answer("done")],
    }
    by_word = by_prompt(replies)

    def choose(seen: Seen) -> Reply:
        if seen.json["messages"][-1]["role"] != "tool":
            return by_word(seen)
        gate.open()
        return Reply([held], 200, answer("").headers)

    with SseServer(routes={POST: choose}) as server:
        tasks = [{"id": word.split()[0], "prompt": word} for word in replies]
        shared = {"permission_mode": "accept-edits", **at(server.base_url)}
        folder.write(tasks, **shared)
        each = COST * Decimal("2.5")
        assert run(parallel=2, max_cost_usd=each * 2, max_cost_each_usd=each) == 3
        rows = folder.rows()
        # The first one may just have ended when it is seen that it was too dear.
        assert rows.pop("dear")["status"] in ("complete", "interrupted")
        assert [row["status"] for row in rows.values()] == ["interrupted", "not started"]
        assert held.reached.is_set() and len(server.requests) == 3
        assert "+Welcome" in (folder.out / "tasks/long/diff.patch").read_text()
        assert (Path(rows["long"]["worktrees"][0]) / "greeting.py").read_text() == "Welcome\n"
        sessions = load_session_config(folder.path).state_dir / "sessions"
        journals = [path.read_text() for path in sessions.glob("*.jsonl")]
        assert [one.count("long task") > 0 for one in journals].count(True) == 1

        # Only one of the two that are left fits at a time.
        spent = sum(Decimal(one.get("cost_usd", "0")) for one in folder.log())
        limit, before = spent + each * Decimal("1.5"), len(folder.log())
        folder.write(tasks[1:], **shared)
        assert run(parallel=2, max_cost_usd=limit, max_cost_each_usd=each) == 0
    assert len(server.requests) == 5
    assert [one["type"] for one in folder.log()[before:]] == ["run", "start", "end", "start", "end"]
    assert sum(Decimal(one.get("cost_usd", "0")) for one in folder.log()) <= limit


def test_without_a_price_a_limit_of_cost_stops_the_batch(
    folder: BatchFolder, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    unpriced = {name: value for name, value in USAGE.items() if name != "cost"}
    with SseServer(routes={POST: answer("done", usage=unpriced)}) as server:
        folder.write([{"id": f"t{n}", "prompt": "do it"} for n in range(2)], **at(server.base_url))
        assert run(parallel=1, max_cost_usd=Decimal(1)) == 2
        assert [row["status"] for row in folder.rows().values()] == ["complete", "not started"]
        assert "use --max-tokens in its place" in capsys.readouterr().out
        assert run(parallel=1, max_tokens=100_000) == 0


def test_ctrl_c_starts_nothing_more_and_a_second_one_interrupts(
    folder: BatchFolder, run: Callable[..., int]
) -> None:
    gate, held = Gate(), Gate()
    replies = {
        "first": [Reply([gate, *answer("done").steps], 200, answer("").headers)],
        "second": [Reply([held], 200, answer("").headers), answer("done")],
        "third": [answer("done")],
    }
    with SseServer(routes={POST: by_prompt(replies)}) as server:
        folder.write([{"id": word, "prompt": f"{word} task"} for word in replies], **at(server.base_url))
        batch = folder.program("--parallel", "2")
        try:
            assert gate.reached.wait(120) and held.reached.wait(120)
            os.kill(batch.pid, signal.SIGINT)
            assert batch.stdout is not None
            lines = iter(batch.stdout.readline, "")
            assert any("Ctrl-C again interrupts" in line for line in lines)
            gate.open()
            assert any(line.startswith("first  complete") for line in lines)
            os.kill(batch.pid, signal.SIGINT)
            assert any("1 of 3 complete, 1 interrupted, 1 not started" in line for line in lines)
            assert next(lines) == "Run the same command again to continue.\n"
            assert batch.wait(60) == 4
        finally:
            batch.kill()
            batch.communicate()
        assert folder.ends() == {"first": 1}
        assert run(parallel=2) == 0
    assert folder.ends() == {"first": 1, "second": 1, "third": 1}


def test_a_repository_that_is_gone_fails_its_task_only(folder: BatchFolder, program: tuple[str, ...]) -> None:
    other = BatchFolder.make(folder.path / "other")
    folder.write(
        [{"id": "gone"}, {"id": "there", "repo": "other/repo"}], prompt="read greeting.py", model="offline"
    )
    tasks = read_tasks(folder.tasks)
    folder.repo.rename(folder.path / "moved")
    config = load_session_config(folder.path)
    engine = LocalEngine(program, config)
    assert run_batch(tasks, BatchOptions(out=folder.out), config, engine) == 3
    assert {name: row["status"] for name, row in folder.rows().items()} == {
        "gone": "failed",
        "there": "complete",
    }
    assert "is in no git repository" in folder.rows()["gone"]["error"] and not other.lost_worktrees()


def test_a_folder_has_one_batch_at_a_time(
    folder: BatchFolder, run: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    from forge_core.batch.batch_log import BatchLog

    folder.write([{"id": "a", "prompt": "read greeting.py"}], model="offline")
    log = BatchLog(folder.out)
    with pytest.raises(ConfigError, match="Another forge batch is running"):
        run()
    log.close()
    assert folder.run("--dry-run")[1].endswith("1 of 1 tasks would start. $0.0000 are spent.\n")
    assert folder.run("--max-cost", "1", "--max-cost-each", "2")[0] == 1
    folder.write([{"id": "a", "prompt": "read greeting.py"}], model="modèle")
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    assert r"mod\xe8le" in folder.run("--dry-run")[1]
    assert not (folder.out / "tasks").exists()
