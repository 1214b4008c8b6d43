"""Nothing that a command starts is lost: twenty ways to daemonise, with the sandbox and without it.

Whether something lives is told by a named pipe that every descendant holds open, not by what the tool itself
goes by.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from forge_core.permissions.sandbox.probing import probe_now
from forge_core.permissions.sandbox.sandbox import Sandbox
from forge_core.permissions.sandbox.sandbox_state import SandboxKind, SandboxState
from forge_core.tools import BashTool, ExecutionContext, ToolExecutor, ToolResult
from forge_core.tools.shell import process_tree
from forge_core.tools.shell.environment import CALL_VARIABLE
from forge_core.tools.shell.job import JobState
from forge_core.tools.shell.job_table import JobTable
from forge_core.tools.shell.process import start_process
from forge_core.tools.shell.spawning import LaunchSpec

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc to find children"),
]

FORK = "import os,time\nif os.fork()==0:\n os.setsid()\n if os.fork()==0:\n  {}\n os._exit(0)\nos.wait()"
WAYS = {
    "background": "sleep 7200 &",
    "nohup": "nohup sleep 7200 > /dev/null 2>&1 &",
    "setsid": "setsid sleep 7200 &",
    "subshell": "(setsid sleep 7200 &)",
    "no TERM": "sh -c 'trap \"\" TERM HUP INT; while :; do sleep 7200; done' &",
    "double fork": f'python3 -c "{FORK.format("time.sleep(7200)")}"',
    "disown": "sleep 7200 & disown",
    "coproc": "coproc sleep 7200",
    "no environment": "env -i sleep 7200 &",
    "no environment, session, streams": "env -i setsid sleep 7200 < /dev/null > /dev/null 2>&1 &",
    "another name": "(exec -a harmless sleep 7200) &",
    "another name and folder": "cd /; env -i setsid bash -c 'exec -a init sleep 7200' &",
    "double fork, no environment": f"""python3 -c "{FORK.format("os.execve('/bin/sleep',['x','7200'],{})")}" """,
    "setsid --fork": "setsid --fork sleep 7200",
    "nested": "bash -c '(((sleep 7200 &) &) &)'",
    "from a pipe": "echo 'sleep 7200' | bash &",
    "exec": "exec setsid --fork env -i sh -c \"trap '' TERM; sleep 7200; sleep 7200\"",
    "process substitution": "cat <(sleep 7200) > /dev/null & disown -a",
    "pipeline": "sleep 7200 | cat & disown -a",
    "own group": "timeout 7200 sleep 7200 &",
    "python": "python3 -c \"import subprocess as s; s.Popen(['sleep','7200'],start_new_session=True,env={},close_fds=False)\"",
    "moving": "env -i setsid bash -c 'while :; do setsid sleep 0.02; done' > /dev/null 2>&1 &",
}
assert len(WAYS) >= 20


@pytest.fixture(scope="module")
def bubblewrap() -> SandboxState:
    state = probe_now()
    if state.kind is not SandboxKind.BUBBLEWRAP:
        pytest.skip(f"no bubblewrap here: {state.reason}")
    return state


@pytest.fixture(params=["bare", "sandboxed"])
def sandbox(request: pytest.FixtureRequest, tmp_path: Path) -> Sandbox | None:
    if request.param == "bare":
        return None
    return sandbox_in(tmp_path, request.getfixturevalue("bubblewrap"))


def sandbox_in(tmp_path: Path, state: SandboxState) -> Sandbox:
    (tmp_path / "work").mkdir(exist_ok=True)
    return Sandbox(state, tmp_path / "work", state_dir=tmp_path / "state")


@pytest.fixture
async def jobs(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[JobTable]:
    monkeypatch.setattr("forge_core.tools.shell.job_table.MAX_RUNNING_JOBS", len(WAYS))
    table = JobTable()
    yield table
    await table.aclose()


class Life:
    """A named pipe in the workspace: as long as a process holds it open for writing, something lives."""

    def __init__(self, folder: Path, number: int) -> None:
        self.name = f"life-{number}"
        os.mkfifo(folder / self.name)
        self._pipe = os.open(folder / self.name, os.O_RDONLY | os.O_NONBLOCK)

    @property
    def is_there(self) -> bool:
        try:
            return os.read(self._pipe, 100) != b""
        except BlockingIOError:
            return True

    def close(self) -> None:
        os.close(self._pipe)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir(exist_ok=True)
    return tmp_path / "work"


@pytest.fixture
def lives(folder: Path) -> Any:
    made = {way: Life(folder, number) for number, way in enumerate(WAYS)}
    yield made
    for life in made.values():
        life.close()


async def bash(command: str, folder: Path, **shared: Any) -> ToolResult:
    more = {key: shared.pop(key) for key in ("network", "timeout_s", "run_in_background") if key in shared}
    return await ToolExecutor().execute(
        BashTool(), {"command": command, **more}, ExecutionContext(folder, **shared)
    )


async def test_no_daemon_survives_the_session(
    folder: Path, sandbox: Sandbox | None, jobs: JobTable, lives: dict[str, Life]
) -> None:
    results = await asyncio.gather(
        *(
            bash(f"exec 9> {lives[way].name}; {command}", folder, jobs=jobs, sandbox=sandbox)
            for way, command in WAYS.items()
        )
    )
    assert [result.error for result in results if not result.success] == []
    assert [way for way in WAYS if not lives[way].is_there] == []
    running = {job.spec.command.partition("; ")[2] for job in jobs.list() if job.state is JobState.RUNNING}
    assert running == set(WAYS.values())
    await jobs.aclose()
    assert [way for way in WAYS if lives[way].is_there] == []


async def test_no_daemon_survives_an_interrupt(
    folder: Path, sandbox: Sandbox | None, jobs: JobTable, lives: dict[str, Life]
) -> None:
    interrupted = asyncio.Event()
    calls = [
        asyncio.ensure_future(
            bash(
                f"exec 9> {lives[way].name}; ( {command.replace('exec setsid', 'setsid')}\n) ;"
                f"touch ready-{number}; sleep 7200",
                folder,
                jobs=jobs,
                sandbox=sandbox,
                interrupted=interrupted,
            )
        )
        for number, (way, command) in enumerate(WAYS.items())
    ]
    async with asyncio.timeout(60):
        while len(list(folder.glob("ready-*"))) < len(WAYS):
            await asyncio.sleep(0.02)
    interrupted.set()
    results = await asyncio.gather(*calls)
    assert {result.summary for result in results} == {"interrupted"}
    async with asyncio.timeout(30):
        while any(life.is_there for life in lives.values()):
            await asyncio.sleep(0.02)


async def test_a_background_child_keeps_running_and_can_write(
    folder: Path, sandbox: Sandbox | None, jobs: JobTable
) -> None:
    """A closed pipe would end it with SIGPIPE at its first word, a sandbox with the command's shell."""
    context: dict[str, Any] = {"jobs": jobs, "sandbox": sandbox}
    result = await bash(
        "(while [ ! -e go ]; do sleep 0.02; done; echo a; echo done > mark; sleep 7203) & true",
        folder,
        **context,
    )
    assert "still running in the background as job 1" in result.output
    (folder / "go").touch()
    async with asyncio.timeout(30):
        while not (folder / "mark").exists():
            await asyncio.sleep(0.02)
    assert (await jobs.output(1, 30)).output == "a\n"


