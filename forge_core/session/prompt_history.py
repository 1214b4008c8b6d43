"""What the user has sent, over all sessions and folders: one private file, the newest line last.

A text that contains a key or a known secret is not kept at all: with a mask in it, it could not be sent
again.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from forge_core.redact import Redactor
from forge_core.store.journal import is_time
from forge_core.workspace.record_file import RecordFile, read_records

MAX_BYTES = 4_000_000
"""The file is shortened beyond that."""
_KEPT_BYTES = 3_000_000
"""Of the newest lines, when the file is shortened."""
MAX_CHARACTERS = 100_000
"""Of a text that is kept."""
_LOCK_S = 2.0


@dataclass(frozen=True, slots=True)
class SentPrompt:
    """One text that was sent."""

    text: str
    """As typed; a part that was folded is between marks."""
    folder: str
    """The working folder of the session."""
    at: float
    """Seconds since the epoch."""


class PromptHistory:
    """The file of sent prompts. All methods block; a file that cannot be used counts as empty."""

    def __init__(self, state_dir: Path, redact: Redactor, *, clock: Callable[[], float] = time.time) -> None:
        self._path = state_dir / "history.jsonl"
        self._redact = redact
        self._clock = clock

    def read(self) -> list[SentPrompt]:
        """Return all prompts, the oldest first."""
        with contextlib.suppress(OSError):
            return [*self._read()]
        return []

    def add(self, text: str, folder: Path) -> bool:
        """Append a text that was sent; return whether it was kept."""
        if not text.strip() or len(text) > MAX_CHARACTERS or self._redact(text) != text:
            return False
        sent = SentPrompt(text, str(folder), self._clock())
        # The lock has a file of its own: this one is replaced when it is shortened.
        lock, file = RecordFile(self._path.with_suffix(".lock")), RecordFile(self._path)
        try:
            lock.lock(wait_s=_LOCK_S)
            file.append(_record(sent))
            if self._path.stat().st_size > MAX_BYTES:
                self._shorten(file)
        except OSError:
            return False
        finally:
            file.close()
            lock.close()
        return True

    def _read(self) -> Iterator[SentPrompt]:
        for record in read_records(self._path):
            match record:
                case {"text": str(text), "folder": str(folder), "at": at} if text and is_time(at):
                    yield SentPrompt(text, folder, float(at))

    def _shorten(self, file: RecordFile) -> None:
        """Drop the oldest lines. Raise OSError and keep the file if that fails."""
        kept: list[SentPrompt] = []
        size = 0
        for sent in reversed([*self._read()]):
            size += len(sent.text.encode("utf-8", "replace")) + len(sent.folder) + 50
            if size > _KEPT_BYTES:
                break
            kept.append(sent)
        file.rewrite(map(_record, reversed(kept)))


def _record(sent: SentPrompt) -> dict[str, object]:
    return {"v": 1, "at": sent.at, "folder": sent.folder, "text": sent.text}
