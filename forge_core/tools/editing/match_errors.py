"""Error messages for edits that do not apply, with what the model needs to correct them."""

from __future__ import annotations

import difflib
import heapq
import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from forge_core.tools.editing.text import line_number, split_keeping_ends, with_newlines

if TYPE_CHECKING:
    from forge_core.tools.editing.occurrences import TextMatch

_MAX_SHOWN_LINES = 40
_MAX_SHOWN_CHARS = 4_000
_MAX_COMPARED_LINES = 100
_MAX_WORDS = 12
_IGNORED = {
    "trailing blanks": "blanks at the ends of lines",
    "look-alike characters": "the kind of quotes, dashes or blanks",
    "blanks within lines": "the number of blanks within lines",
    "indentation": "indentation",
    "line numbers": "line numbers",
    "blank edges": "blank lines at its edges",
}
_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2014\u00a0", "''\"\"-- ")


def ambiguous_match_error(text: str, match: TextMatch) -> str:
    """Return the refusal when the old text is not unique, with the line number of each place."""
    numbers = [line_number(text, start) for start in match.starts]
    lines = list(dict.fromkeys(numbers))
    count = f"{len(numbers)} times" if match.is_all else f"more than {len(numbers)} times"
    overlap = ", overlapping itself" if len(lines) < len(numbers) == 2 else ""
    ignored = f" (not exactly, but ignoring {_IGNORED[match.tier]})" if match.tier in _IGNORED else ""
    return (
        f"old_string occurs {count}{ignored}, at line{'s' if len(lines) > 1 else ''} "
        f"{', '.join(map(str, lines))}{overlap}. Nothing was written. Add surrounding lines until it is "
        "unique, or set replace_all to change every occurrence."
    )


def missing_text_error(text: str, old: str) -> str:
    """Return the refusal when the old text is missing, with the nearest block, what differs, and its exact
    text."""
    lines = [line.rstrip("\r\n") for line in split_keeping_ends(text)]
    wanted = with_newlines(old).split("\n")
    while len(wanted) > 1 and not wanted[-1].strip():
        wanted.pop()
    while len(wanted) > 1 and not wanted[0].strip():
        wanted.pop(0)
    start = _nearest(lines, wanted)
    if start is None:
        return (
            "old_string was not found, and nothing in the file resembles it. Nothing was written. "
            "Read the file again, or grep for a word of it."
        )
    block = lines[start : start + len(wanted)]
    shown = "\n".join(block[:_MAX_SHOWN_LINES])[:_MAX_SHOWN_CHARS]
    place = f"line {start + 1}" if len(block) == 1 else f"lines {start + 1}-{start + len(block)}"
    return (
        f"old_string was not found. Nothing was written. The nearest text is {place}, which differs in "
        f"{_difference(block, wanted)}. If you meant it, send old_string exactly as the file has it:\n{shown}"
    )


def _nearest(lines: list[str], wanted: list[str]) -> int | None:
    """Return the first line of the block most like `wanted`: by shared lines, else by its longest line."""
    positions: dict[str, list[int]] = {}
    for at, line in enumerate(lines):
        positions.setdefault(_folded(line), []).append(at)
    votes: Counter[int] = Counter()
    for offset, line in enumerate(wanted):
        folded = _folded(line)
        if len(folded) > 2:
            for at in positions.get(folded, ())[:50]:
                votes[max(at - offset, 0)] += 1
    if votes:
        return max(votes, key=lambda at: (votes[at], -at))
    telling = max(range(len(wanted)), key=lambda at: len(wanted[at].strip()))
    key = _closest(_folded(wanted[telling]), positions)
    return None if key is None else max(positions[key][0] - telling, 0)


def _closest(wanted: str, keys: Iterable[str]) -> str | None:
    """Return the key most like `wanted`, or one that contains it. A full comparison costs a millisecond, so
    only the keys that share most words with it are compared."""
    if len(wanted) < 3:
        return None
    words = sorted(set(re.findall(r"\w{2,}", wanted)), key=len)[-_MAX_WORDS:]
    shared = [(sum(word in key for word in words), -at, key[:300]) for at, key in enumerate(keys) if key]
    short = [key for _, _, key in heapq.nlargest(_MAX_COMPARED_LINES, shared)]
    close = difflib.get_close_matches(wanted[:300], short, n=1, cutoff=0.6)
    return next(
        (key for key in keys if (key[:300] == close[0] if close else len(wanted) > 3 and wanted in key)), None
    )


def _folded(line: str) -> str:
    """Return the line without differences in blanks, kinds of quotes and letter case."""
    return re.sub(r"\s+", " ", line.translate(_QUOTES)).strip().casefold()


def _difference(block: list[str], wanted: list[str]) -> str:
    """Return the kind of difference, as precisely as possible."""
    if len(block) == len(wanted):
        for name, view in (
            ("trailing blanks", str.rstrip),
            ("indentation" + _tabs(block, wanted), str.strip),
            ("the kind of quotes, dashes or blanks", lambda line: line.translate(_QUOTES).strip()),
            ("blanks within lines", lambda line: re.sub(r"\s+", "", line.translate(_QUOTES))),
            ("upper and lower case", _folded),
        ):
            if [view(line) for line in block] == [view(line) for line in wanted]:
                return name
    pairs = zip(block, wanted, strict=False)
    differing = next((at for at, (ours, theirs) in enumerate(pairs) if ours.strip() != theirs.strip()), None)
    if differing is None:
        return "blanks and indentation"
    return f"its wording (first at its line {differing + 1}: you sent {wanted[differing][:160]!r})"


def _tabs(block: list[str], wanted: list[str]) -> str:
    ours, theirs = (
        "\t" in "".join(re.findall(r"^\s+", "\n".join(one), re.MULTILINE)) for one in (block, wanted)
    )
    if ours == theirs:
        return ""
    return " (the file uses tabs)" if ours else " (the file uses spaces)"
