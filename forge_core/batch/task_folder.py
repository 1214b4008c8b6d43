"""The folder of a task: the files of its last attempt, and those of earlier ones in folders of their own."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from pathlib import Path

from forge_core.batch.engine import EVENTS_FILE
from forge_core.batch.event_figures import EventReader, RunFigures

_ENDED_WITHIN_S = 10.0
_LOOK_S = 0.02
_TAIL_BYTES = 4096


def task_folder(out: Path, task_id: str) -> Path:
    return out / "tasks" / task_id


def archive(folder: Path, attempt: int) -> None:
    """Make the folder, and move the files of its last attempt, of this number, into one for them. Raises
    OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [one for one in folder.iterdir() if not one.name.startswith("attempt-")]
    if not files:
        return
    earlier = folder / f"attempt-{attempt}"
    earlier.mkdir(exist_ok=True)
    for one in files:
        one.replace(earlier / one.name)


def settled_figures(folder: Path) -> RunFigures:
    """Return the figures of a run whose driver was killed, when the last of its processes is gone.

    Each of them holds a lock on the file of events, and ends within moments of the driver.
    """
    path = folder / EVENTS_FILE
    deadline = time.monotonic() + _ENDED_WITHIN_S
    with contextlib.suppress(OSError), path.open("rb") as file:
        while time.monotonic() < deadline:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(_LOOK_S)
    return EventReader(path).read()


def last_line(path: Path) -> str:
    """Return the last line of a file that is not empty; "" if there is none."""
    try:
        with path.open("rb") as file:
            file.seek(-min(_TAIL_BYTES, path.stat().st_size), os.SEEK_END)
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(text.split("\n")) if line.strip()), "")
