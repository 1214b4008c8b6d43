"""The user's own shell, which runs the lines that begin with `!`: its folder, variables and functions stay.

It is interactive, so that it reads the start-up files that the user's terminal reads, but has no terminal: it
reads lines from a pipe, and what it runs has no input. Its prompt is a mark with the number of the line, the
exit code and the folder: it comes when the shell reads the next line, also after an interrupt or an error.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import signal
import subprocess
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forge_core.errors import ForgeError
from forge_core.tools.shell.process_io import PipeReader, exit_of, output_pipe
from forge_core.tools.shell.process_tree import descendants, send_signal

MAX_COMMAND_BYTES = 16 * 1024
START_WITHIN_S = 15.0
"""For the start-up files."""
KILL_AFTER_S = 2.0
"""From an interrupt to a SIGKILL for what the shell has started, and again to one for the shell."""
_HANG_UP_S = 0.2
NO_TERMINAL = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "VIRTUAL_ENV_DISABLE_PROMPT": "1",
    "CONDA_CHANGEPS1": "false",
}
"""Variables for programs of the user that have no terminal: no pagers, prompts or colours."""
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "bash": ("--noediting", "-i"),
    "zsh": ("-i",),
    "ksh": ("-i",),
    "dash": ("-i",),
    "sh": ("-i",),
}
_PREPARE: Mapping[str, str] = {
    "bash": "unset PROMPT_COMMAND HISTFILE PS0; set +o history +o histexpand",
    "zsh": "unset HISTFILE RPS1; precmd_functions=() preexec_functions=(); unfunction precmd preexec; "
    "unsetopt banghist prompt_sp prompt_cr prompt_percent; setopt prompt_subst",
}
"""What else prints prompts is switched off, and the lines are no part of the shell's own history."""


_BASH_NOISE = re.compile(rb"bash: \[\d+: \d+ \(\d+\)\] tcsetattr: [^\n]*\n")
"""What an interactive bash without a terminal says after each command that a signal has ended."""


@dataclass(frozen=True, slots=True)
class ShellLineEnd:
    """How a line ended."""

    exit_code: int
    folder: str
    """Where the shell is now."""
    has_shell_ended: bool = False
    """Whether the shell ended with it; the next line starts a new one."""


