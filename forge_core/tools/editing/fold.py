"""Look-alike characters made equal: kinds of quotes, dashes and blanks, and marks nobody sees."""

from __future__ import annotations

import re
from itertools import filterfalse

_FOLDED = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc\uff07", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\uff02", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    **dict.fromkeys("\u00a0\u202f\u205f\u3000", " "),
    **{chr(code): " " for code in range(0x2000, 0x200B)},
    **dict.fromkeys("\u200b\u2060\ufeff\u00ad\u200e\u200f\u061c", ""),
    **{chr(code): "" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))},
    "\u2026": "...",
}
_TABLE = str.maketrans(_FOLDED)
_SURROGATE = re.compile("[\ud800-\udfff]")
_INVISIBLE = tuple(char for char, to in _FOLDED.items() if not to)
_CLUSTERED = re.compile("[\u1100-\u11ff]")
"""Hangul letters join their neighbours although they are no marks."""


def folded(line: str) -> str:
    """`line` with look-alike punctuation and blanks as ASCII, invisible marks left out, letters composed
    (NFC), and bytes that are not valid text as U+FFFD: the way `read` shows them."""
    if line.isascii():
        return line
    from unicodedata import normalize

    return normalize("NFC", _SURROGATE.sub("\ufffd", line.translate(_TABLE)))


def is_plain(text: str) -> bool:
    """Whether each ASCII word of the text is still one when folded, and none comes to it: nothing invisible
    in it, nothing to compose."""
    if text.isascii():
        return True
    from unicodedata import is_normalized

    foreign = "\n".join(filterfalse(str.isascii, text.split("\n")))
    return is_normalized("NFC", foreign) and not any(char in foreign for char in _INVISIBLE)


def sources(line: str) -> dict[int, tuple[int, int]]:
    """Where a cut through `folded(line)` lies in `line`: position → the first and the last position there.

    A position that is missing lies inside something that folds as a whole: no cut is possible there.
    """
    if line.isascii():
        return {at: (at, at) for at in range(len(line) + 1)}
    cuts: dict[int, tuple[int, int]] = {0: (0, 0)}
    done = 0
    start = 0
    for end in _cluster_ends(line):
        done += len(folded(line[start:end]))
        first, _ = cuts.get(done, (end, end))
        cuts[done] = (first, end)
        start = end
    whole = len(folded(line))
    if done != whole:  # neighbours compose in a way that clusters do not show: only the ends are sure
        return {0: (0, 0), whole: (len(line), len(line))}
    return cuts


def _cluster_ends(line: str) -> list[int]:
    from unicodedata import combining

    if _CLUSTERED.search(line):
        return [len(line)]
    ends = [at for at in range(1, len(line)) if not combining(line[at])]
    return [*ends, len(line)]
