"""`forge run`: one prompt, no screen. Asking means no; stdout holds the answer or the events only."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import io
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forge_core.approval import deny_all
from forge_core.commands.prompt_commands import headless_turn
from forge_core.config.forge_config import ForgeConfig
from forge_core.errors import ConfigError
from forge_core.events import SCHEMA_VERSION, AgentEnd, AgentEvent, Notice
from forge_core.exit_codes import ExitCode, exit_code_for
from forge_core.headless.output_folder import OutputFolder
from forge_core.headless.printers import (
    OutputError,
    OutputFormat,
    Printer,
    TextPrinter,
    make_printer,
    print_json,
    result_record,
)
from forge_core.headless.stream_input import StreamDriver
from forge_core.headless.structured import AnswerSchema
from forge_core.redact import Redactor
from forge_core.runtime import build_session, harden_process, make_redactor
from forge_core.sanitize import safe_line
from forge_core.session.session import ForgeSession
from forge_core.workspace.trust import what_would_act

_SERVERS_S, _REQUIRED_SERVERS_S = 5.0, 10.0
"""How long a run waits for MCP servers, and for those that it requires."""
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
    schema: AnswerSchema | None = None
    """What the final answer must match."""
    reads_stream: bool = False
    """Whether standard input holds the lines of a driver, in place of the prompt."""
    required_servers: tuple[str, ...] = ()
    """The names of MCP servers without which nothing is sent."""


async def run_prompt(config: ForgeConfig, prompt: str, options: RunOptions) -> int:
    """Run one prompt to its end, and return the exit code.

    Ctrl-C interrupts the run (exit code 4); so do TERM, HUP and QUIT (128 + the number of the signal).
    """
    redact = make_redactor(config)
    folder = None if options.output_dir is None else OutputFolder(options.output_dir, config, redact)
    harden_process()
    known_only = redact.known_only()
    printer = _printer_for(options, redact)
    if folder is not None:
        printer = _Both(folder, printer)
    driver = StreamDriver(lambda record: print_json(known_only.values(record), sys.stdout), printer.event)
    responder = driver.respond if options.reads_stream else deny_all
    session = build_session(
        config, responder, responder, responder, shows_figures=False, resume=options.resume
    )

    if not gc.isenabled():  # the command line has imported all of this: it stays, and is never traversed
        gc.freeze()
        gc.enable()

    def complain(notices: Iterable[str]) -> None:
        for notice in notices:
            _complain(redact(notice))

    complain((*_notices(config), *(one.text for one in session.waiting_notices())))
    try:
        waiting = _wait_for_servers(session, options.required_servers, printer)
        if code := await _drive(session.interrupt, waiting):
            return code
        if options.reads_stream:
            code = await _drive(driver.stop, driver.run(session, sys.stdin))
        elif options.schema is not None:
            code = await _drive_to_match(session, prompt, printer, options, known_only)
        else:
            code = await _drive(session.interrupt, _turn(session, prompt, printer))
        complain(one.text for one in session.waiting_notices())  # those that came after the end of a turn
        if folder is not None:
            await folder.finish(session)
        return code
    finally:
        await session.aclose()


async def _wait_for_servers(session: ForgeSession, required: Sequence[str], printer: Printer) -> int:
    """Start the MCP servers and wait a moment for them; print a notice of those that are missing. Return 0.

    Raises:
        ConfigError: a server in `required` has not connected.
    """
    await session.hooks.begin()
    missing = await session.servers.settled(_REQUIRED_SERVERS_S if required else _SERVERS_S)
    absent = [name for name in required if name in missing or name not in session.servers.statuses]
    if absent:
        name = absent[0]
        status = session.servers.statuses.get(name)
        reason = "no server of this name may start" if status is None else status.report.error or "no answer"
        raise ConfigError(
            f"The MCP server {safe_line(name)!r} is required (--require-mcp), and has not connected: "
            f"{safe_line(reason)}. `forge mcp test {safe_line(name)}` shows more."
        )
    if missing:
        names = ", ".join(missing)
        _print(printer, Notice(level="warning", text=f"These MCP servers have not connected: {names}."))
    return ExitCode.COMPLETE


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
    if config.endpoint.key_variable and config.endpoint.key_notice:
        yield config.endpoint.key_notice


def _printer_for(options: RunOptions, redact: Redactor) -> Printer:
    if options.schema is not None and options.output != "stream-json":
        return TextPrinter(io.StringIO(), sys.stderr, redact)  # the value is printed when it has been checked
    return make_printer(options.output, sys.stdout, sys.stderr, redact)


async def _turn(session: ForgeSession, prompt: str, printer: Printer, request: str = "") -> int:
    """Run one turn; return the exit code. `request` follows the prompt."""
    code = int(ExitCode.CRASH)
    async with aclosing(await headless_turn(session, prompt, request)) as events:
        async for event in events:
            await session.settle(event)
            _print(printer, event)
            if isinstance(event, AgentEnd):
                code = exit_code_for(event.result.stopped_reason)
    return code


def _complain(text: str) -> None:
    print(safe_line(text), file=sys.stderr)


async def _drive_to_match(
    session: ForgeSession, prompt: str, printer: Printer, options: RunOptions, redact: Redactor
) -> int:
    """Run until the answer matches the schema, with one repair, and print its value."""
    schema = options.schema
    assert schema is not None
    code = await _drive(session.interrupt, _turn(session, prompt, printer, schema.request))
    value, problem = _checked(session, schema, code)
    if problem:
        _complain(f"The answer does not match the schema ({problem}); asking once more.")
        code = await _drive(session.interrupt, _turn(session, schema.repair(problem), printer))
        value, problem = _checked(session, schema, code)
    if problem:
        _complain(f"The answer does not match the schema: {problem}")
        code = int(ExitCode.UNFINISHED)
    if code == ExitCode.COMPLETE:
        print_json(redact.values(_output_of(session, value, options.output)), sys.stdout)
    return code


def _output_of(session: ForgeSession, value: Any, output: OutputFormat) -> Any:
    """Return what is printed of a value that matches."""
    if output == "stream-json":
        return {"v": SCHEMA_VERSION, "type": "structured", "timestamp": time.time(), "data": {"value": value}}
    if output == "json" and session.last_result is not None:
        return {**result_record(session.last_result, session.status.model), "structured": value}
    return value


def _checked(session: ForgeSession, schema: AnswerSchema, code: int) -> tuple[Any, str]:
    """Return the value of the last answer and why it does not match; nothing where the run failed."""
    if code != ExitCode.COMPLETE or session.last_result is None:
        return None, ""
    return schema.check(session.last_result.output)


async def _drive(interrupt: Callable[[], None], work: Coroutine[None, None, int]) -> int:
    """Await `work`, the turns of a session, and return its exit code, or that of the signal that came."""
    code = int(ExitCode.CRASH)
    received: list[signal.Signals] = []
    try:
        async with _interrupting(interrupt, received):
            code = await work
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
async def _interrupting(interrupt: Callable[[], None], received: list[signal.Signals]) -> AsyncIterator[None]:
    """Call `interrupt` on INT, TERM, HUP and QUIT, and append the signals to `received`.

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
        loop.add_signal_handler(number, interrupt)
        signal.signal(number, note)  # the loop's does nothing and lets no write be interrupted
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number in numbers:
            loop.remove_signal_handler(number)
        signal.signal(signal.SIGALRM, before)
