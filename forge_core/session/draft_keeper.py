"""The text in the composer and stashed texts, kept on the disk while they change: a crash costs little of
them.

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
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from forge_core.private_folders import make_private_folder
from forge_core.store.journal import Journal, is_time, outputs_beside
from forge_core.store.saved_session import SavedSession
from forge_core.tools.output import OutputStore

_MAX_BYTES = 64_000_000
"""Of a file that is read: a composer and each stashed text hold a million characters, of up to 12 bytes."""


@dataclass(frozen=True, slots=True)
class _Draft:
    text: str = ""
    stash: tuple[str, ...] = ()
    """Texts that were put aside, the newest last."""
    at: float = field(default=0.0, compare=False)
    """Seconds since the epoch."""

    @property
    def is_empty(self) -> bool:
        return not (self.text.strip() or self.stash)


_NOTHING = _Draft()


class DraftKeeper:
    """Keeps the draft of one session. `set` is cheap; `write` blocks, and may run in any thread."""

    def __init__(self, journal: Journal, state_dir: Path, working_dir: Path) -> None:
        self._journal = journal
        self._own = _session_file(journal.path)
        self._outputs = outputs_beside(journal.path)
        self._shared = _folder_file(state_dir, working_dir)
        self._working_dir = str(working_dir)
        self._lock = threading.Lock()
        self._kept = _Draft()
        self._written: dict[Path, _Draft] = {}

    def set(self, text: str, stash: Sequence[str] = ()) -> None:
        """Set the text, and the texts that were put aside, that the next `write` keeps."""
        self._kept = _Draft(text, tuple(stash))

    def write(self) -> None:
        """Write the text if it has changed. Nothing happens where it cannot be written: the text is still in
        the composer."""
        with self._lock, contextlib.suppress(OSError):
            kept = self._kept
            if not self._journal.is_begun:
                self._replace(self._shared, kept)
                return
            self._replace(self._own, kept)
            if not self._written.get(self._shared, _NOTHING).is_empty:  # the session has its own folder now
                self._replace(self._shared, _NOTHING)

    def keep_paste(self, text: str) -> Path | None:
        """Write a text that is too long for a message into the session's folder, where the read tool may read
        it; return its path, or None if that fails. Blocks."""
        return OutputStore(self._outputs).keep(self._journal.redacted(text), "paste")

    def take(self, saved: SavedSession) -> str:
        """Return the draft of the session that is continued: its own, else one that was typed since in its
        folder without a session. Set the stash of `saved` in the same way."""
        own = _newest(saved)
        self._kept = self._written[self._own] = own
        saved.stash = [*own.stash]
        found = None if own.text.strip() else _read(self._shared)
        is_ours = found is not None and found.at > saved.updated and saved.working_dir == self._working_dir
        if found is None or not is_ours or found.is_empty:
            return own.text
        self._written[self._shared] = found
        saved.stash += found.stash
        self._kept = _Draft(found.text, tuple(saved.stash))
        self.write()
        return found.text

    def _replace(self, path: Path, kept: _Draft) -> None:
        if self._written.get(path, _NOTHING) == kept:
            return
        if path == self._shared and kept.is_empty:
            path.unlink(missing_ok=True)
        else:
            redacted = self._journal.redacted
            _write(path, _Draft(redacted(kept.text), tuple(map(redacted, kept.stash)), time.time()))
        self._written[path] = kept


def newest_draft(saved: SavedSession) -> str:
    """Return what the composer held last in a saved session."""
    return _newest(saved).text


def use_newest(saved: SavedSession) -> None:
    """Give a saved session what the composer and the stash held last."""
    newest = _newest(saved)
    saved.draft, saved.stash = newest.text, [*newest.stash]


def _newest(saved: SavedSession) -> _Draft:
    found = _read(_session_file(saved.path))
    if found is None or found.at < saved.draft_recorded:
        return _Draft(saved.draft, tuple(saved.stash), saved.draft_recorded)
    return found


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
            stash = found.get("stash")
            texts = stash if isinstance(stash, list) else []
            kept = tuple(text for text in texts if isinstance(text, str))
            return _Draft(found["text"], kept, float(found["at"]))
    return None


def _write(path: Path, draft: _Draft) -> None:
    """Replace a file. Raises OSError and keeps the old one."""
    make_private_folder(path.parent)
    fd, name = tempfile.mkstemp(dir=path.parent, prefix=".draft-")  # 0600
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            json.dump({"text": draft.text, "stash": draft.stash, "at": draft.at}, file)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