async def test_a_command_that_kills_its_supervisor_is_also_stopped(
    folder: Path, sandbox: Sandbox | None, jobs: JobTable
) -> None:
    life = Life(folder, 999)
    result = await bash(f"exec 9> {life.name}; kill -9 $PPID; sleep 7204", folder, jobs=jobs, sandbox=sandbox)
    assert result.error == "exit code 137 (SIGKILL)"
    await jobs.aclose()
    assert not life.is_there
    life.close()


SLOW_TO_EXIT = (
    "python3 -c \"import time; big = b'x' * (256 << 20); open('ready', 'w').close(); time.sleep(7210)\""
)
"""The kernel frees memory before it closes files: this takes tens of milliseconds."""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="no pidfds to wait for processes")
def test_processes_killed_with_their_event_loop_have_closed_their_files(folder: Path) -> None:
    tool = BashTool()
    life = Life(folder, 999)
    command = f"exec 9> {life.name}; setsid {SLOW_TO_EXIT} & until [ -e ready ]; do sleep 0.01; done"
    result = asyncio.run(ToolExecutor().execute(tool, {"command": command}, ExecutionContext(folder)))
    assert "still running" in result.output
    assert not life.is_there
    asyncio.run(tool.aclose())
    life.close()


def test_a_marked_process_is_found_while_it_replaces_its_program(tmp_path: Path) -> None:
    program = tmp_path / "again"
    program.write_text('#!/bin/sh\nexec "$0"\n')
    program.chmod(0o755)
    process = subprocess.Popen([program], env={CALL_VARIABLE: "test-exec"})
    try:
        found = [[one.pid for one in process_tree.processes_of_call("test-exec")] for _ in range(200)]
    finally:
        process.kill()
        process.wait()
    assert found == [[process.pid]] * 200


