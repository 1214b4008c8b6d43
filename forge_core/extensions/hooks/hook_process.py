"""Runs the program of one hook: without a terminal, in a separate session, under a supervisor, for a limited
time."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from forge_core.extensions.hooks.hook_answer import NOT_EXECUTABLE, NOT_FOUND, HookOutcome
from forge_core.extensions.hooks.hook_events import HookEvent
from forge_core.extensions.hooks.hook_files import Hook
from forge_core.extensions.program_files import missing_program, missing_script
from forge_core.tools.shell.environment import child_environment
from forge_core.tools.shell.supervised import ExitReport, can_supervise, supervised
from forge_core.workspace.beneath import open_file

MAX_STDOUT = 1_000_000
"""Bytes that count; what follows is read and dropped."""
MAX_STDERR = 64_000
"""The last bytes are kept."""
_PIPE_WAIT_S = 0.5
"""How long output is awaited after the program has ended: a child of it may keep the pipes open."""
_KILL_WAIT_S = 2.0
"""How long a supervisor may take to end everything: a program may fork faster than it is killed."""
_SIGNALLED = 128
"""What a shell adds to the number of the signal that has ended a program, for the exit code."""
_EXPORT = re.compile(r"export[ \t]+([A-Za-z_]\w*)=(.*)")
_REFERENCE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


@dataclass(frozen=True, slots=True)
class _Program:
    argv: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    mark: str = ""
    """Begins the report of a supervisor; empty: `argv` is the hook itself."""


@dataclass(slots=True)
class HookProcesses:
    """Starts the programs of a session's hooks, and ends what they leave behind."""

    folder: Path
    """The project: programs start in it."""
    variables: dict[str, str] = field(default_factory=dict)
    """What hooks of SessionStart have exported for commands."""
    _left: list[_RunningHook] = field(default_factory=list)
    """The supervisors of programs that hooks have left running."""

    async def run(self, hook: Hook, stdin: bytes) -> HookOutcome:
        """Run a hook to its end, its time limit, or a cancellation; nothing of its group is left after the
        last two. Never raises for a fault of the hook."""
        started = time.monotonic()
        if missing := await asyncio.to_thread(self._missing, hook):
            return HookOutcome(problem=f"the script {missing!r} does not exist")
        with _env_file(hook.event) as env_file:
            outcome = await self._run(hook, stdin, env_file)
            if env_file is not None and outcome.exit_code == 0:
                exports = await asyncio.to_thread(read_exports, env_file, self.environment() | self.variables)
                self.variables |= exports
        return replace(outcome, duration_s=time.monotonic() - started)

    def environment(self) -> dict[str, str]:
        """Return the environment of hooks: what commands have, and where the project is."""
        return child_environment() | self.places()

    def places(self) -> dict[str, str]:
        """Return the variables that command lines of hooks use for the project."""
        return {"CLAUDE_PROJECT_DIR": str(self.folder), "FORGE_PROJECT_DIR": str(self.folder)}

    async def kill_rest(self) -> None:
        """Kill what hooks have left running."""
        for one in self._left:
            await one.kill()
        self._left.clear()

    def _missing(self, hook: Hook) -> str:
        if hook.args is not None:
            return missing_program([hook.command, *hook.args], self.folder)
        known = {**self.places(), "HOME": str(Path.home()), "PWD": str(self.folder)}
        return missing_script(hook.command, known, self.folder)

    async def _run(self, hook: Hook, stdin: bytes, env_file: Path | None) -> HookOutcome:
        environment = self.environment()
        if env_file is not None:
            environment["CLAUDE_ENV_FILE"] = str(env_file)
        # The folder may be gone, after a command of the model.
        folder = self.folder if self.folder.is_dir() else Path.home()
        argv = ["/bin/sh", "-c", hook.command] if hook.args is None else [hook.command, *hook.args]
        mark = f"forge-exit-{uuid.uuid4().hex}" if can_supervise() else ""
        program = _Program(supervised(mark, argv) if mark else argv, folder, environment, mark)
        return await self._outcome(program, stdin, hook.timeout_s)

    async def _outcome(self, program: _Program, stdin: bytes, timeout_s: float) -> HookOutcome:
        """Run a program to its end or its time limit."""
        try:
            running = await _started(program)
        except (OSError, ValueError) as error:
            return _not_started(error)
        try:
            async with asyncio.timeout(timeout_s):
                running.feed(stdin)
                return await running.outcome()
        except TimeoutError:
            return HookOutcome(stderr=running.stderr, problem=f"it did not end within {timeout_s:g} s")
        finally:
            if await running.end():
                self._left = [*(one for one in self._left if one.is_running), running]


def _not_started(error: OSError | ValueError) -> HookOutcome:
    """Return the outcome of a program that could not be started: the exit code that a shell gives for it, if
    there is one."""
    match error:
        case FileNotFoundError():
            return HookOutcome(NOT_FOUND)
        case PermissionError():
            return HookOutcome(NOT_EXECUTABLE)
        case _:
            reason = getattr(error, "strerror", None) or error
            return HookOutcome(problem=f"it could not be started: {reason}")


