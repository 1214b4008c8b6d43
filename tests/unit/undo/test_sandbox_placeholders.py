"""Undo beside jobs in the sandbox: placeholders are nobody's change, and what is protected stays protected."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from forge_core.approval import deny_all
from forge_core.permissions.sandbox.placeholders import MountedPaths, Placeholders
from forge_core.permissions.sandbox.probing import probe_now
from forge_core.permissions.sandbox.sandbox import Sandbox, clear_leftovers
from forge_core.permissions.sandbox.sandbox_state import SandboxKind, SandboxState
from forge_core.runtime import build_session, load_session_config
from forge_core.tools import BashTool, EditTool, ExecutionContext, ToolExecutor, WriteTool
from forge_core.tools.builtin import bash as bash_module
from forge_core.tools.shell.job_table import JobTable
from forge_core.undo import CommandEffects, UndoStore
from tests.unit.undo.workspace import shapes, shell

pytestmark = pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is not installed")


@dataclass
class Bench:
    """A workspace with a real sandbox, jobs and undo."""

    root: Path
    context: ExecutionContext
    store: UndoStore
    jobs: JobTable
    sandbox: Sandbox

    async def bash(self, command: str, **more: object) -> str:
        done = await ToolExecutor().execute(BashTool(), {"command": command, **more}, self.context)
        return done.for_model()

    async def job(self, command: str) -> None:
        await self.bash(command, run_in_background=True)

    async def cleared(self) -> None:
        """Wait until the last sandbox is gone and the workspace is cleared of placeholders."""
        while not await asyncio.to_thread(self.sandbox.tidy):
            await asyncio.sleep(0.01)

    async def turn(self, *commands: str, job: str = "") -> None:
        await self.store.begin_turn("turn")
        if job:
            await self.job(job)
        for command in commands:
            await self.bash(command)
        await self.store.end_turn()


@pytest.fixture
async def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Callable[..., Bench]]:
    monkeypatch.setattr(bash_module, "START_GRACE_S", 0.05)
    made: list[Bench] = []

    def bench(folder: str = "ws", session: str = "s1") -> Bench:
        root = (tmp_path / folder).resolve()
        root.mkdir(exist_ok=True, parents=True)
        state = probe_now("auto", root)
        if state.kind is not SandboxKind.BUBBLEWRAP:
            pytest.skip(f"no bubblewrap sandbox here: {state.reason}")
        state_dir = tmp_path / "state"
        sandbox = Sandbox(state, root, state_dir=state_dir)
        store = UndoStore(
            root, state_dir / session / "undo", private=state_dir, mounts=MountedPaths(state_dir)
        )
        jobs = JobTable()
        context = ExecutionContext(root, before_images=store, jobs=jobs, sandbox=sandbox)
        made.append(Bench(root, context, store, jobs, sandbox))
        return made[-1]

    yield bench
    for one in made:
        await one.jobs.aclose()
        await one.store.aclose()


WRITES_EVER = """
touch begun
while [ ! -e go ]; do
  for name in .forge .git/hooks $HOOKS; do
    mkdir -p "$name" && echo evil > "$name/planted"
  done 2>/dev/null
  echo x 2>/dev/null > .git/config; echo x 2>/dev/null > .git/commondir