def test_a_marked_process_is_found_though_each_of_several_looks_meets_another_exec(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    marked = {**os.environ, CALL_VARIABLE: "test-looks"}
    process = subprocess.Popen(["/bin/sleep", "60"], env=marked)
    read = process_tree._environment_now
    looks: list[int] = []

    def empty_three_times(pid: int) -> bytes:
        environment = read(pid)
        if pid == process.pid:
            looks.append(pid)
        return b"" if pid == process.pid and len(looks) < 4 else environment

    monkeypatch.setattr(process_tree, "_environment_now", empty_three_times)
    try:
        found = [one.pid for one in process_tree.processes_of_call("test-looks")]
    finally:
        process.kill()
        process.wait()
    assert found == [process.pid]


async def test_a_command_ended_before_its_start_never_starts(folder: Path, sandbox: Sandbox | None) -> None:
    process = await start_process(
        LaunchSpec("touch ran; sleep 7208", folder, sandbox=sandbox), lambda _: None
    )
    process.terminate()
    async with asyncio.timeout(60):
        await process.all_ended.wait()
    assert not (folder / "ran").exists()
    assert (process.exit_code, process.failed_to_start) == (128 + signal.SIGTERM, "")


async def test_a_process_started_while_its_group_is_killed_is_also_killed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The supervisor reads its line, and something gets a session of its own, between the last look and the end."""
    life = Life(folder, 999)
    order = LaunchSpec(
        f"exec 9> {life.name}; setsid sleep 7209 & until [ -e /proc/$!/exe ]; do :; done; touch ran; wait",
        folder,
    )
    process = await start_process(order, lambda _: None)
    pipe = process._process.stdin
    assert pipe is not None
    line: list[bytes] = []
    look = process._members

    def look_too_early() -> list[process_tree.RunningProcess]:
        found = look()
        if line:
            os.write(pipe.fileno(), line.pop())
            while not (folder / "ran").exists() and not is_stopped(process._process.pid):
                time.sleep(0.005)
        return found

    monkeypatch.setattr(pipe, "write", line.append)
    monkeypatch.setattr(process, "_members", look_too_early)
    async with asyncio.timeout(60):
        while not process.has_begun:
            await asyncio.sleep(0.005)
        await process.killed()
    assert not life.is_there
    life.close()


def is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def test_processes_left_by_a_call_end_with_its_event_loop(folder: Path, sandbox: Sandbox | None) -> None:
    """A caller that cannot await has a loop for each call, and nobody left to watch a job afterwards."""
    tool = BashTool()
    life = Life(folder, 999)
    for _ in range(2):
        context = ExecutionContext(folder, sandbox=sandbox)
        command = {"command": f"exec 9> {life.name}; setsid sleep 7205 & true"}
        result = asyncio.run(ToolExecutor().execute(tool, command, context))
        assert "still running" in result.output
        assert not life.is_there
    asyncio.run(tool.aclose())
    life.close()


async def test_a_socket_that_disappears_during_sandbox_setup_does_not_fail_the_command(
    tmp_path: Path, folder: Path, bubblewrap: SandboxState, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sockets that others listen on are hidden; one may be gone when bubblewrap comes to it."""
    gone = [[Path("/usr/gone.sock")]]
    monkeypatch.setattr(
        "forge_core.permissions.sandbox.sandbox.listening_sockets", lambda: gone.pop() if gone else []
    )
    result = await bash("echo ran >> once; cat once", folder, sandbox=sandbox_in(tmp_path, bubblewrap))
    assert result.output.startswith("ran\n")
    assert "ran\nran" not in result.output
    assert gone == []


async def test_a_command_becomes_a_job_only_once_its_sandbox_is_set_up(
    tmp_path: Path, folder: Path, bubblewrap: SandboxState, jobs: JobTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However little patience there is: until then it may have to be started again."""
    gone = [[Path("/usr/gone.sock")]]
    monkeypatch.setattr(
        "forge_core.permissions.sandbox.sandbox.listening_sockets", lambda: gone.pop() if gone else []
    )
    monkeypatch.setattr("forge_core.tools.builtin.bash.START_GRACE_S", 0.0)
    sandbox = sandbox_in(tmp_path, bubblewrap)
    result = await bash(
        "echo ran; exec sleep 100", folder, sandbox=sandbox, jobs=jobs, run_in_background=True
    )
    assert gone == []
    told = result.output if "ran\n" in result.output else (await jobs.output(1, wait_s=30)).output
    assert "ran\n" in told
    assert [job.state for job in jobs.list()] == [JobState.RUNNING]


_LEAVES_AN_ORPHAN = """
import ctypes, os, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
if os.fork() == 0:
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", "7207"])
    os._exit(0)
time.sleep(7207)
"""
"""A subreaper whose child has ended, unreaped, and left a child of its own."""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="there is no /proc")
def test_an_orphan_created_after_listing_process_ids_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    root = subprocess.Popen([sys.executable, "-c", _LEAVES_AN_ORPHAN], start_new_session=True)
    try:
        while not (
            orphans := [one for one in process_tree.descendants(root.pid) if one.command[:5] == "sleep"]
        ):
            time.sleep(0.01)
        listed: list[int] = []
        look = process_tree._pids

        def one_too_early() -> list[int]:
            listed.append(1)
            return [pid for pid in look() if len(listed) > 1 or pid != orphans[0].pid]

        monkeypatch.setattr(process_tree, "_pids", one_too_early)
        assert orphans[0] in process_tree.descendants(root.pid)
    finally:
        os.killpg(root.pid, signal.SIGKILL)
        root.wait()


@pytest.mark.skipif(shutil.which("ps") is None, reason="there is no ps")
def test_without_proc_the_process_list_gives_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    root = subprocess.Popen(["sh", "-c", "sleep 7206 & sleep 7206; true"], start_new_session=True)
    try:
        found = process_tree.descendants(root.pid)
        while [one.command for one in found] != ["sleep 7206"] * 2:
            time.sleep(0.01)
            found = process_tree.descendants(root.pid)
        monkeypatch.setattr(process_tree, "_PROC", Path("/nonexistent"))
        listed = process_tree.descendants(root.pid)
        assert [(one.pid, one.command) for one in listed] == [(one.pid, one.command) for one in found]
        for one in listed:
            process_tree.send_signal(one, signal.SIGKILL)
        root.wait(timeout=180)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(root.pid, signal.SIGKILL)
        root.wait()


async def test_the_network_is_available_only_when_requested(
    tmp_path: Path, folder: Path, bubblewrap: SandboxState
) -> None:
    sandbox = sandbox_in(tmp_path, bubblewrap)
    ours = os.readlink("/proc/self/ns/net")  # noqa: PTH115
    command = "readlink /proc/self/ns/net"
    assert ours not in (await bash(command, folder, sandbox=sandbox)).output
    assert ours in (await bash(command, folder, sandbox=sandbox, network=True)).output


async def test_sandbox_denials_are_explained(tmp_path: Path, folder: Path, bubblewrap: SandboxState) -> None:
    sandbox = sandbox_in(tmp_path, bubblewrap)
    result = await bash("touch /etc/forge-was-here", folder, sandbox=sandbox)
    assert "[in the sandbox only the workspace and /tmp can be written]" in result.output
    result = await bash(
        "curl http://example.invalid || getent hosts example.invalid; echo Could not resolve host; false",
        folder,
        sandbox=sandbox,
    )
    assert "[the sandbox has no network; with network=true the user is asked for it]" in result.output
    result = await bash("echo > /dev/tcp/127.0.0.1/9", folder, sandbox=sandbox)
    assert "[each command in the sandbox has a loopback of its own" in result.output


async def test_the_result_states_that_a_sandboxed_server_is_unreachable(
    tmp_path: Path, folder: Path, bubblewrap: SandboxState, jobs: JobTable
) -> None:
    sandbox = sandbox_in(tmp_path, bubblewrap)
    words = "[in the sandbox no other command reaches its ports"
    assert words in (await bash("sleep 7207 & true", folder, sandbox=sandbox, jobs=jobs)).output
    told = await bash("sleep 7207 & true", folder, sandbox=sandbox, jobs=jobs, network=True)
    assert words not in told.output


async def test_a_sandbox_that_fails_to_start_runs_nothing(tmp_path: Path, folder: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho no namespaces here >&2\nexit 1\n")
    broken.chmod(0o755)
    sandbox = sandbox_in(tmp_path, SandboxState(SandboxKind.BUBBLEWRAP, program=str(broken)))
    result = await bash("touch ran", folder, sandbox=sandbox)
    assert result.error == "the sandbox could not run the command: no namespaces here"
    assert not (folder / "ran").exists()
