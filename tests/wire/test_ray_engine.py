"""`forge batch --engine ray` as a program, on a cluster of two nodes on this machine."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from forge_core.batch.batch_command import run_batch
from forge_core.batch.driver import BatchOptions
from forge_core.batch.task_file import read_tasks
from forge_core.runtime import load_session_config
from tests.bench.batch import killed_batch
from tests.support.batches import BatchFolder, at
from tests.support.ray_cluster import RayCluster, needs_ray, processes_naming
from tests.support.sse_server import MODEL, Gate, Reply, Seen, SseServer, answer

pytestmark = [pytest.mark.network_server, pytest.mark.slow, pytest.mark.timeout(300)]

KEY = "sk-or-v1-canary" + "3" * 40
POST = "POST /chat/completions"
ARGUMENTS = ("-P", "-m", "forge_tui.cli")


@pytest.fixture
def folder(tmp_path: Path) -> BatchFolder:
    return BatchFolder.make(tmp_path)


def on(cluster: RayCluster, *options: str) -> tuple[str, ...]:
    return "--engine", "ray", "--address", cluster.address, *options


def _wait_for(gate: Gate, program: subprocess.Popen[str]) -> None:
    """Wait until a request has come to the gate; fail with what the program has printed if none comes."""
    if not gate.reached.wait(60):
        program.terminate()
        pytest.fail(program.communicate()[0])


@needs_ray
def test_both_engines_give_the_same_table(folder: BatchFolder, ray_cluster: RayCluster) -> None:
    replace = {"prompt": "replace Hello by Welcome in greeting.py", "model": "offline"}
    with SseServer(routes={POST: answer("done")}) as server:
        priced = {"prompt": "say done", **at(server.base_url)}
        tasks: list[dict[str, Any]] = [
            {"id": "verified", **replace, "verify": "grep Welcome greeting.py"},
            {"id": "wrong", **replace, "verify": "grep 'not there' greeting.py"},
            {"id": "denied", **replace, "permission_mode": "plan"},
            {"id": "no-ref", **replace, "ref": "v1"},
            {"id": "cloned", **replace, "repo": folder.repo.as_uri()},
            {
                "id": "priced",
                **priced,
                "verify": 'test "$WORD" = yes',
                "env": {**priced["env"], "WORD": "yes"},
            },
            {"id": "limited", **priced, "max_turns": 1},
        ]
        folder.write(tasks, permission_mode="accept-edits")
        tables, patches = [], []
        for engine in ((), on(ray_cluster)):
            code, text = folder.run("--max-cost", "1", *engine)
            assert code == 3, text
            varying = ("minutes", "worktrees", "tokens")
            rows = folder.rows().values()
            tables.append([{name: row[name] for name in row if name not in varying} for row in rows])
            tables[-1].append({"tokens": folder.rows()["priced"]["tokens"], "text": text.splitlines()[-4]})
            patches.append(
                {one.parent.name: one.read_text() for one in folder.out.glob("tasks/*/diff.patch")}
            )
            folder.out.rename(folder.path / f"out-{len(tables)}")
    assert tables[0] == tables[1]
    assert [(row["status"], row["verify"]) for row in tables[0][:7]] == [
        ("complete", "passed"),
        ("complete", "failed"),
        ("unfinished", ""),
        ("failed", ""),
        ("complete", ""),
        ("complete", "passed"),
        ("complete", ""),
    ]
    assert patches[0] == patches[1]


@needs_ray
def test_a_task_whose_node_is_gone_starts_again_on_another(
    folder: BatchFolder, ray_cluster: RayCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    from forge_core.integrations.ray.ray_engine import RayEngine

    gates = {f"t{n}": Gate() for n in range(3)}
    replies = {
        name: [Reply([gate, *answer("done").steps], 200, answer("").headers), answer("again")]
        for name, gate in gates.items()
    }
    third = ray_cluster.add_node()

    def kill_third() -> None:
        assert all(gate.reached.wait(120) for gate in gates.values())
        ray_cluster.kill_node(third)
        while not any(seen.hung_up.wait(0.05) for seen in server.requests):
            pass
        for gate in gates.values():
            gate.open()

    with SseServer(routes={POST: lambda seen: _next(replies, seen)}) as server:
        folder.write([{"id": name, "prompt": f"do {name}"} for name in gates], **at(server.base_url))
        config = load_session_config(folder.path)
        engine = RayEngine(
            ARGUMENTS, config, address=ray_cluster.address, parallel=3, notify=lambda text: None
        )
        batch = BatchOptions(
            out=folder.out, retry_wait_s=0, max_cost_usd=Decimal(4), max_cost_each_usd=Decimal(1)
        )
        with ThreadPoolExecutor(1) as beside:
            killing = beside.submit(kill_third)
            code = run_batch(read_tasks(folder.tasks), batch, config, engine)
            killing.result()
    assert code == 0, capsys.readouterr().out
    assert folder.ends() == dict.fromkeys(gates, 1)
    (lost,) = [one for one in folder.log() if one["type"] == "attempt"]
    assert (lost["status"], Decimal(lost["cost_usd"])) == ("cut off", 1)
    assert "it was cut off: " in lost["error"]
    assert folder.rows()[lost["id"]]["attempts"] == 2


def _next(replies: dict[str, list[Reply]], seen: Seen) -> Reply:
    prompt = str(seen.json["messages"][-1])
    return next(left.pop(0) for name, left in replies.items() if f"do {name}" in prompt)


@needs_ray
def test_a_killed_driver_leaves_nothing_running_and_nothing_is_recorded_twice(
    folder: BatchFolder, ray_cluster: RayCluster
) -> None:
    held = Gate()
    with SseServer(routes={POST: Reply([held], 200, answer("").headers)}) as server:
        folder.write([{"id": f"t{n}", "prompt": "go"} for n in range(3)], **at(server.base_url))
        program = folder.program(*on(ray_cluster, "--max-cost", "9"))
        try:
            _wait_for(held, program)
        finally:
            program.kill()
            program.communicate()
        key = folder.log()[0]["key"]
        deadline = time.monotonic() + 60
        while (left := processes_naming(f"batch-{key}-")) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert left == []
    with SseServer(routes={POST: answer("done")}) as server:
        folder.write([{"id": f"t{n}", "prompt": "go"} for n in range(3)], **at(server.base_url))
        code, text = folder.run(*on(ray_cluster, "--max-cost", "99"))
    assert code == 0, text
    assert folder.ends() == {"t0": 1, "t1": 1, "t2": 1}


@needs_ray
def test_every_task_ends_once_on_the_cluster_however_often_the_driver_is_killed(
    tmp_path: Path, ray_cluster: RayCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORGE_HOME", str(ray_cluster.home / "forge"))
    tasks, kills = (24, 8) if os.environ.get("FORGE_FULL") else (4, 2)
    found = killed_batch(
        tmp_path / "batch", tasks=tasks, kills=kills, parallel=3, seed=5, engine=on(ray_cluster)
    )
    assert not list(found.problems(tasks))


@needs_ray
def test_a_cluster_for_one_batch_gets_no_key_and_no_module_of_the_current_folder(
    folder: BatchFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder.path / "forge_core").mkdir()
    (folder.path / "forge_core" / "__init__.py").write_text("raise SystemExit('imported')")
    held = Gate()
    reply = Reply([held, *answer("done").steps], 200, answer("").headers)
    # The paths of sockets in it have 108 bytes at most.
    with tempfile.TemporaryDirectory(prefix="ray") as logs, SseServer(routes={POST: reply}) as server:
        for name, value in {
            "RAY_TMPDIR": logs,
            "RAY_AUTH_TOKEN_PATH": "",
            "FORGE_API_KEY": KEY,
            "FORGE_BASE_URL": server.base_url,
            "FORGE_MODEL": MODEL,
            "PYTHONSAFEPATH": "1",
        }.items():
            monkeypatch.setenv(name, value)
        folder.write([{"id": "a", "prompt": "go", "verify": "env; true"}])
        program = folder.program("--engine", "ray", "--address", "local", "--parallel", "1")
        try:
            _wait_for(held, program)
            holders = _holding(KEY)
            held.open()
            text = program.communicate(timeout=120)[0]
        finally:
            program.kill()
            program.communicate()
        assert program.returncode == 0, text
        assert "token in ~/.ray/auth_token" in text
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
        assert len(holders) >= 2 and all(b"forge_tui.cli" in line for line in holders)
        files = [one for place in (Path(logs), folder.path) for one in place.rglob("*") if one.is_file()]
        assert any(one.name == "raylet.out" for one in files)
        assert [one for one in files if KEY.encode() in one.read_bytes()] == []
    assert not processes_naming(logs)


def _holding(secret: str) -> list[bytes]:
    """Return the command lines of processes that have a text in their environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if secret.encode() in entry.read_bytes():
                found.append((entry.parent / "cmdline").read_bytes())
    return found


