"""Limits outputs to a head and a tail for the model, and keeps the whole in a private file."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import BinaryIO

from forge_core.private_folders import make_private_folder
from forge_core.redact import Redactor
from forge_core.result import Omission
from forge_core.workspace.beneath import write_all

OUTPUT_LIMIT = 30_000
"""Characters of one result that reach the model."""
_ELIDED = re.compile(r"\[\d[\d,]* characters left out to save context\]")
MAX_SPILL_BYTES = 50 * 1024 * 1024
"""Of one full output kept on disk."""


class OutputStore:
    """Files for full outputs: 0600, in a 0700 folder that is made on first use. What is written to them goes
    through `redact`.

    Without a `folder`, a temporary one that is removed when the store goes away.
    """

    def __init__(self, folder: Path | None = None, redact: Redactor | None = None) -> None:
        self.redact = redact or Redactor()
        self._folder = folder
        self._made: Path | None = None
        self._count = 0
        self._cleanup: weakref.finalize[[str], OutputStore] | None = None

    @property
    def folder(self) -> Path | None:
        """The folder, once it contains a file."""
        return self._made

    def create(self, stem: str) -> tuple[Path, BinaryIO]:
        """Return a new, empty file for redacted text, and its path. Raise OSError (a full disk, say)."""
        folder = self._make()
        while True:
            self._count += 1
            path = folder / f"{self._count:04d}-{re.sub(r'[^A-Za-z0-9_-]', '_', stem)[:40] or 'output'}.txt"
            try:
                descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
            except FileExistsError:
                continue
            return path, os.fdopen(descriptor, "wb", buffering=0)

    def keep(self, text: str, stem: str) -> Path | None:
        """Write `text` (its first 50 MB) to a new file; None when that is not possible."""
        try:
            path, file = self.create(stem)
            with file:
                write_all(file.fileno(), self.redact(text).encode("utf-8", "replace")[:MAX_SPILL_BYTES])
        except OSError:
            return None
        return path

    def limit(self, text: str, stem: str, limit: int = OUTPUT_LIMIT) -> tuple[str, Omission | None]:
        """Return `text`, or its head and tail with a line between them that says how much is missing and
        where it is."""
        if len(text) <= limit:
            return text, None
        half = limit // 2
        head_end, tail_start = half, len(text) - half
        # Cut at a line end where one is near.
        if (cut := text.rfind("\n", 0, half)) > half * 0.8:
            head_end = cut + 1
        if 0 <= (cut := text.find("\n", tail_start) - tail_start) < half * 0.2:
            tail_start += cut + 1
        head, tail = self.head_and_tail(text, head_end, text, tail_start)
        missing = len(text) - len(head) - len(tail)
        return join_head_and_tail(head, tail, missing, text.count("\n"), self.keep(text, stem))

    def head_and_tail(self, start: str, head_end: int, end: str, tail_start: int) -> tuple[str, str]:
        """Return `start` up to `head_end` and `end` from `tail_start` on. A secret that lies across one of
        these places is left out as a whole: whoever records the text could not recognize its parts."""
        head = start[: self.redact.end_outside(start, head_end)]
        return head, end[self.redact.start_outside(end, tail_start) :]

    def _make(self) -> Path:
        if self._made is None:
            if self._folder is None:
                self._made = Path(tempfile.mkdtemp(prefix="forge-output-"))
                self._cleanup = weakref.finalize(self, shutil.rmtree, str(self._made), True)
            else:
                make_private_folder(self._folder)
                with contextlib.suppress(OSError):
                    self._folder.chmod(0o700)
                self._made = self._folder
        return self._made


def elision_note(characters: int) -> str:
    """Return the note for a text that was removed from the history."""
    return f"[{characters:,} characters left out to save context]"


def has_elision_note(text: str) -> bool:
    """Return whether a note of `elision_note` is in `text`."""
    return _ELIDED.search(text) is not None


def join_head_and_tail(
    head: str, tail: str, missing: int, line_ends: int, kept_in: Path | None
) -> tuple[str, Omission]:
    """Return head and tail of an output with a line between them for the `missing` characters or bytes.
    `line_ends` are those of the whole output."""
    where = f"; the whole output is in {kept_in}: use read or grep on it" if kept_in else ""
    line = f"[... {missing:,} characters left out{where} ...]"
    lines = line_ends - head.count("\n") - (not head.endswith("\n")) - tail.count("\n")
    left_out = Omission(line, max(lines, 0), str(kept_in) if kept_in else "")
    return head.rstrip("\n") + f"\n{line}\n" + tail, left_out
