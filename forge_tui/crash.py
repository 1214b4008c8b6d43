"""Crash reports, readable only by the user."""

from __future__ import annotations

import os
import time
import traceback
from pathlib import Path

from forge_core.private_folders import make_private_folder
from forge_core.redact import Redactor


def write_crash_report(state_dir: Path, error: BaseException, redact: Redactor) -> str:
    """Write the traceback, without secrets, to a file of mode 0600; return its path, or why there is none."""
    text = redact("".join(traceback.format_exception(error)))
    folder = state_dir / "logs"
    path = folder / f"crash-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
    try:
        make_private_folder(folder)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError:
        return f"this message only; {str(folder)!r} cannot be written"
    return str(path)
