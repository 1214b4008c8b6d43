"""The body of a card: changes and output; a few rows of them, or all, a page at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat

from rich.style import Style

from forge_core.result import FileDiff, Omission
from forge_core.sanitize import mark_invisible, safe_line
from forge_core.text_width import cell_len, clip, clip_middle
from forge_tui.keys.effective import fold_key
from forge_tui.terminal.editor_links import NO_LINKS, Links
from forge_tui.widgets.blockview.blocks import Passage
from forge_tui.widgets.blockview.highlighting import language_of
from forge_tui.widgets.blockview.rows import Canvas
from forge_tui.widgets.blockview.styles import TranscriptStyles
from forge_tui.widgets.diff.drawing import draw_patch
from forge_tui.widgets.diff.unified_diff import Patch, Stretch, read_patch
from forge_tui.widgets.transcript.calls.card_block import PREVIEW, CardBlock, ClickTarget
from forge_tui.widgets.transcript.calls.paging import PAGE_LINES, ItemSize, Pages, lines_of
from forge_tui.widgets.transcript.path_links import with_links

_TAIL_ROWS = 5
_OPEN_TAIL_ROWS = 30
_TAIL_CHARS = 4_000
_FOLDED_DIFF_ROWS = 24
_LINKED_CHARS = 10_000
_ERROR_LINE = re.compile(
    r"^(?:E  +\S|.{0,200}?(?:"
    r"\b\w*(?:error|exception)\b[^:\n]{0,20}:|\b(?:fatal|panicked)\b|\bFAILED\b"
    r"|\b[1-9]\d* (?:failed|errors?)\b|\bno such file\b|\bnot found\b))",
    re.IGNORECASE | re.MULTILINE,
)
"""The beginning of a line of output that names an error. Bounded: a line may have megabytes."""
_FOLD_ROW_FROM = 30
"""Lines of an unfolded body from which its last row offers to fold it."""


@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    """As much of one hunk as fits on a page."""

    file: int
    hunk: int
    stretch: Stretch


class CallChanges:
    """The changes that a call has made, one patch per file, in pieces."""

    def __init__(self, diffs: Sequence[FileDiff] = ()) -> None:
        self._files = [(diff, read_patch(diff.diff)) for diff in diffs]
        self._pieces = list(_pieces([patch for _, patch in self._files]))

    def __len__(self) -> int:
        """Return the number of pieces."""
        return len(self._pieces)

    @property
    def lines(self) -> int:
        return sum(len(patch) for _, patch in self._files)

    def texts(self, first: int, end: int) -> Iterator[str]:
        """Yield the lines of the pieces from `first` up to `end`."""
        return (line for piece in self._pieces[first:end] for line in piece.stretch.lines)

    def sizes(self) -> Iterator[ItemSize]:
        """Yield the size of each piece."""
        for piece in self._pieces:
            chars = sum(map(len, piece.stretch.old)) + sum(map(len, piece.stretch.new))
            yield ItemSize(len(piece.stretch), chars)

    def draw_first(self, room: int, canvas: Canvas, styles: TranscriptStyles) -> int:
        """Add about the first `room` rows; return how many lines are left out."""
        hidden = 0
        for number, (diff, patch) in enumerate(self._files):
            if room <= 0:
                hidden += len(patch)
                continue
            self._draw_name(number, canvas, styles)
            left_out = draw_patch(patch, canvas, styles, language_of(diff.path), room)
            room -= len(patch) - left_out
            hidden += left_out
        return hidden

    def draw(self, first: int, end: int, canvas: Canvas, styles: TranscriptStyles) -> None:
        """Add the pieces from `first` up to `end`, those of each file under its name."""
        shown = self._pieces[first:end]
        for number in dict.fromkeys(piece.file for piece in shown):
            pieces = [piece for piece in shown if piece.file == number]
            diff, patch = self._files[number]
            if not first or self._pieces[first - 1].file != number or pieces[0] is not shown[0]:
                self._draw_name(number, canvas, styles)
            is_end = end >= len(self._pieces) or self._pieces[end].file != number
            hunks = [
                replace(patch.hunks[hunk], stretches=[one.stretch for one in pieces if one.hunk == hunk])
                for hunk in dict.fromkeys(piece.hunk for piece in pieces)
            ]
            is_continued = pieces[0] is shown[0] and self._continues_hunk(first)
            part = Patch(hunks, patch.remarks if is_end else [])
            draw_patch(
                part, canvas, styles, language_of(diff.path), len(part), patch, is_continued=is_continued
            )

    def _continues_hunk(self, at: int) -> bool:
        """Return whether a piece is of the same hunk as the one before."""
        before, piece = self._pieces[at - 1] if at else None, self._pieces[at]
        return before is not None and (before.file, before.hunk) == (piece.file, piece.hunk)

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
    """Return what a result says besides the changes, which are drawn already; the model gets both as text."""
    if not diffs:
        return text
    heads = tuple(f" {change.path}: +{change.added} −{change.removed}" for change in diffs)
    for change in diffs:
        text = text.replace(f"\n{change.diff}", "", 1) if change.diff else text
    return "\n".join(line for line in text.split("\n") if line and not line.endswith(heads))


def omission_row(omission: Omission) -> str:
    """Return the row, safe to show, that says what a result leaves out of a long output."""
    what = f"{omission.lines:,} line{'s'[: omission.lines != 1]}" if omission.lines else "part of a line"
    where = f"; the whole output is in {omission.kept_in}" if omission.kept_in else ""
    return safe_line(f"… {what} left out{where}")


class CardBody:
    """The output of a call while it runs, then its result and the changes that it made."""

    def __init__(self, preview_rows: int = 0) -> None:
        """`preview_rows`: the number of last lines of the result that show if the card is folded."""
        self.preview_rows = preview_rows
        self.shows_beginning = False
        """Whether these are the first lines instead."""
        self.is_wrapped = False
        """Whether lines of a folded card are wrapped instead of clipped."""
        self.is_error_bright = True
        """Whether the first line that names an error stands out, if the call has failed."""
        self._error_line: int | None = None
        """The index of that line."""
        self._is_live = True
        self._is_cut = False
        """Whether a line was clipped when the card was last drawn folded."""
        self._text = ""
        self._omission: Omission | None = None
        self._changes = CallChanges()
        self._pages: Pages | None = None
        self.links: Links = NO_LINKS
        """The links of the paths in its text and in the card's header."""

    @property
    def is_empty(self) -> bool:
        return not self._text.strip() and not len(self._changes)

    @property
    def is_whole_in_preview(self) -> bool:
        """Whether unfolding would show nothing more."""
        if len(self._changes):
            return not self._text and self._changes.lines <= _FOLDED_DIFF_ROWS
        has_all_lines = self._text.count("\n") < self.preview_rows and "\t" not in self._text
        return has_all_lines and not self._is_cut

    def text_with_paths(self) -> str:
        """Return the text in which paths are looked for: the beginning and the end of a long one."""
        if len(self._text) <= 2 * _LINKED_CHARS:
            return self._text
        return f"{self._text[:_LINKED_CHARS]}\n{self._text[-_LINKED_CHARS:]}"

    def feed(self, text: str, *, again: bool = False) -> None:
        """Add sanitised live output, in place of the last line if `again`; only its tail is kept."""
        before = self._text[: self._text.rfind("\n") + 1] if again else self._text
        self._text = (before + text)[-_TAIL_CHARS:]

    def finish(
        self,
        text: str,
        diffs: tuple[FileDiff, ...],
        omission: Omission | None,
        *,
        is_failure: bool = False,
    ) -> None:
        """Replace the live output by the sanitised result; `omission`: what the result leaves out."""
        self._is_live = False
        self._text = text
        self._omission = omission
        self._changes = CallChanges(diffs)
        error = _ERROR_LINE.search(text) if is_failure else None
        self._error_line = text.count("\n", 0, error.start()) if error is not None else None

    @property
    def line_count(self) -> int:
        """Lines of the result, without the changes."""
        return self._text.count("\n") + 1 if self._text else 0

    def find_texts(self) -> Iterator[str]:
        """Yield its text for searching, page by page."""
        if self._is_live:
            yield self._text
            return
        # Items are numbered in one sequence: first the pieces of the changes, then the lines of the output.
        changes, lines = len(self._changes), self._lines()
        pages = self._pages or self._all_pages()
        for number in range(len(pages)):
            items = pages.items(number)
            texts = self._changes.texts(items.start, min(items.stop, changes))
            yield "\n".join([*texts, *lines[max(0, items.start - changes) : max(0, items.stop - changes)]])

    def rows_when_folded(self) -> int:
        """Return the approximate number of rows that show if it is folded."""
        if self._is_live:
            return len(self._tail(_TAIL_ROWS))
        if len(self._changes):
            return min(_FOLDED_DIFF_ROWS, self._changes.lines)
        return min(self.preview_rows, self.line_count)

    def turn_page(self, direction: int) -> bool:
        """Show the next (1) or the previous (-1) page as well; return whether there is one."""
        return self._paged().turn_page(direction)

    def show_page(self, number: int) -> bool:
        """Show that page, counted from 0; return whether it was hidden."""
        return not self._is_live and self._paged().show(number)

    @property
    def pages_shown(self) -> range:
        """The pages that show if it is unfolded."""
        return range(1) if self._pages is None else self._pages.numbers

    @pages_shown.setter
    def pages_shown(self, numbers: range) -> None:
        if numbers != self.pages_shown:
            self._paged().numbers = numbers

    def reset_pages(self) -> None:
        """Return to the first page."""
        self._pages = None

    def draw(self, canvas: Canvas, styles: TranscriptStyles, card: CardBlock, *, is_preview: bool) -> None:
        """Add its rows; `is_preview` if the card is folded."""
        canvas.mark(ClickTarget(card, "text"))
        if is_preview and not self._is_live:
            rows = self.preview_rows
            lines = self._text.rsplit("\n", rows)[-rows:] if rows else []
            if self.shows_beginning:
                lines = self._text.split("\n", rows)[:rows]
            is_long = any(cell_len(line[: 4 * canvas.width]) > canvas.width for line in lines)
            self._is_cut = is_long and not self.is_wrapped
        if self._is_live or is_preview:
            is_all = self._is_live or self.is_whole_in_preview
            canvas.mark(Passage(card, 1 if is_all else PREVIEW))
        if self._is_live:
            for line in self._tail(_TAIL_ROWS if is_preview else _OPEN_TAIL_ROWS):
                self._draw_cut(line, canvas, styles.muted)
        elif is_preview:
            self._preview(canvas, styles)
        else:
            self._draw_all(canvas, styles, card)

    def _lines(self) -> list[str]:
        return lines_of(self._text) if self._text else []

    def _paged(self) -> Pages:
        if self._pages is None:
            self._pages = self._all_pages()
        return self._pages

    def _all_pages(self) -> Pages:
        return Pages([*self._changes.sizes(), *zip(repeat(1), map(len, self._lines()))])

    def _tail(self, rows: int) -> list[str]:
        return [line for line in self._text.split("\n") if line.strip()][-rows:]

    def _preview(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        if len(self._changes):
            if hidden := self._changes.draw_first(_FOLDED_DIFF_ROWS, canvas, styles):
                canvas.decoration([(f"… {_count(hidden)} ({fold_key()})", styles.muted)])
            return
        lines = self._text.split("\n") if self._text else []
        if self.shows_beginning:
            for number, line in enumerate(lines[: self.preview_rows]):
                self._draw_preview_line(number, line, canvas, styles)
            if hidden := self._more_than_rows(lines) + max(0, len(lines) - self.preview_rows):
                canvas.decoration([(f"… {_count(hidden)} ({fold_key()})", styles.muted)])
            return
        first = len(lines) - min(self.preview_rows, len(lines))
        error = self._error_line
        has_error_above = error is not None and error < first < len(lines) - 1
        if error is not None and has_error_above:
            first += 1  # it takes the place of one of the last lines
            self._draw_preview_line(error, lines[error], canvas, styles)
        if 0 < first < len(lines):
            hidden = first - has_error_above + self._more_than_rows(lines[:first])
            canvas.decoration([(f"… {_count(hidden)} ({fold_key()})", styles.muted)])
        for number in range(first, len(lines)):
            self._draw_preview_line(number, lines[number], canvas, styles)

    def _draw_preview_line(self, number: int, line: str, canvas: Canvas, styles: TranscriptStyles) -> None:
        style = self._style_of(number, styles)
        if self.is_wrapped:
            canvas.text([(line.expandtabs(8), style)], original=line)
        else:
            self._draw_cut(line, canvas, style)

    def _style_of(self, line: int, styles: TranscriptStyles) -> Style:
        """Return the style of a line of the result: the first error stands out."""
        return styles.text if line == self._error_line and self.is_error_bright else styles.muted

    def _more_than_rows(self, lines: Sequence[str]) -> int:
        """Return how many more lines of output these rows represent: an omission row represents many."""
        omission = self._omission
        return omission.lines - 1 if omission is not None and omission_row(omission) in lines else 0

    def _draw_cut(self, line: str, canvas: Canvas, style: Style) -> None:
        # Cut before measuring: only its beginning can show, and a line may have megabytes.
        shown = clip(mark_invisible(line[: 4 * canvas.width]).expandtabs(8), canvas.width)
        canvas.text(with_links([(shown, style)], self.links), original=line)

    def _draw_all(self, canvas: Canvas, styles: TranscriptStyles, card: CardBlock) -> None:
        changes = len(self._changes)
        lines = self._lines()
        has_own_rows = len(lines) == self.line_count
        pages = self._paged()
        if pages.first:
            canvas.mark(ClickTarget(card, "previous_page"))
            hidden = pages.lines_before + self._more_than_rows(lines[: max(0, pages.first - changes)])
            canvas.decoration([(f"… {_count(hidden, 'earlier')} (PageUp)", styles.accent)])
        canvas.mark(ClickTarget(card, "text"))
        for number, items, is_new in pages.parts():
            if is_new:
                canvas.mark(ClickTarget(card, "new_page"))
            canvas.mark(Passage(card, 1 + number))
            self._changes.draw(items.start, min(items.stop, changes), canvas, styles)
            for index in range(max(0, items.start - changes), max(0, items.stop - changes)):
                style = self._style_of(index, styles) if has_own_rows else styles.muted
                line = lines[index]
                canvas.text(with_links([(line.expandtabs(8), style)], self.links), original=line)
        if pages.end < pages.count:
            canvas.mark(ClickTarget(card, "next_page"))
            hidden = pages.lines_after + self._more_than_rows(lines[max(0, pages.end - changes) :])
            canvas.decoration([(f"… {_count(hidden)} (PageDown)", styles.accent)])
        if pages.lines >= _FOLD_ROW_FROM:
            canvas.mark(ClickTarget(card, "fold"))
            canvas.decoration([("▴ fold", styles.accent)])


def _count(count: int, which: str = "more") -> str:
    return f"{count:,} {which} line{'s'[: count != 1]}"
