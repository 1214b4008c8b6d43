"""What every engine of `forge batch` promises, with real jobs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from forge_core.batch.engine import BatchJob, Engine
from forge_core.batch.local_engine import LocalEngine
from forge_core.runtime import load_session_config
from tests.support.batches import BatchFolder, at
from tests.support.ray_cluster import needs_ray, processes_naming
from tests.support.sse_server import Gate, Reply, SseServer, answer

pytestmark = [pytest.mark.network_server, pytest.mark.slow, pytest.mark.timeout(300)]

ARGUMENTS = ("-P", "-m", "forge_tui.cli")
MakeEngine = Callable[[], Engine]


@pytest.fixture(params=["local", pytest.param("ray", marks=needs_ray)])
def make_engine(request: pytest.FixtureRequest, folder: BatchFolder) -> MakeEngine:
    config = load_session_config(folder.path)
    if request.param == "local":
        return lambda: LocalEngine((sys.executable, *ARGUMENTS), config)
    from forge_core.integrations.ray.ray_engine import RayEngine

    address = request.getfixturevalue("ray_cluster").address
    return lambda: RayEngine(ARGUMENTS, config, address=address, parallel=2, notify=lambda text: None)


@pytest.fixture
def folder(tmp_path: Path) -> BatchFolder:
    return BatchFolder.make(tmp_path)


@contextlib.asynccontextmanager
async def opened(make_engine: MakeEngine) -> AsyncIterator[Engine]:
    engine = make_engine()
    try:
        await engine.open()
        yield engine
    finally:
        await engine.close()


def job(folder: BatchFolder, name: str, prompt: str, **fields: Any) -> BatchJob:
    files = folder.out / name
    files.mkdir(parents=True)
    options = (f"--model={fields.pop('model', 'offline')}", "--permission-mode=accept-edits")
    values = {"repo": str(folder.repo), "ref": "HEAD", "worktree": f"batch-{folder.path.name}-{name}"}
    return BatchJob(
        id=name, attempt=1, folder=str(files), prompt=prompt, options=options, **(values | fields)
    )


async def test_a_job_brings_back_its_files_and_leaves_its_changes(
    folder: BatchFolder, make_engine: MakeEngine
) -> None:
    replace = job(folder, "edit", "replace Hello by Welcome in greeting.py", verify="cat greeting.py")
    lost = job(folder, "lost", "read greeting.py", ref="no-such-ref")
    cloned = job(folder, "cloned", replace.prompt, repo=folder.repo.as_uri(), ref="main")
    async with opened(make_engine) as engine:
        done, failed, other = await asyncio.gather(*map(engine.submit, (replace, lost, cloned)))
    assert (done.exit_code, done.verdict, done.added, done.removed, done.is_lost) == (
        0,
        "passed",
        1,
        1,
        False,
    )
    files = {one.name: one.read_text() for one in Path(replace.folder).iterdir()}
    assert sorted(files) == ["diff.patch", "events.jsonl", "prompt.txt", "stderr.log", "verify.log"]
    assert files["verify.log"] == "Welcome\n" and "+Welcome" in files["diff.patch"]
    last = json.loads(files["events.jsonl"].splitlines()[-1])
    assert last["type"] == "agent_end" and last["data"]["result"]["stopped_reason"] == "complete"
    assert Path(done.worktree, "greeting.py").read_text() == "Welcome\n" and done.kept_because
    assert (folder.repo / "greeting.py").read_text() == "Hello\n"
    assert (other.exit_code, other.added) == (0, 1) and Path(other.worktree).parent != Path(
        done.worktree
    ).parent
    assert failed.exit_code == 1 and "has no commit 'no-such-ref'" in failed.notes[0]
    assert not list(Path(lost.folder).iterdir())


async def test_a_cancelled_job_is_interrupted_and_keeps_its_session(
    folder: BatchFolder, make_engine: MakeEngine
) -> None:
    held = Gate()
    with SseServer(routes={"POST /chat/completions": Reply([held], 200, answer("").headers)}) as server:
        fields = at(server.base_url)
        jobs = [job(folder, f"t{n}", "hold on", **fields) for n in range(4)]
        async with opened(make_engine) as engine:
            early = asyncio.ensure_future(engine.submit(job(folder, "early", "go", **fields)))
            await asyncio.sleep(0)
            engine.cancel("early")  # as the driver does at once, after a signal
            assert (await early).exit_code == 4
            works = [asyncio.ensure_future(engine.submit(one)) for one in jobs]
            assert await asyncio.to_thread(held.reached.wait, 120)
            for one in jobs:  # also those that wait for a CPU
                engine.cancel(one.id)
            engine.cancel("another")
            results = await asyncio.gather(*works)
    assert [(one.exit_code, one.is_lost) for one in results] == [(4, False)] * 4
    events = "".join(one.read_text() for one in folder.out.glob("*/events.jsonl"))
    ends = [one for one in map(json.loads, events.splitlines()) if one["type"] == "agent_end"]
    reasons = [one["data"]["result"]["stopped_reason"] for one in ends]
    assert reasons and set(reasons) == {"cancelled"}


async def test_closing_an_engine_ends_what_still_runs(folder: BatchFolder, make_engine: MakeEngine) -> None:
    held = Gate()
    with SseServer(routes={"POST /chat/completions": Reply([held], 200, answer("").headers)}) as server:
        task = job(folder, "held", "hold on", **at(server.base_url))
        async with opened(make_engine) as engine:
            work = asyncio.ensure_future(engine.submit(task))
            assert await asyncio.to_thread(held.reached.wait, 120)
        assert await asyncio.to_thread(server.requests[0].hung_up.wait, 60)
        await asyncio.gather(work, return_exceptions=True)
    assert work.done() and not processes_naming(task.worktree)
