"""Completion of `@` paths: the mention before the cursor, and the files that it may mean."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from forge_core.mention_syntax import OpenMention, mention_before, written_mention
from forge_core.sanitize import safe_line
from forge_core.text_width import clip_middle

if TYPE_CHECKING:
    from forge_core.workspace.file_index import FileIndex, Match, Preferred
    from forge_core.workspace.path_search import PathSearch

_RECENT = 50
"""Paths taken last that are preferred."""
WAIT_S = 0.25
"""How long Enter and Tab wait for the answer to what has just been typed."""


class PathCompletion:
    """Finds the files for the mention that is being typed. The files are read when the first one begins, and
    searched in a thread."""

    def __init__(
        self,
        root: Path,
        used: Callable[[], Sequence[str]],
        changed: Callable[[], Sequence[str]],
        added: Callable[[], Sequence[Path]] = tuple,
    ) -> None:
        """`used` returns the real paths of files that the conversation is about, the latest first; `changed`
        returns the paths of files with uncommitted changes, relative to the root; `added` the folders that
        are completed too."""
        self._added = added
        self._root = root
        self._used = used
        self._changed = changed
        self._index: FileIndex | None = None
        self._search: PathSearch | None = None
        self._taken: list[str] = []
        self._place: tuple[int, int] | None = None
        """The row and column of the current mention's `@`."""
        self._dismissed: tuple[int, int] | None = None
        self.mention: OpenMention | None = None
        """The current mention, unless the user has closed its popup."""

    def follow(self, row: int, before: str, on_answer: Callable[[], None]) -> bool:
        """Take the text before the cursor in its row; return whether it begins another mention, or ends one.

        `on_answer` is called in another thread when `matches` has changed.
        """
        mention = mention_before(before)
        place = None if mention is None else (row, mention.start)
        if place != self._dismissed:
            self._dismissed = None
        before_now = self.mention
        is_other, self._place = place != self._place, place
        self.mention = None if self._dismissed is not None else mention
        if self.mention is not None:
            search = self._open_search(on_answer)
            if is_other and self._index is not None:
                self._index.refresh(search.ask_again)
            if is_other or before_now is None or before_now.path != self.mention.path:
                search.ask(self.mention.path, self._preferred())
        return is_other or self.mention is None

    def settle(self) -> None:
        """Wait a moment for the answer to what has just been typed: the next key acts on it."""
        if self.mention is not None and self._search is not None:
            self._search.wait(WAIT_S)

    def dismiss(self) -> None:
        """Find nothing for the current mention, however it goes on."""
        self._dismissed = self._place
        self.mention = None

    def matches(self) -> list[Match] | None:
        """Return the files for the current mention, best first; none once its lines are being typed. None
        while they are searched for."""
        if self.mention is None or self._search is None:
            return []
        answer = self._search.answer
        if answer is None or answer.query != self.mention.path:
            return None
        found = answer.matches
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
        self._taken = [path, *(one for one in self._taken if one != path)][:_RECENT]

    def close(self) -> None:
        """Stop reading files."""
        if self._search is not None:
            self._search.close()
        if self._index is not None:
            self._index.close()

    def _open_search(self, on_answer: Callable[[], None]) -> PathSearch:
        if self._search is None:
            from forge_core.workspace.file_index import FileIndex
            from forge_core.workspace.path_search import PathSearch

            self._index = FileIndex(self._root, added=self._added)
            self._search = PathSearch(self._index, on_answer)
        return self._search

    def _preferred(self) -> Preferred:
        from forge_core.workspace.file_index import Preferred

        root = os.path.realpath(self._root) + os.sep
        inside = (path.removeprefix(root) for path in self._used() if path.startswith(root))
        return Preferred([*dict.fromkeys([*self._taken, *inside])], self._changed())


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
