"""Commands in the background: how they get there, what is told of them, how they end."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from forge_core.tools import BashTool, ExecutionContext, ToolExecutor, ToolResult
from forge_core.tools.base import BaseTool
from forge_core.tools.builtin import bash as bash_module
from forge_core.tools.builtin.job_output import JobOutputTool
from forge_core.tools.builtin.job_stop import JobStopTool
from forge_core.tools.shell.job import Job, JobState
from forge_core.tools.shell.job_table import MAX_ENDED_KEPT, JobTable
from forge_core.tools.shell.process_tree import descendants

pytestmark = pytest.mark.slow


GO = "while [ ! -e {} ]; do sleep 0.02; done"
NAMED = "until grep -q ^sleep /proc/$!/cmdline; do sleep 0.02; done"
"""Waits until the shell's last child has become what it is to be."""


class Desk:
    """A session's tools, jobs and what they tell."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.told: list[str] = []
        self.jobs = JobTable(self.told.append)
        self.executor = ToolExecutor()

    def context(self, **more: Any) -> ExecutionContext:
        return ExecutionContext(self.root, jobs=self.jobs, **more)

    async def call(
        self, tool: BaseTool, context: ExecutionContext | None = None, **params: Any
    ) -> ToolResult:
        return await self.executor.execute(tool, params, context or self.context())

    async def bash(self, command: str, context: ExecutionContext | None = None, **more: Any) -> ToolResult:
        return await self.call(BashTool(), context, command=command, **more)

    async def start(self, command: str, **more: Any) -> ToolResult:
        return await self.bash(command, run_in_background=True, **more)

    async def look(self, job_id: int, **more: Any) -> ToolResult:
        return await self.call(JobOutputTool(), job_id=job_id, **more)

    async def stop(self, job_id: int) -> ToolResult:
        return await self.call(JobStopTool(), job_id=job_id)

    def job(self, job_id: int) -> Job | None:
        return next((one for one in self.jobs.list() if one.id == job_id), None)

    def state(self, job_id: int) -> JobState:
        job = self.job(job_id)
        assert job is not None
        return job.state

    def recent(self, job_id: int) -> str:
        job = self.job(job_id)
        return job.capture.recent() if job is not None else ""

    async def ended(self, job_id: int) -> None:
        await until(lambda: self.state(job_id) is not JobState.RUNNING)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    await desk.jobs.aclose()


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs longer than a moment goes to the background, so that no test waits a minute."""
    monkeypatch.setattr(bash_module, "BACKGROUND_AFTER_S", 0.6)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bash_module, "START_GRACE_S", 0.15)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first output is waited for, however slow the machine is."""
    monkeypatch.setattr(bash_module, "START_GRACE_S", 2.0)


async def until(
    condition: Callable[[], bool],
) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


async def test_a_job_gets_a_number_and_the_call_returns_while_it_runs(desk: Desk, patient: None) -> None:
    result = await desk.start("echo up; sleep 7101")
    assert result.success
    assert result.output.startswith("up\n[runs in the background as job 1; job_output 1 shows its output")
    assert (result.summary, result.outcome, result.aside) == ("job 1", "background", "")
    (job,) = desk.jobs.list()
    assert (job.id, job.state, job.spec.command) == (1, JobState.RUNNING, "echo up; sleep 7101")
    assert (job.process.exit_code, job.timeout_s) == (None, None)


async def test_a_job_that_fails_at_once_is_an_ordinary_result(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bash_module, "START_GRACE_S", 30.0)
    result = await desk.start("no-such-program-here")
    assert not result.success
    assert result.error == "exit code 127"
    assert desk.jobs.list() == ()
    assert desk.told == []


async def test_job_output_returns_only_new_output(desk: Desk, tmp_path: Path) -> None:
    await desk.start(f"echo one; {GO.format('a')}; echo two; {GO.format('b')}; echo three; exit 3")
    await until(lambda: desk.recent(1) == "one\n")
    await desk.look(1)
    assert (await desk.look(1)).output.startswith("(no new output)\n[job 1 running for ")
    (tmp_path / "a").touch()
    assert (await desk.look(1, wait_s=30)).output.startswith("two\n[job 1 running for ")
    (tmp_path / "b").touch()
    await desk.ended(1)
    last = await desk.look(1)
    assert re.match(r"three\n\[job 1 ended: exit code 3 after \d+ s]$", last.output)
    assert (await desk.look(1)).output.startswith("(no new output)\n[job 1 ended: exit code 3")


async def test_the_first_wait_is_not_ended_by_output_already_shown(
    desk: Desk, tmp_path: Path, patient: None
) -> None:
    await desk.start(f"echo one; {GO.format('a')}; echo two; sleep 7101")
    asyncio.get_running_loop().call_later(0.3, (tmp_path / "a").touch)
    assert (await desk.look(1, wait_s=30)).output.startswith("two\n[job 1 running")


async def test_waiting_for_output_ends_with_the_job(desk: Desk, tmp_path: Path) -> None:
    await desk.start(GO.format("a"))
    asyncio.get_running_loop().call_later(0.2, (tmp_path / "a").touch)
    result = await desk.look(1, wait_s=30)
    assert "ended: exit code 0" in result.output


async def test_waiting_for_output_ends_with_an_interrupt(desk: Desk) -> None:
    await desk.start("sleep 7102")
    context = desk.context(interrupted=asyncio.Event())
    assert context.interrupted is not None
    asyncio.get_running_loop().call_later(0.1, context.interrupted.set)
    async with asyncio.timeout(30):
        result = await desk.call(JobOutputTool(), context, job_id=1, wait_s=60)
    assert "running for" in result.output


async def test_all_output_is_in_a_private_file_from_the_first_byte(desk: Desk, tmp_path: Path) -> None:
    started = await desk.start(f"echo first; {GO.format('a')}; yes line | head -100000; echo last")
    found = re.search(r"all of its output goes to ([^\]]+)\]", started.output)
    assert found is not None
    path = Path(found[1])
    (tmp_path / "a").touch()
    await desk.ended(1)
    result = await desk.look(1)
    assert len(result.output) <= 30_000
    assert f"the whole output is in {path}" in result.output
    assert path.read_text() == "first\n" + "line\n" * 100_000 + "last\n"
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_character_split_between_two_reads_arrives_intact(desk: Desk, tmp_path: Path) -> None:
    started = await desk.start(rf"printf 'a\xe4\xb8'; {GO.format('a')}; printf '\xadb\xe4'")
    await until(lambda: desk.recent(1) != "")
    early = started.output + (await desk.look(1)).output
    assert "a\n[" in early
    assert "\ufffd" not in early
    (tmp_path / "a").touch()
    await desk.ended(1)
    assert (await desk.look(1)).output.startswith("\u4e2db\ufffd\n[job 1")


async def test_a_long_running_command_becomes_a_background_job(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bash_module, "BACKGROUND_AFTER_S", 2.0)
    live: list[str] = []
    context = desk.context(on_output=live.append)
    result = await desk.bash(f"echo slow; {GO.format('a')}; echo done", context)
    assert result.success
    assert result.output.startswith(
        "slow\n[it still runs, in the background now as job 1; it is stopped 120 s"
    )
    shown = list(live)
    (tmp_path / "a").touch()
    await desk.ended(1)
    assert (await desk.look(1)).output.startswith("done\n")
    assert live == shown == ["slow\n"]


async def test_the_timeout_continues_in_the_background(desk: Desk, at_once: None) -> None:
    result = await desk.bash("echo x; sleep 7103", timeout_s=2.5)
    assert "job 1; it is stopped 2.5 s after its start" in result.output
    await desk.ended(1)
    assert desk.state(1) is JobState.TIMED_OUT
    assert "timed out after" in (await desk.look(1)).output


async def test_the_user_moves_a_running_command_to_the_background(desk: Desk) -> None:
    assert not desk.jobs.background_now("call_1")
    call = asyncio.ensure_future(desk.bash("echo x; sleep 7104", desk.context(call_id="call_1")))
    await until(lambda: desk.jobs.background_now("call_1"))
    result = await call
    assert result.output.startswith("x\n[the user moved it to the background: it is now job 1;") or (
        result.output.startswith("(no output yet)\n[the user moved it")
    )
    assert not desk.jobs.background_now("call_1")
    assert desk.state(1) is JobState.RUNNING


async def test_processes_left_by_a_command_are_a_job_that_can_be_stopped(desk: Desk) -> None:
    result = await desk.bash(f"echo started; sleep 7105 & {NAMED}; exit 0")
    assert result.success
    assert re.search(
        r"started\n\[exit code 0, .* s]\n\[still running in the background as job 1: \d+ sleep 7105",
        result.output,
    )
    (job,) = desk.jobs.list()
    assert job.state is JobState.RUNNING
    assert [one.command for one in job.process.left] == ["sleep 7105"]
    assert "its shell ended: exit code 0; still running" in (await desk.look(1)).output
    stopped = await desk.stop(1)
    assert "[job 1 stopped after" in stopped.output
    assert desk.told == []


async def test_the_end_of_a_process_left_running_is_reported(desk: Desk, tmp_path: Path) -> None:
    await desk.bash(f"({GO.format('a')}; echo late) & true")
    (tmp_path / "a").touch()
    await desk.ended(1)
    await until(lambda: bool(desk.told))
    assert (await desk.look(1)).output.startswith("late\n[job 1 ended: exit code 0")


async def test_ends_are_reported_to_the_user_at_once_and_to_the_model_once(
    desk: Desk, tmp_path: Path
) -> None:
    await desk.start(f"{GO.format('a')}; exit 4")
    assert desk.jobs.news() == ()
    (tmp_path / "a").touch()
    await until(lambda: bool(desk.told))
    assert re.fullmatch(r"job 1 \(while .*\) ended: exit code 4 after \d+ s", desk.told[0])
    (line,) = desk.jobs.news()
    assert line == f"{desk.told[0]}; job_output 1 gives its output"
    assert desk.jobs.news() == ()


@pytest.mark.parametrize(
    ("end", "words"),
    [("exit 1", "exit code 1"), ("kill -KILL $$", r"exit code 137 \(SIGKILL\)")],
)
async def test_the_end_line_of_a_job_states_result_duration_and_last_output(
    desk: Desk, tmp_path: Path, end: str, words: str
) -> None:
    await desk.start(f"{GO.format('a')}; echo one; printf '\\033[31mport 80 is in use\\n\\n'; {end}")
    (tmp_path / "a").touch()
    await until(lambda: bool(desk.told))
    assert re.fullmatch(
        rf"job 1 \(.*\) ended: {words} after \d+ s; last line: port 80 is in use", desk.told[0]
    )
    await desk.start("echo hello; sleep 7111")
    await until(lambda: desk.recent(2) != "")
    job = await desk.jobs.stop(2)
    assert re.fullmatch(r"job 2 \(echo hello; sleep 7111\) stopped after \d+ s; last line: hello", job.report)


async def test_a_very_long_last_line_is_truncated(desk: Desk, tmp_path: Path) -> None:
    await desk.start(f"{GO.format('a')}; head -c 100000 /dev/zero | tr '\\0' x")
    (tmp_path / "a").touch()
    await until(lambda: bool(desk.told))
    assert desk.told[0].endswith(f"last line: {'x' * 120}...")


async def test_every_change_of_the_number_of_running_jobs_is_reported(desk: Desk, tmp_path: Path) -> None:
    counts: list[int] = []
    desk.jobs.on_change = lambda: counts.append(desk.jobs.running_count)
    await desk.start(GO.format("a"))
    await desk.start("sleep 7112")
    assert counts == [1, 2]
    await desk.jobs.stop(2)
    assert counts[2] == 1
    (tmp_path / "a").touch()
    await until(lambda: bool(desk.told))
    assert counts[-1] == 0


async def test_a_job_end_already_seen_by_the_model_is_not_reported_again(desk: Desk, tmp_path: Path) -> None:
    await desk.start(GO.format("a"))
    asyncio.get_running_loop().call_later(0.2, (tmp_path / "a").touch)
    await desk.look(1, wait_s=30)
    await until(lambda: bool(desk.told))
    assert desk.jobs.news() == ()


async def test_the_end_of_a_jobs_shell_is_reported_while_something_keeps_running(
    desk: Desk, tmp_path: Path
) -> None:
    await desk.start(f"{GO.format('a')}; setsid sleep 7106 & {GO.format('a')}", timeout_s=60)
    (tmp_path / "a").touch()
    await until(lambda: bool(desk.told))
    assert "its shell ended: exit code 0; still running: " in desk.told[0]
    assert desk.state(1) is JobState.RUNNING
    assert desk.jobs.list()[0].timeout_s is None


async def test_a_job_stopped_by_the_user_is_news_for_the_model_only(desk: Desk) -> None:
    await desk.start("sleep 7107")
    job = await desk.jobs.stop(1)
    assert job.state is JobState.STOPPED
    assert desk.told == []
    assert "stopped after" in desk.jobs.news()[0]


async def test_stopping_kills_processes_that_ignore_the_first_signal(desk: Desk) -> None:
    await desk.start("trap '' TERM; echo up; sleep 7108; sleep 7108")
    result = await desk.stop(1)
    assert "stopped after" in result.output
    assert (await desk.stop(1)).output.startswith("(no new output)\n[job 1 stopped")


async def test_starting_too_many_jobs_is_rejected_with_the_running_ones(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, at_once: None
) -> None:
    monkeypatch.setattr("forge_core.tools.shell.job_table.MAX_RUNNING_JOBS", 2)
    await desk.start("sleep 7109")
    await desk.start("sleep 7109")
    refused = await desk.start("sleep 7109")
    assert "2 jobs are running already (1, 2)" in (refused.error or "")
    assert not desk.jobs.background_now()
    used = time.process_time()
    stays = await desk.bash("sleep 1.2; echo whole")
    assert stays.output.startswith("whole\n[exit code 0")
    assert time.process_time() - used < 0.4, "it was waited for in a busy loop"
    left = await desk.bash(f"sleep 7109 & {NAMED}")
    assert re.search(r"\[it left running: \d+ sleep 7109. This was stopped", left.output)
    await desk.stop(1)
    assert (await desk.start("sleep 7109")).success


@pytest.mark.parametrize("tool", [JobOutputTool(), JobStopTool()])
async def test_an_unknown_job_is_reported_with_the_existing_ones(desk: Desk, tool: BaseTool) -> None:
    assert (await desk.call(tool, job_id=7)).error == "there is no job 7. The jobs are: none yet."
    await desk.start("sleep 7110")
    assert (await desk.call(tool, job_id="7")).error == "there is no job 7. The jobs are: 1."


async def test_without_a_session_there_are_no_jobs(tmp_path: Path) -> None:
    context = ExecutionContext(tmp_path)
    result = await ToolExecutor().execute(JobOutputTool(), {"job_id": 1}, context)
    assert "there are no background jobs here" in (result.error or "")
    command = {"command": "touch ran", "run_in_background": True}
    result = await ToolExecutor().execute(BashTool(), command, context)
    assert "there are no background jobs here" in (result.error or "")
    assert not (tmp_path / "ran").exists()


async def test_without_a_session_a_long_command_is_awaited(tmp_path: Path, at_once: None) -> None:
    tool = BashTool()
    result = await ToolExecutor().execute(
        tool, {"command": f"sleep 0.9; echo whole; sleep 7114 & {NAMED}"}, ExecutionContext(tmp_path)
    )
    assert result.output.startswith("whole\n[exit code 0")
    assert re.search(r"\[still running in the background: \d+ sleep 7114; it ends with the", result.output)
    await tool.aclose()


async def test_the_oldest_ended_jobs_are_forgotten(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forge_core.tools.shell.job_table.MAX_ENDED_KEPT", 2)
    monkeypatch.setattr(bash_module, "START_GRACE_S", 0.0)
    assert MAX_ENDED_KEPT >= 16
    for number in range(1, 5):
        await desk.start(GO.format(f"go-{number}"))
        (tmp_path / f"go-{number}").touch()
        await desk.ended(number)
    await desk.start("sleep 7111")
    assert [one.id for one in desk.jobs.list()] == [3, 4, 5]


async def test_the_user_can_view_output_without_consuming_it(desk: Desk) -> None:
    await desk.start("echo here; sleep 7112")
    await until(lambda: desk.recent(1) != "")
    await desk.look(1)
    assert desk.recent(1) == "here\n"


async def test_closing_ends_all_jobs_and_foreground_commands(desk: Desk) -> None:
    import os

    await desk.start("sleep 7113")
    await desk.bash("setsid sleep 7113 & true")
    call = asyncio.ensure_future(desk.bash("sleep 7113", desk.context(call_id="c")))
    await until(lambda: len([one for one in descendants(os.getpid()) if one.command == "sleep 7113"]) == 3)
    await desk.jobs.aclose()
    await call
    assert [one for one in descendants(os.getpid()) if "7113" in one.command] == []


async def test_a_hostile_command_line_is_sanitized_for_display(desk: Desk, tmp_path: Path) -> None:
    await desk.start(f"{GO.format('a')}; : '\x1b[2J\u202e'\nfalse")
    (tmp_path / "a").touch()
    await until(lambda: bool(desk.told))
    assert "\x1b" not in desk.told[0]
    assert "\u202e" not in desk.told[0]
    assert "\n" not in desk.told[0]
