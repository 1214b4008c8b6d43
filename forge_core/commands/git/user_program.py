"""Runs git or gh as the user's own action: their environment, hooks, filters, signing key and sign-in.

Nothing is switched off, unlike in calls by Forge itself (`forge_core.workspace.git`). There is no terminal: a
program that asks for something on one fails, and says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

from forge_core.errors import ForgeError
from forge_core.events import AgentEvent, ToolEnd
from forge_core.langchain.agent.event_queue import EventSink
from forge_core.session.user_commands import UserCommands
from forge_core.tools.shell.user_shell import NO_TERMINAL, ShellLineEnd
from forge_core.workspace.program_lookup import require_program

_TERM_S = 5.0
"""From a SIGTERM, on which git removes its lock files, to a SIGKILL."""
_LAST_OUTPUT_S = 0.5
"""How long output is still read when git has ended."""
_READ_BYTES = 64 * 1024
_LOCAL = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
)
"""Variables that would make git act on another repository than the one that was shown."""


class UserProgram:
    """One call, which `UserCommands` shows, records and reports like a line of the user's shell."""

    def __init__(self, top: Path, words: Sequence[str], given: str = "") -> None:
        """`top` is the folder to run in; `words` are the program and its arguments; `given` is what it reads
        from standard input."""
        self.folder = str(top)
        self._words = words
        self._given = given.encode("utf-8", "surrogateescape")

    @property
    def line(self) -> str:
        """The command line."""
        return shlex.join(self._words)

    async def run(self, command: str, take: Callable[[bytes], None]) -> ShellLineEnd:
        """Run it; its output goes to `take`. When this is cancelled, the program and what it runs are ended.

        Raises:
            ForgeError: it cannot be run.
        """
        variables = {name: value for name, value in os.environ.items() if name not in _LOCAL}
        try:
            process = await asyncio.create_subprocess_exec(
                require_program(self._words[0], Path(self.folder)),
                *self._words[1:],
                cwd=self.folder,
                env=variables | NO_TERMINAL,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise ForgeError(f"{self._words[0]} could not be run in {self.folder!r}: {error}.") from error
        try:
            code = await self._to_end(process, take)
        finally:
            await _end(process)
        return ShellLineEnd(code, self.folder)

    async def _to_end(self, process: asyncio.subprocess.Process, take: Callable[[bytes], None]) -> int:
        assert process.stdin is not None and process.stdout is not None
        with contextlib.suppress(OSError):  # it may have ended without reading
            process.stdin.write(self._given)
            await process.stdin.drain()
        process.stdin.close()
        # What a hook leaves running may keep the pipe: the end of git is the end.
        ended = asyncio.ensure_future(process.wait())
        try:
            while True:
                reading = asyncio.ensure_future(process.stdout.read(_READ_BYTES))
                await asyncio.wait([reading, ended], return_when=asyncio.FIRST_COMPLETED)
                if not reading.done():
                    await asyncio.wait([reading], timeout=_LAST_OUTPUT_S)
                if not reading.done():
                    reading.cancel()
                    break
                if not (data := reading.result()):
                    break
                take(data)
            return await ended
        finally:
            ended.cancel()


async def _end(process: asyncio.subprocess.Process) -> None:
    """End what still runs of a call."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        await asyncio.wait_for(asyncio.shield(process.wait()), _TERM_S)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def run_user_program(
    commands: UserCommands, top: Path, words: Sequence[str], events: EventSink, given: str = ""
) -> bool:
    """Run a program as the user's own action and show its output as a card; return whether it succeeded."""
    outcomes: list[bool] = []

    def show(event: AgentEvent) -> None:
        if isinstance(event, ToolEnd):
            outcomes.append(event.success)
        events.emit(event)

    program = UserProgram(top, words, given)
    await commands.run(program, program.line, show)
    return bool(outcomes) and outcomes[-1]
