"""Lines that the user runs in their own shell, beside the turns: the next message informs the model."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from forge_core.approval import ToolKind
from forge_core.errors import ForgeError
from forge_core.events import AgentEvent, ToolEnd, ToolProgress, ToolStart
from forge_core.redact import Redactor, StreamRedactor
from forge_core.result import ToolOutcome
from forge_core.store.journal import Journal
from forge_core.tools.output import OUTPUT_LIMIT, OutputStore
from forge_core.tools.shell.capture import LIVE_INTERVAL_S, OutputCapture
from forge_core.tools.shell.process_io import temporary_tasks
from forge_core.tools.shell.user_shell import ShellLineEnd
from forge_core.tools.shell.user_shell import UserShell as UserShell
from forge_core.untrusted import frame_text

PREVIEW_ROWS = 20
"""The user has asked for the output: more of it shows than of the model's commands."""
_INTERRUPTED = 130


class LineRunner(Protocol):
    """What runs a line: the user's shell, or a program of its own."""

    folder: str
    """Where it runs; absolute."""

    async def run(self, command: str, take: Callable[[bytes], None]) -> ShellLineEnd:
        """Run a line; its output goes to `take`. Raises ForgeError."""


class UserCommands:
    """Runs lines in the user's shell, unasked and without a sandbox, and records them for the session.

    The output is limited like that of a tool. Nothing is recorded before the session's first message; the
    model learns of it all the same.
    """

    def __init__(
        self, journal: Journal, output_dir: Path, redact: Redactor, inform: Callable[[str], None]
    ) -> None:
        self._journal = journal
        self._redact = redact
        self._outputs = OutputStore(output_dir, redact)
        self._inform = inform

    async def run(self, shell: LineRunner, command: str, show: Callable[[AgentEvent], None]) -> bool:
        """Run a line, and show it as the events of a call; return whether the shell has ended with it.

        Raises:
            ForgeError: it would destroy what cannot be restored, or there is no shell.
        """
        from forge_core.permissions.guard.catastrophe import catastrophic_reason  # imports much

        if reason := await asyncio.to_thread(catastrophic_reason, command, Path(shell.folder)):
            raise ForgeError(f"Not run: {reason}. Forge never runs that; use a terminal.")
        call_id, folder = f"shell-{uuid.uuid4().hex}", shell.folder
        start = ToolStart(
            call_id=call_id,
            name="!",
            arguments={},
            title="!",
            target=self._redact(command),
            kind=ToolKind.USER,
            preview_rows=PREVIEW_ROWS,
        )
        show(start)
        began = time.monotonic()
        feed = _live_feed(call_id, StreamRedactor(self._redact), show)
        capture = OutputCapture(OUTPUT_LIMIT, self._outputs, "shell", feed)
        outcome: ToolOutcome = "failed"
        summary, exit_code, has_ended = "", -1, False
        try:
            with temporary_tasks(_flush(capture)):
                ended = await shell.run(command, capture.feed)
            exit_code, has_ended = ended.exit_code, ended.has_shell_ended
            outcome = "done" if exit_code == 0 else "interrupted" if exit_code == _INTERRUPTED else "failed"
            summary = "" if outcome == "done" else f"exit {exit_code}"
        except ForgeError as error:
            summary = str(error)
        except asyncio.CancelledError:
            outcome, summary = "interrupted", "interrupted"
            raise
        finally:
            capture.close()
            output = self._redact(capture.take()).rstrip("\n")
            end = ToolEnd(
                call_id=call_id,
                name="!",
                result=output,
                success=outcome == "done",
                duration_s=time.monotonic() - began,
                summary=summary,
                outcome=outcome,
                omission=capture.omission,
            )
            show(end)
            self._record(start, end, f"exit code {exit_code}" if exit_code >= 0 else summary, folder)
        return has_ended

    def _record(self, start: ToolStart, end: ToolEnd, how: str, folder: str) -> None:
        self._inform(
            f"The user ran this in their own shell, in {folder!r} ({how}):\n"
            + frame_text("user-shell", f"$ {start.target}\n{end.result or '(no output)'}")
        )
        if self._journal.is_begun:  # both at the end: a line that a kill ended left no result
            self._journal.event(start)
            self._journal.event(end)


async def _flush(capture: OutputCapture) -> None:
    """Show what has been held back for a moment."""
    while True:
        await asyncio.sleep(2 * LIVE_INTERVAL_S)
        capture.flush_live()


def _live_feed(
    call_id: str, redact: StreamRedactor, show: Callable[[AgentEvent], None]
) -> Callable[[str], None]:
    """Return what shows live output, without keys."""

    def feed(text: str) -> None:
        if text.startswith("\r"):  # in place of the last line, of which the end may wait
            redact.end(call_id)
        if shown := redact.feed(call_id, text):
            show(ToolProgress(call_id=call_id, text=shown))

    return feed
