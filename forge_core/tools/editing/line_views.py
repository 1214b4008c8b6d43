"""Views of a file's lines that leave out one kind of difference, so that texts which differ in it match."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from enum import Enum
from functools import cached_property
from itertools import accumulate, filterfalse

from forge_core.tools.editing.text import split_lines

BLANKS = " \t"
_RUN = re.compile(r"[ \t]+")
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
_WORD = re.compile(r"(?<!\w)[A-Za-z_]\w{2,}(?!\w)", re.ASCII)
_TRIED_WORDS = 2
_MARGIN = 2
"""Extra lines at either edge: for a removed blank line, and for a partial line."""


class LineKey(Enum):
    """What is left of a line."""

    BARE = "all but the line end"
    TRIMMED = "without trailing blanks"
    FOLDED = "and with look-alike characters made equal"
    COLLAPSED = "and with each run of blanks after the indentation as one"
    STRIPPED = "folded, without indentation"

    def of(self, lines: Sequence[str]) -> list[str]:
        if self is LineKey.BARE:
            return list(lines)
        if self is not LineKey.TRIMMED:
            lines = [line if line.isascii() else folded(line) for line in lines]
        if self is LineKey.STRIPPED:
            return [line.strip(BLANKS) for line in lines]
        trimmed = [line.rstrip(BLANKS) for line in lines]
        return trimmed if self is not LineKey.COLLAPSED else [_collapsed(line) for line in trimmed]


class TextLines:
    """The lines of a part of a text without their terminators, and their positions in the whole text."""

    def __init__(self, whole: str, part: range) -> None:
        self.whole = whole
        self.part = part
        self.bare, self.ends = split_lines(whole[part.start : part.stop])
        lengths = (len(line) + len(end) for line, end in zip(self.bare, (*self.ends, ""), strict=True))
        self.starts = [*accumulate(lengths, initial=part.start)]
        self._views: dict[LineKey, LineView] = {}
        self.has_final_newline = not self.bare[-1] and bool(self.ends)
        if not self.bare[-1]:  # what follows the last terminator is no line
            self.bare.pop()
            self.starts.pop()

    def view(self, key: LineKey) -> LineView:
        """Return the view by that key, made when it is first needed."""
        if key not in self._views:
            self._views[key] = LineView(self, key)
        return self._views[key]

    def number(self, index: int) -> int:
        """Return the number of a line in the whole text, from 1."""
        return len(split_lines(self.whole[: self.starts[index]])[0])

    @cached_property
    def usual_step(self) -> int:
        """The most frequent increase of indentation from one line to the next, in characters, over the whole
        text; 0 if there is none."""
        steps: Counter[int] = Counter()
        before = 0
        for line in split_lines(self.whole)[0]:
            rest = line.lstrip(" \t")
            if rest:
                depth = len(line) - len(rest)
                if depth > before:
                    steps[depth - before] += 1
                before = depth
        return steps.most_common(1)[0][0] if steps else 0

    def content_end(self, index: int) -> int:
        """Return the position of the line's terminator, or the end of the text."""
        return self.starts[index] + len(self.bare[index])


class LineView:
    """The keys of all lines as one text, each line with \\n before and after it, and the way back."""

    def __init__(self, lines: TextLines, key: LineKey) -> None:
        self.lines = lines
        self.key = key
        self.keys = key.of(lines.bare)
        self.text = "\n" + "\n".join(self.keys) + "\n"
        self._cuts: dict[int, dict[int, tuple[int, int]]] = {}
        self._starts = [*accumulate((len(one) + 1 for one in self.keys), initial=1)]

    def place(self, position: int) -> tuple[int, int]:
        """Return the line and column of a position; the line after the last one has no columns."""
        line = bisect_right(self._starts, position) - 1
        return line, position - self._starts[line]

    def source(self, line: int, column: int, *, is_end: bool) -> int | None:
        """Return the position in the file of a column of a key that keeps the indentation; None where no cut
        is possible. What was left out there stays outside: before a start, after an end."""
        if line == len(self.keys):
            return self.lines.part.stop
        if self.key is LineKey.FOLDED:
            if line not in self._cuts:
                self._cuts[line] = fold_positions(self.lines.bare[line])
            cut = self._cuts[line].get(column)
            if cut is None:
                return None
            column = cut[0 if is_end else 1]
        return self.lines.starts[line] + column


def indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip(BLANKS))]


def _collapsed(line: str) -> str:
    rest = line.lstrip(BLANKS)
    if "  " not in rest and "\t" not in rest:
        return line
    return line[: len(line) - len(rest)] + _RUN.sub(" ", rest)


def folded(line: str) -> str:
    """Return `line` with look-alike punctuation and blanks as ASCII, as `read` shows it.

    Invisible characters are left out, letters are composed (NFC), and invalid bytes become U+FFFD.
    """
    if line.isascii():
        return line
    from unicodedata import normalize

    return normalize("NFC", _SURROGATE.sub("\ufffd", line.translate(_TABLE)))


def is_plain(text: str) -> bool:
    """Return whether folding changes no ASCII word of the text and adds none: nothing invisible, nothing to
    compose."""
    if text.isascii():
        return True
    from unicodedata import is_normalized

    foreign = "\n".join(filterfalse(str.isascii, text.split("\n")))
    return is_normalized("NFC", foreign) and not any(char in foreign for char in _INVISIBLE)


def fold_positions(line: str) -> dict[int, tuple[int, int]]:
    """Map each position in `folded(line)` where a cut is possible to its first and last position in `line`.

    A missing position is inside a sequence that is folded as a whole.
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
    # The parts must add up to the whole; otherwise no inner position can be trusted.
    if done != whole:  # neighbours compose in a way that clusters do not show: only the ends are sure
        return {0: (0, 0), whole: (len(line), len(line))}
    return cuts


def _cluster_ends(line: str) -> list[int]:
    from unicodedata import combining

    if _CLUSTERED.search(line):
        return [len(line)]
    ends = [at for at in range(1, len(line)) if not combining(line[at])]
    return [*ends, len(line)]


def candidate_ranges(text: str, old: str) -> list[range]:
    """Return disjoint ranges of whole lines, in order, that contain every place where `old` may match.

    They surround its rarest word, which no view changes. The whole text if there is no such word.
    """
    # A lone carriage return ends a line too, but the searches below only look for \n.
    whole = [range(len(text))]
    if "\r" in text and text.count("\r") != text.count("\r\n"):
        return whole
    # Long words tend to be rare. Each one tried costs a pass over the text.
    words = sorted({found[0] for found in _WORD.finditer(old)}, key=len)[-_TRIED_WORDS:]
    if not words:
        return whole
    count, word = min((text.count(one), one) for one in words)
    wanted = old.split("\n")
    # An occurrence of the word is on line `index` of the old text: that bounds the lines around it.
    index = next(at for at, line in enumerate(wanted) if _has_word(word, line))
    # No gain if the ranges cover half of the text, and no guarantee if folding changes the words.
    if count * (len(wanted) + 2 * _MARGIN) > text.count("\n") // 2 or not is_plain(text) or not is_plain(old):
        return whole
    parts: list[range] = []
    at = text.find(word)
    while at >= 0:
        start = _start_of_line_before(text, at, index + _MARGIN)
        stop = _end_of_line_after(text, at, len(wanted) - index + _MARGIN)
        # Occurrences come in order, so a range can only touch the last one.
        if parts and start <= parts[-1].stop:
            parts[-1] = range(parts[-1].start, max(stop, parts[-1].stop))
        else:
            parts.append(range(start, stop))
        at = text.find(word, at + len(word))
    return parts


def _has_word(word: str, line: str) -> bool:
    return any(found[0] == word for found in _WORD.finditer(line))


def _start_of_line_before(text: str, at: int, count: int) -> int:
    """Return where the line begins that is `count` lines before that of `at`."""
    for _ in range(count + 1):
        at = text.rfind("\n", 0, at)
        if at < 0:
            break
    return at + 1


def _end_of_line_after(text: str, at: int, count: int) -> int:
    """Return where the line ends, its terminator included, that is `count` lines after that of `at`."""
    for _ in range(count + 1):
        at = text.find("\n", at) + 1
        if not at:
            return len(text)
    return at