done
"""


def planted(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("planted"))


async def reached(path: Path) -> None:
    while not path.exists():
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("in_git", [False, True], ids=["plain", "git"])
async def test_a_job_cannot_write_a_protected_path_during_undo_and_redo(
    make: Callable[..., Bench], in_git: bool
) -> None:
    bench = make()
    if in_git:
        shell(bench.root, "git init -q . && git config core.hooksPath tools/hooks && rm -r .git/hooks")
    config = (bench.root / ".git/config").read_bytes() if in_git else b""
    await bench.turn("echo one > one.txt", job=f"HOOKS={'tools/hooks' if in_git else ''};{WRITES_EVER}")
    await reached(bench.root / "begun")
    for _ in range(3):
        report = await bench.store.undo()
        assert not (bench.root / "one.txt").exists()
        assert not {".forge", "HEAD", ".git", "tools"} & {*report.restored, *report.deleted}
        assert report.conflicts == ()
        await bench.store.redo()
        assert (bench.root / "one.txt").read_text() == "one\n"
    assert planted(bench.root) == []
    assert (bench.root / ".forge").is_dir(), "the placeholder that the job needs"
    await bench.jobs.stop(1)
    await bench.cleared()
    assert planted(bench.root) == []
    assert not (bench.root / ".forge").exists()
    if in_git:
        assert (bench.root / ".git/config").read_bytes() == config
        assert not (bench.root / ".git/commondir").exists()


async def test_a_placeholder_is_in_no_checkpoint_and_no_turn(make: Callable[..., Bench]) -> None:
    bench, other = make(), make(session="s2")
    await bench.turn("echo one > one.txt", job="touch begun; while [ ! -e go ]; do sleep 0.02; done")
    await reached(bench.root / "begun")
    await other.turn("echo two > two.txt")  # its first look is made while the placeholders are there
    (bench.root / "go").touch()
    await bench.jobs.output(1, wait_s=20)
    await bench.cleared()
    await other.turn("echo three > three.txt")
    names = {
        name for store in (bench.store, other.store) for view in store.turns() for name, _ in view.changes
    }
    assert {"one.txt", "two.txt", "three.txt"} <= names
    assert not names & {".forge", ".git", "HEAD"}


async def test_undo_keeps_a_folder_that_protects_a_running_job(
    make: Callable[..., Bench],
) -> None:
    bench = make()
    await bench.store.begin_turn("write the settings")
    write = {"file_path": ".forge/config.toml", "content": "a = 1\n"}
    assert (await ToolExecutor().execute(WriteTool(), write, bench.context)).success
    await bench.store.end_turn()
    await bench.turn(job=WRITES_EVER)
    await reached(bench.root / "begun")
    while (report := await bench.store.undo()).text_of_turn != "write the settings":
        assert report.turn
    assert [(one.name, "job" in one.why) for one in report.conflicts] == [(".forge", True)]
    await bench.job(": again; touch begun2; sleep 7302")
    await reached(bench.root / "begun2")
    assert planted(bench.root) == []
    await bench.jobs.stop(1)
    assert planted(bench.root) == []


async def test_a_file_tool_does_not_replace_a_path_protected_from_a_running_job(
    make: Callable[..., Bench],
) -> None:
    bench = make()
    (bench.root / ".env").write_text("SECRET=1\n")
    await bench.turn(job="touch begun; while [ ! -e go ]; do sleep 0.02; done; cat .env > seen")
    await reached(bench.root / "begun")
    edit = {"file_path": ".env", "old_string": "SECRET=1", "new_string": "SECRET=2"}
    done = await ToolExecutor().execute(EditTool(), edit, bench.context)
    assert not done.success and "job" in done.for_model()
    (bench.root / "go").touch()
    await bench.jobs.output(1, wait_s=20)
    assert "SECRET" not in (bench.root / "seen").read_text()
    await bench.cleared()
    done = await ToolExecutor().execute(EditTool(), edit, bench.context)
    assert done.success, done.error


class StartsJob:
    """Before-images of a session in which a job starts while a file tool is at work."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    async def capture(self, path: Path) -> None:
        await self._bench.store.capture(path)
        await self._bench.job("touch begun; while [ ! -e go ]; do sleep 0.02; done; cat .env > seen")
        await reached(self._bench.root / "begun")

    async def settle(self) -> None:
        await self._bench.store.settle()


async def test_a_file_tool_does_not_replace_a_path_protected_from_a_job_just_starting(
    make: Callable[..., Bench],
) -> None:
    bench = make()
    (bench.root / ".env").write_text("SECRET=1\n")
    await bench.store.begin_turn("change the secret")
    edit = {"file_path": ".env", "old_string": "SECRET=1", "new_string": "SECRET=2"}
    context = replace(bench.context, before_images=StartsJob(bench))  # type: ignore[arg-type]
    done = await ToolExecutor().execute(EditTool(), edit, context)
    assert not done.success and "job" in done.for_model()
    assert (bench.root / ".env").read_text() == "SECRET=1\n"
    (bench.root / "go").touch()
    await bench.jobs.output(1, wait_s=20)
    assert "SECRET" not in (bench.root / "seen").read_text()
    await bench.store.end_turn()
    assert [name for view in bench.store.turns() for name, _ in view.changes if "env" in name] == []


class RecordsSettled(Sandbox):
    """Records a file's content where no sandbox can be set up from, and where one can again."""

    recorded: tuple[str, ...] = ()

    @contextlib.contextmanager
    def settled(self) -> Iterator[None]:
        with super().settled():
            self._record()
            yield
            self._record()

    def _record(self) -> None:
        self.recorded = (*self.recorded, (self._root / "a.txt").read_text())


