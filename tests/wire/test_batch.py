"""`forge batch` with real processes: the offline model, and providers that fail by a script."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from forge_core.batch.batch_command import run_batch
from forge_core.batch.driver import BatchOptions
from forge_core.batch.task_file import read_tasks
from forge_core.errors import ConfigError
from forge_core.runtime import load_session_config
from tests.support.batches import BatchFolder, at, without_request_retries
from tests.support.sse_server import USAGE, Gate, Reply, Seen, SseServer, answer, error_reply

pytestmark = [pytest.mark.network_server, pytest.mark.slow]

PROGRAM = (sys.executable, "-P", "-m", "forge_tui.cli")
POST = "POST /chat/completions"
COST = Decimal(str(USAGE["cost"]))


@pytest.fixture
def folder(tmp_path: Path) -> BatchFolder:
    return BatchFolder.make(tmp_path)


def run(folder: BatchFolder, **options: Any) -> int:
    """Run a batch in this process; its tasks are programs."""
    batch = BatchOptions(out=folder.out, **{"retry_wait_s": 0.0, **options})
    return run_batch(read_tasks(folder.tasks), batch, load_session_config(folder.path), PROGRAM)


def by_prompt(replies: dict[str, list[Reply]]) -> Callable[[Seen], Reply]:
    """Answer each request by the word of `replies` that is in its last message: the first reply that is left;
    the last one stays."""

    def choose(seen: Seen) -> Reply:
        prompt = json.dumps(seen.json["messages"][-1])
        found = next(rest for word, rest in replies.items() if word in prompt)
        return found.pop(0) if len(found) > 1 else found[0]

    return choose


def test_tasks_change_their_own_worktrees_and_are_verified(
    folder: BatchFolder, capsys: pytest.CaptureFixture[str]
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
    assert run(folder) == 3
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
    assert (
        run(folder) == 3 and len(folder.log()) == len(before) + 1
    )  # the line of the call: nothing was started
    folder.write(
        [{"id": "bad", "prompt": "create Welcome.md with 'x'"}], model="offline", permission_mode="plan"
    )
    run(folder)
    assert [one["attempt"] for one in folder.log() if one["type"] == "start" and one["id"] == "bad"] == [1, 2]
    assert (folder.out / "tasks/bad/attempt-1/diff.patch").is_file()


def test_only_failures_of_the_provider_are_retried(folder: BatchFolder) -> None:
    without_request_retries()
    replies = {
        "passes": [error_reply(500, "oops"), answer("done")],
        "stays": [error_reply(500, "oops")],
        "wrong": [error_reply(400, "no such parameter")],
        "refused": [answer("", finish_reason="content_filter")],
        "limited": [error_reply(429, "slow down"), answer("done")],
    }
    with SseServer(routes={POST: by_prompt(replies)}) as server:
        folder.write([{"id": word, "prompt": f"{word} it"} for word in replies], **at(server.base_url))
        assert run(folder, retries=1, parallel=4) == 3
        requests = [json.dumps(one.json["messages"][-1]) for one in server.requests]
    rows = folder.rows()
    assert {name: (row["status"], row["attempts"]) for name, row in rows.items()} == {
        "passes": ("complete", 2),
        "stays": ("error", 2),
        "wrong": ("error", 1),
        "refused": ("unfinished", 1),
        "limited": ("complete", 2),
    }
    assert folder.ends() == dict.fromkeys(replies, 1)
    assert sum("stays it" in one for one in requests) == 2
    assert "oops" in rows["stays"]["error"] and rows["passes"]["cost_usd"] == f"{COST:f}"
    assert (folder.out / "tasks/passes/attempt-1/events.jsonl").is_file()


@pytest.mark.parametrize(
    "failure, reason",
    [
        (error_reply(401, "bad key"), "the API key was not accepted"),
        (error_reply(402, "no credit"), "there is no credit"),
        (error_reply(404, "no such model"), "the model is unknown"),
        (
            error_reply(429, "used up", metadata={"error_type": "insufficient_quota"}),
            "there is no credit, or a quota",
        ),
    ],
)
def test_a_failure_that_meets_every_task_stops_the_batch_until_it_is_mended(
    folder: BatchFolder, failure: Reply, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    without_request_retries()
    with SseServer(routes={POST: by_prompt({"it": [failure, answer("done")]})}) as server:
        folder.write([{"id": f"t{n}", "prompt": f"do it {n}"} for n in range(3)], **at(server.base_url))
        assert run(folder, parallel=1) == 2
        assert [row["status"] for row in folder.rows().values()] == ["error", "not started", "not started"]
        shown = capsys.readouterr().out
        assert f"Nothing more is started: {reason}" in shown and "0 of 3 complete" in shown
        assert len(server.requests) == 1
        if "quota" in reason:  # one of the four goes on
            assert run(folder, parallel=3) == 0 and folder.ends() == {"t0": 1, "t1": 1, "t2": 1}


def test_a_batch_never_costs_more_than_its_limit_and_goes_on_with_a_higher_one(folder: BatchFolder) -> None:
    with SseServer(routes={POST: answer("done")}) as server:
        folder.write([{"id": f"t{n}", "prompt": f"do it {n}"} for n in range(5)], **at(server.base_url))
        limit = COST * Decimal("3.5")
        each = COST * Decimal("1.5")
        assert run(folder, parallel=2, max_cost_usd=limit, max_cost_each_usd=each) == 3
        spent = len(server.requests) * COST
        assert folder.ends().total() == len(server.requests) == 3 and spent <= limit
        statuses = [row["status"] for row in folder.rows().values()]
        assert sorted(statuses) == ["complete"] * 3 + ["not started"] * 2
        assert run(folder, parallel=2, max_cost_usd=limit * 2, max_cost_each_usd=each) == 0
        assert len(server.requests) == 5
    assert sum(Decimal(row["cost_usd"]) for row in folder.rows().values()) == 5 * COST


def test_without_a_price_a_limit_of_cost_stops_the_batch(
    folder: BatchFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    unpriced = {name: value for name, value in USAGE.items() if name != "cost"}
    with SseServer(routes={POST: answer("done", usage=unpriced)}) as server:
        folder.write([{"id": f"t{n}", "prompt": "do it"} for n in range(2)], **at(server.base_url))
        assert run(folder, parallel=1, max_cost_usd=Decimal(1)) == 2
        assert [row["status"] for row in folder.rows().values()] == ["complete", "not started"]
        assert "use --max-tokens in its place" in capsys.readouterr().out
        assert run(folder, parallel=1, max_tokens=100_000) == 0


def test_ctrl_c_starts_nothing_more_and_a_second_one_interrupts(folder: BatchFolder) -> None:
    gate, held = Gate(), Gate()
    replies = {
        "first": [Reply([gate, *answer("done").steps], 200, answer("").headers)],
        "second": [Reply([held], 200, answer("").headers), answer("done")],
        "third": [answer("done")],
    }
    with SseServer(routes={POST: by_prompt(replies)}) as server:
        folder.write([{"id": word, "prompt": f"{word} task"} for word in replies], **at(server.base_url))
        program = folder.program("--parallel", "2")
        try:
            assert gate.reached.wait(120) and held.reached.wait(120)
            os.kill(program.pid, signal.SIGINT)
            assert program.stdout is not None
            lines = iter(program.stdout.readline, "")
            assert any("Ctrl-C again interrupts" in line for line in lines)
            gate.open()
            assert any(line.startswith("first  complete") for line in lines)
            os.kill(program.pid, signal.SIGINT)
            assert any("1 of 3 complete, 1 interrupted, 1 not started" in line for line in lines)
            assert program.wait(60) == 4
        finally:
            program.kill()
            program.communicate()
        assert folder.ends() == {"first": 1}
        assert folder.run("--parallel", "2", "--max-cost", "1")[0] == 0
    assert folder.ends() == {"first": 1, "second": 1, "third": 1}


def test_a_repository_that_is_gone_fails_its_task_only(folder: BatchFolder) -> None:
    other = BatchFolder.make(folder.path / "other")
    folder.write(
        [{"id": "gone"}, {"id": "there", "repo": "other/repo"}], prompt="read greeting.py", model="offline"
    )
    tasks = read_tasks(folder.tasks)
    folder.repo.rename(folder.path / "moved")
    config = load_session_config(folder.path)
    assert run_batch(tasks, BatchOptions(out=folder.out), config, PROGRAM) == 3
    assert {name: row["status"] for name, row in folder.rows().items()} == {
        "gone": "failed",
        "there": "complete",
    }
    assert "is in no git repository" in folder.rows()["gone"]["error"] and not other.lost_worktrees()


def test_a_folder_has_one_batch_at_a_time(folder: BatchFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    from forge_core.batch.batch_log import BatchLog

    folder.write([{"id": "a", "prompt": "read greeting.py"}], model="offline")
    log = BatchLog(folder.out)
    with pytest.raises(ConfigError, match="Another forge batch is running"):
        run(folder)
    log.close()
    assert folder.run("--dry-run")[1].endswith("1 of 1 tasks would start. $0.0000 are spent.\n")
    assert folder.run("--max-cost", "1", "--max-cost-each", "2")[0] == 1
    folder.write([{"id": "a", "prompt": "read greeting.py"}], model="modèle")
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    assert r"mod\xe8le" in folder.run("--dry-run")[1]
    assert not (folder.out / "tasks").exists()
