"""The changes that a call has made, file by file: the first rows of them, or any part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forge_core.result import FileDiff
from forge_core.sanitize import safe_line
from forge_core.text_width import cell_len, clip_middle
from forge_tui.widgets.blockview.rows import Canvas
from forge_tui.widgets.diff import Patch, draw_patch, language_of_file, read_patch
from forge_tui.widgets.diff.drawing import Look, draw_gap
from forge_tui.widgets.diff.patch import Hunk, Stretch
from forge_tui.widgets.transcript.calls.pages import PAGE_LINES, Size

if TYPE_CHECKING:
    from forge_tui.widgets.blockview.styles import TranscriptStyles


@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    """So much of one hunk as a page can hold."""

    file: int
    hunk: int
    stretch: Stretch


class Changes:
    """One patch a file."""

    def __init__(self, diffs: Sequence[FileDiff] = ()) -> None:
        self._files = [(diff, read_patch(diff.diff)) for diff in diffs]
        self._pieces = list(_pieces([patch for _, patch in self._files]))

    def __len__(self) -> int:
        """Pieces."""
        return len(self._pieces)

    @property
    def lines(self) -> int:
        return sum(len(patch) for _, patch in self._files)

    def texts(self, first: int, end: int) -> Iterator[str]:
        """The lines of the pieces from `first` up to `end`."""
        return (line for piece in self._pieces[first:end] for line in piece.stretch.lines)

    def sizes(self) -> Iterator[Size]:
        """How much each piece holds."""
        for piece in self._pieces:
            chars = sum(map(len, piece.stretch.old)) + sum(map(len, piece.stretch.new))
            yield Size(len(piece.stretch), chars)

    def draw_first(self, room: int, canvas: Canvas, styles: TranscriptStyles) -> int:
        """Adds about the first `room` rows; gives how many lines are left out."""
        hidden = 0
        for number, (diff, patch) in enumerate(self._files):
            if room <= 0:
                hidden += len(patch)
                continue
            self._draw_name(number, canvas, styles)
            left_out = draw_patch(patch, canvas, styles, language_of_file(diff.path), room)
            room -= len(patch) - left_out
            hidden += left_out
        return hidden

    def draw(self, first: int, end: int, canvas: Canvas, styles: TranscriptStyles) -> None:
        """Adds the pieces from `first` up to `end`, each file's under its name."""
        shown = self._pieces[first:end]
        for number in dict.fromkeys(piece.file for piece in shown):
            pieces = [piece for piece in shown if piece.file == number]
            diff, patch = self._files[number]
            if not first or self._pieces[first - 1].file != number or pieces[0] is not shown[0]:
                self._draw_name(number, canvas, styles)
            is_end = end >= len(self._pieces) or self._pieces[end].file != number
            hunks = [
                Hunk(patch.hunks[hunk].heading, [piece.stretch for piece in pieces if piece.hunk == hunk])
                for hunk in dict.fromkeys(piece.hunk for piece in pieces)
            ]
            if self._begins_hunk(first, number) and pieces[0] is shown[0]:
                draw_gap(canvas, styles, Look.of(patch))
            part = Patch(hunks, patch.remarks if is_end else [])
            draw_patch(part, canvas, styles, language_of_file(diff.path), len(part), patch)

    def _begins_hunk(self, at: int, file: int) -> bool:
        """Whether a piece is the first of another hunk of a file than the piece before it."""
        before = self._pieces[at - 1] if at else None
        return before is not None and before.file == file and before.hunk != self._pieces[at].hunk

    def _draw_name(self, number: int, canvas: Canvas, styles: TranscriptStyles) -> None:
        if len(self._files) > 1:
            diff = self._files[number][0]
            counts = f"  +{diff.added} −{diff.removed}"
            path = clip_middle(safe_line(diff.path), max(4, canvas.width - cell_len(counts)))
            canvas.text([(path, styles.text), (counts, styles.muted)])


def _pieces(patches: Sequence[Patch]) -> Iterator[_Piece]:
    for file, patch in enumerate(patches):
        for hunk, content in enumerate(patch.hunks):
            for stretch in content.stretches:
                for part in stretch.parts(PAGE_LINES, is_split=True):
                    yield _Piece(file, hunk, part)


def beyond_changes(text: str, diffs: Sequence[FileDiff]) -> str:
    """What a result says besides the changes, which are drawn already: the model reads them as text."""
    if not diffs:
        return text
    heads = tuple(f" {change.path}: +{change.added} −{change.removed}" for change in diffs)
    for change in diffs:
        text = text.replace(f"\n{change.diff}", "", 1) if change.diff else text
    return "\n".join(line for line in text.split("\n") if line and not line.endswith(heads))
