"""Copies of a session under a new id: of the whole session, or of its first records."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from forge_core.errors import JournalError
from forge_core.images.image_store import ImageStore
from forge_core.redact import Redactor
from forge_core.store.journal import JOURNAL_VERSION, images_beside
from forge_core.store.saved_session import SavedSession
from forge_core.workspace.record_file import Record, RecordFile

_GIVEN = frozenset({"rules", "folders"})
"""What the user has allowed in the session alone."""


def fork_session(
    saved: SavedSession, path: Path, redact: Redactor, *, records: int | None = None, draft: str | None = None
) -> None:
    """Write a journal at `path` that begins with the first `records` records of a session; by default all.

    `draft` is what the input holds when the copy is continued; by default the same as in the session. The
    session's own permissions and added folders are left out: the user gave them to the other session. Its
    images are copied.

    Raises:
        JournalError: the copy cannot be written; then there is none.
    """
    file = RecordFile(path)
    try:
        for record in _copied(saved.records, path.stem, saved.id, records):
            file.append(redact.values(record))
        state = {"draft": saved.draft, "stash": saved.stash}
        if draft is not None:
            state = {"draft": draft, "queue": []}
        if draft is not None or (records is None and (saved.draft or saved.stash)):
            record = {"v": JOURNAL_VERSION, "type": "state", "timestamp": time.time(), "data": state}
            file.append(redact.values(record))
        file.sync()
        ImageStore(images_beside(saved.path)).copy_to(images_beside(path))
    except OSError as error:
        path.unlink(missing_ok=True)
        shutil.rmtree(path.with_suffix(""), ignore_errors=True)
        raise JournalError(
            f"Session {saved.id} cannot be copied to {str(path)!r}: {error.strerror}."
        ) from error
    finally:
        file.close()


def _copied(records: Sequence[Record], session_id: str, parent: str, count: int | None) -> list[Record]:
    copies = []
    for record in islice(records, count):
        data = record.get("data")
        if record["type"] == "session" and isinstance(data, dict):
            own = {name: value for name, value in data.items() if name != "agent"}
            copies.append({**record, "data": {**own, "id": session_id, "parent": parent}})
        elif record["type"] == "resume" and isinstance(data, dict):
            copies.append({**record, "data": {**data, "parent": parent}})
        elif record["type"] == "state" and isinstance(data, dict) and not _GIVEN.isdisjoint(data):
            kept = {name: value for name, value in data.items() if name not in _GIVEN}
            copies.append({**record, "data": kept})
        else:
            copies.append(record)
    return copies
