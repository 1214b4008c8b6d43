"""What the keys of the diff viewer keep and revert: the file that is shown, and its hunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forge_core.errors import ForgeError
from forge_core.session.changes import TurnChanges
from forge_core.session.review import WHOLE_FILE
from forge_core.workspace.change_source import ChangedFile, ChangeSource

if TYPE_CHECKING:
    from forge_core.session.review import ChangeReview
    from forge_core.tools.editing.hunks import Hunk
    from forge_tui.widgets.diff.diff_pane import HunkStart

_NOT_HERE = "Only the changes of the last turn can be kept or reverted. d shows them."
_NO_FILE = "There is no file to keep or revert."
_NO_HUNK = "No hunk is selected. s shows the hunks."
_ALL_KEPT = "All of this file is marked as kept. Shift+A removes the marks."
_IS_KEPT = "This hunk is marked as kept. a removes the mark."


class Reviewer:
    """The review of the file that is shown. Its methods raise ForgeError where nothing can be done."""

    def __init__(self, review: ChangeReview | None) -> None:
        self._review = review
        self._changes: TurnChanges | None = None
        self._file: ChangedFile | None = None
        self._hunks: dict[HunkStart, Hunk] = {}

    def hide(self) -> None:
        """Forget the file: another one is being read."""
        self._file, self._hunks = None, {}

    async def show(self, changes: ChangeSource, file: ChangedFile | None) -> None:
        """Take over the file that is shown now; None if there is none."""
        self.hide()
        self._changes = changes if isinstance(changes, TurnChanges) else None
        if self._review is not None and self._changes is not None and file is not None:
            hunks = await self._review.hunks(self._changes, file)
            self._file = file
            self._hunks = {(one.old_from + 1, one.new_from + 1): one for one in hunks}

    @property
    def can_revert(self) -> bool:
        """Whether the changes that are shown can be reverted."""
        return self._review is not None and self._changes is not None and self._changes.turn > 0

    @property
    def is_whole_kept(self) -> bool:
        """Whether a file without hunks is marked as kept."""
        return WHOLE_FILE in self._keys()

    @property
    def kept(self) -> set[HunkStart]:
        """The hunks that are marked as kept."""
        keys = self._keys()
        return {start for start, hunk in self._hunks.items() if hunk.key in keys}

    def keep(self, start: HunkStart | None) -> bool:
        """Mark a hunk, or a file without hunks, as kept, or remove the mark; return whether it is kept."""
        review, changes, file = self._parts()
        key = self._hunk(start).key if self._hunks else WHOLE_FILE
        is_kept = key not in self._keys()
        review.keep(changes, file, [key], is_kept=is_kept)
        return is_kept

    def keep_file(self) -> bool:
        """Mark all of the file as kept, or remove the marks; return whether it is kept."""
        review, changes, file = self._parts()
        keys = {hunk.key for hunk in self._hunks.values()} or {WHOLE_FILE}
        is_kept = not keys <= self._keys()
        review.keep(changes, file, keys, is_kept=is_kept)
        return is_kept

    async def revert(self, start: HunkStart | None) -> str:
        """Revert a hunk, or a file without hunks; return what was done."""
        review, changes, file = self._parts()
        if not self._hunks:
            return await self.revert_file()
        hunk = self._hunk(start)
        if hunk.key in self._keys():
            raise ForgeError(_IS_KEPT)
        return await review.revert(changes, file, [hunk])

    async def revert_file(self) -> str:
        """Revert what is not marked as kept of the file; return what was done."""
        review, changes, file = self._parts()
        kept = self._keys()
        left = [hunk for hunk in self._hunks.values() if hunk.key not in kept]
        if self.is_whole_kept or (self._hunks and not left):
            raise ForgeError(_ALL_KEPT)
        is_all = len(left) == len(self._hunks)
        return await review.revert(changes, file, None if is_all else left)

    async def restore(self) -> str:
        """Undo the last revert; return what was done."""
        if self._review is None or self._changes is None:
            raise ForgeError(_NOT_HERE)
        return await self._review.undo(self._changes)

    def _parts(self) -> tuple[ChangeReview, TurnChanges, ChangedFile]:
        if self._review is None or self._changes is None:
            raise ForgeError(_NOT_HERE)
        if self._file is None:
            raise ForgeError(_NO_FILE)
        return self._review, self._changes, self._file

    def _keys(self) -> frozenset[str]:
        if self._review is None or self._changes is None or self._file is None:
            return frozenset()
        return self._review.kept(self._changes, self._file)

    def _hunk(self, start: HunkStart | None) -> Hunk:
        if start is None or start not in self._hunks:
            raise ForgeError(_NO_HUNK)
        return self._hunks[start]
