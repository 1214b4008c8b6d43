"""The process of `forge acp`: standard output belongs to the protocol, whatever else writes there goes to
standard error, which editors show as the agent's log."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys

from forge_core.errors import ConfigError
from forge_core.integrations.acp.server import AcpServer, LoadConfig
from forge_core.integrations.acp.stdio_lines import LineTransport
from forge_core.redact import Redactor
from forge_core.runtime import harden_process, make_redactor
from forge_core.sanitize import safe_text


def run_acp(load: LoadConfig) -> int:
    """Serve the client on standard input and output until it closes them; return the exit code.

    Raises:
        ConfigError: they are closed already.
    """
    harden_process()
    redact = make_redactor()
    _log_to_stderr(redact)
    source, sink = _take_standard_streams()
    return asyncio.run(_serve(source, sink, load, redact))


async def _serve(source: int, sink: int, load: LoadConfig, redact: Redactor) -> int:
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None
    received: list[signal.Signals] = []

    def end(number: signal.Signals) -> None:
        received.append(number)
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, end, number)
    transport = LineTransport(source, sink, redact.known_only().values)
    try:
        await AcpServer(transport, load).run()
    except asyncio.CancelledError:
        if not received:
            raise
        return 128 + received[0]
    return 0


def _take_standard_streams() -> tuple[int, int]:
    """Return descriptors for standard input and output, which no child process gets and nothing else writes
    to."""
    try:
        source, sink = os.dup(0), os.dup(1)
    except OSError as error:
        raise ConfigError("forge acp is started by an editor: standard input or output is closed.") from error
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return source, sink


def _log_to_stderr(redact: Redactor) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_SafeFormatter(redact))
    logging.getLogger().addHandler(handler)


class _SafeFormatter(logging.Formatter):
    """Lines that hold neither keys nor what a terminal would obey."""

    def __init__(self, redact: Redactor) -> None:
        super().__init__("forge: %(message)s")
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        return safe_text(self._redact(super().format(record)))