async def _started(program: _Program) -> _RunningHook:
    """Start a program. A cancellation kills its whole group; asyncio would kill the program alone."""
    loop = asyncio.get_running_loop()
    starting = asyncio.ensure_future(
        loop.subprocess_exec(
            lambda: _RunningHook(program.mark),
            *program.argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=program.folder,
            env=program.environment,
            start_new_session=True,
        )
    )
    try:
        return (await asyncio.shield(starting))[1]
    except asyncio.CancelledError:
        await asyncio.wait([starting])
        if not starting.exception():
            await starting.result()[1].end()
        raise


class _RunningHook(asyncio.SubprocessProtocol):
    """Collects what a program prints. With a `mark` it is the supervisor of a hook, and may outlive it."""

    _transport: asyncio.SubprocessTransport

    def __init__(self, mark: str) -> None:
        self._texts = {1: bytearray(), 2: bytearray()}
        self._open = {1, 2}
        """The pipes that may bring more."""
        self._report = ExitReport(mark)
        self._has_ended = asyncio.Event()
        """The hook has ended."""
        self._is_gone = asyncio.Event()
        """The program has ended."""
        self._is_read = asyncio.Event()
        self._is_left = False
        """Nothing waits for it any more."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        kept = self._texts[fd]
        if fd == 1:
            kept += data[: MAX_STDOUT - len(kept)]
            return
        kept += data
        self._report.take(kept)
        del kept[:-MAX_STDERR]
        if self._report.leaves_programs:
            self._has_ended.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open:
            self._is_read.set()

    def process_exited(self) -> None:
        self._has_ended.set()
        self._is_gone.set()
        if self._is_left:
            self._transport.close()

    @property
    def is_running(self) -> bool:
        return self._transport.get_returncode() is None

    @property
    def stderr(self) -> str:
        return self._texts[2].decode("utf-8", "replace")

    def feed(self, data: bytes) -> None:
        """Write the input; a hook need not read it."""
        pipe = self._transport.get_pipe_transport(0)
        assert isinstance(pipe, asyncio.WriteTransport)
        pipe.write(data)
        pipe.close()

    async def outcome(self) -> HookOutcome:
        """Wait for the end of the hook and for what it has printed."""
        await self._has_ended.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PIPE_WAIT_S):
                await self._is_read.wait()
        code = self._report.exit_code
        if code is None:
            code = self._transport.get_returncode() or 0
        if code < 0:  # by a signal, for which shells have exit codes
            code = _SIGNALLED - code
        return HookOutcome(code, self._texts[1].decode("utf-8", "replace"), self.stderr)

    async def end(self) -> bool:
        """Kill the whole group of a hook that still runs, and close the pipes. Return whether programs that
        the hook has left run on."""
        if not self._has_ended.is_set():
            await self.kill()
        if not self.is_running:
            self._transport.close()
            return False
        for fd in (0, 1, 2):
            if (pipe := self._transport.get_pipe_transport(fd)) is not None:
                pipe.close()
        self._is_left = True
        return True

    async def kill(self) -> None:
        """Kill the whole group; a supervisor kills all that it has adopted first."""
        if self.is_running and self._report.mark:
            with contextlib.suppress(ProcessLookupError):
                self._transport.terminate()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_KILL_WAIT_S):
                    await self._is_gone.wait()
        if self.is_running:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._transport.get_pid(), signal.SIGKILL)
            await self._is_gone.wait()
        self._transport.close()


@contextlib.contextmanager
def _env_file(event: HookEvent) -> Iterator[Path | None]:
    """Give a hook of SessionStart a file for its exports; None for others."""
    if event is not HookEvent.SESSION_START:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="forge-hook-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "environment"
        path.touch()
        yield path


def read_exports(path: Path, known: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of lines of the form `export NAME=value`. The file is never run: references to
    variables are replaced, and lines with anything else that a shell would evaluate are left out."""
    exports: dict[str, str] = {}
    try:
        with open_file(path) as file:  # the hook may have put a FIFO or a device in its place
            text = file.read(MAX_STDOUT).decode("utf-8", "replace")
    except OSError:
        return {}
    for line in text.splitlines():
        found = _EXPORT.fullmatch(line.strip())
        if found is not None and (value := _value(found[2], {**known, **exports})) is not None:
            exports[found[1]] = value
    return exports


def _value(text: str, known: Mapping[str, str]) -> str | None:
    """Return the value of an assignment; None for one that only a shell could evaluate."""
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    if len(words) > 1 or "\0" in text:
        return None
    word = words[0] if words else ""
    if text.startswith("'"):
        return word
    if "`" in word or "$(" in word:
        return None
    return _REFERENCE.sub(lambda found: known.get(found[1] or found[2], ""), word)
