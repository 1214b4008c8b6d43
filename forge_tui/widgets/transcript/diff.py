"""A unified diff with line numbers, coloured rows, and the words that changed standing out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

from rich.segment import Segment
from rich.style import Style

from forge_core.result import FileDiff
from forge_core.sanitize import safe_text
from forge_tui.widgets.transcript.rows import Canvas
from forge_tui.widgets.transcript.styles import TranscriptStyles
from forge_tui.widgets.transcript.wrapping import Span, without_tabs, wrap_cells

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_LONGEST_COMPARED = 400
"""Characters; the words of longer lines are not compared (quadratic at worst)."""
_LEAST_ALIKE = 0.5
"""Share in common below which two lines are not one line changed, but two lines."""
_LONGEST_RUN = 12
"""Lines of a run that are compared with one another (each with each)."""

Ranges: TypeAlias = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class DiffLine:
    kind: Literal["added", "removed", "same", "hunk"]
    number: int
    """In the new file; of a removed line, in the old one."""
    text: str
    changed: Ranges = ()
    """Character ranges that differ from the line's counterpart."""


def diff_lines(diff: FileDiff) -> list[DiffLine]:
    """The diff's lines in order, hunk headers as kind "hunk" (the first one left out)."""
    lines: list[DiffLine] = []
    old = new = 1
    for raw in safe_text(diff.diff).rstrip("\n").split("\n"):
        if hunk := _HUNK.match(raw):
            old, new = int(hunk[1]), int(hunk[2])
            if lines:
                lines.append(DiffLine("hunk", new, ""))
        elif raw.startswith("+"):
            lines.append(DiffLine("added", new, raw[1:]))
            new += 1
        elif raw.startswith("-"):
            lines.append(DiffLine("removed", old, raw[1:]))
            old += 1
        elif not raw.startswith("\\"):
            lines.append(DiffLine("same", new, raw[1:]))
            old, new = old + 1, new + 1
    return list(_with_changes(lines))


def draw_diff(lines: Sequence[DiffLine], canvas: Canvas, styles: TranscriptStyles) -> None:
    """Adds the rows of `lines` (of one file) to `canvas`."""
    width = len(str(max((line.number for line in lines), default=1)))
    for line in lines:
        if line.kind == "hunk":
            canvas.decoration([("⋮".rjust(width), styles.faint)])
            continue
        fill, strong, sign, mark = {
            "added": (styles.added, styles.added_strong, styles.added_sign, "+"),
            "removed": (styles.removed, styles.removed_strong, styles.removed_sign, "-"),
            "same": (None, Style.null(), styles.faint, " "),
        }[line.kind]
        first = [Segment(f"{line.number:>{width}} {mark} ", sign if fill else styles.faint)]
        rest = [Segment(" " * (width + 3), fill)]
        with canvas.indented(rest, first):
            spans = without_tabs(_spans(line, fill or styles.text, strong))
            canvas.text(spans, wrap=wrap_cells, fill=fill, original=line.text)


def _spans(line: DiffLine, under: Style, strong: Style) -> Iterator[Span]:
    at = 0
    for start, end in line.changed:
        yield line.text[at:start], under
        yield line.text[start:end], under + strong
        at = end
    yield line.text[at:], under


def _with_changes(lines: Sequence[DiffLine]) -> Iterator[DiffLine]:
    """Pairs removed lines with the added ones they became and marks the words that differ."""
    at = 0
    while at < len(lines):
        removed = _run(lines, at, "removed")
        added = _run(lines, at + len(removed), "added")
        marks: dict[DiffLine, Ranges] = {}
        for old, new in _pairs(removed, added):
            marks[old], marks[new] = _changed_words(old.text, new.text)
        for line in (*removed, *added):
            yield replace(line, changed=marks.get(line, ()))
        at += len(removed) + len(added)
        if not removed and not added:
            yield lines[at]
            at += 1


def _pairs(removed: Sequence[DiffLine], added: Sequence[DiffLine]) -> Iterator[tuple[DiffLine, DiffLine]]:
    """Each removed line with the added line most like it, in order; the others stay single."""
    first = 0
    for old in removed[:_LONGEST_RUN]:
        nearby = added[first : first + _LONGEST_RUN]
        ratios = [_alikeness(old.text, new.text) for new in nearby]
        best = max(range(len(ratios)), key=lambda at: ratios[at], default=-1)
        if best >= 0 and ratios[best] >= _LEAST_ALIKE:
            yield old, nearby[best]
            first += best + 1


def _alikeness(old: str, new: str) -> float:
    if max(len(old), len(new)) > _LONGEST_COMPARED:
        return 0.0
    matcher = SequenceMatcher(None, _WORDS.findall(old.strip()), _WORDS.findall(new.strip()), autojunk=False)
    return matcher.ratio() if matcher.quick_ratio() >= _LEAST_ALIKE else 0.0


def _run(lines: Sequence[DiffLine], at: int, kind: str) -> Sequence[DiffLine]:
    end = at
    while end < len(lines) and lines[end].kind == kind:
        end += 1
    return lines[at:end]


def _changed_words(old: str, new: str) -> tuple[Ranges, Ranges]:
    """The character ranges of `old` and of `new` that differ."""
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    removed: list[tuple[int, int]] = []
    added: list[tuple[int, int]] = []
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "equal":
            _add_range(removed, before, a, b)
            _add_range(added, after, c, d)
    return tuple(removed), tuple(added)


def _add_range(ranges: list[tuple[int, int]], words: Sequence[str], first: int, last: int) -> None:
    if first < last:
        start = sum(map(len, words[:first]))
        ranges.append((start, start + sum(map(len, words[first:last]))))
