"""The limits of commands: memory, processes, file size, open files; with the sandbox and without it."""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from forge_core.permissions.sandbox.probing import probe_now
from forge_core.permissions.sandbox.sandbox import Sandbox
from forge_core.permissions.sandbox.sandbox_state import SandboxKind
from forge_core.tools import BashTool, ExecutionContext, ToolExecutor, ToolResult
from forge_core.tools.shell.job_table import JobTable
from forge_core.tools.shell.limits import CommandLimits, default_memory_bytes

MB = 1_000_000
LIMIT = CommandLimits(memory_bytes=300 * MB, file_bytes=5 * MB, open_files=64, processes=80)

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="there is no /proc")

BOMBS = {
    "brace range": "eval 'echo {1..''30000000}' > /dev/null",
    "sort of endless input": "yes $(seq 2000) | sort -S 4G > /dev/null",
    "one large string": "python3 -c 'a = \"x\" * 10**10; print(len(a))'",
    "a tail without line ends": "tail /dev/zero",
    "one large block": "dd if=/dev/zero of=/dev/null bs=8G count=1",
    "a wide field": 'printf -v x %1000000000d 1; printf "%s" "${#x}"; sleep 20',
    "a substitution": "x=$(seq 1 100000000); sleep 20",
    "an array": "x=(); while :; do x+=({1..9999}); done",
    "many processes": 'for n in 1 2 3 4 5 6 7 8; do python3 -c \'a = b"x" * 60_000_000; '
    "import time; time.sleep(20)' & done; wait",
    "in the background": "(setsid python3 -c 'a = b\"x\" * 900_000_000; import time; time.sleep(20)' &)"
    " ; sleep 20",
    "shared memory": "python3 -c 'import mmap, time; m = mmap.mmap(-1, 900_000_000)\n"
    "for n in range(0, 900_000_000, 4096): m[n] = 1\ntime.sleep(20)'",
}


@pytest.fixture(params=["bare", "sandboxed"])
async def run(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Callable[..., Any]]:
    root = tmp_path / "work"
    root.mkdir()
    sandbox = None
    if request.param == "sandboxed":
        state = probe_now("auto", root)
        if state.kind is not SandboxKind.BUBBLEWRAP:
            pytest.skip(f"no bubblewrap here: {state.reason}")
        sandbox = Sandbox(state, root, state_dir=tmp_path / "state")
    jobs = JobTable(limits=LIMIT)

    async def call(command: str, **more: Any) -> ToolResult:
        context = ExecutionContext(root, sandbox=sandbox, jobs=jobs)
        return await ToolExecutor().execute(BashTool(), {"command": command, **more}, context)

    yield call
    await jobs.aclose()


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
async def test_a_command_that_uses_too_much_memory_is_stopped(name: str, run: Callable[..., Any]) -> None:
    result = await asyncio.wait_for(run(BOMBS[name]), 60)
    assert not result.success
    assert "stopped: it used " in (result.error or "")
    assert "of memory; the limit is 0.3 GB" in (result.error or "")
    assert result.summary == "out of memory"


_DOUBLING = "printf '#!/bin/sh\\n[ $1 -gt 0 ] || exec sleep 30\\n{start}\\n' > a.sh; chmod +x a.sh; ./a.sh 9"
FORK_BOMBS = {
    "a script that starts itself twice": _DOUBLING.format(
        start="./a.sh $(($1 - 1)) & ./a.sh $(($1 - 1)) & wait"
    ),
    "in sessions of their own": _DOUBLING.format(
        start="setsid ./a.sh $(($1 - 1)) & setsid ./a.sh $(($1 - 1)) & wait"
    ),
    "whose parents end": _DOUBLING.format(
        start="(./a.sh $(($1 - 1)) &); (./a.sh $(($1 - 1)) &)\\n[ $1 -lt 9 ] || sleep 30"
    ),
    "in Python": "python3 -c 'import os, time\nfor n in range(9): os.fork()\ntime.sleep(30)'",
    "many that wait": "for n in $(seq 200); do sleep 30 & done; wait",
    "in the background": "(for n in $(seq 200); do sleep 30 & done; wait) & sleep 30",
}
"""They end by themselves at about 500 processes, so that the machine survives a limit that does not work."""


@pytest.mark.slow
@pytest.mark.parametrize("name", FORK_BOMBS)
async def test_a_command_that_starts_too_many_processes_is_stopped(
    name: str, run: Callable[..., Any], tmp_path: Path
) -> None:
    result = await asyncio.wait_for(run(FORK_BOMBS[name]), 60)
    assert not result.success
    assert result.summary == "too many processes"
    assert "processes; the limit is 80 (command_processes)" in (result.error or "")
    assert await asyncio.to_thread(_left_in, tmp_path) == []


def _left_in(folder: Path) -> list[int]:
    """Return the processes that run in the folder, once some had time to end."""
    for _ in range(100):
        left = [int(one.parent.name) for one in Path("/proc").glob("[0-9]*/cwd") if _is_in(one, folder)]
        if not left:
            break
        time.sleep(0.05)
    return left


