"""Runs a search program and yields its output. It can be ended at any moment."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

from forge_core.errors import ToolError
from forge_core.tools.shell.environment import child_environment

TIMEOUT_S = 30.0

_CHUNK = 256 * 1024
_LOOK_S = 0.03
"""How long a stop may go unnoticed."""
_GATHER_S = 0.002
"""Waited after a small piece, so that a program which prints by the line does not cost a wake-up each."""
_IMPORT_ROOT = str(Path(__file__).resolve().parents[3])


def search_output(
    command: Sequence[str], folder: str, stop: threading.Event, given: bytes = b""
) -> Generator[bytes, None, None]:
    """Yield the program's output in pieces; `given` is its input. Blocks, so it belongs in a thread.

    Ends early, and kills the program, when `stop` is set or the reader goes away. Raise ToolError when it
    complains (exit code over 1) or takes longer than 30 s.
    """
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=child_environment() | {"PYTHONPATH": _IMPORT_ROOT, "PYTHONUTF8": "1"},
        stdin=subprocess.PIPE if given else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        if process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(given)
                process.stdin.close()
        yield from _pieces(process, stop)
        if not stop.is_set():
            _check(process)
    finally:
        process.kill()
        with process:  # closes the pipes and reaps it
            pass


def _pieces(process: subprocess.Popen[bytes], stop: threading.Event) -> Iterator[bytes]:
    assert process.stdout is not None
    descriptor = process.stdout.fileno()
    deadline = time.monotonic() + TIMEOUT_S
    poll = select.poll()
    poll.register(descriptor, select.POLLIN | select.POLLHUP)
    while not stop.is_set():
        if time.monotonic() > deadline:
            raise ToolError(f"the search took longer than {TIMEOUT_S:g} s. Give a path or a glob.")
        if not poll.poll(_LOOK_S * 1000):
            continue
        piece = os.read(descriptor, _CHUNK)
        if not piece:
            return
        yield piece
        # A small piece comes from a slow writer: wait for more instead of waking up for each line.
        if len(piece) < _CHUNK // 8:
            time.sleep(_GATHER_S)


def _check(process: subprocess.Popen[bytes]) -> None:
    assert process.stderr is not None
    complaint = process.stderr.read(20_000).decode("utf-8", "replace").strip()
    if process.wait() > 1 and complaint:
        lines = [line.strip() for line in complaint.splitlines() if line.strip(" ^")]
        raise ToolError(f"the pattern cannot be searched for: {' '.join(lines)[:500]}")
