"""A crash of our own, kept where only the person can read it."""

from __future__ import annotations

import os
import time
import traceback
from pathlib import Path

from forge_core.redact import Redactor


def write_crash_report(state_dir: Path, error: BaseException) -> str:
    """Writes the traceback, without secrets, to a 0600 file; returns its path, or where it went instead."""
    text = Redactor()("".join(traceback.format_exception(error)))
    folder = state_dir / "logs"
    path = folder / f"crash-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError:
        return f"this message only; {str(folder)!r} cannot be written"
    return str(path)
