"""Text shown as it is, for a decision: nothing folded away, nothing invisible, nothing reordered."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from rich.cells import cell_len
from rich.segment import Segment
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from forge_core.sanitize import exact_text
from forge_tui.widgets.cells import hard_wrap

Row: TypeAlias = "tuple[tuple[str, str], ...]"
"""(role, text) pieces of one screen row."""

NAMED_AT_MOST = 4
CHANGED = ("added", "removed")
TAB_SHOWN = "→   "
SPACE_SHOWN = "·"

_DRAW_NOTHING = frozenset(
    (
        0x034F,
        0x115F,
        0x1160,
        0x17B4,
        0x17B5,
        0x2800,
        0x3164,
        0xFFA0,
        *range(0xFE00, 0xFE10),
        *range(0xE0100, 0xE01F0),
    )
)
"""Fillers, joiners and variation selectors: letters and marks by their class, and still not to be seen."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of what is shown."""

    text: str
    role: str = "plain"
    gutter: str = ""
    marks_foreign: bool = False
    """Whether letters outside ASCII stand out (they can look like ASCII ones)."""


def command_lines(command: str) -> list[Line]:
    """A command line, with a prompt sign before its first line."""
    return [
        Line(text, gutter="$ " if number == 0 else "  ", marks_foreign=True)
        for number, text in enumerate(command.split("\n"))
    ]


def diff_lines(diff: str) -> list[Line]:
    """A unified diff, each line in the role of its sign."""
    return [_diff_line(text) for text in diff.removesuffix("\n").split("\n")]


def _diff_line(text: str) -> Line:
    match text[:1]:
        case "+":
            return Line(text[1:], "added", "+ ")
        case "-":
            return Line(text[1:], "removed", "- ")
        case " ":
            return Line(text[1:], "plain", "  ")
        case _:
            return Line(text, "hunk")


def exact_rows(lines: Iterable[Line], width: int) -> list[Row]:
    """The screen rows of these lines; a continued line is marked in the gutter."""
    return [row for line in lines for row in _line_rows(line, width)]


def _line_rows(line: Line, width: int) -> Iterator[Row]:
    room = max(width - cell_len(line.gutter), 4)
    pieces = _wrapped(line, room)
    for number, piece in enumerate(pieces):
        gutter = line.gutter if number == 0 else "↪".ljust(cell_len(line.gutter))[: cell_len(line.gutter)]
        yield ((line.role if line.role in CHANGED else "gutter", gutter), *piece)


def _wrapped(line: Line, room: int) -> list[tuple[tuple[str, str], ...]]:
    if line.text.isascii() and line.text.isprintable() and not line.text.endswith(" "):
        return [((line.role, piece),) for piece in hard_wrap(line.text, room)]
    rows: list[list[tuple[str, str]]] = [[]]
    used = 0
    for role, shown in _shown(line):
        for piece in hard_wrap(shown, room):
            cells = cell_len(piece)
            if used + cells > room:
                rows.append([])
                used = 0
            if rows[-1] and rows[-1][-1][0] == role:
                rows[-1][-1] = (role, rows[-1][-1][1] + piece)
            else:
                rows[-1].append((role, piece))
            used += cells
    return [tuple(row) for row in rows]


def _shown(line: Line) -> Iterator[tuple[str, str]]:
    """Character by character: how it is drawn, and in which role."""
    solid = len(line.text.rstrip(" "))
    for index, character in enumerate(line.text):
        exact = exact_text(character)
        if character == "\t":
            yield "blank", TAB_SHOWN
        elif index >= solid:
            yield "blank", SPACE_SHOWN
        elif exact != character or _is_blank(character):
            yield "strange", exact if exact != character else f"\\u{ord(character):04x}"
        elif line.marks_foreign and not character.isascii():
            yield "foreign", character
        else:
            yield line.role, character


def _is_blank(character: str) -> bool:
    """Whether it draws nothing, or nothing of its own (the space bar's own space aside)."""
    return not character.isprintable() or ord(character) in _DRAW_NOTHING


def oddities(text: str) -> str:
    """A sentence about characters that do not show, or that can be taken for others; empty without any."""
    hidden = [
        c for c in dict.fromkeys(text) if c not in "\n\t" and (exact_text(c) != c or not c.isprintable())
    ]
    foreign = [c for c in dict.fromkeys(text) if not c.isascii() and c.isalnum()]
    parts = []
    if hidden:
        parts.append(f"Invisible: {_named(hidden)}.")
    if foreign:
        parts.append(f"Not plain ASCII: {_named(foreign)}.")
    return " ".join(parts)


def _named(characters: Sequence[str]) -> str:
    names = [f"U+{ord(c):04X} {unicodedata.name(c, 'control')}" for c in characters[:NAMED_AT_MOST]]
    more = len(characters) - NAMED_AT_MOST
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


class ExactView(ScrollView, can_focus=False):
    """Shows `Line`s, hard-wrapped, scrolled by its owner or the wheel."""

    DEFAULT_CSS = """
    ExactView {
        height: auto;
        overflow-x: hidden;
        scrollbar-size-vertical: 1;
        color: $foreground;
        & > .exact--gutter, & > .exact--blank { color: $forge-muted; }
        & > .exact--hunk, & > .exact--heading { color: $forge-muted; }
        & > .exact--added { color: $diff-added; background: $diff-added-background; }
        & > .exact--removed { color: $diff-removed; background: $diff-removed-background; }
        & > .exact--foreign { color: $warning; text-style: underline; }
        & > .exact--strange { color: $background; background: $warning; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"exact--{role}"
        for role in ("gutter", "blank", "hunk", "heading", "added", "removed", "foreign", "strange")
    }

    def __init__(self, lines: Sequence[Line]) -> None:
        super().__init__()
        self._lines = tuple(lines)
        self._rows: list[Row] = []
        self._rows_width = -1

    def show(self, lines: Sequence[Line]) -> None:
        """Put other lines in."""
        if self._lines != tuple(lines):
            self._lines, self._rows_width = tuple(lines), -1
            self.refresh(layout=True)

    @property
    def row_count(self) -> int:
        return len(self._rows)

    def rows_for(self, width: int) -> list[Row]:
        if width != self._rows_width:
            self._rows = exact_rows(self._lines, width)
            self._rows_width = width
        return self._rows

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.rows_for(width - 1))

    def on_resize(self) -> None:
        width = self.size.width
        self.virtual_size = Size(width, len(self.rows_for(max(self.container_size.width - 1, 4))))

    def render_line(self, y: int) -> Strip:
        base, width = self.rich_style, self.size.width
        index = y + self.scroll_offset.y
        if index >= len(self._rows):
            return Strip.blank(width, base)
        segments = []
        fill = base
        for role, text in self._rows[index]:
            style = base
            if role != "plain":
                style = base + self.get_component_rich_style(f"exact--{role}", partial=True)
            if role in CHANGED:
                fill = style
            segments.append(Segment(text, style))
        return Strip(segments).adjust_cell_length(width, fill)
