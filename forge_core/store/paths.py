"""Where a session's files lie below the state folder."""

from __future__ import annotations

import re
import secrets
import time
from pathlib import Path

_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{6}")


def new_session_id(now: float | None = None) -> str:
    """A name that sorts by time and does not repeat: `20261120-190000-3fa2b1`."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    return f"{stamp}-{secrets.token_hex(3)}"


def journal_path(state_dir: Path, session_id: str) -> Path:
    """The journal of a session.

    Raises:
        ValueError: `session_id` is not one that `new_session_id` makes (it becomes part of a path).
    """
    if not _ID.fullmatch(session_id):
        raise ValueError(f"{session_id!r} is not a session's id")
    return state_dir / "sessions" / f"{session_id}.jsonl"


def outputs_dir(state_dir: Path, session_id: str) -> Path:
    """The folder for tool outputs that were too long for the model."""
    return journal_path(state_dir, session_id).with_suffix("") / "outputs"


def undo_dir(state_dir: Path, session_id: str) -> Path:
    """The folder for what files were before the session changed them."""
    return journal_path(state_dir, session_id).with_suffix("") / "undo"


def log_path(state_dir: Path) -> Path:
    return state_dir / "logs" / "forge.log"
