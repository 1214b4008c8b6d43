"""Why an edit did not apply, in words that let the model send the right one at once."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from forge_core.tools.editing.text import lines_of, with_newlines

if TYPE_CHECKING:
    from forge_core.tools.editing.match import Span

_MAX_SHOWN_LINES = 40
_MAX_SHOWN_CHARS = 4_000
_MAX_COMPARED_LINES = 3_000
_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2014\u00a0", "''\"\"-- ")


def several_places(text: str, spans: Sequence[Span]) -> str:
    """The refusal when the old text is not unique, with the line number of each place."""
    lines = [str(text_line(text, span.start)) for span in spans[:20]]
    more = f" and {len(spans) - 20} more" if len(spans) > 20 else ""
    where = (
        f"{len(spans)} times, at lines {', '.join(lines)}{more}" if len(spans) > 1 else "overlapping itself"
    )
    return (
        f"old_string stands {where}. Nothing was written. Add lines around it until it is unique, "
        "or set replace_all to change every place."
    )


def not_found(text: str, old: str) -> str:
    """The refusal when the old text is missing, with the nearest block, what differs, and its exact text."""
    lines = [line.rstrip("\r\n") for line in lines_of(text)]
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


def text_line(text: str, index: int) -> int:
    """The number, from 1, of the line that holds position `index`."""
    head = text[:index]
    return head.count("\n") + head.count("\r") - head.count("\r\n") + 1


def _nearest(lines: list[str], wanted: list[str]) -> int | None:
    """The first line of the block most like `wanted`: by shared lines, else by its most telling line."""
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
        best = max(votes.values())
        return min(at for at, count in votes.items() if count == best)
    telling = max(range(len(wanted)), key=lambda at: len(wanted[at].strip()))
    folded = _folded(wanted[telling])[:300]
    keys = [key[:300] for key in list(positions)[:_MAX_COMPARED_LINES] if key]
    close = difflib.get_close_matches(folded, keys, n=1, cutoff=0.6) if len(folded) > 2 else []
    if not close:
        inside = [at for key, at in positions.items() if folded and len(folded) > 3 and folded in key]
        return inside[0][0] if inside else None
    at = next(at for key, at in positions.items() if key[:300] == close[0])[0]
    return max(at - telling, 0)


def _folded(line: str) -> str:
    """What stays of a line when blanks, quote kinds and letter case are looked past."""
    return re.sub(r"\s+", " ", line.translate(_QUOTES)).strip().casefold()


def _difference(block: list[str], wanted: list[str]) -> str:
    """The kind of difference, as exactly as it can be told."""
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
