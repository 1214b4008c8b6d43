"""Text width in terminal cells, and text cut or wrapped to a width.

The widths are those of Rich, and therefore of what Textual draws: a wide character takes two cells, a
combining mark none, and what follows a zero-width joiner belongs to the same grapheme. Rich itself is not
imported: `forge_core` may not, and the first frame cannot wait for it. `unicodedata` knows most widths; the
others are listed here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from operator import itemgetter
from unicodedata import category, east_asian_width

ELLIPSIS = "…"
SEPARATOR = " · "
"""Between the parts of a line."""

_JOINER = "\u200d"
_EMOJI_STYLE = "\ufe0f"
"""Variation selector 16: the character before it is drawn as an emoji."""
_CACHED_LENGTH = 512
"""Characters; the widths of longer texts are not cached."""

# Ranges of code points in hexadecimal. The first three are the exceptions to the rule of `character_width`:
# characters newer than Python 3.11 (Unicode 14), and those whose category does not tell their width.
_ZERO_WIDTH = (
    "897 cf3 ece 1160-11ff 1acf-1add 1ae0-1aeb 2028-2029 2065 3164 d7b0-d7ff ffa0 fff0-fff8 10d69-10d6d "
    "10efa-10eff 11241 113b8-113c0 113c2 113c5 113c7-113ca 113cc-113d0 113d2 113e1-113e2 11b60-11b67 "
    "11f00-11f01 11f03 11f34-11f3a 11f3e-11f42 11f5a 13439-13440 13447-13455 1611e-1612f 1e08f "
    "1e4ec-1e4ef 1e5ee-1e5ef 1e6e3 1e6e6 1e6ee-1e6ef 1e6f5 1f3fb-1f3ff e0000 e0002-e001f e0080-e00ff "
    "e01f0-e0fff"
)
_NARROW = "ad 600-605 6dd 70f 890-891 8e2 110bd 110cd"
_WIDE = (
    "2630-2637 268a-268f 2ffc-2fff 31e4-31e5 31ef 4dc0-4dff fa6e-fa6f fada-faff 16ff2-16ff6 187f8-187ff "
    "18cff 18d09-18d1e 18d80-18df2 1b132 1b155 1d300-1d356 1d360-1d376 1f6d8 1f6dc 1fa75-1fa77 "
    "1fa87-1fa8a 1fa8e-1fa8f 1faad-1faaf 1fabb-1fabf 1fac6 1fac8 1facd-1facf 1fada-1fadc 1fadf "
    "1fae8-1faea 1faef 1faf7-1faf8 2a6e0-2a6ff 2b739-2b73f 2b81e-2b81f 2cea2-2ceaf 2ebe1-2f7ff "
    "2fa1e-2fffd 3134b-3fffd"
)
_WIDENED = (
    "23 2a 30-39 a9 ae 203c 2049 2122 2139 2194-2199 21a9-21aa 2328 23cf 23ed-23ef 23f1-23f2 23f8-23fa "
    "24c2 25aa-25ab 25b6 25c0 25fb-25fc 2600-2604 260e 2611 2618 261d 2620 2622-2623 2626 262a 262e-262f "
    "2638-263a 2640 2642 265f-2660 2663 2665-2666 2668 267b 267e 2692 2694-2697 2699 269b-269c 26a0 26a7 "
    "26b0-26b1 26c8 26cf 26d1 26d3 26e9 26f0-26f1 26f4 26f7-26f9 2702 2708-2709 270c-270d 270f 2712 2714 "
    "2716 271d 2721 2733-2734 2744 2747 2763-2764 27a1 2934-2935 2b05-2b07 1f170-1f171 1f17e-1f17f 1f321 "
    "1f324-1f32c 1f336 1f37d 1f396-1f397 1f399-1f39b 1f39e-1f39f 1f3cb-1f3ce 1f3d4-1f3df 1f3f3 1f3f5 "
    "1f3f7 1f43f 1f441 1f4fd 1f549-1f54a 1f56f-1f570 1f573-1f579 1f587 1f58a-1f58d 1f590 1f5a5 1f5a8 "
    "1f5b1-1f5b2 1f5bc 1f5c2-1f5c4 1f5d1-1f5d3 1f5dc-1f5de 1f5e1 1f5e3 1f5e8 1f5ef 1f5f3 1f5fa 1f6cb "
    "1f6cd-1f6cf 1f6e0-1f6e5 1f6e9 1f6f0 1f6f3"
)
"""Characters that take one cell, and two before variation selector 16."""


def cell_len(text: str) -> int:
    """Return the number of cells that `text` takes."""
    if text.isascii() and text.isprintable():
        return len(text)
    return _cached_cell_len(text) if len(text) < _CACHED_LENGTH else _cell_len(text)


@lru_cache(maxsize=4096)
def character_width(character: str) -> int:
    """Return the number of cells that a character takes by itself: 0, 1 or 2."""
    code = ord(character)
    exceptions = _exceptions()
    first, last, width = exceptions[bisect_right(exceptions, code, key=itemgetter(0)) - 1]
    if first <= code <= last:
        return width
    kind = category(character)
    if kind in ("Cc", "Cf", "Mc", "Me", "Mn"):
        return 0
    # East Asian Width of an unassigned code point is "F" in some versions of Python.
    return 2 if kind != "Cn" and east_asian_width(character) in "FW" else 1


def graphemes(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield the start, the end and the width of each grapheme; together they cover the text.

    Not all of UAX 29: combining marks, joiners and variation selector 16. Like Rich's `cell_len`, and unlike
    its `split_graphemes`, a joiner at the beginning takes what follows it, so that the widths always add up.
    """
    start = width = at = 0
    base = ""
    while at < len(text):
        character = text[at]
        if character == _JOINER:
            at += 2  # what is joined takes no cells of its own
        elif character == _EMOJI_STYLE:
            if base in _widened():
                width += 1
                base = ""
            at += 1
        elif size := character_width(character):
            if at > start:
                yield start, at, width
            start, width, base = at, size, character
            at += 1
        else:
            at += 1
    if text:
        yield start, len(text), width


