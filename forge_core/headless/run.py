"""`forge run`: one prompt, no screen. Asking means no; stdout holds the answer or the events only."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from forge_core.approval import deny_all
from forge_core.config.forge_config import ForgeConfig
from forge_core.events import AgentEnd, AgentEvent
from forge_core.exit_codes import ExitCode, exit_code_for
from forge_core.headless.output_folder import OutputFolder
from forge_core.headless.printers import OutputError, OutputFormat, Printer, make_printer
from forge_core.runtime import build_session, harden_process, make_redactor
from forge_core.sanitize import safe_line
from forge_core.session.session import ForgeSession
from forge_core.workspace.trust import what_would_act

_GRACE_S = 2.0
"""Seconds after a signal until printing is given up because nobody reads the output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a run is printed and recorded."""

    output: OutputFormat = "text"
    output_dir: Path | None = None
    """The folder for the files of `OutputFolder`."""
    resume: str | None = None
    """The id of the session to continue."""


async def run_prompt(config: ForgeConfig, prompt: str, options: RunOptions) -> int:
    """Run one prompt to its end, and return the exit code.

    Ctrl-C interrupts the run (exit code 4); so do TERM, HUP and QUIT (128 + the number of the signal).
    """
    redact = make_redactor(config)
    folder = None if options.output_dir is None else OutputFolder(options.output_dir, config, redact)
    harden_process()
    session = build_session(config, deny_all, shows_figures=False, resume=options.resume)
    for notice in (*_notices(config), *(one.text for one in session.waiting_notices())):
        print(safe_line(redact(notice)), file=sys.stderr)
    printer = make_printer(options.output, sys.stdout, sys.stderr, redact)
    try:
        code = await _drive(session, prompt, printer if folder is None else _Both(folder, printer))
        if folder is not None:
            await folder.finish(session)
        return code
    finally:
        await session.aclose()


class _Both:
    """Passes events to two printers."""

    def __init__(self, first: Printer, second: Printer) -> None:
        self._printers = first, second

    def event(self, event: AgentEvent) -> None:
        for printer in self._printers:
            printer.event(event)


def _notices(config: ForgeConfig) -> Iterator[str]:
    """Yield the notices of the settings, what is ignored in an untrusted folder, and which key is sent."""
    yield from config.notices
    if not config.is_trusted and (findings := what_would_act(config.working_dir)):
        yield (
            f"This folder is not trusted, so this was ignored: {'; '.join(findings)}. Let it count with "
            "--trust for once, or decide in forge chat."
        )
    if config.endpoint.api_key and config.endpoint.key_notice:
        yield config.endpoint.key_notice


async def _drive(session: ForgeSession, prompt: str, printer: Printer) -> int:
    code = int(ExitCode.CRASH)
    received: list[signal.Signals] = []
    try:
        async with _interrupting(session, received), aclosing(session.send(prompt)) as events:
            async for event in events:
                _print(printer, event)
                if isinstance(event, AgentEnd):
                    code = exit_code_for(event.result.stopped_reason)
    except _NobodyReadsError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python would wait again when it ends
    ending = received[0] if received else None
    if ending is None:
        return code
    return int(ExitCode.INTERRUPTED) if ending == signal.SIGINT else 128 + ending


class _NobodyReadsError(Exception):
    """A signal has arrived while printing is blocked, because nobody reads the output."""


class _Printing:
    """Whether output is being printed: only then may the handler of a signal raise."""

    is_on = False


def _print(printer: Printer, event: AgentEvent) -> None:
    try:
        _Printing.is_on = True
        printer.event(event)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"The output cannot be written: {error.strerror}.") from error
    finally:
        _Printing.is_on = False


@contextlib.asynccontextmanager
async def _interrupting(session: ForgeSession, received: list[signal.Signals]) -> AsyncIterator[None]:
    """Interrupt the turn on INT, TERM, HUP and QUIT, and append the signals to `received`.

    The event loop does that, but it is blocked while nobody reads the output, as in `forge run … | less`: an
    alarm then ends the printing after a while.
    """
    loop = asyncio.get_running_loop()

    def note(number: int, _frame: object) -> None:
        received.append(signal.Signals(number))
        signal.setitimer(signal.ITIMER_REAL, _GRACE_S, _GRACE_S)

    def break_off(_number: int, _frame: object) -> None:
        if _Printing.is_on:
            raise _NobodyReadsError

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    before = signal.signal(signal.SIGALRM, break_off)
    for number in numbers:
        loop.add_signal_handler(number, session.interrupt)
        signal.signal(number, note)  # the loop's does nothing and lets no write be interrupted
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number in numbers:
            loop.remove_signal_handler(number)
        signal.signal(signal.SIGALRM, before)
