"""Runs the program of one hook: without a terminal, in a process group of its own, for a limited time."""

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

from forge_core.extensions.hooks.hook_answer import HookOutcome
from forge_core.extensions.hooks.hook_events import HookEvent
from forge_core.extensions.hooks.hook_files import Hook
from forge_core.extensions.program_files import missing_program, missing_script
from forge_core.tools.shell.environment import child_environment
from forge_core.tools.shell.process_tree import processes_of_call, send_signal

MAX_STDOUT = 1_000_000
"""Bytes that count; what follows is read and dropped."""
MAX_STDERR = 64_000
"""The last bytes are kept."""
_PIPE_WAIT_S = 0.5
"""How long output is awaited after the program has ended: a child of it may keep the pipes open."""
_EXPORT = re.compile(r"export[ \t]+([A-Za-z_]\w*)=(.*)")
_REFERENCE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


@dataclass(slots=True)
class HookProcesses:
    """Starts the programs of a session's hooks, and ends what they leave behind."""

    folder: Path
    """The project: programs start in it."""
    has_run: bool = False
    variables: dict[str, str] = field(default_factory=dict)
    """What hooks of SessionStart have exported for commands."""
    _mark: str = field(default_factory=lambda: f"hooks-{uuid.uuid4().hex}")
    """In the environment of every program, so that what it starts can be found."""

    async def run(self, hook: Hook, stdin: bytes) -> HookOutcome:
        """Run a hook to its end, its time limit, or a cancellation; nothing of its group is left after the
        last two. Never raises for a fault of the hook."""
        self.has_run = True
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
        return child_environment(call=self._mark) | self.places()

    def places(self) -> dict[str, str]:
        """Return the variables that command lines of hooks use for the project."""
        return {"CLAUDE_PROJECT_DIR": str(self.folder), "FORGE_PROJECT_DIR": str(self.folder)}

    def kill_rest(self) -> None:
        """Kill what hooks have left running. Blocks while it looks through the processes."""
        if self.has_run:
            for one in processes_of_call(self._mark):
                send_signal(one, signal.SIGKILL)

    def _missing(self, hook: Hook) -> str:
        if hook.args is not None:
            return missing_program([hook.command, *hook.args], self.folder)
        known = {**self.places(), "HOME": str(Path.home()), "PWD": str(self.folder)}
        return missing_script(hook.command, known, self.folder)

    async def _run(self, hook: Hook, stdin: bytes, env_file: Path | None) -> HookOutcome:
        argv = ["/bin/sh", "-c", hook.command] if hook.args is None else [hook.command, *hook.args]
        environment = self.environment()
        if env_file is not None:
            environment["CLAUDE_ENV_FILE"] = str(env_file)
        try:
            # The folder may be gone, after a command of the model.
            folder = self.folder if self.folder.is_dir() else Path.home()
            transport, program = await _started(argv, folder, environment)
        except (OSError, ValueError) as error:
            return HookOutcome(
                problem=f"it could not be started: {getattr(error, 'strerror', None) or error}"
            )
        try:
            async with asyncio.timeout(hook.timeout_s):
                _feed(transport, stdin)
                return await program.outcome(transport)
        except TimeoutError:
            return HookOutcome(problem=f"it did not end within {hook.timeout_s:g} s")
        finally:
            await program.end(transport)


async def _started(
    argv: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> tuple[asyncio.SubprocessTransport, _RunningHook]:
    """Start a program. A cancellation kills its whole group; asyncio would kill the program alone."""
    loop = asyncio.get_running_loop()
    starting = asyncio.ensure_future(
        loop.subprocess_exec(
            _RunningHook,
            *argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await asyncio.wait([starting])
        if not starting.exception():
            transport, program = starting.result()
            await program.end(transport)
        raise


class _RunningHook(asyncio.SubprocessProtocol):
    """Collects what a program prints."""

    def __init__(self) -> None:
        self._texts = {1: bytearray(), 2: bytearray()}
        self._open = {1, 2}
        """The pipes that may bring more."""
        self._has_ended = asyncio.Event()
        self._is_read = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        kept = self._texts[fd]
        if fd == 1:
            kept += data[: MAX_STDOUT - len(kept)]
        else:
            kept += data
            del kept[:-MAX_STDERR]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open:
            self._is_read.set()

    def process_exited(self) -> None:
        self._has_ended.set()

    async def outcome(self, transport: asyncio.SubprocessTransport) -> HookOutcome:
        """Wait for the end of the program and for what it has printed."""
        await self._has_ended.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PIPE_WAIT_S):
                await self._is_read.wait()
        code = transport.get_returncode() or 0
        if code < 0:
            return HookOutcome(problem=f"it was ended by {_signal_name(-code)}")
        stdout, stderr = (self._texts[fd].decode("utf-8", "replace") for fd in (1, 2))
        return HookOutcome(code, stdout, stderr)

    async def end(self, transport: asyncio.SubprocessTransport) -> None:
        """Kill the whole group of a program that still runs, and close its pipes."""
        if transport.get_returncode() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(transport.get_pid(), signal.SIGKILL)
            await self._has_ended.wait()
        transport.close()


def _feed(transport: asyncio.SubprocessTransport, data: bytes) -> None:
    """Write the input; a hook need not read it."""
    pipe = transport.get_pipe_transport(0)
    assert isinstance(pipe, asyncio.WriteTransport)
    pipe.write(data)
    pipe.close()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


@contextlib.contextmanager
def _env_file(event: HookEvent) -> Iterator[Path | None]:
    """Give a hook of SessionStart a file for its exports; None for others."""
    if event is not HookEvent.SESSION_START:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="forge-hook-") as folder:
        path = Path(folder) / "environment"
        path.touch()
        yield path


def read_exports(path: Path, known: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of lines of the form `export NAME=value`. The file is never run: references to
    variables are replaced, and lines with anything else that a shell would evaluate are left out."""
    exports: dict[str, str] = {}
    try:
        text = path.read_bytes()[:MAX_STDOUT].decode("utf-8", "replace")
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