def crop(text: str, width: int) -> str:
    """Return as much of the beginning of `text` as fits into `width` cells."""
    if cell_len(text) <= width:
        return text
    used = 0
    for start, _end, size in graphemes(text):
        used += size
        if used > width:
            return text[:start]
    return text


def clip(text: str, width: int) -> str:
    """Return `text` in at most `width` cells; an ellipsis replaces what is cut off the end."""
    if cell_len(text) <= width:
        return text
    return "" if width < 1 else crop(text, width - 1).rstrip() + ELLIPSIS


def clip_start(text: str, width: int) -> str:
    """Return `text` in at most `width` cells; an ellipsis replaces what is cut off the beginning."""
    if cell_len(text) <= width:
        return text
    return "" if width < 1 else ELLIPSIS + _crop_start(text, width - 1).lstrip()


def clip_middle(text: str, width: int) -> str:
    """Return `text` in at most `width` cells; an ellipsis replaces the middle.

    Two thirds of the room are for the end, which tells one path from another.
    """
    if cell_len(text) <= width:
        return text
    if width < 2:
        return ELLIPSIS[: max(0, width)]
    head = crop(text, (width - 1) // 3)
    return f"{head}{ELLIPSIS}{_crop_start(text, width - 1 - cell_len(head))}"


def clip_parts(text: str, width: int) -> str:
    """Return as many parts of `text` as fit into `width` cells (see `SEPARATOR`); clip the first one."""
    while cell_len(text) > width and SEPARATOR in text:
        text = text.rpartition(SEPARATOR)[0]
    return clip(text, width)


def wrap_cells(text: str, width: int) -> list[tuple[int, int]]:
    """Return the character ranges of the rows of `text`, broken at the last cell that fits. At least one."""
    width = max(1, width)
    if text.isascii():
        return [(at, min(len(text), at + width)) for at in range(0, max(1, len(text)), width)]
    rows: list[tuple[int, int]] = []
    start = column = 0
    for begin, _end, size in graphemes(text):
        if column + size > width and begin > start:
            rows.append((start, begin))
            start, column = begin, 0
        column += size
    rows.append((start, len(text)))
    return rows


def hard_wrap(text: str, width: int) -> list[str]:
    """Return `text` in pieces of at most `width` cells, but of two at least. At least one piece."""
    return [text[start:end] for start, end in wrap_cells(text, max(width, 2))]


def _crop_start(text: str, width: int) -> str:
    """Return as much of the end of `text` as fits into `width` cells."""
    start = len(text)
    for begin, _end, size in reversed(list(graphemes(text))):
        width -= size
        if width < 0:
            break
        start = begin
    return text[start:]


def _cell_len(text: str) -> int:
    if _JOINER not in text and _EMOJI_STYLE not in text:
        return sum(map(character_width, text))
    return sum(size for _, _, size in graphemes(text))


_cached_cell_len = lru_cache(maxsize=4096)(_cell_len)


@lru_cache(maxsize=1)
def _exceptions() -> list[tuple[int, int, int]]:
    """Return the first and the last code point of each range with its width, in order."""
    tables = ((_ZERO_WIDTH, 0), (_NARROW, 1), (_WIDE, 2))
    return sorted((*span, width) for table, width in tables for span in _ranges(table))


@lru_cache(maxsize=1)
def _widened() -> frozenset[str]:
    return frozenset(chr(code) for first, last in _ranges(_WIDENED) for code in range(first, last + 1))


def _ranges(table: str) -> Iterator[tuple[int, int]]:
    for entry in table.split():
        first, _, last = entry.partition("-")
        yield int(first, 16), int(last or first, 16)