async def test_no_sandbox_is_set_up_while_a_file_tool_writes(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    sandbox = RecordsSettled(SandboxState(SandboxKind.OFF), tmp_path, state_dir=tmp_path / "state")
    edit = {"file_path": "a.txt", "old_string": "one", "new_string": "two"}
    done = await ToolExecutor().execute(EditTool(), edit, ExecutionContext(tmp_path, sandbox=sandbox))
    assert done.success
    assert sandbox.recorded == ("one\n", "two\n")


async def test_a_file_tool_writes_without_a_state_folder(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("not a folder")
    (tmp_path / "a.txt").write_text("one\n")
    sandbox = Sandbox(SandboxState(SandboxKind.OFF), tmp_path, state_dir=tmp_path / "state")
    edit = {"file_path": "a.txt", "old_string": "one", "new_string": "two"}
    done = await ToolExecutor().execute(EditTool(), edit, ExecutionContext(tmp_path, sandbox=sandbox))
    assert done.success
    assert (tmp_path / "a.txt").read_text() == "two\n"


async def test_two_jobs_share_a_placeholder_that_stays_until_both_have_ended(
    make: Callable[..., Bench],
) -> None:
    bench = make()
    loop = "touch begun{0}; while [ ! -e go{0} ]; do mkdir -p .forge && echo x > .forge/planted; done 2>/dev/null"
    await bench.turn(job=loop.format(1))
    await bench.turn(job=loop.format(2))
    await reached(bench.root / "begun2")
    (bench.root / "go1").touch()
    await bench.jobs.output(1, wait_s=20)
    assert not await asyncio.to_thread(bench.sandbox.tidy)
    await bench.store.undo()
    assert (bench.root / ".forge").is_dir()
    (bench.root / "go2").touch()
    await bench.jobs.output(2, wait_s=20)
    await bench.cleared()
    assert not (bench.root / ".forge").exists()


async def test_a_placeholder_of_a_nested_workspace_is_not_the_outer_ones_change(
    make: Callable[..., Bench],
) -> None:
    inner, outer = make("ws/sub"), make("ws", "s2")
    await outer.turn("echo 0 > zero.txt")
    await inner.turn(job=WRITES_EVER)
    await reached(inner.root / "begun")
    await outer.turn("echo 1 > one.txt")
    await outer.store.undo()
    assert (inner.root / ".forge").is_dir()
    assert planted(inner.root) == []


async def test_a_placeholder_stays_for_the_workspace_that_still_needs_it(make: Callable[..., Bench]) -> None:
    inner, outer = make("ws/sub"), make("ws", "s2")
    shell(inner.root, "git init -q . && rm -r .git/hooks")
    loop = "touch {0}; while [ ! -e {1} ]; do mkdir -p {2}.git/hooks && echo x > {2}.git/hooks/planted; done"
    await inner.turn(job=loop.format("begun", "go", "") + " 2>/dev/null")
    await reached(inner.root / "begun")
    await outer.turn(job=loop.format("begun", "go", "sub/") + " 2>/dev/null")
    await reached(outer.root / "begun")
    (inner.root / "go").touch()
    await inner.jobs.output(1, wait_s=20)
    await inner.cleared()
    assert (inner.root / ".git/hooks").is_dir()
    assert planted(outer.root) == []
    (outer.root / "go").touch()
    await outer.jobs.output(1, wait_s=20)
    await outer.cleared()
    assert not (inner.root / ".git/hooks").exists()


async def test_a_folder_created_by_the_user_during_a_job_is_kept(make: Callable[..., Bench]) -> None:
    bench = make()
    await bench.turn(job="touch begun; while [ ! -e go ]; do sleep 0.02; done")
    await reached(bench.root / "begun")
    (bench.root / ".forge").mkdir(exist_ok=True)
    (bench.root / ".forge/config.toml").write_text("mine")
    await bench.store.undo()
    (bench.root / "go").touch()
    await bench.jobs.output(1, wait_s=20)
    await bench.cleared()
    assert (bench.root / ".forge/config.toml").read_text() == "mine"


def test_an_empty_folder_that_the_user_made_first_is_not_taken_for_a_placeholder(tmp_path: Path) -> None:
    root = (tmp_path / "ws").resolve()
    root.mkdir()
    stand = Placeholders(root, MountedPaths(tmp_path / "state"))
    held = stand.join()
    (root / ".forge").mkdir()  # after it was looked for, and before it would have been created
    assert stand.create_all({root / ".forge": "folder", root / "HEAD": "folder"}) == [
        root / ".forge",
        root / "HEAD",
    ]
    os.close(held)
    assert stand.take_down()
    assert sorted(shapes(root)) == [".forge"]


KILLED = """
import os, signal, subprocess, sys
from pathlib import Path
from forge_core.permissions.sandbox.probing import probe_now
from forge_core.permissions.sandbox.sandbox import Sandbox
root, state_dir = Path(sys.argv[1]), Path(sys.argv[2])
box = Sandbox(probe_now("auto", root), root, state_dir=state_dir)
with box.launch(["bash", "-c", "echo started; sleep 60"], root, os.environ) as launch:
    process = subprocess.Popen(launch.argv, env=launch.environment, pass_fds=launch.pass_fds,
                               stdout=subprocess.PIPE)
    process.stdout.readline()
    os.kill(os.getpid(), signal.SIGKILL)
"""


async def test_placeholders_of_a_killed_process_are_not_changes_and_are_removed_at_startup(
    make: Callable[..., Bench], tmp_path: Path
) -> None:
    bench = make()
    words = [sys.executable, "-c", KILLED, str(bench.root), str(tmp_path / "state")]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    assert (bench.root / ".forge").is_dir()
    store = bench.store
    await store.begin_turn("look")
    watch = await store.before_command()
    while (bench.root / ".forge").exists():
        clear_leftovers(bench.root, tmp_path / "state")  # the killed sandbox itself takes a moment to be gone
    assert await store.after_command(watch) == CommandEffects()
    await store.end_turn()
    assert store.turns() == ()
    assert shapes(bench.root) == {}


def kill_forge_in(root: Path, state_dir: Path) -> None:
    """Leave placeholders in `root`, with nothing alive that needs them."""
    words = [sys.executable, "-c", KILLED, str(root), str(state_dir)]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    assert (root / ".forge").is_dir()
    while MountedPaths(state_dir).in_use():
        time.sleep(0.01)  # the killed sandbox itself takes a moment to be gone


def wait_until_cleared() -> None:
    """Wait for the thread that `clear_leftovers` may have started."""
    for thread in threading.enumerate():
        if thread.name == "forge-clear":
            thread.join()


async def start_session(root: Path, state_dir: Path) -> None:
    """Start a session and end it, once all that it does at the start is done."""
    session = build_session(replace(load_session_config(root, environ={}), state_dir=state_dir), deny_all)
    await asyncio.to_thread(wait_until_cleared)
    await session.aclose()


@pytest.mark.slow
@pytest.mark.parametrize("start_in", ["ws", "elsewhere", "ws/sub", "."])
async def test_a_session_removes_placeholders_of_killed_processes_in_any_workspace(
    make: Callable[..., Bench], tmp_path: Path, start_in: str
) -> None:
    bench = make()
    (tmp_path / start_in).mkdir(exist_ok=True)
    before = shapes(bench.root)
    kill_forge_in(bench.root, tmp_path / "state")
    await start_session(tmp_path / start_in, tmp_path / "state")
    assert shapes(bench.root) == before


async def test_a_session_leaves_the_placeholders_of_a_running_job_elsewhere(
    make: Callable[..., Bench], tmp_path: Path
) -> None:
    bench = make()
    (tmp_path / "elsewhere").mkdir()
    await bench.turn(job=WRITES_EVER)
    await reached(bench.root / "begun")
    await start_session(tmp_path / "elsewhere", tmp_path / "state")
    assert (bench.root / ".forge").is_dir()
    assert planted(bench.root) == []


async def test_placeholders_in_an_unreachable_workspace_are_removed_by_a_later_session(
    make: Callable[..., Bench], tmp_path: Path
) -> None:
    bench = make()
    (tmp_path / "elsewhere").mkdir()
    kill_forge_in(bench.root, tmp_path / "state")
    bench.root.rename(tmp_path / "away")  # as a disk that is not mounted
    await start_session(tmp_path / "elsewhere", tmp_path / "state")
    (tmp_path / "away").rename(bench.root)
    await start_session(tmp_path / "elsewhere", tmp_path / "state")
    assert shapes(bench.root) == {}


def test_placeholders_of_a_sandbox_about_to_end_are_removed_at_startup(tmp_path: Path) -> None:
    root, state_dir = (tmp_path / "ws").resolve(), tmp_path / "state"
    root.mkdir()
    stand = Placeholders(root, MountedPaths(state_dir))
    held = stand.join()
    with stand.mounted.settled():
        stand.create_all({root / ".forge": "folder"})
    clear_leftovers(root, state_dir)
    assert (root / ".forge").is_dir()
    os.close(held)
    wait_until_cleared()
    assert not (root / ".forge").exists()
