"""Blocks, the parts of a view. A block draws itself, and depends on nothing of the screen."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from rich.segment import Segment
from rich.style import Style

from forge_core.sanitize import safe_line, safe_text
from forge_tui.keys.effective import fold_key
from forge_tui.widgets.blockview.folding import Fold, SharedFolding
from forge_tui.widgets.blockview.rows import Canvas, RenderedBlock, StyledSpan
from forge_tui.widgets.blockview.styles import TranscriptStyles
from forge_tui.widgets.edges import MARK_COLUMN, TEXT_COLUMN

if TYPE_CHECKING:
    from forge_core.commands.result import Tint
    from forge_tui.terminal.editor_links import Links

MARGIN = " " * MARK_COLUMN
GUTTER = [Segment(" " * TEXT_COLUMN)]
TEXT_WIDTH = 112
"""The most cells of a row of text: longer ones are hard to read."""
RIGHT_EDGE = TEXT_COLUMN + TEXT_WIDTH
"""Where rows end in a wide window, those of every block but the wide ones."""

_NO_LETTER = re.compile(r"[\W_]+")
_UNWRAPPED = 100_000
"""Cells of a canvas on which no line is wrapped."""
_MAX_INDENT = 8
"""Cells of a line's indent that the rows on which it continues have too."""

_LONG_MESSAGE = 60
"""Lines of a message of the user above which only its beginning shows while it is folded."""
_SHOWN_LINES = 12
_SHOWN_COMMAND = 200
"""Characters of a command's line."""

Level = Literal["info", "warning", "error"]


class Linkable(Protocol):
    """A part of a view in which paths become links."""

    def text_with_paths(self) -> str:
        """Return the text in which paths are looked for."""

    def set_links(self, links: Links) -> None:
        """Show the links, which were found in this text."""


class Block(ABC):
    """One part of a view."""

    is_landmark: ClassVar[bool] = False
    """Whether it is a place to return to: a message of the user."""
    is_wide: ClassVar[bool] = False
    """Whether it uses all of a wide window: changes to files, and output as it is."""

    def __init__(self) -> None:
        self._changes = 0
        self.gap = 1
        """Empty rows before it."""

    @property
    def revision(self) -> int:
        """Grows with every change that shows."""
        return self._changes

    def changed(self) -> None:
        """Note that the block shows something else now."""
        self._changes += 1

    def render(self, width: int, styles: TranscriptStyles) -> RenderedBlock:
        """Return the block's rows at `width` cells."""
        canvas = self.canvas(width)
        canvas.gap(self.gap)
        self.draw(canvas, styles)
        return canvas.rendered

    def canvas(self, width: int) -> Canvas:
        """Return an empty canvas for its rows in a window of `width` cells."""
        return Canvas(width - 1 if self.is_wide else min(width - 1, RIGHT_EDGE))

    @abstractmethod
    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        """Add the rows to `canvas`."""

    @abstractmethod
    def estimate(self, width: int) -> int:
        """Return about how many rows it takes, without drawing it."""

    def toggle(self, row: int) -> bool:
        """Fold or unfold on a click on `row`; return whether anything changed."""
        return False

    def without_links(self) -> Iterator[Linkable]:
        """Yield the parts that have not been looked through for paths; none while they may still change."""
        yield from ()

    def copied_at(self, row: int, column: int) -> str:
        """Return the text that a click on a cell copies; "" if it copies nothing."""
        return ""

    def passages(self) -> Iterator[tuple[Passage, str]]:
        """Yield its text for searching, in order, one logical line per line, with the passage that shows or
        hides it."""
        yield Passage(self), self.find_text()

    def find_text(self) -> str:
        """Return its text for searching, if all of it shows or hides together."""
        canvas = Canvas(_UNWRAPPED)
        self.draw(canvas, TranscriptStyles.bare())
        return "\n".join(canvas.rendered.lines)

    def may_hold(self, letters: str) -> bool:
        """Return whether its passages can contain a text with these `letters_of`.

        A cheap look at the source, for blocks whose text is expensive to make.
        """
        return True

    def lines_of(self, passage: Passage, rendered: RenderedBlock) -> range:
        """Return the logical lines of a passage in what was rendered last; none if it is hidden."""
        return range(len(rendered.lines))

    def reveal(self, passage: Passage) -> bool:
        """Unfold as much as the passage needs to show; return whether anything changed."""
        return False

    def end_reveal(self, *, is_kept: bool) -> None:  # noqa: B027 - most blocks fold nothing
        """Fold what `reveal` unfolded, or keep it unfolded."""

    def fold_at(self, row: int) -> bool:
        """Fold or unfold what can be folded at `row`; return whether anything changed."""
        return self.toggle(row)

    def page_at(self, row: int) -> int:
        """Return the page that `toggle` would turn to there: 1 for the next, -1 for the previous, 0 for
        none."""
        return 0

    def toggle_back(self) -> bool:
        """Undo the last click, which was the first of two; return whether anything changed."""
        return self.toggle(0)

    def row_to_keep(self, row: int) -> int:
        """Return the row that takes the position of `row` on the screen after folding or unfolding."""
        return row


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a block's text that shows or hides as one."""

    block: Block
    """The block that contains it: a block of the view, or one within such a block."""
    number: int = 0


