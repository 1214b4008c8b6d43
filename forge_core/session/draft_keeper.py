"""The text in the composer, kept on the disk while it is typed, so that a crash or a kill costs little of it.

It is one small file that is replaced as a whole: in the session's folder, or, as long as a session has no
message and so no journal, one for each working folder, in `sessions/drafts`. The journal records the text
too, whenever the session's state is recorded; the newer of both counts.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from forge_core.private_folders import make_private_folder
from forge_core.store.journal import Journal, is_time
from forge_core.store.saved_session import SavedSession

_MAX_BYTES = 8_000_000
"""Of a file that is read: a composer holds a million characters."""


@dataclass(frozen=True, slots=True)
class _Draft:
    text: str
    at: float
    """Seconds since the epoch."""


class DraftKeeper:
    """Keeps the draft of one session. `set` is cheap; `write` blocks, and may run in any thread."""

    def __init__(self, journal: Journal, state_dir: Path, working_dir: Path) -> None:
        self._journal = journal
        self._own = _session_file(journal.path)
        self._shared = _folder_file(state_dir, working_dir)
        self._working_dir = str(working_dir)
        self._lock = threading.Lock()
        self._text = ""
        self._written: dict[Path, str] = {}

    def set(self, text: str) -> None:
        """Set the text that the next `write` keeps."""
        self._text = text

    def write(self) -> None:
        """Write the text if it has changed. Nothing happens where it cannot be written: the text is still in
        the composer."""
        with self._lock, contextlib.suppress(OSError):
            text = self._text
            if not self._journal.is_begun:
                self._replace(self._shared, text)
                return
            self._replace(self._own, text)
            if self._written.get(self._shared):  # the session has its own folder now
                self._replace(self._shared, "")

    def take(self, saved: SavedSession) -> str:
        """Return the draft of the session that is continued: its own, else one that was typed since in its
        folder without a session."""
        text = newest_draft(saved)
        self._text = self._written[self._own] = text
        found = None if text.strip() else _read(self._shared)
        is_ours = found is not None and found.at > saved.updated and saved.working_dir == self._working_dir
        if found is None or not is_ours or not found.text.strip():
            return text
        self._written[self._shared] = self._text = found.text
        self.write()
        return found.text

    def _replace(self, path: Path, text: str) -> None:
        if self._written.get(path, "") == text:
            return
        if path == self._shared and not text:
            path.unlink(missing_ok=True)
        else:
            _write(path, _Draft(self._journal.redacted(text), time.time()))
        self._written[path] = text


def newest_draft(saved: SavedSession) -> str:
    """Return what the composer held last in a saved session."""
    found = _read(_session_file(saved.path))
    return saved.draft if found is None or found.at < saved.draft_recorded else found.text


def _session_file(journal: Path) -> Path:
    return journal.with_suffix("") / "draft.json"


def _folder_file(state_dir: Path, working_dir: Path) -> Path:
    name = hashlib.sha256(os.fsencode(working_dir)).hexdigest()[:32]
    return state_dir / "sessions" / "drafts" / f"{name}.json"


def _read(path: Path) -> _Draft | None:
    """Return what a file holds; None if it is missing or damaged."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        with path.open("rb") as file:
            found = json.loads(file.read(_MAX_BYTES))
        if isinstance(found, dict) and isinstance(found.get("text"), str) and is_time(found.get("at")):
            return _Draft(found["text"], float(found["at"]))
    return None


def _write(path: Path, draft: _Draft) -> None:
    """Replace a file. Raises OSError and keeps the old one."""
    make_private_folder(path.parent)
    fd, name = tempfile.mkstemp(dir=path.parent, prefix=".draft-")  # 0600
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            json.dump({"text": draft.text, "at": draft.at}, file)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
