"""Forge's own log: a rotating file that only its owner can read. Nothing of it is written to the screen."""

from __future__ import annotations

import contextlib
import logging
import os
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TextIO, cast

from forge_core.private_folders import make_private_folder
from forge_core.redact import Redactor

MAX_BYTES = 1_000_000
KEPT_FILES = 3


def log_path(state_dir: Path) -> Path:
    return state_dir / "logs" / "forge.log"


def open_log(path: Path, level: str, name: str, redact: Redactor) -> logging.Logger:
    """Return a logger that writes to `path` from `level` ("debug" … "error") on, without secrets; the first
    line creates the file.

    The logger is not registered globally: nothing propagates to other handlers.
    """
    logger = logging.Logger(name, level.upper())
    handler = _PrivateFile(path)
    handler.setFormatter(_RedactingFormatter(redact))
    logger.addHandler(handler)
    return logger


def close_log(logger: logging.Logger) -> None:
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
        with contextlib.suppress(OSError):  # a full disk: the last lines cannot be flushed
            handler.close()


class _RedactingFormatter(logging.Formatter):
    """Redacts whole entries, tracebacks included."""

    def __init__(self, redact: Redactor) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        return self._redact(super().format(record))


class _PrivateFile(RotatingFileHandler):
    """Creates its folder 0700 and its file 0600; a full disk costs log lines and nothing else."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            path, maxBytes=MAX_BYTES, backupCount=KEPT_FILES, encoding="utf-8", delay=True, errors="replace"
        )

    def _open(self) -> TextIO:  # type: ignore[override]
        path = Path(self.baseFilename)
        make_private_folder(path.parent)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        return cast(TextIO, os.fdopen(fd, "a", encoding=self.encoding, errors=self.errors))

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Stays silent: the default prints a traceback over the screen."""