def _is_in(link: Path, folder: Path) -> bool:
    try:
        return link.readlink().is_relative_to(folder)
    except OSError:
        return False


async def test_a_command_may_have_as_many_processes_as_the_limit_allows(run: Callable[..., Any]) -> None:
    result = await run("for n in $(seq 60); do sleep 1 & done; wait; echo done")
    assert result.success, result.error
    assert "done" in result.output


@pytest.mark.slow
async def test_files_in_the_private_tmp_count_as_memory(run: Callable[..., Any], tmp_path: Path) -> None:
    line = "df --output=fstype /tmp | grep -q tmpfs || exit 7; for n in $(seq 400); do "
    result = await run(line + "head -c 4000000 /dev/zero > /tmp/f$n; done; sleep 20")
    if result.summary == "exit 7":
        pytest.skip("/tmp is on a disk without the sandbox")
    assert result.summary == "out of memory"


@pytest.mark.slow
async def test_memory_that_processes_share_counts_once(run: Callable[..., Any]) -> None:
    line = (
        "import os, time\na = b'x' * 100_000_000\n"
        "for n in range(6):\n if not os.fork(): time.sleep(1.5); os._exit(0)\n"
        "for n in range(6): os.wait()\nprint('done')"
    )
    result = await run(f'python3 -c "{line}"')
    assert result.success, result.error
    assert "done" in result.output


@pytest.mark.slow
async def test_commands_share_the_limit_and_the_largest_is_stopped(run: Callable[..., Any]) -> None:
    hold = "python3 -c 'a = b\"x\" * {}_000_000; import time; time.sleep({})'"
    await run(hold.format(120, 6), run_in_background=True)
    result = await run(hold.format(220, 30))
    assert result.summary == "out of memory"
    assert "220" not in (await run("echo after")).output


@pytest.mark.slow
async def test_a_job_that_uses_too_much_memory_says_so(tmp_path: Path) -> None:
    reports: list[str] = []
    jobs = JobTable(on_end=reports.append, limits=LIMIT)
    context = ExecutionContext(tmp_path, jobs=jobs)
    command = "sleep 1; python3 -c 'a = b\"x\" * 900_000_000; import time; time.sleep(30)'"
    await ToolExecutor().execute(BashTool(), {"command": command, "run_in_background": True}, context)
    [job] = jobs.list()
    await asyncio.wait_for(job.end_reported.wait(), 20)
    assert "stopped: it used " in job.outcome
    assert "stopped: it used " in reports[0]
    await jobs.aclose()


async def test_a_file_may_not_grow_beyond_the_limit(run: Callable[..., Any], tmp_path: Path) -> None:
    result = await run("head -c 20000000 /dev/zero > large")
    assert not result.success
    assert (tmp_path / "work" / "large").stat().st_size <= LIMIT.file_bytes
    assert "[a command may write files of at most 0.005 GB (command_file_gb)]" in result.output


async def test_a_program_that_handles_the_file_limit_gets_the_hint(run: Callable[..., Any]) -> None:
    result = await run('python3 -c \'open("large", "wb").write(bytes(20_000_000))\'')
    assert not result.success
    assert "command_file_gb" in result.output


async def test_a_process_may_have_so_many_files_open(run: Callable[..., Any]) -> None:
    line = "python3 -c \"import os; x = [os.open('/dev/null', 0) for n in range({})]; print(len(x))\""
    assert (await run(line.format(40))).success
    result = await run(line.format(100))
    assert not result.success
    assert "command_open_files" in result.output


async def test_the_soft_limit_of_open_files_is_not_raised(run: Callable[..., Any]) -> None:
    assert (await run("test $(ulimit -Sn) -le $(ulimit -Hn)")).success
    assert (await run("ulimit -Hn")).output.startswith("64\n")


async def test_a_usual_command_knows_nothing_of_limits(run: Callable[..., Any]) -> None:
    result = await run("head -c 4000000 /dev/zero > small && wc -c < small")
    assert result.success
    assert "4000000" in result.output


def test_the_default_is_half_of_the_machines_memory() -> None:
    total = int(Path("/proc/meminfo").read_text().split("MemTotal:")[1].split()[0]) * 1024
    assert 0 < default_memory_bytes() <= total // 2 + 4096


def test_the_default_is_half_of_what_a_container_may_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (("v2", "max\n"), ("v1", "64000000\n")):
        (tmp_path / name).write_text(text)
    names = [str(tmp_path / name) for name in ("missing", "v2", "v1")]
    monkeypatch.setattr("forge_core.tools.shell.limits._LIMITS_OF_CONTAINERS", names)
    assert default_memory_bytes() == 32_000_000


def test_forge_is_not_what_the_kernel_ends_first(tmp_path: Path) -> None:
    if not shutil.which("cat"):
        pytest.skip("no cat")

    async def score() -> str:
        context = ExecutionContext(tmp_path)
        tool = BashTool()
        result = await ToolExecutor().execute(tool, {"command": "cat /proc/self/oom_score_adj"}, context)
        await tool.aclose()
        return result.output

    own = int(Path("/proc/self/oom_score_adj").read_text())
    assert int(asyncio.run(score()).split()[0]) > min(own, 499)
