"""Hooks in separate pid namespaces behave as without one."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
from pathlib import Path

import pytest

from forge_core.extensions.hooks.hook_answer import HookOutcome
from forge_core.extensions.hooks.hook_events import HookEvent
from forge_core.extensions.hooks.hook_namespace import namespace_program
from forge_core.extensions.hooks.hook_runner import Occasion
from forge_core.permissions.sandbox.sandbox_state import SandboxKind, SandboxState
from tests.support.hooks import HookBench, declared, running_in, working_bwrap

pytestmark = pytest.mark.skipif(
    not working_bwrap(), reason="bubblewrap is not there, or does not work: apt install bubblewrap"
)

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


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LANG", "C.UTF-8")
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


async def outcome_of(folder: Path, line: str, bwrap: str, timeout_s: float = 60) -> HookOutcome:
    """What comes of a hook in a folder of its own."""
    folder.mkdir()
    (folder / "plain.txt").touch()
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    bench = HookBench.of(folder, declared("Stop", line, timeout=timeout_s), bwrap=bwrap)
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


@pytest.mark.parametrize("bwrap", [working_bwrap(), ""], ids=["namespace", "mark"])
async def test_a_hook_behaves_the_same_with_and_without_a_namespace(project: Path, bwrap: str) -> None:
    outcomes = [
        outcome_of(project / str(at), line, bwrap, 0.5 if name == "timeout" else 60)
        for at, (name, (line, _, _)) in enumerate(CASES.items())
    ]
    found = dict(zip(CASES, await asyncio.gather(*outcomes), strict=True))
    assert {name: (one.exit_code, one.stdout) for name, one in found.items()} == {
        name: (code, stdout) for name, (_, code, stdout) in CASES.items()
    }
    assert [found[name].stderr for name in ("exit 0", "exit 1", "exit 2", "timeout")] == [
        "err\n",
        "err\n",
        "err",
        "err\n",
    ]
    assert found["timeout"].problem == "it did not end within 0.5 s"


async def test_a_namespace_lasts_as_long_as_a_program_in_it(project: Path) -> None:
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


async def test_a_hook_can_do_without_a_namespace(project: Path) -> None:
    line = "readlink /proc/self/ns/pid"
    bench = HookBench.of(
        project,
        declared("SessionStart", f"echo $({line})"),
        declared("SessionStart", line, pidNamespace=False),
    )
    verdict = await bench.runner.run(HookEvent.SESSION_START, Occasion({}))
    inside, outside = verdict.context.splitlines()
    assert inside != outside
    assert outside == str(Path("/proc/self/ns/pid").readlink())


@pytest.mark.parametrize("program", ["#!/bin/sh\necho forbidden >&2\nexit 1\n", ""], ids=["fails", "gone"])
async def test_a_hook_runs_once_where_the_namespace_fails(project: Path, program: str) -> None:
    bwrap = project / "bwrap"
    if program:
        bwrap.write_text(program)
        bwrap.chmod(0o755)
    bench = HookBench.of(project, declared("Stop", "echo x >> runs; cat >> runs"), bwrap=str(bwrap))
    for _ in range(2):
        await bench.runner.run(HookEvent.STOP, Occasion({}))
    assert (project / "runs").read_text() == 2 * 'x\n{"hook_event_name": "Stop"}'
    assert bench.texts == []


async def test_a_failure_for_lack_of_privileges_names_the_field(project: Path) -> None:
    line = "echo 'sudo: The \"no new privileges\" flag is set' >&2; exit 1"
    bench = HookBench.of(project, declared("Stop", line))
    await bench.runner.run(HookEvent.STOP, Occasion({}))
    assert bench.texts[0].endswith('sudo and ssh may need "pidNamespace": false in the hook.')


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (SandboxState(SandboxKind.BUBBLEWRAP, program="/bin/bwrap"), "/bin/bwrap"),
        (SandboxState(SandboxKind.BUBBLEWRAP, "a reason", program="/bin/bwrap"), "/bin/bwrap"),
        (SandboxState(SandboxKind.BUBBLEWRAP, program="/bin/bwrap", host_proc=True), ""),
        (SandboxState(SandboxKind.SEATBELT, program="/usr/bin/sandbox-exec"), ""),
        (SandboxState(SandboxKind.OFF, "turned off by choice"), ""),
    ],
)
def test_namespaces_are_used_where_the_sandbox_has_them(state: SandboxState, expected: str) -> None:
    assert namespace_program(state) == expected