class UserShell:
    """A shell that is started with its first line, and again after it has ended. One line at a time."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.folder = str(folder)
        """Where the shell is, as of its last line."""
        self._environment = dict(os.environ if environment is None else environment) | NO_TERMINAL
        self._process: _Process | None = None
        self._turn = asyncio.Lock()

    async def run(self, command: str, take: Callable[[bytes], None]) -> ShellLineEnd:
        """Run a line; its output goes to `take`. A line that comes meanwhile waits.

        Raises:
            ForgeError: there is no shell, or the line is too long.
        """
        if "\0" in command or len(command.encode(errors="replace")) > MAX_COMMAND_BYTES:
            raise ForgeError(f"A line for the shell can have at most {MAX_COMMAND_BYTES:,} bytes.")
        async with self._turn:
            if self._process is None:
                self._process = await self._start()
            end = await self._process.run(command, take)
            self.folder = end.folder or self.folder
            if end.has_shell_ended:
                self._process = None
            return end

    def interrupt(self) -> None:
        """Interrupt the running line, as Ctrl+C in a terminal; kill it if it goes on."""
        if self._process is not None:
            self._process.interrupt()

    async def aclose(self) -> None:
        """End the shell and what it runs."""
        if self._process is not None:
            await self._process.end()
            self._process = None

    async def _start(self) -> _Process:
        shell = _shell_of(self._environment)
        kind = Path(shell).name
        output, write_end = output_pipe()
        try:
            process = subprocess.Popen(  # noqa: ASYNC220  in a thread it would end with that thread
                [shell, *_OPTIONS[kind]],
                cwd=_existing(self.folder),
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=write_end,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            os.close(output)
            raise ForgeError(f"The shell {shell!r} could not be started: {error.strerror}.") from error
        finally:
            os.close(write_end)
        started = _Process(process, output)
        try:
            prepare = f"{_PREPARE.get(kind, ':')}; exec 2>&1"
            await asyncio.wait_for(started.run_line(prepare, lambda data: None), START_WITHIN_S)
        except TimeoutError:
            await started.end()
            raise ForgeError(f"The shell {shell!r} did not get ready: see its start-up files.") from None
        return started


class _Process:
    """A shell process, and the line that it runs."""

    def __init__(self, process: subprocess.Popen[bytes], output: int) -> None:
        self._process = process
        self._reader = PipeReader(output, self._feed)
        self._take: Callable[[bytes], None] | None = None
        self._token = uuid.uuid4().hex
        self._number = 0
        self._mark = f"\x1e{self._token} ".encode()
        """The beginning of each prompt."""
        self._held = b""
        self._end: asyncio.Future[ShellLineEnd] | None = None
        self._timers: list[asyncio.TimerHandle] = []
        self._exit = asyncio.ensure_future(exit_of(process))

    async def run(self, command: str, take: Callable[[bytes], None]) -> ShellLineEnd:
        """Run a command without input. Cancelling kills the shell."""
        # The redirection is inside: after a syntax error, bash would not undo one of eval itself.
        group = f"{{ :\n{command}\n}} </dev/null"
        return await self.run_line(f"eval {shlex.quote(group)}", take)

    async def run_line(self, line: str, take: Callable[[bytes], None]) -> ShellLineEnd:
        """Run a line to its end, or to that of the shell."""
        self._number += 1
        self._held, self._take = b"", take
        self._end = asyncio.get_running_loop().create_future()
        try:
            # The number is that of the line: a prompt for an interrupt that came too late is ignored. After a
            # syntax error, bash shows its last prompt again, and the new one after an empty line.
            prompt = f"'\x1e{self._token} {self._number} $? $PWD\x1e'"
            self._write(f"PS1={prompt} PS2=; {line}\n\n")
            ends: set[asyncio.Future[Any]] = {self._end, self._exit}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if self._end.done():
                return self._end.result()
            self._reader.read_rest()
            if self._end.done():
                return self._end.result()
            take(self._held)
            self._close()
            code = self._exit.result()
            return ShellLineEnd(128 - code if code < 0 else code, "", has_shell_ended=True)
        except asyncio.CancelledError:
            self._kill(is_whole=True)
            raise
        finally:
            self._take = None
            for timer in self._timers:
                timer.cancel()
            self._timers.clear()

    def interrupt(self) -> None:
        if self._take is None or self._timers:
            return
        self._signal_group(signal.SIGINT)
        loop = asyncio.get_running_loop()
        self._timers = [
            loop.call_later(KILL_AFTER_S, self._kill),
            loop.call_later(2 * KILL_AFTER_S, lambda: self._kill(is_whole=True)),
        ]

    async def end(self) -> None:
        self._signal_group(signal.SIGHUP)
        await asyncio.wait({self._exit}, timeout=_HANG_UP_S)
        self._kill(is_whole=True)
        await asyncio.wait({self._exit}, timeout=KILL_AFTER_S)
        self._close()

    def _close(self) -> None:
        self._reader.close()
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()

    def _write(self, text: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has ended, which `_exit` says
            self._process.stdin.write(text.encode(errors="surrogateescape"))
            self._process.stdin.flush()

    def _feed(self, data: bytes) -> None:
        if self._take is None:  # of something that a line has left running
            return
        data, self._held = _BASH_NOISE.sub(b"", self._held + data), b""
        while self._take is not None:
            text, begin, rest = data.partition(self._mark)
            if not begin:
                # Only an end that may be the beginning of a mark waits.
                at = data.rfind(b"\x1e", max(len(data) - len(self._mark), 0))
                if at >= 0 and self._mark.startswith(data[at:]):
                    data, self._held = data[:at], data[at:]
                self._take(data)
                return
            self._take(text)
            prompt, end, data = rest.partition(b"\x1e")
            if not end:
                self._held = begin + rest
                return
            self._show_prompt(prompt)

    def _show_prompt(self, prompt: bytes) -> None:
        number, code, folder = prompt.split(b" ", 2)
        if number == str(self._number).encode():
            self._take = None
            if self._end is not None and not self._end.done():
                self._end.set_result(ShellLineEnd(int(code), os.fsdecode(folder)))

    def _kill(self, *, is_whole: bool = False) -> None:
        """Kill what the shell has started, or the shell with it."""
        if self._process.returncode is None:
            for one in descendants(self._process.pid):
                send_signal(one, signal.SIGKILL)
            if is_whole:
                self._signal_group(signal.SIGKILL)

    def _signal_group(self, number: signal.Signals) -> None:
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)


def _existing(folder: str) -> str:
    """Return a folder, or the home folder in place of one that has been removed."""
    return folder if Path(folder).is_dir() else str(Path.home())


def _shell_of(environment: Mapping[str, str]) -> str:
    """Return the user's shell, if it is one whose lines this module can tell apart, else a plain one."""
    for shell in (environment.get("SHELL", ""), "/bin/bash", "/usr/bin/bash"):
        if Path(shell).name in _OPTIONS and os.access(shell, os.X_OK):
            return shell
    return "/bin/sh"
