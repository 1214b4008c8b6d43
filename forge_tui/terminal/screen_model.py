"""A model of what the terminal shows, and the least output that changes it to the next frame.

Private parts that it reads: Textual's `Strip._segments`; Rich's `Style._ansi`, `_link`, `_link_id`,
`_attributes`, `_set_attributes`, `_color` and `_bgcolor`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from rich.color import Color, ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.strip import SGR_STYLES, Strip

from forge_core.text_width import cell_len, character_width

if TYPE_CHECKING:
    from forge_tui.terminal.colours import Palette, Rgb

Piece: TypeAlias = tuple[int, int, Strip]
"""Row, column, content."""
_RowPieces: TypeAlias = dict[int, Strip]
"""Column → content, without overlaps. A column that no piece covers is unknown."""
Sgr: TypeAlias = Callable[[Style], str]
"""The parameters between ESC [ and m that choose a style; empty for plain text."""

_UNSURE = re.compile(
    "[^\x00-\x7f]*[\u200d\ufe0e\ufe0f\u20e3\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff][^\x00-\x7f]*"
    "(?:(?<=\u200d)[\x00-\x7f])?"
)
"""Emoji with joiners, flags and skin tones: they take one to eight cells, depending on the terminal. For
Rich the character after a joiner has no cell, and belongs to the emoji, whatever it is."""
_PARAMETER = re.compile(
    r"(?:(?P<text>38;2;\d+;\d+;\d+|38;5;\d+|3[0-79]|9[0-7])"
    r"|(?P<background>48;2;\d+;\d+;\d+|48;5;\d+|4[0-79]|10[0-7])|(?P<attribute>\d+))(?=;|$)"
)
"""A colour or an attribute among the parameters of a style."""
_FEWEST_MOVED = 3
"""Rows that must have moved together for a scroll."""
_MOST_PLACES = 4
"""Of a text that many rows contain, this many are considered as its origin."""
_KEPT = 1024
"""Cached styles: more than one screen has. Each link is another style, so a long session has many."""


class ScreenModel:
    """A screen of `width` by `height` cells, of which nothing is known at first."""

    def __init__(self, width: int, height: int) -> None:
        self._width = width
        self._rows: list[_RowPieces] = [{} for _ in range(height)]

    def update(self, pieces: Sequence[Piece], sgr: Sgr) -> str:
        """Return the control sequences that show `pieces`, and update the model.

        The position of the cursor afterwards is undefined.
        """
        wanted: dict[int, _RowPieces] = {}
        for y, x, strip in pieces:
            if 0 <= y < len(self._rows) and strip.cell_length:
                wanted.setdefault(y, {})[x] = strip
        output = _Output(sgr)
        move = self._find_move(wanted)
        if move is not None:
            output.add(self._scroll(wanted, *move))
        for y in sorted(wanted):
            self._write_row(y, wanted[y], output)
        return output.end()

    def _write_row(self, y: int, wanted: _RowPieces, output: _Output) -> None:
        row = self._rows[y]
        shown = {x: _shown(row, x, strip.cell_length) for x, strip in wanted.items()}
        for x in sorted(wanted):
            strip, old = wanted[x], shown[x]
            if old is strip:
                continue
            if old is None or old is not row.get(x):
                _forget(row, x, x + strip.cell_length)
            row[x] = strip
            change = difference(old, strip)
            if change is None:
                continue
            offset, segments = change
            output.add(f"\x1b[{y + 1};{x + offset + 1}H")
            is_unsure = not is_simple(strip.text) and _UNSURE.search(strip.text) is not None
            output.write(segments, x + offset if is_unsure else None)
            if not is_simple(strip.text):
                # A terminal may disagree on the width of such text and overwrite the next piece.
                following = x + strip.cell_length
                if following not in wanted and following in row:
                    output.add(f"\x1b[{y + 1};{following + 1}H")
                    output.write(row[following]._segments)
                elif following in wanted:
                    shown[following] = None

    def _find_move(self, wanted: dict[int, _RowPieces]) -> tuple[int, int, int] | None:
        """Return by how many rows content moved up (negative: down), and the first and last row to scroll."""
        # Compare the widest piece of each row: the conversation, not the scroll bar beside it.
        before: dict[int, str] = {}
        after: dict[int, str] = {}
        places: dict[str, list[int]] = {}
        is_moving = 0
        for y, pieces in wanted.items():
            x, strip = max(pieces.items(), key=lambda item: item[1].cell_length)
            old = self._rows[y].get(x)
            if old is None or old.cell_length != strip.cell_length:
                continue
            before[y] = text = old.text
            after[y] = text if old is strip else strip.text
            is_moving += after[y] != text
            if not text.isspace():
                places.setdefault(text, []).append(y)
        if is_moving < _FEWEST_MOVED:
            return None
        # Each changed row votes for the distances to the rows that showed its text before.
        moves: Counter[int] = Counter()
        for y, text in after.items():
            if text != before[y]:
                moves.update(at - y for at in places.get(text, ())[:_MOST_PLACES])
        if not moves:
            return None
        # A scroll moves all rows of the region, so it must move more rows than it forces to be written again.
        delta, count = moves.most_common(1)[0]
        first, last = _region(before, after, delta)
        stays = sum(after.get(y) == before.get(y) for y in range(first, last + 1))
        if not delta or count < _FEWEST_MOVED or count <= stays:
            return None
        # Columns that the model does not know would be scrolled too, and could not be restored.
        if not all(self._is_known(y) for y in range(first, last + 1)):
            return None
        return delta, first, last

    def _scroll(self, wanted: dict[int, _RowPieces], delta: int, first: int, last: int) -> str:
        """Scroll a region; add to `wanted` what must be restored because it should not have moved."""
        # The terminal scrolls whole rows: what is beside the moved pieces must be restored afterwards.
        for y in range(first, last + 1):
            kept = dict(self._rows[y])
            for x, strip in wanted.get(y, {}).items():
                _forget(kept, x, x + strip.cell_length)
                kept[x] = strip
            wanted[y] = kept
        region = self._rows[first : last + 1]
        blank: list[_RowPieces] = [{} for _ in range(abs(delta))]
        if delta > 0:
            self._rows[first : last + 1] = region[delta:] + blank
            motion = f"\x1b[{last + 1};1H" + "\n" * delta
        else:
            self._rows[first : last + 1] = blank + region[:delta]
            motion = f"\x1b[{first + 1};1H" + "\x1bM" * -delta
        return f"\x1b[{first + 1};{last + 1}r{motion}\x1b[r"

    def _is_known(self, y: int) -> bool:
        return sum(strip.cell_length for strip in self._rows[y].values()) == self._width


def _region(before: dict[int, str], after: dict[int, str], delta: int) -> tuple[int, int]:
    """Return the longest run of rows that show what was `delta` rows further down."""
    moved = {y for y, text in after.items() if before.get(y + delta) == text}
    best = (0, -1)
    for start in sorted(moved):
        if start - 1 in moved:
            continue
        end = start
        while end + 1 in moved or end + 2 in moved:  # one row in between may have changed too
            end += 1
        if end - start > best[1] - best[0]:
            best = (start, end)
    return best[0] + min(0, delta), best[1] + max(0, delta)


def difference(old: Strip | None, new: Strip) -> tuple[int, Sequence[Segment]] | None:
    """Return the first cell in which `new` differs from `old`, and the segments up to the last one.

    Both have the same length; None if they look the same.
    """
    segments = new._segments
    if old is None:
        return 0, segments
    before = old._segments
    if before == segments:
        return None
    if not (is_simple(old.text) and is_simple(new.text)):
        return 0, segments  # characters do not count as cells
    start = _common(before, segments)
    end = _common([_reversed(s) for s in reversed(before)], [_reversed(s) for s in reversed(segments)])
    length = new.cell_length
    end = min(end, length - start)  # in "aa" → "aaa" both ends would match the same cells
    if start >= length:
        return None
    return start, new.crop(start, length - end)._segments


def _reversed(segment: Segment) -> Segment:
    return Segment(segment.text[::-1], segment.style)


def _common(a: Sequence[Segment], b: Sequence[Segment]) -> int:
    """Return how many cells at the start look the same, however they are split into segments."""
    count = i = j = at_a = at_b = 0
    while i < len(a) and j < len(b):
        text_a, text_b = a[i].text, b[j].text
        if a[i].style is not b[j].style and a[i].style != b[j].style:
            return count
        size = min(len(text_a) - at_a, len(text_b) - at_b)
        if text_a[at_a : at_a + size] != text_b[at_b : at_b + size]:
            return count + _common_text(text_a[at_a:], text_b[at_b:])
        count, at_a, at_b = count + size, at_a + size, at_b + size
        if at_a == len(text_a):
            i, at_a = i + 1, 0
        if at_b == len(text_b):
            j, at_b = j + 1, 0
    return count


def _common_text(a: str, b: str) -> int:
    return next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


@lru_cache(maxsize=4096)
def is_simple(text: str) -> bool:
    """Return whether every character takes exactly one cell."""
    return text.isascii() or all(character_width(character) == 1 for character in text)


def true_colour(style: Style) -> str:
    """Return the parameters for a style in its own colours."""
    return style._ansi if style._ansi is not None else Strip.render_ansi(style, ColorSystem.TRUECOLOR)


def palette_codes(palette: Palette) -> Sgr:
    """Return the function that writes styles in a palette. It computes each style once."""

    @lru_cache(maxsize=_KEPT)
    def sgr(style: Style) -> str:
        bits = style._attributes & style._set_attributes
        attributes = [SGR_STYLES[bit] for bit in range(bits.bit_length()) if bits & (1 << bit)]
        return palette.parameters(rgb(style._color), rgb(style._bgcolor), attributes)

    return sgr


def rgb(colour: Color | None) -> Rgb | None:
    """Return the channels; None where the terminal's own colour is meant."""
    if colour is None or colour.is_default:
        return None
    red, green, blue = colour.get_truecolor()
    return red, green, blue


def render(segments: Sequence[Segment], sgr: Sgr) -> str:
    """Return text with its styles; like `Strip.render`, without needless resets."""
    output = _Output(sgr)
    output.write(segments)
    return output.end()


class _Output:
    """What is written to the terminal, from plain style to plain style."""

    def __init__(self, sgr: Sgr) -> None:
        self._sgr = sgr
        self._parts: list[str] = []
        self._style = ""
        """The parameters in effect."""

    def add(self, sequences: str) -> None:
        """Append control sequences that leave the style alone."""
        self._parts.append(sequences)

    def write(self, segments: Sequence[Segment], column: int | None = None) -> None:
        """Append text with its styles.

        With the `column` where it begins, the cursor is set after each emoji of uncertain width.
        """
        for text, style, _control in segments:
            placed = text
            if column is not None:
                placed, column = _placed(text, column), column + cell_len(text)
            self._use("" if style is None else self._sgr(style))
            if style is not None and (link := style._link):
                placed = f"\x1b]8;id={style._link_id};{link}\x1b\\{placed}\x1b]8;;\x1b\\"
            self._parts.append(placed)

    def end(self) -> str:
        """Return everything, with the plain style at the end."""
        self._use("")
        return "".join(self._parts)

    def _use(self, style: str) -> None:
        if style != self._style:
            self._parts.append(f"\x1b[{style_change(self._style, style)}m")
            self._style = style


@lru_cache(maxsize=_KEPT)
def style_change(before: str, after: str) -> str:
    """Return the parameters that turn one style into the other; both are those that choose it from plain."""
    old, new = _fields(before), _fields(after)
    # Only a reset ends an attribute, or a colour that no other one replaces.
    if (old[0] and old[0] != new[0]) or (old[1] and not new[1]) or (old[2] and not new[2]):
        return f"0;{after}" if after else "0"
    return ";".join(now for was, now in zip(old, new, strict=True) if now != was)


def _fields(parameters: str) -> tuple[str, str, str]:
    """Return the attributes, the colour of the text and that of the background; "" for what is missing."""
    found: dict[str | None, str] = {}
    for match in _PARAMETER.finditer(parameters):
        kind = match.lastgroup
        found[kind] = f"{found[kind]};{match.group()}" if kind in found else match.group()
    return found.get("attribute", ""), found.get("text", ""), found.get("background", "")


def _placed(text: str, column: int) -> str:
    """Return the text; emoji of uncertain width are drawn over blanks, and the cursor is set after them."""
    parts: list[str] = []
    end = 0
    for match in _UNSURE.finditer(text):
        start = column + cell_len(text[: match.start()])
        width = cell_len(match.group())
        parts += (text[end : match.start()], " " * width, f"\x1b[{start + 1}G", match.group())
        parts.append(f"\x1b[{start + width + 1}G")
        end = match.end()
    return "".join((*parts, text[end:]))


def _shown(row: _RowPieces, start: int, length: int) -> Strip | None:
    """Return what is known of the cells from `start` on; None unless all of them are known."""
    whole = row.get(start)
    if whole is not None and whole.cell_length == length:
        return whole
    parts: list[Segment] = []
    at, end = start, start + length
    for x, strip in sorted(row.items()):
        if at < end and x <= at < x + strip.cell_length and is_simple(strip.text):
            parts += strip.crop(at - x, end - x)._segments
            at = x + strip.cell_length
    return Strip(parts, length) if at >= end else None


def _forget(row: _RowPieces, start: int, end: int) -> None:
    """Forget the content of the columns from `start` to `end`."""
    for x in [x for x, strip in row.items() if x < end and x + strip.cell_length > start]:
        del row[x]
