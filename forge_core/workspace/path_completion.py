"""Completion of `@` paths: the mention before the cursor, and the files that it may mean."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from forge_core.mention_syntax import OpenMention, mention_before, written_mention
from forge_core.sanitize import safe_line
from forge_core.text_width import clip_middle

if TYPE_CHECKING:
    from forge_core.workspace.file_index import FileIndex, Match

_RECENT = 50
"""Paths taken last that are preferred."""


class PathCompletion:
    """Finds the files for the mention that is being typed. The files are read when the first one begins."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._index: FileIndex | None = None
        self._recent: list[str] = []
        self._place: tuple[int, int] | None = None
        """The row and column of the current mention's `@`."""
        self._dismissed: tuple[int, int] | None = None
        self.mention: OpenMention | None = None
        """The current mention, unless the user has closed its popup."""

    def follow(self, row: int, before: str, on_part: Callable[[], None]) -> bool:
        """Take the text before the cursor in its row; return whether a mention ends there.

        `on_part` is called in another thread when more files can be found.
        """
        mention = mention_before(before)
        place = None if mention is None else (row, mention.start)
        if place != self._dismissed:
            self._dismissed = None
        if place is not None and place != self._place and self._dismissed is None:
            self._files().refresh(on_part)
        self._place = place
        self.mention = None if self._dismissed is not None else mention
        return self.mention is not None

    def dismiss(self) -> None:
        """Find nothing for the current mention, however it goes on."""
        self._dismissed = self._place
        self.mention = None

    def matches(self) -> list[Match]:
        """Return the files for the current mention, best first; none once its lines are being typed."""
        if self.mention is None or self._index is None:
            return []
        found = self._index.search(self.mention.path, recent=self._recent)
        if self.mention.lines and any(match.path == self.mention.path for match in found):
            return []
        folder = self.mention.path if self.mention.path.endswith("/") else ""  # what is in it is wanted
        return [match for match in found if match.path != folder and _can_be_mentioned(match.path)]

    def completed(self, path: str) -> str:
        """Return the text that replaces the current mention. A folder is left open, so that what is in it can
        be chosen next."""
        assert self.mention is not None
        if path.endswith("/"):
            return written_mention(path).removesuffix('"')
        return written_mention(path, self.mention.lines) + " "

    def taken(self, path: str) -> None:
        """Prefer a path from now on."""
        self._recent = [path, *(one for one in self._recent if one != path)][:_RECENT]

    def close(self) -> None:
        """Stop reading files."""
        if self._index is not None:
            self._index.close()

    def _files(self) -> FileIndex:
        if self._index is None:
            from forge_core.workspace.file_index import FileIndex

            self._index = FileIndex(self._root)
        return self._index


def shortened(path: str, marks: tuple[int, ...], width: int) -> tuple[str, tuple[int, ...]]:
    """Return a path cut in the middle to `width` cells, and where its marked characters are then."""
    text = clip_middle(path, width)
    if text == path:
        return path, marks
    cut = text.find("…")
    behind = len(path) - (len(text) - cut - 1)
    kept = [at if at < cut else at - behind + cut + 1 for at in marks if at < cut or at >= behind]
    return text, tuple(kept)


def _can_be_mentioned(path: str) -> bool:
    """Return whether the composer can hold a path as it is: without control characters, for one."""
    with contextlib.suppress(UnicodeEncodeError):
        path.encode()
        return '"' not in path and safe_line(path, keep_invisible=True) == path
    return False
