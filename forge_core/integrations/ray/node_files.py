"""The files of a job on a node: a folder for them, and what is added to them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from forge_core.batch.engine import (
    EVENTS_FILE,
    MAX_FILE_BYTES,
    PATCH_FILE,
    PROMPT_FILE,
    STDERR_FILE,
    VERIFY_FILE,
)
from forge_core.batch.event_figures import has_figures
from forge_core.private_folders import make_private_folder

JOB_FILES = (PROMPT_FILE, EVENTS_FILE, STDERR_FILE, PATCH_FILE, VERIFY_FILE)
_PART_BYTES = 1 << 20


@contextlib.contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """Make an empty folder in `parent` for as long as the block runs, and remove those of processes that were
    killed. Raises OSError."""
    make_private_folder(parent)
    with contextlib.ExitStack() as held:
        guard = os.open(parent / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(guard, fcntl.LOCK_EX)
            for left in parent.glob("job-*"):
                with contextlib.suppress(OSError), _locked(left):
                    shutil.rmtree(left, ignore_errors=True)
            folder = Path(tempfile.mkdtemp(prefix="job-", dir=parent))
            held.enter_context(_locked(folder))
        finally:
            os.close(guard)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder. Raises BlockingIOError if another process holds it."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(fd)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePart:
    """What was added to a file of the job; empty where the file has just been created."""

    name: str
    data: bytes


@dataclass(slots=True)
class GrowingFile:
    """Reads what is added to a file. A file of events is read by whole lines; beyond the limit of
    MAX_FILE_BYTES only those with figures follow."""

    path: Path
    is_cut: bool = False
    """Whether something was left out."""
    _is_known: bool = False
    _position: int = 0
    _sent: int = 0
    _rest: bytes = b""
    """The beginning of a line that is being written."""

    def read(self) -> Iterator[FilePart]:
        """Yield what was added since the last call, first of all an empty part."""
        try:
            file = self.path.open("rb")
        except FileNotFoundError:
            return
        with file:
            if not self._is_known:
                self._is_known = True
                yield FilePart(name=self.path.name, data=b"")
            file.seek(self._position)
            while data := file.read(_PART_BYTES):
                self._position += len(data)
                if kept := self._within_limit(data):
                    self._sent += len(kept)
                    yield FilePart(name=self.path.name, data=kept)

    def _within_limit(self, data: bytes) -> bytes:
        if self.path.name == EVENTS_FILE:
            head, newline, self._rest = (self._rest + data).rpartition(b"\n")
            data = head + newline
        if self._sent + len(data) <= MAX_FILE_BYTES:
            return data
        self.is_cut = True
        if self.path.name == EVENTS_FILE:
            return b"".join(line + b"\n" for line in data.split(b"\n") if has_figures(line))
        return data[: max(0, MAX_FILE_BYTES - self._sent)]