_TINTS = ("keyword", "operator", "string", "number", "class", "builtin", "comment", "function")
"""The colours of categories: those of code, which every theme keeps apart and readable."""


class LinesBlock(Block):
    """Plain text, line by line."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._lines = lines

    def find_text(self) -> str:
        return "\n".join(self._lines)

    def estimate(self, width: int) -> int:
        return self.gap + estimate_rows(self._lines, width, is_wide=self.is_wide)


class TextBlock(LinesBlock):
    """The output of a command as it is, under a title if it has one."""

    is_wide = True

    def __init__(self, text: str, title: str = "", tints: Sequence[Tint] = ()) -> None:
        safe = safe_text(text, keep_invisible=True)
        super().__init__(safe.rstrip("\n").split("\n"))
        self._title = safe_line(title)
        self._tints = tuple(tints) if safe == text else ()
        """Their places are those of the text as it was."""

    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        with canvas.indented(GUTTER):
            if self._title:
                canvas.text([(self._title, styles.heading)])
            at = 0
            for line in self._lines:
                tints = [tint for tint in self._tints if at <= tint.start < at + len(line)]
                spans = _tinted(line, at, tints, styles) if tints else [(line.expandtabs(8), styles.text)]
                indent = len(line) - len(line.lstrip(" "))
                canvas.text(spans, original=line, hanging=min(indent, _MAX_INDENT))
                at += len(line) + 1

    def find_text(self) -> str:
        return f"{self._title}\n{super().find_text()}" if self._title else super().find_text()

    def estimate(self, width: int) -> int:
        return super().estimate(width) + bool(self._title)


def _tinted(line: str, at: int, tints: Sequence[Tint], styles: TranscriptStyles) -> list[StyledSpan]:
    """Return the spans of a line that begins at `at` in its text."""
    spans: list[StyledSpan] = []
    done = 0
    for tint in tints:
        start, end = tint.start - at, tint.end - at
        is_empty = tint.category is None
        style = styles.muted if is_empty else styles.syntax[_TINTS[(tint.category or 0) % len(_TINTS)]]
        spans += [(line[done:start], styles.text), (line[start:end], style)]
        done = end
    return [*spans, (line[done:], styles.text)]


class CommandBlock(LinesBlock):
    """The line of a command, dimmed, above what the command prints."""

    def __init__(self, line: str) -> None:
        super().__init__([_one_line(line)])

    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        with canvas.indented(GUTTER):
            for line in self._lines:
                canvas.text([(line, styles.muted)])


class UserBlock(LinesBlock):
    """A message of the user: an accent bar on a quiet background. One with big pastes, or that is long, is
    folded: the pastes show as labels, the end as the number of its lines."""

    is_landmark = True

    def __init__(
        self, text: str, folded: str = "", everyone: SharedFolding | None = None, *, mark: str = ""
    ) -> None:
        """`folded` is the text with labels for its pastes; `everyone` the folding that it takes part in;
        `mark` is shown below it."""
        super().__init__(_lines_of(text))
        self._mark = mark
        self._folded = _lines_of(folded) if folded else _beginning(self._lines)
        self._fold = Fold(everyone if self._folded != self._lines else None)
        self._was_open = False
        """Whether it was unfolded before the last click."""
        self._is_revealed = False
        """Whether it is unfolded only for a match."""

    @property
    def revision(self) -> int:
        return self._changes + (self._fold.round << 32)

    @property
    def _is_shown_folded(self) -> bool:
        return self._folded != self._lines and not self._fold.is_open

    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        bar = [Segment(MARGIN), Segment("▎", styles.user_bar), Segment(" ", styles.user)]
        with canvas.indented(bar):
            for line in self._folded if self._is_shown_folded else self._lines:
                canvas.text([(line.expandtabs(4), styles.user)], fill=styles.user, original=line)
            if self._mark:
                canvas.text([(self._mark, styles.user + styles.muted)], fill=styles.user, original="")

    def estimate(self, width: int) -> int:
        lines = self._folded if self._is_shown_folded else self._lines
        return self.gap + estimate_rows(lines, width) + bool(self._mark)

    def lines_of(self, passage: Passage, rendered: RenderedBlock) -> range:
        return range(0) if self._is_shown_folded else super().lines_of(passage, rendered)

    def toggle(self, row: int) -> bool:
        """Unfold on a click anywhere; fold on a click on the first row."""
        self._was_open = self._fold.is_open
        return self._set_open(True) if row > self.gap or not self._was_open else self._set_open(False)

    def fold_at(self, row: int) -> bool:
        return self._set_open(not self._fold.is_open)

    def toggle_back(self) -> bool:
        return self._set_open(self._was_open)

    def row_to_keep(self, row: int) -> int:
        return self.gap

    def reveal(self, passage: Passage) -> bool:
        if not self._is_shown_folded:
            return False
        self._is_revealed = True
        return self._set_open(True)

    def end_reveal(self, *, is_kept: bool) -> None:
        if self._is_revealed and not is_kept:
            self._set_open(False)
        self._is_revealed = False

    def _set_open(self, is_open: bool) -> bool:
        if self._folded == self._lines or not self._fold.set(is_open):
            return False
        self.changed()
        return True


def _one_line(text: str) -> str:
    """Return the beginning of a command's line, whose argument may be a long text."""
    first, *more = text.strip().splitlines() or [""]
    line = safe_line(first[:_SHOWN_COMMAND])
    return f"{line}…" if more or len(first) > _SHOWN_COMMAND else line


