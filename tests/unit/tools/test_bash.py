import asyncio
import math
import os
import resource
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from forge_core.tools import BashTool, ExecutionContext, ReadTool, ToolExecutor, ToolResult
from forge_core.tools.builtin.bash import MAX_COMMAND_BYTES
from forge_core.tools.output import OutputStore
from forge_core.tools.shell import process
from forge_core.tools.shell.capture import MAX_LIVE_TOTAL, OutputCapture
from forge_core.tools.shell.environment import child_environment
from forge_core.tools.shell.job import PIPE_GRACE_S
from forge_core.tools.shell.process_tree import processes_of_call
from tests.support.promptness import assert_prompt

FLOOD_BYTES = 1_000_000_000 if os.environ.get("FORGE_FULL") else 300_000_000


@pytest.fixture
async def tool() -> Any:
    bash = BashTool()
    yield bash
    await bash.aclose()


async def bash(
    tool: BashTool, root: Path, command: str, *, context: ExecutionContext | None = None, **more: Any
) -> ToolResult:
    return await ToolExecutor().execute(tool, {"command": command, **more}, context or ExecutionContext(root))


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


async def gone(pid: int) -> bool:
    """Whether the process ends; a busy machine may take its time for it."""
    deadline = time.monotonic() + 20
    while is_alive(pid):
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.02)
    return True


async def test_output_and_exit_code_are_reported(tool: BashTool, tmp_path: Path) -> None:
    result = await bash(tool, tmp_path, "echo out; echo err >&2; pwd")
    assert result.success
    assert result.output.startswith(f"out\nerr\n{tmp_path}\n[exit code 0, ")
    assert (result.summary, result.outcome) == ("exit 0", "done")
    assert result.output == f"out\nerr\n{tmp_path}\n{result.aside}"


@pytest.mark.parametrize(
    ("command", "words", "summary"),
    [
        ("echo some; exit 3", "Error: exit code 3\nsome", "exit 3"),
        ("false", "Error: exit code 1\n(no output)", "exit 1"),
        ("kill -9 $$", "Error: exit code 137 (SIGKILL)", "exit 137"),
        ("sh -c 'kill -15 $$'", "Error: exit code 143 (SIGTERM)", "exit 143"),
        ("exit 255", "Error: exit code 255", "exit 255"),
        ("no-such-program", "Error: exit code 127", "exit 127"),
        ("if", "Error: exit code 2", "exit 2"),
        ("-x", "Error: exit code 127", "exit 127"),
    ],
)
async def test_a_failure_states_its_cause_and_keeps_the_output(
    tool: BashTool, tmp_path: Path, command: str, words: str, summary: str
) -> None:
    result = await bash(tool, tmp_path, command)
    assert not result.success
    assert result.for_model().startswith(words)
    assert (result.summary, result.outcome) == (summary, "failed")
    assert result.for_model().startswith(f"{result.aside}\n")


async def test_bash_returns_when_the_shell_exits_although_a_child_keeps_the_pipe_open(
    tool: BashTool, tmp_path: Path
) -> None:
    async def attempt() -> float:
        started = time.perf_counter()
        result = await bash(tool, tmp_path, "sleep 7002 & echo started")
        took = time.perf_counter() - started
        assert result.success
        assert "still running in the background" in result.output
        assert "sleep 7002" in result.output
        return took

    await assert_prompt(1, attempt)


