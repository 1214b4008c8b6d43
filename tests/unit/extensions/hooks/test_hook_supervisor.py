"""Hooks under a supervisor behave as without one, and leave nothing running."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from forge_core.extensions.hooks import hook_process
from forge_core.extensions.hooks.hook_answer import HookOutcome
from forge_core.extensions.hooks.hook_events import HookEvent
from forge_core.extensions.hooks.hook_runner import Occasion
from forge_core.tools.shell.supervised import supervised
from tests.support.hooks import HookBench, declared, running_in

CASES: dict[str, tuple[str, int | None, str]] = {
    "input": ("cat", 0, '{"prompt": "é"}'),
    "exit 0": ("echo out; echo err >&2", 0, "out\n"),
    "exit 1": ("echo err >&2; exit 1", 1, ""),
    "exit 2": ("printf err >&2; exit 2", 2, ""),
    "exit 129": ("exit 129", 129, ""),
    "not executable": ("exec ./plain.txt", 126, ""),
    "not found": ("exec no-such-program", 127, ""),
    "signal": ("kill -KILL $$", 137, ""),
    "signal to the group": ("trap '' TERM; kill -TERM 0; echo on", 0, "on\n"),
    "timeout": ("echo err >&2; sleep 600", None, ""),
    "folder": ('[ "$PWD" = "$CLAUDE_PROJECT_DIR" ] && [ "$(pwd)" = "$PWD" ]', 0, ""),
    "environment": ('echo "$LANG"', 0, "C.UTF-8\n"),
    "unix socket": ("python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"agent\")'", 0, ""),
    "git": ("git add -A && git -c user.name=a -c user.email=a@b commit -qm x && git log --format=%s", 0, "x\n"),
    "files": ("echo x > ~/own.txt && cat ~/own.txt && : > /dev/null && t=$(mktemp -p /dev/shm) && rm $t", 0, "x\n"),
    "own processes": ("sleep 600 & kill $! && ! wait $!", 0, ""),
    "in the background": ("sleep 600 & echo done", 0, "done\n"),
    "as a daemon": ("setsid sleep 600 >/dev/null 2>&1 & echo done", 0, "done\n"),
}  # fmt: skip
"""A line for the shell, the exit code, and what it prints."""


LEAVES_PROGRAMS = {"in the background", "as a daemon"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LANG", "C.UTF-8")
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


async def outcome_of(folder: Path, line: str, timeout_s: float = 60) -> HookOutcome:
    """What comes of a hook in a folder of its own."""
    folder.mkdir()
    (folder / "plain.txt").touch()
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    bench = HookBench.of(folder, declared("Stop", line, timeout=timeout_s))
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(os.path.relpath(folder / "agent"))  # a path of a socket has 108 bytes at most
        agent.listen()
        [hook] = bench.runner.hooks
        outcome = await bench.runner.processes.run(hook, '{"prompt": "é"}'.encode())
    await bench.runner.processes.kill_rest()
    async with asyncio.timeout(20):
        while running_in(folder):
            await asyncio.sleep(0.01)
    return outcome


@pytest.mark.parametrize("has_supervisor", [True, False], ids=["supervisor", "none"])
async def test_a_hook_behaves_the_same_with_and_without_a_supervisor(
    project: Path, has_supervisor: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_supervisor:
        monkeypatch.setattr(hook_process, "can_supervise", lambda: False)
    cases = {name: case for name, case in CASES.items() if has_supervisor or name not in LEAVES_PROGRAMS}
    outcomes = [
        outcome_of(project / str(at), line, 0.5 if name == "timeout" else 60)
        for at, (name, (line, _, _)) in enumerate(cases.items())
    ]
    found = dict(zip(cases, await asyncio.gather(*outcomes), strict=True))
    assert {name: (one.exit_code, one.stdout) for name, one in found.items()} == {
        name: (code, stdout) for name, (_, code, stdout) in cases.items()
    }
    assert [found[name].stderr for name in ("exit 0", "exit 1", "exit 2", "timeout")] == [
        "err\n",
        "err\n",
        "err",
        "err\n",
    ]
    assert found["timeout"].problem == "it did not end within 0.5 s"


async def test_a_supervisor_lasts_as_long_as_a_program_that_it_has_adopted(project: Path) -> None:
    bench = HookBench.of(
        project, declared("Stop", "(mkfifo go; touch up; : <go) & until [ -e up ]; do :; done")
    )
    await bench.runner.run(HookEvent.STOP, Occasion({}))
    assert running_in(project)
    async with asyncio.timeout(20):
        await asyncio.to_thread((project / "go").write_text, "")
        while running_in(project):
            await asyncio.sleep(0.01)
    await bench.runner.processes.kill_rest()


async def test_a_program_of_one_hook_can_be_stopped_by_another(project: Path) -> None:
    bench = HookBench.of(
        project,
        declared("SessionStart", "sleep 600 & echo $! > pid"),
        declared("SessionEnd", "kill $(cat pid)"),
    )
    await bench.runner.run(HookEvent.SESSION_START, Occasion({}))
    assert running_in(project)
    await bench.runner.run(HookEvent.SESSION_END, Occasion({}))
    assert bench.texts == []
    async with asyncio.timeout(20):
        while running_in(project):
            await asyncio.sleep(0.01)
    await bench.runner.processes.kill_rest()


async def test_a_supervisor_without_a_reader_ends_what_it_has_adopted(project: Path) -> None:
    """Where Forge is killed, the end of its pipes may come before the signal."""
    reading, writing = os.pipe()
    argv = supervised("mark", ["sh", "-c", "sleep 600 & true"])
    supervisor = subprocess.Popen(argv, stdout=writing, stderr=writing, cwd=project)
    os.close(reading)
    os.close(writing)
    async with asyncio.timeout(20):
        # Once it has failed to report the end of the shell, it lets go of its pipes.
        while supervisor.poll() is None and _target(supervisor.pid) != os.devnull:
            await asyncio.sleep(0.01)
        supervisor.terminate()
        while supervisor.poll() is None:
            await asyncio.sleep(0.01)
    assert running_in(project) == []


def _target(pid: int) -> str:
    return str(Path(f"/proc/{pid}/fd/2").readlink())


def test_a_program_ends_with_a_supervisor_that_is_killed() -> None:
    argv = supervised("mark", ["bash", "-c", "echo $$; exec sleep 600"])
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as supervisor:
        assert supervisor.stdout is not None
        program = int(supervisor.stdout.readline())
        supervisor.kill()
        has_ended = bool(select.select([supervisor.stdout], [], [], 20)[0])
        if not has_ended:
            os.kill(program, signal.SIGKILL)
    assert has_ended