def _lines_of(text: str) -> list[str]:
    return safe_text(text, keep_invisible=True).rstrip().split("\n")


def _beginning(lines: list[str]) -> list[str]:
    """Return what shows of a message without labels while it is folded: all of it unless it is long."""
    if len(lines) <= _LONG_MESSAGE:
        return lines
    return [*lines[:_SHOWN_LINES], f"… +{len(lines) - _SHOWN_LINES:,} lines ({fold_key()})"]


class NoticeBlock(LinesBlock):
    """A notice from Forge itself: the wait before a retry, a limit that is near, a failed turn."""

    def __init__(self, text: str, level: Level, is_final: bool = False) -> None:
        super().__init__([])
        self.set_text(text, level)
        self._is_final = is_final
        """Whether it ended the turn; only then does an error stand out."""

    def set_text(self, text: str, level: Level) -> None:
        self._lines = safe_text(text, keep_invisible=True).rstrip("\n").split("\n")
        self.level: Level = level
        self.changed()

    def draw(self, canvas: Canvas, styles: TranscriptStyles) -> None:
        sign, colour = {
            "info": ("·", styles.muted),
            "warning": ("!", styles.warning),
            "error": ("✗", styles.error),
        }[self.level]
        first = [Segment(MARGIN), Segment(sign, colour + Style(bold=True)), Segment(" ")]
        text = colour if self.level == "info" or self._is_final else styles.text
        with canvas.indented(GUTTER, first):
            for line in self._lines:
                canvas.text([(line.expandtabs(4), text)])


def letters_of(text: str) -> str:
    """Return the letters and digits of `text` in lower case: what no markup changes."""
    return _NO_LETTER.sub("", text.lower())


def estimate_rows(lines: list[str], width: int, *, is_wide: bool = False) -> int:
    """Return the approximate number of rows that `lines` take in a window of `width` cells."""
    room = max(8, width - TEXT_COLUMN - 1)
    if not is_wide:
        room = min(room, TEXT_WIDTH)
    return sum(1 + len(line) // room for line in lines)