async def test_a_late_exit_notification_does_not_report_leftover_processes(
    tool: BashTool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine the supervisor's own end comes a while after the shell's."""
    exit_of = process.exit_of

    async def late(supervisor: Any) -> int:
        await asyncio.sleep(2 * PIPE_GRACE_S)
        return await exit_of(supervisor)

    monkeypatch.setattr(process, "exit_of", late)
    result = await bash(tool, tmp_path, "echo whole")
    assert result.output.startswith("whole\n[exit code 0, ")
    assert "still running" not in result.output


@pytest.mark.slow
async def test_a_timeout_returns_immediately_with_the_partial_output(tool: BashTool, tmp_path: Path) -> None:
    timeouts = iter((0.3, 0.6, 1.2, 2.4, 4.8, 9.6))
    command = "trap '' TERM; echo $$ > pid; echo before; sleep 7011 & wait; sleep 7012"

    async def attempt() -> float:
        timeout_s = next(timeouts)
        (tmp_path / "pid").unlink(missing_ok=True)
        started = time.perf_counter()
        result = await bash(tool, tmp_path, command, timeout_s=timeout_s)
        took = time.perf_counter() - started
        assert took >= timeout_s
        assert not result.success
        assert f"timed out after {timeout_s} s" in (result.error or "")
        assert result.for_model() == f"{result.aside}\n{result.output}"
        if result.output != "before":
            return math.inf  # the machine was too busy for the shell to come that far
        assert await gone(int((tmp_path / "pid").read_text()))
        return took - timeout_s

    await assert_prompt(0.4, attempt)


async def test_an_interrupt_returns_within_200_ms_with_the_partial_output(
    tool: BashTool, tmp_path: Path
) -> None:
    async def attempt() -> float:
        interrupted = asyncio.Event()
        pressed: list[float] = []

        def press(output: str) -> None:
            pressed.append(time.perf_counter())
            interrupted.set()

        context = ExecutionContext(tmp_path, interrupted=interrupted, on_output=press)
        result = await bash(tool, tmp_path, "echo $$ > pid; echo half; sleep 7013", context=context)
        took = time.perf_counter() - pressed[0]
        assert "interrupted by the user" in (result.error or "")
        assert result.for_model() == f"{result.aside}\n{result.output}"
        assert result.output == "half"
        assert await gone(int((tmp_path / "pid").read_text()))
        return took

    await assert_prompt(0.2, attempt)


async def test_a_hard_cancel_ends_the_command(tool: BashTool, tmp_path: Path) -> None:
    call = asyncio.ensure_future(bash(tool, tmp_path, "echo $$ > pid; sleep 7014"))
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        await asyncio.sleep(0.01)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await gone(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize(
    "command",
    [
        "cat",
        "read x; echo $x",
        "vim -u NONE x",
        "vi",
        "true && nvim x",
        "git commit --allow-empty --amend",
        "top",
        "crontab -e",
        "less /etc/hosts",
        "git log",
        "python3",
        "sudo -n true",
        "man ls",
        "ssh localhost",
    ],
)
async def test_interactive_programs_end_at_once(tool: BashTool, tmp_path: Path, command: str) -> None:
    result = await bash(tool, tmp_path, command, timeout_s=30)
    assert result.outcome in ("done", "failed"), "it waited for somebody"


@pytest.mark.slow
async def test_a_flood_of_output_uses_little_memory_and_does_not_block_the_event_loop(
    tool: BashTool, tmp_path: Path
) -> None:
    longest = 0.0

    async def watch() -> None:
        """How long the loop itself was at work without a pause; what others do on the machine does not count."""
        nonlocal longest
        while True:
            before = time.thread_time()
            await asyncio.sleep(0.005)
            longest = max(longest, time.thread_time() - before)

    live: list[str] = []
    executor = ToolExecutor()
    context = ExecutionContext(tmp_path, on_output=live.append)
    watching = asyncio.ensure_future(watch())
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    result = await executor.execute(
        tool, {"command": f"echo first; yes | head -c {FLOOD_BYTES}; echo last"}, context
    )
    took = time.perf_counter() - started
    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb
    watching.cancel()
    assert result.output.startswith("first\ny\n")
    assert "y\nlast\n[exit code 0" in result.output
    assert len(result.output) <= 30_000
    assert result.omission is not None
    head, tail = result.output.split(f"\n{result.omission.line}\n")
    missing = int(result.omission.line.split()[1].replace(",", ""))
    shown = len(head) + len(tail.partition("[exit code")[0])
    assert shown + missing in (FLOOD_BYTES + 10, FLOOD_BYTES + 11)
    kept = Path(result.omission.kept_in)
    assert str(kept) in result.output
    assert kept.stat().st_size == 50 * 1024 * 1024
    assert kept.stat().st_mode & 0o777 == 0o600
    assert grown_kb < 20_000
    assert longest < 0.1
    assert len(live) <= took * 20 + 2
    assert sum(map(len, live)) <= MAX_LIVE_TOTAL + 100_000


async def test_live_output_comes_while_the_command_runs(tool: BashTool, tmp_path: Path) -> None:
    seen: list[str] = []
    came = asyncio.Event()

    def take(text: str) -> None:
        seen.append(text)
        came.set()

    context = ExecutionContext(tmp_path, on_output=take)
    call = asyncio.ensure_future(
        bash(tool, tmp_path, "echo one; while [ ! -e go ]; do sleep 0.02; done; echo two", context=context)
    )
    await asyncio.wait_for(came.wait(), 30)
    assert "".join(seen) == "one\n"
    assert not call.done()
    (tmp_path / "go").write_text("")
    await call
    assert "".join(seen) == "one\ntwo\n"


async def test_characters_split_between_writes_arrive_intact(tool: BashTool, tmp_path: Path) -> None:
    seen: list[str] = []
    context = ExecutionContext(tmp_path, on_output=seen.append)
    result = await bash(tool, tmp_path, r"printf '\xe4'; sleep 0.15; printf '\xb8\xad\xff!'", context=context)
    assert result.output.startswith("\u4e2d\ufffd!\n")
    assert "".join(seen) == "\u4e2d\ufffd!"


async def test_variables_that_force_colours_are_removed(tool: BashTool, tmp_path: Path) -> None:
    seen: list[str] = []
    (tmp_path / "folder").mkdir()
    context = ExecutionContext(tmp_path, on_output=seen.append)
    result = await bash(
        tool, tmp_path, "ls --color=always; printf ' 50%%\\r100%%\\n\\033[7'", context=context
    )
    assert result.output.startswith("folder\n100%\n\u241b[7\n[exit code 0")
    assert "".join(seen).startswith("folder\n")
    assert "\x1b" not in "".join(seen)


async def test_secrets_do_not_reach_the_command(
    tool: BashTool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "OPENROUTER_API_KEY",
        "GITHUB_TOKEN",
        "MY_SECRET",
        "DB_PASSWORD",
        "LC_TOKEN",
        "AWS_CREDENTIALS",
        "RANDOM_THING",
    ):
        monkeypatch.setenv(name, "canary-value")
    monkeypatch.setenv("BASH_ENV", "/canary-value")
    result = await bash(tool, tmp_path, "env; cat /proc/$$/environ")
    assert "canary-value" not in result.output
    assert "PAGER=cat" in result.output
    assert "GIT_TERMINAL_PROMPT=0" in result.output
    assert "TERM=dumb" in result.output


def test_the_environment_includes_only_variables_on_the_allow_list() -> None:
    source = {"PATH": "/bin", "XDG_TOKEN_HOME": "2", "OTHER": "3", "LC_ALL": "C", "LC_API_KEY": "4"}
    environment = child_environment(source)
    assert environment.keys() & source.keys() == {"PATH", "LC_ALL"}
    assert environment["LC_ALL"] == "C"


async def test_changed_files_that_the_model_had_read_are_reported(tool: BashTool, tmp_path: Path) -> None:
    context = ExecutionContext(tmp_path)
    for name in ("a.txt", "b.txt", "c.txt", "d.txt"):
        (tmp_path / name).write_text("one\n")
        await ToolExecutor().execute(ReadTool(), {"file_path": name}, context)
    result = await bash(tool, tmp_path, "echo two >> a.txt; rm b.txt; touch c.txt", context=context)
    assert "[changed by the command, read again before editing: a.txt, b.txt (deleted)]" in result.output


async def test_each_call_runs_in_its_own_shell(tool: BashTool, tmp_path: Path) -> None:
    await bash(tool, tmp_path, "cd /; X=1")
    assert (await bash(tool, tmp_path, "pwd; echo [$X]")).output.startswith(f"{tmp_path}\n[]\n")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("  ", "empty"),
        ("echo \ud800", "surrogate"),
        ("a\0b", "NUL"),
        ("x" * (MAX_COMMAND_BYTES + 1), "script file"),
    ],
)
async def test_an_unrunnable_command_is_rejected(
    tool: BashTool, tmp_path: Path, command: str, words: str
) -> None:
    assert words in ((await bash(tool, tmp_path, command)).error or "")


async def test_the_timeout_has_a_maximum(tool: BashTool, tmp_path: Path) -> None:
    assert "at most 600" in ((await bash(tool, tmp_path, "true", timeout_s=601)).error or "")


async def test_a_deleted_working_folder_is_reported(tool: BashTool, tmp_path: Path) -> None:
    assert "could not be started" in ((await bash(tool, tmp_path / "gone", "true")).error or "")


async def test_commands_run_concurrently(tool: BashTool, tmp_path: Path) -> None:
    together = "touch here-{0}; until [ $(ls here-* | wc -l) = 5 ]; do sleep 0.02; done; echo {0}"
    results = await asyncio.gather(
        *(bash(tool, tmp_path, together.format(number), timeout_s=60) for number in range(5))
    )
    assert [result.output.split("\n")[0] for result in results] == list("01234")


def own_children() -> set[str]:
    """The ids of this process's children, ended ones that nobody has waited for among them."""
    lists = Path("/proc/self/task").glob("*/children")
    return {pid for one in lists for pid in one.read_text().split()}


@pytest.mark.slow
async def test_no_descriptor_or_child_process_is_leaked(tool: BashTool, tmp_path: Path) -> None:
    await bash(tool, tmp_path, "true")
    before, children = len(os.listdir("/proc/self/fd")), own_children()  # noqa: PTH208
    for _ in range(10):
        await bash(tool, tmp_path, "echo x; false")
        await bash(tool, tmp_path, "sleep 7015", timeout_s=0.1)
    await tool.aclose()
    assert len(os.listdir("/proc/self/fd")) <= before  # noqa: PTH208
    assert own_children() <= children


def test_a_process_is_found_by_its_environment_mark_alone(tmp_path: Path) -> None:
    import subprocess

    mark = f"mark-{os.getpid()}"
    sleeping = subprocess.Popen(["sleep", "7016"], env=child_environment(call=mark), start_new_session=True)
    while not Path(f"/proc/{sleeping.pid}/environ").read_bytes():
        time.sleep(0.01)  # it has begun before the kernel shows what it was given
    try:
        assert [one.pid for one in processes_of_call(mark)] == [sleeping.pid]
        assert processes_of_call(f"{mark}-another") == []
    finally:
        sleeping.send_signal(signal.SIGKILL)
        sleeping.wait()


class TestCapture:
    def test_a_small_output_is_whole_and_writes_no_file(self) -> None:
        outputs = OutputStore()
        capture = OutputCapture(100, outputs, "x")
        capture.feed("caf\u00e9".encode()[:4])
        capture.feed("caf\u00e9".encode()[4:])
        assert capture.take() == "caf\u00e9"
        assert outputs.folder is None

    @pytest.mark.parametrize("size", [99, 100, 101, 399, 400, 401, 799, 800, 801, 5_000])
    @pytest.mark.parametrize("piece", [1, 7, 64, 10_000])
    def test_head_and_tail_are_right_at_every_size(self, size: int, piece: int) -> None:
        data = "".join(chr(ord("a") + number % 26) for number in range(size)).encode()
        capture = OutputCapture(100, OutputStore(), "x")
        for at in range(0, size, piece):
            capture.feed(data[at : at + piece])
        capture.close()
        text = capture.take()
        if size <= 100:
            assert text == data.decode()
            return
        head, note, tail = text.split("\n")
        assert head.encode() == data[:50]
        assert tail.encode() == data[-50:]
        assert f"{size - 100:,} characters left out" in note
        assert capture.kept_in is not None
        assert capture.kept_in.read_bytes() == data

    def test_an_unwritable_output_store_loses_only_the_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        capture = OutputCapture(100, OutputStore(tmp_path / "file"), "x")
        capture.feed(b"a" * 10_000)
        capture.close()
        assert capture.kept_in is None
        assert "left out ...]" in capture.take()