@needs_ray
def test_a_node_with_another_forge_stops_the_batch_before_it_begins(
    folder: BatchFolder, ray_cluster: RayCluster
) -> None:
    package = folder.path / "other" / "forge_core"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("__version__ = '0.0.1'\n")
    folder.write([{"id": "a", "prompt": "read greeting.py", "model": "offline"}])
    node = ray_cluster.add_node(PYTHONPATH=str(package.parent))
    try:
        code, text = folder.run(*on(ray_cluster, "--max-cost", "1"))
    finally:
        ray_cluster.kill_node(node)
    assert code == 1 and "Nothing was started: every node needs Forge" in text
    assert not [one for one in folder.log() if one["type"] == "start"]


@needs_ray
def test_a_signal_ends_a_batch_whose_cluster_does_not_answer(
    folder: BatchFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 64)
    folder.write([{"id": "a", "prompt": "read greeting.py", "model": "offline"}])
    with socket.create_server(("", 0)) as silent:  # Ray connects to another address of this machine
        silent.settimeout(60)
        port = silent.getsockname()[1]
        program = folder.program("--max-cost", "1", "--engine", "ray", "--address", f"127.0.0.1:{port}")
        try:
            with silent.accept()[0], silent.accept()[0]:  # the check of Forge, then Ray
                program.terminate()
                text = program.communicate(timeout=60)[0]
        finally:
            program.kill()
            program.communicate()
    assert program.returncode == 143, text
    assert "1 not started" in text


@pytest.mark.parametrize(
    "options, text",
    [
        (("--address", "auto"), "--address auto needs --engine ray"),
        (("--engine", "ray"), "pip install 'forge-assistant[ray]'"),
        pytest.param(("--engine", "ray", "--address", "127.0.0.1:1"), "`ray start --head`", marks=needs_ray),
        pytest.param(
            ("--engine", "ray", "--address", "ray://h:1"), "it must be auto, local", marks=needs_ray
        ),
    ],
    ids=["local", "not installed", "no cluster", "client"],
)
def test_an_engine_that_cannot_be_used_says_what_to_do(
    folder: BatchFolder, options: tuple[str, ...], text: str, request: pytest.FixtureRequest
) -> None:
    if "pip" in text and find_spec("ray"):
        pytest.skip("the extra `ray` is installed")
    folder.write([{"id": "a", "prompt": "read greeting.py", "model": "offline"}])
    code, output = folder.run("--max-cost", "1", *options)
    assert code == 1 and text in output and "Traceback" not in output
